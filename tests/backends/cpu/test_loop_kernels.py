"""Whole loops as one kernel on the CPU, against the evaluator: all types, and how states change."""

import ctypes
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tfc
import tfc.numpy as tnp
from tfc.backends.cpu.compiler import KERNEL_KINDS
from tfc.backends.llvm.compilation import load_objects
from tfc.backends.target import Target
from tfc.compiler import compile as compile_module
from tfc.compiler import compile_object, emit_text
from tfc.frontend.operations import dynamic_update_slice
from tfc.hlo import evaluate, parse
from tfc.hlo.ir import Module
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.passes import default_pipeline
from tfc.passes.fusion.loop_kernels import LoopKernels
from tfc.testing import arguments_for, modules
from tfc.testing.compare import mismatch
from tfc.testing.fuzz import problem
from tfc.tools.profiling.peaks import Level, Peaks

TYPES = [t for t in ELEMENT_TYPES if t not in ("pred", "token")]
QUICK = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))

LOOP = """
test {{ s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  ROOT c = pred[] compare(i, n), direction=LT }}
body {{ s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
{elements}{body}
  ROOT r = {state} tuple(j, n, {results}) }}
ENTRY main {{
  n = s32[] parameter(0)
  zero = s32[] constant(0)
{parameters}
  t = {state} tuple(zero, n, {names})
  ROOT w = {state} while(t), condition=test, body=body }}"""


def loop_of(types: dict[str, str], body: str, results: str, before: str = "") -> Module:
    """A loop of n iterations, n being the first argument and the state's elements the others.

    Args:
        before: further computations.
    """
    state = ", ".join(("s32[]", "s32[]", *types.values()))
    numbered = list(enumerate(types.items(), 2))
    elements = [f"  {x} = {t} get-tuple-element(s), index={k}" for k, (x, t) in numbered]
    parameters = [f"  {x} = {t} parameter({k - 1})" for k, (x, t) in numbered]
    return parse(
        before
        + LOOP.format(
            state=f"({state})", body=body, results=results, names=", ".join(types),
            elements="\n".join(elements), parameters="\n".join(parameters),
        )
    )  # fmt: skip


def check(module: Module, seeds: int = 1, kind: str = "normal") -> None:
    """One kernel runs the loop any number of times as the evaluator does."""
    executable = compile_module(module)
    assert [i.opcode for i in executable.hlo.entry.instructions].count("fusion") == 1
    for seed in range(seeds):
        rest = arguments_for(module, np.random.default_rng(seed), kind)[1:]
        for count in (0, 1, 2, 5):
            arguments = [np.int32(count), *rest]
            assert mismatch(module, arguments, executable(*arguments)) is None


@pytest.mark.parametrize("element_type", TYPES)
def test_scalars_of_every_type(element_type: str):
    """Both change at once: what a body gives for an element is made of the state as it was."""
    t = f"{element_type}[]"
    body = f"""
  c = {t} add(x, y)
  q = pred[] compare(x, y), direction=NE
  d = {t} select(q, c, x)"""
    check(loop_of({"x": t, "y": t, "p": "pred[]"}, body, "y, d, q"))


@pytest.mark.parametrize("element_type", TYPES)
def test_small_arrays_of_every_type(element_type: str):
    t = f"{element_type}[3,2]"
    body = f"""
  c = {t} add(x, y)
  d = {t} reverse(c), dimensions={{0,1}}"""
    check(loop_of({"x": t, "y": t}, body, "y, d"))


def test_elements_that_change_places_stay_or_become_one():
    t = "f32[4]"
    types = dict.fromkeys("abcdef", t)
    check(loop_of(types, "", "b, c, a, e, d, f"))
    check(loop_of(types, "", "a, a, b, f, f, f"))
    check(loop_of(dict.fromkeys("abc", "f64[]"), "", "b, c, a"))


def test_one_value_may_be_several_elements_of_the_state():
    text = str(loop_of({"x": "f32[]", "y": "f32[]"}, "  z = f32[] add(x, y)", "y, z"))
    module = parse(text.replace("tuple(%zero, %n, %x, %y)", "tuple(%zero, %n, %x, %x)"))
    assert "%x, %x" in str(module)
    check(module)


@pytest.mark.parametrize("kind", ["whole", "special"])
def test_nothing_is_undefined(kind: str):
    """Division by zero, shifts beyond the width, conversions of NaN: as the definitions say."""
    body = """
  f = f32[] convert(a)
  g = f32[] divide(x, f)
  h = s32[] convert(g)
  q = s32[] divide(h, a)
  m = s32[] remainder(b, a)
  u = s32[] shift-left(q, b)
  v = s32[] subtract(m, u)
  y = f32[] multiply(g, x)"""
    module = loop_of({"a": "s32[]", "b": "s32[]", "x": "f32[]"}, body, "m, v, y")
    check(module, seeds=8, kind=kind)


def test_products_and_sums_are_rounded_one_by_one():
    """As the evaluator's, to the bit: nothing is contracted."""
    body = """
  z = f32[] multiply(x, x)
  w = f32[] add(z, c)"""
    module = loop_of({"x": "f32[]", "c": "f32[]"}, body, "w, c")
    arguments = np.int32(50), np.float32(0.3), np.float32(-1.7)
    ours, expected = compile_module(module)(*arguments), evaluate(module, *arguments)
    assert [np.asarray(x).tobytes() for x in ours] == [np.asarray(x).tobytes() for x in expected]


def test_loops_and_conditionals_inside():
    @tfc.jit
    def f(n, x):
        def outer(i, s):
            a, v = s
            a = tfc.fori_loop(i, n, lambda j, b: b * 3 + j, a)
            branch = lambda v: tnp.stack([v[2], v[0] + 1, v[1]])  # noqa: E731
            return a, tfc.cond(a % 2 == 0, branch, lambda v: v * 2, v)

        return tfc.fori_loop(0, n, outer, (np.int32(1), x))

    def expected(n, v):
        a = 1
        for i in range(n):
            for j in range(i, n):
                a = (a * 3 + j + 2**31) % 2**32 - 2**31
            v = np.float32([v[2], v[0] + 1, v[1]]) if a % 2 == 0 else v * 2
        return a, v

    x = np.float32([1, 2, 3])
    assert f.lower(np.int32(3), x).compile().as_text("mlir").count("kernel @") == 1
    for n in (0, 1, 4, 9):
        a, v = f(np.int32(n), x)
        wanted, values = expected(n, x)
        assert a == wanted
        np.testing.assert_array_equal(v, values)


def test_branches_by_number():
    """The last one for any number that is none of a branch."""
    branches = [lambda v: -v, lambda v: v + v, lambda v: v * 0.5 + 1]

    @tfc.jit
    def f(n, x):
        def step(i, v):
            last = tnp.where(i % 3 == 1, v + v, v * 0.5 + 1)
            return tfc.cond(i % 3 == 0, branches[0], lambda v: last, v)

        return tfc.fori_loop(0, n, step, x)

    wanted = np.float32([1, 2])
    for i in range(7):
        np.testing.assert_array_equal(f(np.int32(i), np.float32([1, 2])), wanted)
        wanted = branches[i % 3](wanted)


def test_a_condition_reads_arrays_and_needs_nothing_else():
    text = """
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
test { s = (f32[3], s32[]) parameter(0)
  x = f32[3] get-tuple-element(s), index=0
  zero = f32[] constant(0)
  t = f32[] reduce(x, zero), dimensions={0}, to_apply=sum
  most = f32[] constant(100)
  ROOT c = pred[] compare(t, most), direction=LT }
body { s = (f32[3], s32[]) parameter(0)
  x = f32[3] get-tuple-element(s), index=0
  k = s32[] get-tuple-element(s), index=1
  e = f32[3] constant({1, 2, 0.5})
  y = f32[3] multiply(x, x)
  z = f32[3] add(y, e)
  one = s32[] constant(1)
  j = s32[] add(k, one)
  ROOT r = (f32[3], s32[]) tuple(z, j) }
ENTRY main {
  x = f32[3] parameter(0)
  zero = s32[] constant(0)
  t = (f32[3], s32[]) tuple(x, zero)
  ROOT w = (f32[3], s32[]) while(t), condition=test, body=body }"""
    module = parse(text)
    executable = compile_module(module)
    for x in ([0, 0, 0], [100, 1, 1], [-3, 2, 1]):
        argument = np.float32(x)
        assert mismatch(module, [argument], executable(argument)) is None


def recurrence(xs, start):
    """y[i] = 0.5 y[i-1] + x[i], into a large array."""

    def step(i, s):
        y, ys = s
        y = y * 0.5 + xs[i]
        return y, dynamic_update_slice(ys, y.reshape(1), (i,))

    return tfc.fori_loop(0, xs.shape[0], step, (start, tnp.zeros(xs.shape, np.float32)))[1]


def test_large_arrays_are_read_and_updated_where_they_are():
    xs = np.random.default_rng(0).standard_normal(100_000).astype(np.float32)
    compiled = tfc.jit(recurrence).lower(xs, np.float32(1)).compile()
    loop = re.search(r"func\.func private @\S*while\(.*?\n  }\n", compiled.as_text("mlir"), re.S)
    assert loop is not None
    assert "constant 100000 : index" not in loop[0]  # nothing goes over them
    assert "copy" not in compiled.as_text("mlir").partition("// bytecode")[2]
    assert compiled.memory_analysis().temporary_bytes == 0
    y, expected = np.float32(1), []
    for x in xs:
        y = np.float32(y * np.float32(0.5)) + x
        expected.append(y)
    np.testing.assert_array_equal(compiled(xs, np.float32(1)), expected)


def test_an_array_that_is_wanted_twice_is_not_overwritten():
    @tfc.jit
    def f(x, n):
        def step(i, s):
            return s[1], dynamic_update_slice(s[0], (s[1][i] + x[0]).reshape(1), (i,))

        a, b = tfc.fori_loop(0, n, step, (x, x))
        return a, b, x + 1

    x = np.arange(5000, dtype=np.float32)
    for n in (0, 1, 2, 7):
        a, b = x, x
        for i in range(n):
            changed = a.copy()
            changed[i] = b[i] + x[0]
            a, b = b, changed
        for got, wanted in zip(f(x, np.int32(n)), (a, b, x + 1)):
            np.testing.assert_array_equal(got, wanted)


def test_memory_of_an_iteration_is_counted():
    f = lambda x, n: tfc.fori_loop(0, n, lambda i, v: tnp.sort(tnp.sin(v) - v[::-1]), x)  # noqa: E731
    compiled = tfc.jit(f).lower(np.ones(300, np.float32), np.int32(3)).compile()
    memory = compiled.memory_analysis()
    assert memory.temporary_bytes >= 300 * 4
    assert [b.name for b in memory.buffers if "while" in b.name]


def test_an_object_file_has_the_loop():
    module = loop_of({"x": "f32[]"}, "  z = f32[] add(x, x)", "z")
    code = load_objects([compile_object(module, "doubled").code], Target.host())
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(code.address("doubled"))
    arguments = [np.int32(10), np.float32(3)]
    held = [np.array(a) for a in arguments]
    results = [np.zeros((), np.int32), np.zeros((), np.int32), np.zeros((), np.float32)]
    table = lambda arrays: (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])  # noqa: E731
    assert entry(table(held), table(results), None) == 0
    assert (int(results[0]), int(results[1]), float(results[2])) == (10, 10, 3072.0)


def test_a_profile_shows_the_loop_as_one_kernel():
    f = tfc.jit(lambda n, x: tfc.fori_loop(0, n, lambda i, v: v * 0.5 + 1, x))
    peaks = Peaks({32: 100e9, 64: 50e9}, (Level("memory", np.inf, 10e9),))
    profile = tfc.profile(f, np.int32(1000), np.float32(0), runs=2, peaks=peaks)
    assert [(k.cost.kind, k.runs) for k in profile.kernels] == [("fusion kCustom", 1)]


@pytest.mark.parametrize("size", [2, 5, 8, 16])
def test_products_inside(size: int):
    """Plain sums, and from some size on tiles, which need scratch memory."""
    t, v = f"f32[{size},{size}]", f"f32[{size}]"
    body = f"""
  z = {t} dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  h = {v} dot(z, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  k = {v} tanh(h)"""
    check(loop_of({"x": t, "y": t, "v": v}, body, "y, z, k"), kind="whole")


def test_what_is_repeated_is_called():
    """Arrays and products that are made several times in the same way share a function."""
    lines, last, before = [], "x", "v"
    contracting = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    for k in range(4):
        lines += [
            f"  s{k} = f32[40] sort({last}), dimensions={{0}}, to_apply=less",
            f"  x{k} = f32[40] reverse(s{k}), dimensions={{0}}",
            f"  v{k} = f32[3] dot(m, {before}), {contracting}",
        ]
        last, before = f"x{k}", f"v{k}"
    types = {"x": "f32[40]", "m": "f32[3,3]", "v": "f32[3]"}
    less = "less { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    less += "  ROOT c = pred[] compare(a, b), direction=LT }\n"
    module = loop_of(types, "\n".join(lines), f"{last}, m, {before}", before=less)
    check(module, kind="whole")
    functions = re.findall(r"call @(\S+while\.\S+)\(", emit_text(module, "mlir"))
    assert len(functions) >= 8
    assert len(set(functions)) < len(functions) / 3


def refusals(module: Module) -> str:
    module = default_pipeline(kinds=KERNEL_KINDS).run(module)
    return "\n".join(map(str, LoopKernels().explain(module)))


def test_what_stays_steps_says_why():
    t = "f32[32,32]"
    product = f"  z = {t} dot(x, x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
    assert "z does 65536 operations, which" in refusals(loop_of({"x": t}, product, "z"))
    large = "f32[5000]"
    assert "moves 40000 bytes, which" in refusals(
        loop_of({"x": large}, f"  z = {large} negate(x)", "z")
    )
    same = "same { x = f32[] parameter(0)\n  ROOT y = f32[] negate(x) }\n"
    listed = ", ".join(["x"] * 70), ", ".join(["same"] * 70)
    many = f"  z = f32[] conditional(i, {listed[0]}), branch_computations={{{listed[1]}}}"
    (reason,) = LoopKernels().explain(loop_of({"x": "f32[]"}, many, "z", before=same))
    assert "more than 64 kernels and branches" in str(reason)
    outside = '  z = f32[] custom-call(x), custom_call_target="f"'
    assert "is run by a function outside" in refusals(loop_of({"x": "f32[]"}, outside, "z"))


@QUICK
@given(
    modules(
        8,
        opcodes=(
            "while", "while", "add", "broadcast", "compare", "concatenate", "conditional",
            "dynamic-slice", "dynamic-update-slice", "multiply", "pad", "reduce", "reshape",
            "reverse", "select", "slice", "sort", "transpose",
        ),
    ),
    st.integers(0, 1000),
)  # fmt: skip
def test_random_loops(module: Module, seed: int):
    arguments = tuple(arguments_for(module, np.random.default_rng(seed), "whole"))
    assert problem(module, arguments, "cpu") is None
