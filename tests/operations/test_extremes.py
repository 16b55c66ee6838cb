"""Programs of extreme shapes compile in work that grows as they do, or are refused by a limit."""

import random

import numpy as np
import pytest

from tfc.backends.cpu.compiler import KERNEL_KINDS
from tfc.compiler import compile
from tfc.errors import ParseError, UnsupportedError
from tfc.hlo import evaluate, parse
from tfc.hlo.lexer import Lexer
from tfc.hlo.literal import Literal
from tfc.hlo.shape import ELEMENT_TYPES, Shape
from tfc.hlo.text import literal_text
from tfc.hlo.text.literal_text import parse_literal, print_literal
from tfc.hlo.text.plain_literal import read_plain
from tfc.options import Options
from tfc.passes import default_pipeline
from tfc.passes.expand.inline import Flatten, Inline
from tfc.passes.expand.split_operands import SplitOperands
from tfc.passes.fusion.fusion import Fusion
from tfc.passes.rewriting.replacing import MOST_PARTS
from tfc.passes.simplify.sinking import Sinking

F = "f32[8]{0}"
X = np.linspace(-2, 3, 8, dtype=np.float32)


def program(entry, others=""):
    return parse(f"HloModule extreme\n{others}ENTRY e {{\n" + "\n".join(entry) + "\n}\n")


def calls(depth, body):
    """Computations of which each contains `body`, which calls the one before as CALLEE."""
    parts = [f"c0 {{ p = {F} parameter(0) ROOT n = {F} negate(p) }}\n"]
    for i in range(1, depth):
        parts.append(f"c{i} {{ p = {F} parameter(0) {body.replace('CALLEE', f'c{i - 1}')} }}\n")
    entry = [f"p = {F} parameter(0)", f"ROOT r = {F} call(p), to_apply=c{depth - 1}"]
    return program(entry, "".join(parts))


def size(module):
    return sum(len(c.instructions) for c in module.computations)


def test_calls_nest_ten_thousand_deep():
    body = f"n = {F} call(p), to_apply=CALLEE ROOT s = {F} negate(n)"
    module = calls(10_000, body)
    assert len(Inline()(module).entry.instructions) == 10_001
    np.testing.assert_array_equal(compile(module)(X)[0], X)


def test_a_body_is_copied_for_each_call_and_no_more():
    """Bodies within bodies are not made on the way: what is made is what is there at the end."""
    body = f"n = {F} call(p), to_apply=CALLEE ROOT s = {F} call(n), to_apply=CALLEE"
    module = calls(11, body)
    inlined = Inline()(module)
    assert size(inlined) == 1 + 2**10
    np.testing.assert_array_equal(evaluate(inlined, X), X)
    with pytest.raises(UnsupportedError, match=r"becomes 1,025 instructions .* the limit is 1,000"):
        Inline(max_instructions=1000)(module)


def test_calls_that_multiply_are_refused_by_a_limit():
    body = f"n = {F} call(p), to_apply=CALLEE ROOT s = {F} call(n), to_apply=CALLEE"
    with pytest.raises(UnsupportedError, match="becomes 1,099,511,627,777 instructions when each"):
        compile(calls(41, body))
    with pytest.raises(UnsupportedError, match=r"more than 2\^62"):
        compile(calls(5000, body))


def test_maps_of_scalars_nest_as_calls_do():
    parts = ["m0 { a = f32[] parameter(0) ROOT r = f32[] negate(a) }\n"]
    for i in range(1, 1000):
        parts.append(
            f"m{i} {{ a = f32[] parameter(0) b = f32[] map(a), dimensions={{}}, to_apply=m{i - 1}\n"
            "ROOT r = f32[] negate(b) }\n"
        )
    entry = [f"x = {F} parameter(0)", f"ROOT w = {F} map(x), dimensions={{0}}, to_apply=m999"]
    module = program(entry, "".join(parts))
    assert size(Inline()(module)) == 2 + 1001
    np.testing.assert_array_equal(compile(module)(X)[0], X)


def test_branches_that_multiply_are_refused_by_a_limit():
    """A branch that runs another one twice, forty deep: each conditional wants its own copy."""
    parts = [f"b0 {{ x = {F} parameter(0) ROOT n = {F} negate(x) }}\n"]
    for i in range(1, 41):
        again = f"branch_computations={{b{i - 1}, b{i - 1}}}"
        parts.append(
            f"b{i} {{ x = {F} parameter(0) k = s32[] constant(0) z = f32[] constant(0)\n"
            f"h = f32[1]{{0}} slice(x), slice={{[0:1]}} f = f32[] reshape(h)\n"
            f"g = s32[] convert(f) ROOT c = {F} conditional(g, x, x), {again} }}\n"
        )
    entry = [f"x = {F} parameter(0)", f"ROOT r = {F} call(x), to_apply=b40"]
    with pytest.raises(UnsupportedError, match="each loop and conditional gets its own copy"):
        Flatten()(Inline()(program(entry, "".join(parts))))


@pytest.mark.parametrize("name", ["f32", "f64", "bf16", "f8e4m3fn", "s8", "u64", "pred"])
@pytest.mark.parametrize("dims", [(100,), (7, 30), (2, 3, 40), (2, 3, 2, 20)])
def test_long_literals_are_read_as_a_whole(name, dims):
    generator, element_type = np.random.default_rng(0), ELEMENT_TYPES[name]
    spread = 1e30 if name in ("f32", "f64") else 1
    values = generator.standard_normal(dims) * spread if element_type.is_float else None
    whole = generator.integers(0, 2 if name == "pred" else 120, dims)
    array = (whole if values is None else values).astype(element_type.dtype)
    text = print_literal(Literal(array))
    assert read_plain(text, 0, Shape(element_type, dims)) is not None
    found = parse_literal(Lexer(f"{text})", "text"), Shape(element_type, dims)).array
    assert found.tobytes() == array.tobytes()


def test_a_long_literal_means_the_same_read_as_a_whole_and_number_by_number(monkeypatch):
    """Also with a character too many, too few or another: the same numbers or the same refusal."""
    draw = random.Random(1)

    def read(text, name):
        try:
            lexer = Lexer(f"{text})", "text")
            array = parse_literal(lexer, Shape(ELEMENT_TYPES[name], (70,))).array
        except ParseError as error:
            return str(error)
        return array.tobytes(), lexer.start

    cases = []
    for _ in range(300):
        text = list("{" + ", ".join(draw.choices(["1", "2.5", "-3", "1e3", "-0.0"], k=70)) + "}")
        for _ in range(draw.choice([0, 1, 2])):
            at = draw.randrange(len(text))
            text[at : at + 1] = draw.choice(
                ["", "-", "+", "1", ".", "e", "{", "}", ",", " ", "/*c*/"]
            )
        cases += [("".join(text), name) for name in ("f32", "s32", "pred")]
    together = [read(*case) for case in cases]
    monkeypatch.setattr(literal_text, "read_plain", lambda *_: None)
    assert together == [read(*case) for case in cases]
    assert any(isinstance(found, tuple) for found in together)


def test_a_sort_moves_only_what_it_compares():
    """Twelve arrays in two dimensions by the second of them, with equal keys: a stable order."""
    shape, count = "s32[3,40]{1,0}", 12
    scalars = [f"a{i} = s32[] parameter({i})" for i in range(2 * count)]
    less = "less {\n" + "\n".join(scalars) + "\nROOT l = pred[] compare(a3, a2), direction=GT }\n"
    entry = [f"p{i} = {shape} parameter({i})" for i in range(count)]
    listed = ", ".join(f"p{i}" for i in range(count))
    entry.append(
        f"ROOT s = ({', '.join([shape] * count)}) sort({listed}), dimensions={{1}}, to_apply=less"
    )
    module = program(entry, less)
    arrays = list(np.random.default_rng(0).integers(0, 9, (count, 3, 40), dtype=np.int32))
    (sort,) = (i for i in SplitOperands()(module).entry.instructions if i.opcode == "sort")
    assert [o.opcode for o in sort.operands] == ["parameter", "iota"]
    order = np.argsort(arrays[1], axis=1, kind="stable")
    for got, array in zip(compile(module)(*arrays), arrays):
        np.testing.assert_array_equal(got, np.take_along_axis(array, order, axis=1))


def test_a_concatenate_of_thousands_is_made_in_steps():
    count = 1100
    entry = [f"p = {F} parameter(0)"]
    for i in range(count):
        entry += [f"c{i} = f32[] constant({i})", f"b{i} = {F} broadcast(c{i}), dimensions={{}}"]
        entry.append(f"m{i} = {F} multiply(p, b{i})")
    listed = ", ".join(f"m{i}" for i in range(count))
    entry.append(f"ROOT r = f32[{8 * count}]{{0}} concatenate({listed}), dimensions={{0}}")
    module = program(entry)
    optimized = default_pipeline(kinds=KERNEL_KINDS).run(module)
    widest = max(
        len(i.operands)
        for c in optimized.computations
        for i in c.instructions
        if i.opcode == "concatenate"
    )
    assert widest <= MOST_PARTS
    expected = (X * np.arange(count, dtype=np.float32)[:, None]).reshape(-1)
    np.testing.assert_array_equal(compile(module)(X)[0], expected)


def test_a_reducer_may_be_of_any_size():
    """Its code is made in order, not by recursion from its result."""
    lines = ["a = f32[] parameter(0)", "b = f32[] parameter(1)", "v0 = f32[] add(a, b)"]
    lines += [f"v{i} = f32[] negate(v{i - 1})" for i in range(1, 3001)]
    reducer = "sum {\n" + "\n".join(lines[:-1]) + f"\nROOT {lines[-1]} }}\n"
    entry = ["x = f32[2,8]{1,0} parameter(0)", "z = f32[] constant(0)"]
    entry.append("ROOT w = f32[2]{0} reduce(x, z), dimensions={1}, to_apply=sum")
    reduce = parse(f"HloModule m\n{reducer}ENTRY e {{\n" + "\n".join(entry) + "\n}\n")
    unsimplified = Options(disabled=("simplify",))
    (got,) = compile(reduce, options=unsimplified)(np.stack([X, X]))
    np.testing.assert_allclose(got, [X.sum()] * 2, rtol=1e-6)


def test_loops_nest_a_thousand_deep():
    state = f"(s32[], {F})"
    head = f"s = {state} parameter(0) i = s32[] get-tuple-element(s), index=0"
    parts = [
        f"less {{ {head} n = s32[] constant(1) ROOT l = pred[] compare(i, n), direction=LT }}\n"
    ]
    for i in range(1000):
        again = f"l = {state} while(t), condition=less, body=b{i - 1}"
        inner = f"{again} w = {F} get-tuple-element(l), index=1" if i else f"w = {F} negate(x)"
        parts.append(
            f"b{i} {{ {head} x = {F} get-tuple-element(s), index=1 z = s32[] constant(0)\n"
            f"t = {state} tuple(z, x) {inner} one = s32[] constant(1)\n"
            f"j = s32[] add(i, one) ROOT r = {state} tuple(j, w) }}\n"
        )
    entry = [f"x = {F} parameter(0)", "z = s32[] constant(0)", f"t = {state} tuple(z, x)"]
    entry += [f"l = {state} while(t), condition=less, body=b999"]
    entry += [f"ROOT w = {F} get-tuple-element(l), index=1"]
    module = program(entry, "".join(parts))
    # Loops of one round are taken apart otherwise.
    kept = Options(disabled=("loops", "unroll", "value-ranges", "simplify"))
    np.testing.assert_array_equal(compile(module, options=kept)(X)[0], -X)


def test_all_movement_sinks_below_an_operation_in_one_round():
    """A chain of movement that cannot be merged, longer than the pipeline has rounds."""
    matrix, turned = "f32[4,6]{1,0}", "f32[6,4]{1,0}"
    entry = [f"v0 = {matrix} parameter(0)"]
    for i in range(1, 201):
        entry.append(f"t{i} = {turned} transpose(v{i - 1}), dimensions={{1,0}}")
        entry.append(f"v{i} = {matrix} reshape(t{i})")
    module = program([*entry, f"ROOT r = {matrix} negate(v200)"])
    moved = Sinking()(module).entry
    assert moved.instructions[1].opcode == "negate"
    assert moved.root.opcode == "reshape"
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    expected = array
    for _ in range(200):
        expected = expected.T.reshape(4, 6)
    np.testing.assert_array_equal(compile(module)(array)[0], -expected)


@pytest.mark.parametrize(("name", "most"), [("sine", 8), ("tanh", 21), ("negate", 128)])
def test_kernels_hold_the_less_operations_the_more_code_these_are(name, most):
    entry = [f"v0 = {F} parameter(0)"]
    entry += [f"v{i} = {F} {name}(v{i - 1})" for i in range(1, 300)]
    entry[-1] = f"ROOT {entry[-1]}"
    fused = Fusion()(program(entry))
    held = [len(c.instructions) - 1 for c in fused.computations if c is not fused.entry]
    assert max(held) == most


def reducing(parts, step):
    """A reduction of two rows whose computation, after others, is `step` of a and b."""
    sums = f"sum {{ a = f32[] parameter(0) b = f32[] parameter(1) {step} }}\n"
    entry = ["x = f32[2,8]{1,0} parameter(0)", "z = f32[] constant(0)"]
    entry.append("ROOT w = f32[2]{0} reduce(x, z), dimensions={1}, to_apply=sum")
    return program(entry, "".join(parts) + sums)


def test_a_reducer_chooses_among_many_branches_by_halves():
    """Each element picks the branch of its number, and what is outside of the range the last."""
    parts = [
        f"b{i} {{ x = f32[] parameter(0) c = f32[] constant({i * i}) ROOT r = f32[] add(x, c) }}\n"
        for i in range(301)
    ]
    listed, operands = ", ".join(f"b{i}" for i in range(301)), ", ".join(["a"] * 301)
    step = f"k = s32[] convert(b) ROOT c = f32[] conditional(k, {operands}), "
    module = reducing(parts, f"{step}branch_computations={{{listed}}}")
    rows = np.array([[0, 1, 2, 150, 151, 299, 300, 7], [301, -1, 9e9, -9e9, 149, 75, 76, 1]], "f4")
    index = np.where((rows >= 0) & (rows <= 300), rows, 300)
    kept = Options(disabled=("conditionals", "simplify", "split-reductions"))
    (got,) = compile(module, options=kept)(rows)
    np.testing.assert_array_equal(got, (index * index).sum(axis=1))


def test_control_flow_in_a_reducer_nests_to_a_limit():
    parts = ["n0 { x = f32[] parameter(0) ROOT r = f32[] negate(x) }\n"]
    for i in range(1, 400):
        parts.append(
            f"n{i} {{ x = f32[] parameter(0) z = f32[] constant({i}) p = pred[] compare(x, z), "
            f"direction=LT ROOT c = f32[] conditional(p, x, x), true_computation=n{i - 1}, "
            f"false_computation=n0 }}\n"
        )
    step = (
        "q = pred[] compare(a, b), direction=LT ROOT c = f32[] conditional(q, a, b), "
        "true_computation=n399, false_computation=n0"
    )
    kept = Options(disabled=("conditionals", "simplify"))
    with pytest.raises(UnsupportedError, match="nest 33 deep; the limits are 20,000 and 32"):
        compile(reducing(parts, step), options=kept)
    twice = [
        part.replace("false_computation=n0", f"false_computation=n{i - 1}")
        for i, part in enumerate(parts[:26])
    ]
    with pytest.raises(UnsupportedError, match="instructions with the computations that it runs"):
        compile(reducing(twice, step.replace("n399", "n25")), options=kept)
