"""Layouts: what they make of transposes, what keeps its own, and that values stay the same."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfc.hlo import Module, evaluate, parse, verify
from tfc.hlo.ir import Attributes, Computation, Instruction
from tfc.hlo.shape import BF16, F32, F64, PRED, S32, U8, Shape, to_memory
from tfc.passes.analysis.aliases import is_bitcast
from tfc.passes.analysis.called import control_computations
from tfc.passes.analysis.dimension_orders import backward, forward, order_of, row_major, settled
from tfc.passes.layout import layout
from tfc.passes.layout.layout import Layouts
from tfc.passes.layout.layout_choice import Choice, Takes, is_free
from tfc.passes.rewriting.decisions import Taken
from tfc.testing import arguments_for, modules
from tfc.testing.compare import flat
from tfc.testing.fuzz import problem


class AnyOrder(Choice):
    """Gives every value that may have one a random order, so that every kernel meets every one."""

    seed = 0

    def __init__(self, computation: Computation, takes: Takes):
        self.computation, self.asked = computation, set()
        generator = random.Random(self.seed)
        self.orders = {}
        for x in computation.instructions:
            if isinstance(x.shape, Shape):
                order = list(row_major(x.shape.rank))
                generator.shuffle(order)
                self.orders[x] = settled(x.shape.dims, order) if is_free(x) else order_of(x.shape)


@settings(max_examples=40)
@given(modules(10, element_types=(F32, S32, PRED, BF16, F64, U8), max_rank=4), st.integers(0, 99))
def test_every_kernel_reads_and_writes_any_order(module: Module, seed: int) -> None:
    arguments = tuple(arguments_for(module, np.random.default_rng(seed)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnyOrder, "seed", seed)
        patch.setattr(layout, "Choice", AnyOrder)
        patch.setattr(layout, "_may_gain", lambda _: True)
        assert problem(module, arguments, "cpu") is None


@given(modules(14, element_types=(F32, S32, PRED, F64, U8), max_rank=4), st.integers(0, 99))
def test_values_and_what_is_given_stay(module: Module, seed: int) -> None:
    after = Layouts()(module)
    verify(after)
    for x, y in zip(module.entry.parameters, after.entry.parameters):
        assert x.shape == y.shape
    assert after.entry.root.shape == module.entry.root.shape
    arguments = arguments_for(module, np.random.default_rng(seed))
    expected, got = (flat(evaluate(m, *arguments)) for m in (module, after))
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    assert moved_bytes(after) <= moved_bytes(module)


def moved_bytes(module: Module) -> int:
    """The bytes that copies and transposes move."""
    steps = (x for c in control_computations(module) for x in c.instructions)
    moving = (x for x in steps if x.opcode in ("copy", "reshape", "transpose"))
    return sum(x.array_shape.byte_size for x in moving
               if isinstance(x.shape, Shape) and not is_bitcast(x))  # fmt: skip


@given(modules(10, max_rank=4), st.randoms(use_true_random=False))
def test_orders_put_every_element_at_its_place(module: Module, generator: random.Random) -> None:
    """`forward` and `backward` undo each other, and a bitcast is what leaves memory as it is."""
    for x in module.entry.instructions:
        if x.opcode not in ("reshape", "transpose"):
            continue
        dims = x.operands[0].array_shape.dims
        order = list(range(len(dims)))
        generator.shuffle(order)
        order = settled(dims, order)
        there = forward(x, 0, order)
        if there is None:
            continue
        assert backward(x, 0, there) == order
        shape = layout.shape_in(x.operands[0].array_shape, order)
        laid = Instruction("parameter", (), shape, Attributes(number=0))
        made = x.with_(operands=(laid,), shape=layout.shape_in(x.array_shape, there))
        numbers = np.arange(x.array_shape.size).astype(x.array_shape.element_type.dtype)
        array = numbers.reshape(dims)
        moved = evaluate(Module("m", Computation.make("e", [laid], made)), array)
        before = to_memory(array, laid.array_shape)
        np.testing.assert_array_equal(before, to_memory(moved, made.array_shape))
        assert is_bitcast(made)


def laid_out(lines: str, before: str = "") -> Module:
    module = parse(f"{before}\nENTRY main {{\n{lines.replace(';', chr(10))}\n}}")
    after = Layouts()(module)
    verify(after)
    return after


def steps(module: Module) -> Counter[str]:
    """What code runs for, in the entry."""
    return Counter(
        x.opcode for x in module.entry.instructions
        if x.opcode not in ("parameter", "constant", "tuple") and not is_bitcast(x)
    )  # fmt: skip


def test_a_module_without_transposes_stays_as_it_is() -> None:
    lines = "x = f32[2,3] parameter(0); ROOT y = f32[6] reshape(x)"
    module = parse(f"ENTRY main {{\n{lines.replace(';', chr(10))}\n}}")
    assert Layouts()(module) is module


def test_a_result_of_a_dot_is_laid_out_as_its_user_wants_it() -> None:
    after = laid_out(
        "x = f32[4,5] parameter(0); y = f32[5,6] parameter(1);"
        "d = f32[4,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
        "n = f32[4,6] negate(d); ROOT t = f32[6,4] transpose(n), dimensions={1,0}"
    )
    # The dot of the operands in the other order has its columns as neighbours.
    assert steps(after) == {"dot": 1, "negate": 1}
    (dot,) = (x for x in after.entry.instructions if x.opcode == "dot")
    assert dot.array_shape == Shape(F32, (6, 4))


def test_where_orders_meet_the_least_is_copied() -> None:
    after = laid_out(
        "x = f32[64,64] parameter(0); y = f32[64,64] parameter(1);"
        "s = f32[4,64] slice(x), slice={[0:4], [0:64]}; t = f32[64,4] transpose(s), "
        "dimensions={1,0}; z = f32[] constant(0); p = f32[64,64] pad(t, z), padding=0_0x0_60;"
        "e = f32[64,64] exponential(p); ROOT a = f32[64,64] add(e, y)"
    )
    assert steps(after) == {"slice": 1, "pad": 1, "exponential": 1, "add": 1}
    orders = {x.opcode: order_of(x.array_shape) for x in after.entry.instructions}
    assert (orders["slice"], orders["transpose"], orders["pad"]) == ((1, 0), (0, 1), (1, 0))


def test_a_constant_is_laid_out_when_compiling() -> None:
    after = laid_out(
        "x = f32[2,3] parameter(0); t = f32[3,2] transpose(x), dimensions={1,0};"
        "c = f32[3,2] constant({{1,2},{3,4},{5,6}}); a = f32[3,2] add(t, c);"
        "ROOT u = f32[2,3] transpose(a), dimensions={1,0}"
    )
    assert steps(after) == {"add": 1}


@settings(max_examples=25)
@given(
    st.tuples(*[st.sampled_from([1, 2, 3, 9])] * 5),
    *[st.permutations(range(4))] * 3,
)
def test_a_batch_lies_in_two_directions(sizes, left, right, out) -> None:
    """dot over two batch dimensions with operands and result transposed in any way."""
    a, b, m, k, n = sizes

    def turned(order: list[int], dims: list[int]) -> str:
        return "f32[" + ",".join(str(dims[d]) for d in order) + "]"

    def batch(order: list[int]) -> str:
        return f"{{{order.index(0)},{order.index(1)}}}"

    module = parse(
        f"ENTRY main {{\n x = {turned(left, [a, b, m, k])} parameter(0)\n"
        f" y = {turned(right, [a, b, k, n])} parameter(1)\n d = f32[{a},{b},{m},{n}] dot(x, y), "
        f"lhs_batch_dims={batch(left)}, lhs_contracting_dims={{{left.index(3)}}}, "
        f"rhs_batch_dims={batch(right)}, rhs_contracting_dims={{{right.index(2)}}}\n"
        f" ROOT t = {turned(out, [a, b, m, n])} transpose(d), "
        f"dimensions={{{','.join(map(str, out))}}}\n}}"
    )
    arguments = tuple(arguments_for(module, np.random.default_rng(0)))
    assert problem(module, arguments, "cpu") is None


LOOP = """
test { s = (s32[], f32[2,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[2,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[2,3] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  t = f32[3,2] transpose(x), dimensions={1,0}
  e = f32[3,2] tanh(t)
  u = f32[2,3] transpose(e), dimensions={1,0}
  ROOT r = (s32[], f32[2,3]) tuple(j, u) }
"""


def test_the_state_of_a_loop_keeps_its_layout() -> None:
    after = laid_out(
        "x = f32[3,2] parameter(0); y = f32[2,3] transpose(x), dimensions={1,0};"
        "z = s32[] constant(0); q = (s32[], f32[2,3]) tuple(z, y);"
        "w = (s32[], f32[2,3]) while(q), condition=test, body=body;"
        "v = f32[2,3] get-tuple-element(w), index=1;"
        "ROOT r = f32[3,2] transpose(v), dimensions={1,0}",
        LOOP,
    )
    (body,) = (c for c in after.computations if c.name == "body")
    assert all(is_bitcast(x) for x in body.instructions if x.opcode == "transpose")
    assert body.root.shape == body.parameters[0].shape
    assert steps(after) == {"transpose": 2, "while": 1, "get-tuple-element": 1}


def test_what_a_call_takes_keeps_its_layout() -> None:
    after = laid_out(
        "x = f32[2,3] parameter(0); t = f32[3,2] transpose(x), dimensions={1,0};"
        'ROOT c = f32[3,2] custom-call(t), custom_call_target="f"'
    )
    assert steps(after) == {"transpose": 1, "custom-call": 1}


def test_copies_and_transposes_are_reported() -> None:
    module = parse(
        "ENTRY main {\n x = f32[2,3] parameter(0)\n t = f32[3,2] transpose(x), dimensions={1,0}\n"
        " e = f32[3,2] tanh(t)\n y = f32[3,2] parameter(1)\n ROOT a = f32[3,2] add(e, y)\n}"
    )
    assert Layouts().explain(module) == (
        Taken("copy to f32[3,2]{1,0}, 24 bytes", "e"),
        Taken("a transpose to f32[3,2]{0,1} that moves no byte", "t"),
    )


@pytest.mark.parametrize("dims", ["0,3", "3,0", "1,1"])
def test_arrays_without_an_order_stay_row_major(dims: str) -> None:
    turned = ",".join(reversed(dims.split(",")))
    after = laid_out(
        f"x = f32[{dims}] parameter(0); t = f32[{turned}] transpose(x), dimensions={{1,0}};"
        f"ROOT n = f32[{turned}] negate(t)"
    )
    assert all(x.array_shape.has_default_layout for x in after.entry.instructions)
