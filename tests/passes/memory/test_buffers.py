"""Buffers: nothing alive at one time overlaps, and running over the planned memory is right."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfc.errors import InternalError
from tfc.hlo import Module, builder, evaluate, parse, verify
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import op_named
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import F32, PRED, S32, AnyShape, Layout, Shape, from_memory, leaves, to_memory
from tfc.passes import default_pipeline
from tfc.passes.analysis.aliases import is_alias
from tfc.passes.analysis.in_place import overwritable
from tfc.passes.expand.inline import Flatten, Inline
from tfc.passes.memory.buffers import BufferAssignment, Slice, assign_buffers
from tfc.passes.memory.copies import Copies
from tfc.passes.memory.packing import Block, aligned, pack
from tfc.passes.memory.packing import _pack_by_time as pack_by_time
from tfc.passes.memory.packing import _pack_in_order as pack_in_order
from tfc.runtime.arrays import copied
from tfc.testing import arguments_for, modules

POISON = 0x5A


class Machine:
    """Runs a module over the memory that an assignment plans, as a backend does."""

    def __init__(self, module: Module, assignment: BufferAssignment, arguments: list[Any]):
        self.module, self.plan, self.moved = module, assignment, 0
        flat = [a for value in arguments for a in flatten(value)]
        shapes = [s for p in module.entry.parameters for s in leaves(p.shape)]
        self.memory = {
            "arena": [np.full(assignment.arena_size, POISON, np.uint8)],
            "constant": [np.full(assignment.constant_size, POISON, np.uint8)],
            "parameter": [to_memory(a, s).view(np.uint8) for a, s in zip(flat, shapes)],
            "result": [np.full(s.size, POISON, np.uint8) for s in assignment.result_slices],
        }
        for offset, literal in assignment.constants:
            raw = np.frombuffer(literal.array.tobytes(), np.uint8)
            self.memory["constant"][0][offset : offset + raw.size] = raw

    def run(self) -> list[np.ndarray]:
        self.computation(self.module.entry)
        root = self.module.entry.root
        self.move(root, self.plan.result_slices)
        shapes = leaves(root.shape)
        return [self.load(s, shape) for s, shape in zip(self.plan.result_slices, shapes)]

    def bytes(self, at: Slice) -> np.ndarray:
        return self.memory[at.space][at.index][at.offset : at.offset + at.size]

    def move(self, source: Instruction, targets: Sequence[Slice]) -> None:
        for number in self.plan.moves(source, targets):
            self.bytes(targets[number])[:] = self.bytes(self.plan.slices[source][number])
            self.moved += 1

    def load(self, at: Slice, shape: Shape) -> np.ndarray:
        return from_memory(self.bytes(at).view(shape.element_type.dtype), shape)

    def value(self, instruction: Instruction) -> Any:
        parts = zip(self.plan.slices[instruction], leaves(instruction.shape))
        return unflatten(instruction.shape, iter([self.load(s, shape) for s, shape in parts]))

    def computation(self, computation: Computation) -> None:
        for instruction in computation.instructions:
            match instruction.opcode:
                case "parameter" | "constant":
                    pass
                case "while":
                    self.loop(instruction)
                case "conditional":
                    self.choose(instruction)
                case _ if not is_alias(instruction) and instruction not in self.plan.views:
                    self.kernel(instruction)

    def kernel(self, instruction: Instruction) -> None:
        operands = [self.value(o) for o in instruction.operands]
        copies = [copied(o) for o in operands]
        scratch = self.plan.workspace.get(instruction)
        if scratch is not None:
            self.bytes(scratch)[:] = POISON
        result = op_named(instruction.opcode).evaluate(instruction, copies, evaluate_computation)
        parts = zip(flatten(result), self.plan.slices[instruction], leaves(instruction.shape))
        for array, at, shape in parts:
            self.bytes(at)[:] = to_memory(array, shape).view(np.uint8)
        # Writing the result leaves the operands alone, but those that it may overwrite.
        over = set(self.plan.slices[instruction])
        mine = [overwritten for overwritten, _ in overwritable(instruction)]
        for number, operand in enumerate(instruction.operands):
            if number in mine and self.plan.slices[operand][0] in over:
                continue
            pair = flatten(copies[number]), flatten(self.value(operand))
            assert all(a.tobytes() == b.tobytes() for a, b in zip(*pair))

    def loop(self, instruction: Instruction) -> None:
        condition, body = instruction["condition"], instruction["body"]
        self.move(instruction.operands[0], self.plan.slices[instruction])
        while True:
            self.computation(condition)
            if not self.value(condition.root):
                return
            self.computation(body)
            self.move(body.root, self.plan.slices[instruction])

    def choose(self, instruction: Instruction) -> None:
        called, selector = branches(instruction), self.value(instruction.operands[0])
        if "branch_computations" in instruction.attributes:
            number = int(selector) if 0 <= selector < len(called) else len(called) - 1
        else:
            number = 0 if selector else 1
        self.computation(called[number])
        self.move(called[number].root, self.plan.slices[instruction])


def flatten(value: Any) -> list[np.ndarray]:
    return [a for v in value for a in flatten(v)] if isinstance(value, tuple) else [np.array(value)]


def unflatten(shape: AnyShape, arrays: Any) -> Any:
    if isinstance(shape, Shape):
        return next(arrays)
    return tuple(unflatten(e, arrays) for e in shape.elements)


def flat_module(module: Module) -> Module:
    for each in (Inline(), Flatten(), Copies()):
        module = each(module)
    verify(module)
    return module


def check(module: Module, seed: int = 0, scratch: int = 0) -> BufferAssignment:
    """Run a flat module over its plan and compare with the evaluator."""
    plan = assign_buffers(module, lambda i: scratch if i.opcode in ("negate", "dot") else 0)
    arguments = arguments_for(module, np.random.default_rng(seed), "whole")
    expected = flatten(evaluate(module, *arguments))
    for a, b in zip(expected, Machine(module, plan, arguments).run()):
        np.testing.assert_array_equal(a, b, strict=True)
    assert plan.lower_bound <= plan.arena_size
    return plan


@given(modules(16, element_types=(F32, S32, PRED)), st.sampled_from([0, 100]))
def test_random_modules_run_over_their_memory(module: Module, scratch: int) -> None:
    check(flat_module(module), scratch=scratch)


@given(modules(16, element_types=(F32, S32, PRED)))
def test_random_modules_run_over_their_memory_after_all_passes(module: Module) -> None:
    check(default_pipeline().run(module), scratch=64)


def loop_module(returned: str, count: int = 3) -> Module:
    return parse(
        f"""
        test {{ s = (s32[], f32[], f32[]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          n = s32[] constant({count})
          ROOT c = pred[] compare(i, n), direction=LT }}
        body {{ s = (s32[], f32[], f32[]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          a = f32[] get-tuple-element(s), index=1
          b = f32[] get-tuple-element(s), index=2
          k = f32[] constant(7)
          one = s32[] constant(1)
          j = s32[] add(i, one)
          t = f32[] add(a, b)
          u = f32[1] reshape(a)
          v = f32[] reshape(u)
          ROOT r = (s32[], f32[], f32[]) tuple(j, {returned}) }}
        ENTRY main {{ x = f32[] parameter(0)
          y = f32[] parameter(1)
          z = s32[] constant(0)
          q = (s32[], f32[], f32[]) tuple(z, x, y)
          w = (s32[], f32[], f32[]) while(q), condition=test, body=body
          c = f32[] get-tuple-element(w), index=1
          d = f32[] get-tuple-element(w), index=2
          ROOT o = (f32[], f32[], f32[]) tuple(c, d, x) }}
        """
    )


@pytest.mark.parametrize(
    ("returned", "copies", "moves"),
    [("a, b", 0, 0), ("b, a", 1, 2), ("t, a", 0, 2), ("t, t", 0, 1), ("k, k", 0, 2),
     ("b, v", 1, 2), ("v, t", 0, 0), ("a, t", 0, 0)],
)  # fmt: skip
def test_only_state_that_changes_places_is_copied(returned: str, copies: int, moves: int) -> None:
    module = flat_module(loop_module(returned))
    plan = check(module)
    (body,) = (c for c in module.computations if c.name == "body")
    (loop,) = (i for i in module.entry.instructions if i.opcode == "while")
    assert sum(i.opcode == "copy" for i in body.instructions) == copies
    assert len(plan.moves(body.root, plan.slices[loop])) == moves
    assert Copies()(module) is module


def test_values_go_straight_into_the_results() -> None:
    module = parse(
        "ENTRY main { x = f32[8] parameter(0)\n k = f32[8] constant({1,2,3,4,5,6,7,8})\n"
        " e = f32[8] exponential(x)\n n = f32[8] negate(e)\n r = f32[2,4] reshape(n)\n"
        " ROOT t = (f32[8], f32[8], f32[8], f32[8], f32[2,4]) tuple(e, e, x, k, r) }"
    )
    plan = check(module)
    spaces = [(s.space, s.index) for s in plan.slices[module.entry.root]]
    assert spaces == [
        ("result", 0), ("result", 0), ("parameter", 0), ("constant", 0), ("result", 4),
    ]  # fmt: skip
    assert plan.result_slices == tuple(Slice("result", k, 0, 32) for k in range(5))
    assert plan.arena_size == 0


def test_memory_is_used_again() -> None:
    plan = assign_buffers(chain(20, reversed_))
    assert plan.arena_size == plan.lower_bound == 1024  # and the result's memory


def reversed_(x: Instruction) -> Instruction:
    return builder.instruction("reverse", [x], dimensions=(0,))


def chain(length: int, step: Callable[[Instruction], Instruction]) -> Module:
    """A step applied to f32[256] again and again."""
    x = builder.parameter(0, Shape(F32, (256,)))
    value: Instruction = x
    for _ in range(length):
        value = step(value)
    return Module("m", Computation.make("main", [x], value))


def test_elementwise_steps_write_over_their_operand() -> None:
    plan = assign_buffers(chain(20, lambda x: builder.unary("tanh", x)))
    assert plan.arena_size == 0  # all of them in the result
    module = chain(3, lambda x: builder.binary("add", x, builder.unary("negate", x)))
    assert check(module).arena_size == 1024  # x is needed beside its negation


def test_equal_constants_share_their_place() -> None:
    ones = [builder.constant(np.ones(3, np.float32)) for _ in range(2)]
    root = builder.binary("add", ones[0], ones[1])
    module = Module("m", Computation.make("main", [], root))
    plan = check(module)
    assert len(plan.constants) == 1
    assert plan.constant_size == 64


def test_constants_lie_as_their_layout_says() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    shape = Shape(F32, (2, 3), Layout((0, 1)))
    constant = builder.constant(array).with_(shape=shape)
    module = Module("m", Computation.make("main", [], builder.unary("negate", constant)))
    check(module)


def test_branches_share_memory() -> None:
    module = parse(
        """
        f { x = f32[64] parameter(0)
          a = f32[64] reverse(x), dimensions={0}
          b = f32[64] reverse(a), dimensions={0}
          d = f32[64] add(b, x)
          ROOT e = f32[64] reverse(d), dimensions={0} }
        g { x = f32[64] parameter(0)
          ROOT a = f32[64] reverse(x), dimensions={0} }
        ENTRY main { p = pred[] parameter(0)
          x = f32[64] parameter(1)
          y = f32[64] negate(x)
          c = f32[64] conditional(p, y, y), true_computation=f, false_computation=g
          ROOT s = f32[2] slice(c), slice={[3:5]} }
        """
    )
    plan = check(module)
    # x, a and b are needed together; c and both branches' results are one buffer.
    assert plan.arena_size == plan.lower_bound == 3 * 256


def test_a_branch_that_changes_nothing_copies_nothing() -> None:
    module = parse(
        """
        f { x = f32[64] parameter(0)
          ROOT a = f32[64] exponential(x) }
        g { ROOT x = f32[64] parameter(0) }
        ENTRY main { p = pred[] parameter(0)
          x = f32[64] parameter(1)
          y = f32[64] negate(x)
          c = f32[64] conditional(p, y, y), true_computation=f, false_computation=g
          ROOT s = f32[64] add(c, c) }
        """
    )
    plan = check(module)
    conditional = module.entry.root.operands[0]
    for branch in branches(conditional):
        assert not plan.moves(branch.root, plan.slices[conditional])
    assert plan.arena_size == 0


def test_modules_that_are_not_flat_are_refused() -> None:
    x = builder.parameter(0, Shape(F32))
    f = Computation.make("f", [x], builder.unary("negate", x))
    y = builder.parameter(0, Shape(F32))
    call = builder.instruction("call", [y], to_apply=f)
    with pytest.raises(InternalError, match="run inline first"):
        assign_buffers(Module("m", Computation.make("main", [y], call)))
    p = builder.parameter(1, Shape(PRED))
    twice = builder.instruction("conditional", [p, y, y], true_computation=f, false_computation=f)
    module = Module("m", Computation.make("main", [y, p], twice))
    with pytest.raises(InternalError, match="run flatten first"):
        assign_buffers(module)
    check(flat_module(module))


blocks = st.builds(
    lambda size, start, length: Block(size, start, start + length),
    st.integers(1, 500), st.integers(0, 30), st.integers(0, 12),
)  # fmt: skip


@given(st.lists(blocks, max_size=40), st.sampled_from(["best", "given", "time"]))
def test_blocks_alive_together_are_apart(some: list[Block], order: str) -> None:
    packing = pack(some)
    offsets = {
        "best": lambda: list(packing.offsets),
        "given": lambda: pack_in_order(some, range(len(some))),
        "time": lambda: pack_by_time(some),
    }[order]()
    assert all(o % 64 == 0 for o in offsets)
    for (i, a), (j, b) in itertools.combinations(enumerate(some), 2):
        if a.start <= b.end and b.start <= a.end:
            apart = offsets[i] + a.size <= offsets[j] or offsets[j] + b.size <= offsets[i]
            assert apart
    if order == "best":
        end = max((o + aligned(b.size) for o, b in zip(offsets, some)), default=0)
        assert packing.lower_bound <= packing.size == end


def test_a_block_that_ends_too_high_is_placed_earlier() -> None:
    """The large block of time 5 fits where two small ones were, if those lie side by side."""
    times = [(4, 0, 5), (4, 0, 5), (2, 0, 3), (2, 0, 2), (2, 2, 3), (2, 3, 6), (4, 5, 6)]
    some = [Block(size * 64, start, end) for size, start, end in times]
    packing = pack(some)
    assert packing.size == packing.lower_bound
    by_size = sorted(range(len(some)), key=lambda i: (-some[i].size, some[i].start - some[i].end))
    offsets = pack_in_order(some, by_size)
    assert max(o + b.size for o, b in zip(offsets, some)) > packing.size


@pytest.mark.parametrize("opcode", ["tanh", "reverse"])
def test_deep_modules_are_planned_in_time(opcode: str) -> None:
    step = reversed_ if opcode == "reverse" else lambda x: builder.unary(opcode, x)
    plan = assign_buffers(chain(10_000, step))
    assert plan.arena_size == plan.lower_bound == (1024 if opcode == "reverse" else 0)


def test_results_lend_their_memory_until_they_are_written() -> None:
    module = parse(
        "ENTRY main { x = f32[64] parameter(0)\n a = f32[64] reverse(x), dimensions={0}\n"
        " b = f32[64] reverse(a), dimensions={0}\n c = f32[64] add(a, b)\n"
        " k = f32[] constant(0)\n p = f32[100] pad(c, k), padding=0_36\n"
        " s = f32[2] slice(c), slice={[3:5]}\n ROOT t = (f32[2], f32[100]) tuple(s, p) }"
    )
    plan = check(module)
    spaces = {s.space for i in module.entry.instructions for s in plan.slices[i]}
    assert spaces == {"parameter", "constant", "result", "arena"}
    assert plan.arena_size == 256  # of a, b and c, where two are needed at one time
