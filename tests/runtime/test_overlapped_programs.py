"""Programs whose collectives are begun and waited for apart: the values, and that others go on.

What is expected is what the evaluator gives, which runs a collective where it stands, or a NumPy
formula over what all devices have.
"""

import threading

import numpy as np
import pytest

import tfc
from tfc.hlo import Module, evaluate, parse
from tfc.hlo.evaluation.evaluator import evaluate_replicas
from tfc.passes.memory import overlap

ADD = "add { x = f32[] parameter(0)\ny = f32[] parameter(1)\nROOT a = f32[] add(x, y) }\n"
RNG = np.random.default_rng(0)
N = 192  # a product of such matrices is work that is worth beginning something for


def module_of(body: str, devices: int = 2) -> Module:
    """A module for so many replicas, whose entry has p, a matrix."""
    header = f"HloModule m, replica_count={devices}\n"
    return parse(f"{header}{ADD}ENTRY e {{ p = f32[{N},{N}] parameter(0)\n{body} }}")


def opcodes(module: Module) -> list[str]:
    return [i.opcode for c in module.computations for i in c.instructions]


def run(module: Module, begun: int) -> None:
    """Compare what devices compute with what the evaluator says; count what is begun."""
    devices = int(dict(module.attributes)["replica_count"])
    given = [[RNG.standard_normal((N, N)).astype(np.float32) / 16] for _ in range(devices)]
    compiled = tfc.compile(module)
    assert opcodes(compiled.hlo).count("async-start") == begun
    assert opcodes(compiled.hlo).count("async-done") == begun
    for _ in range(2):  # in memory that is used again
        got = compiled.run_replicas(given)
        for device, value in enumerate(evaluate_replicas(module, *given)):
            results = value if isinstance(value, tuple) else (value,)
            for one, expected in zip(got[device], results, strict=True):
                np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-5)


M = f"f32[{N},{N}]"
DOT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
# Enough other work, w, and a use of the collective's result, u.
REST = f"""v = {M} dot(p, p), {DOT}
w = {M} dot(v, v), {DOT}
u = {M} add(s, p)
ROOT r = ({M}, {M}) tuple(u, w)"""


@pytest.mark.parametrize(
    "collective",
    [
        f"s = {M} all-reduce(p), to_apply=add",
        f"s = {M} all-to-all(p), dimensions={{1}}",
        f"s = {M} collective-permute(p), source_target_pairs={{{{0,1}},{{1,0}}}}",
        f"s = {M} collective-permute(p), source_target_pairs={{{{0,1}}}}",
        f"s = {M} collective-broadcast(p), replica_groups={{{{0,1}}}}",
        f"g = f32[{2 * N},{N}] all-gather(p), dimensions={{0}}\n"
        f"s = {M} slice(g), slice={{[{N}:{2 * N}], [0:{N}]}}",
        f"h = f32[{N // 2},{N}] reduce-scatter(p), dimensions={{0}}, to_apply=add\n"
        f"z = f32[] constant(0)\ns = {M} pad(h, z), padding=0_{N // 2}x0_0",
        f"g = ({M}, {M}) all-reduce(p, p), to_apply=add\ns = {M} get-tuple-element(g), index=1",
    ],
)
def test_every_kind_has_its_value(collective: str) -> None:
    run(module_of(f"{collective}\n{REST}"), 1)


def test_operands_keep_their_memory_until_the_end() -> None:
    """What is summed is needed by nothing else, so its memory would be another kernel's."""
    run(module_of(f"n = {M} negate(p)\ns = {M} all-reduce(n), to_apply=add\n{REST}"), 1)


def test_several_are_under_way() -> None:
    """In a backward pass each layer's sums go on while earlier layers are differentiated."""
    layers = "\n".join(
        f"d{n} = {M} dot(p, {'p' if n == 0 else f't{n - 1}'}), {DOT}\n"
        f"t{n} = {M} tanh(d{n})\ns{n} = {M} all-reduce(t{n}), to_apply=add\n"
        f"u{n} = {M} subtract(p, s{n})"
        for n in range(4)
    )
    root = f"ROOT r = ({', '.join([M] * 4)}) tuple(u0, u1, u2, u3)"
    run(module_of(f"{layers}\n{root}"), 3)


def test_a_loop_begins_and_ends_one_in_every_turn() -> None:
    state = f"(s32[], {M}, {M})"
    text = f"""HloModule m, replica_count=2
{ADD}body {{ q = {state} parameter(0)
i = s32[] get-tuple-element(q), index=0
a = {M} get-tuple-element(q), index=1
b = {M} get-tuple-element(q), index=2
one = s32[] constant(1)
j = s32[] add(i, one)
s = {M} all-reduce(a), to_apply=add
v = {M} dot(b, b), {DOT}
w = {M} dot(v, b), {DOT}
half = f32[] constant(0.5)
h = {M} broadcast(half), dimensions={{}}
m = {M} multiply(s, h)
t = {M} tanh(w)
ROOT o = {state} tuple(j, m, t) }}
test {{ q = {state} parameter(0)
i = s32[] get-tuple-element(q), index=0
n = s32[] constant(40)
ROOT c = pred[] compare(i, n), direction=LT }}
ENTRY e {{ p = {M} parameter(0)
z = s32[] constant(0)
q = {state} tuple(z, p, p)
ROOT r = {state} while(q), condition=test, body=body }}"""
    run(parse(text), 1)


def test_what_is_compiled_is_a_program_again() -> None:
    """Text with pairs in it runs like that of which they were made."""
    module = module_of(f"s = {M} all-reduce(p), to_apply=add\n{REST}")
    again = parse(str(tfc.compile(module).hlo))
    assert "async-start" in opcodes(again)
    run(again, 1)


def test_a_device_goes_on_while_another_has_not_come() -> None:
    """One device is late until the other has done what stands after the collective.

    With a collective that waits where it stands both would wait forever.
    """
    passed = threading.Event()
    numbers = iter(range(2))

    def late(x: np.ndarray) -> np.ndarray:
        if next(numbers) == 1:  # the second that comes here
            assert passed.wait(20), "the first device waits in the collective"
        return x

    def after(x: np.ndarray) -> np.ndarray:
        passed.set()
        return x

    tfc.register_custom_call("overlap_test_late", late)
    tfc.register_custom_call("overlap_test_after", after)
    effect = "custom_call_has_side_effect=true"
    module = module_of(f"""l = {M} custom-call(p), custom_call_target="overlap_test_late", {effect}
s = {M} all-reduce(l), to_apply=add
x = {M} custom-call(p), custom_call_target="overlap_test_after", {effect}
w = {M} dot(x, x), {DOT}
u = {M} add(s, x)
ROOT r = ({M}, {M}) tuple(u, w)""")
    p = np.eye(N, dtype=np.float32)
    for results in tfc.compile(module).run_replicas([[p], [p]]):
        np.testing.assert_allclose(results[0], 3 * p)


def test_a_failure_in_between_is_raised_and_the_program_runs_again() -> None:
    fails = [True]

    def after(x: np.ndarray) -> np.ndarray:
        if fails[0]:
            raise ValueError("not now")
        return x

    tfc.register_custom_call("overlap_test_failing", after)
    module = module_of(f"""s = {M} all-reduce(p), to_apply=add
v = {M} dot(p, p), {DOT}
w = {M} custom-call(v), custom_call_target="overlap_test_failing"
u = {M} add(s, w)
ROOT r = {M} add(u, v)""")
    compiled = tfc.compile(module)
    assert "async-start" in opcodes(compiled.hlo)
    p = np.eye(N, dtype=np.float32)
    with pytest.raises(ValueError, match="not now"):
        compiled.run_replicas([[p], [p]])
    fails[0] = False
    for (result,) in compiled.run_replicas([[p], [p]]):
        np.testing.assert_allclose(result, 4 * p)


def test_one_device_begins_nothing() -> None:
    module = module_of(f"s = {M} all-reduce(p), to_apply=add\n{REST}", devices=1)
    assert "async-start" not in opcodes(tfc.compile(module).hlo)
    p = np.eye(N, dtype=np.float32)
    np.testing.assert_allclose(tfc.compile(module)(p)[0], evaluate(module, p)[0])


def random_program(rng: np.random.Generator) -> Module:
    """A graph of small matrices in which every few steps are collectives."""
    m, values, lines = "f32[4,4]", ["p"], []
    for n in range(rng.integers(4, 24)):
        a, b = (values[k] for k in rng.integers(max(len(values) - 6, 0), len(values), 2))
        lines.append(f"v{n} = {m} " + str(rng.choice([
            f"add({a}, {b})", f"multiply({a}, {b})", f"tanh({a})",
            f"transpose({a}), dimensions={{1,0}}", f"dot({a}, {b}), {DOT}",
            f"all-reduce({a}), to_apply=add", f"all-to-all({a}), dimensions={{0}}",
            f"collective-permute({a}), source_target_pairs={{{{0,1}},{{1,0}}}}",
        ])))  # fmt: skip
        values.append(f"v{n}")
    results = [str(v) for v in rng.choice(values, 3)]
    lines.append(f"ROOT r = ({m}, {m}, {m}) tuple({', '.join(results)})")
    header = "HloModule m, replica_count=2\n"
    return parse(f"{header}{ADD}ENTRY e {{ p = {m} parameter(0)\n" + "\n".join(lines) + "}")


@pytest.mark.parametrize("seed", range(40))
def test_any_program_has_its_value(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Collectives are begun however little there is to do meanwhile."""
    monkeypatch.setattr(overlap, "_WORTH", 0.0)
    rng = np.random.default_rng(seed)
    module = random_program(rng)
    given = [[rng.uniform(-1, 1, (4, 4)).astype(np.float32)] for _ in range(2)]
    compiled = tfc.compile(module)
    for _ in range(2):
        values = zip(compiled.run_replicas(given), evaluate_replicas(module, *given), strict=True)
        for got, expected in values:
            for one, other in zip(got, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
