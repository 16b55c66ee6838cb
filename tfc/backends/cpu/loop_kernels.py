"""Kernels that are whole loops: their iterations run the code of the kernels inside, in place.

    whole { …  w = (s32[], f32[], f32[1000]) while(t), condition=c, body=b
            ROOT r = (f32[], f32[1000]) tuple(…) }

    func @whole(%x: memref<4xi8>, …, %result.0: memref<4xi8>, …, %scratch: memref<4096xi8>)
      scf.while { code of c's kernels; load of its result } do { code of b's kernels }

Memory is planned as that of a program is (tfc.passes.memory.buffers), whose arena is the kernel's
scratch memory. What the loop begins with is donated: it lies where the loop ends, or is copied
there. So arrays are updated in place in any number of iterations. Values of few bytes have memory
of their own on the stack instead, which LLVM makes registers of.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from tfc.backends.mlir.arithmetic.value import Scalar, constant
from tfc.backends.mlir.elements import Buffer, memref_type
from tfc.backends.mlir.kernels import Kernel, is_silent, kernel_of
from tfc.backends.mlir.loops import for_each, while_loop
from tfc.backends.mlir.provider import ir, memref, scf
from tfc.backends.mlir.scratch import load_at, store_at
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.literal import Literal
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import PRED, S32, U8, Shape, leaves
from tfc.passes.analysis.called import CONTROL, control_computations
from tfc.passes.analysis.in_place import overwritable_in
from tfc.passes.memory.buffers import BufferAssignment, Slice, assign_buffers

# (kernel, buffers, scratch memory or None, whether the loop has several like it)
Emit = Callable[[Kernel, Sequence[Buffer], Any, bool], None]
Workspace = Callable[[Kernel, bool], Shape | None]  # (kernel, whether the loop has several like it)

_ON_STACK = 256  # bytes of a value
_STRAIGHT = 16  # elements that are copied one by one
_MOST_ALIKE = 2  # kernels that are emitted in place each
_ALIGNMENT = 64


def loop_workspace(kernel: Kernel, workspace: Workspace) -> Shape | None:
    """The scratch memory of a loop's kernel: what its values and the kernels inside need.

    Args:
        workspace: that of a kernel inside.
    """
    plan = _plan_of(kernel, workspace)
    kept = _Kept(plan)
    slices = [s for each in plan.slices.values() for s in each if not kept.on_stack(s)]
    slices += plan.workspace.values()
    end = max((s.offset + s.size for s in slices if s.space == "arena"), default=0)
    return Shape(U8, (end,)) if end else None


def emit_loop(
    kernel: Kernel, memrefs: Sequence[Any], scratch: Any, workspace: Workspace, emit: Emit
) -> None:
    """Emit a kernel whose computation has a loop.

    Args:
        memrefs: the bytes of the arguments and then of the results.
        scratch: the bytes of its scratch memory.
        workspace: what a kernel inside needs of it.
        emit: emits the code of a kernel inside.
    """
    _LoopEmitter(kernel, memrefs, scratch, workspace, emit).emit()


def _plan_of(kernel: Kernel, workspace: Workspace) -> BufferAssignment:
    """Where every value of a loop's kernel lies."""
    computation = kernel.computation
    known = computation.__dict__.get("_loop_plan")
    if known is None:
        alike = _alike(computation)

        def needed(instruction: Instruction) -> int:
            if not _has_kernel(instruction):
                return 0
            inside = kernel_of(instruction)
            shape = workspace(inside, alike[inside.key] > _MOST_ALIKE)
            return 0 if shape is None else shape.byte_size

        pairs = overwritable_in(computation)
        donated = ", ".join(f"{{{result}}}: ({operand}, {{}})" for operand, result in pairs)
        attributes = (("input_output_alias", f"{{{donated}}}"),) if pairs else ()
        plan = assign_buffers(Module("loop", computation, attributes), needed)
        known = computation.__dict__["_loop_plan"] = plan
    return known


def _has_kernel(instruction: Instruction) -> bool:
    return not is_silent(instruction) and instruction.opcode not in CONTROL


def _alike(computation: Computation) -> Counter[Hashable]:
    """How many kernels that run in a loop's kernel are the same, by key."""
    inside = control_computations(Module("loop", computation))
    runs = (i for c in inside for i in c.instructions if _has_kernel(i))
    return Counter(kernel_of(i).key for i in runs)


class _Kept:
    """Which values of a plan lie on the stack: small ones that no other value is a part of."""

    def __init__(self, plan: BufferAssignment):
        self._views = [plan.slices[v][0] for v in plan.views]

    def on_stack(self, place: Slice) -> bool:
        """True if the value in a slice lies on the stack instead."""
        return 0 < place.size <= _ON_STACK and not any(
            (place.space, place.index) == (view.space, view.index)
            and place.offset < view.offset + view.size
            and view.offset < place.offset + place.size
            for view in self._views
        )


class _LoopEmitter:
    """Emits one kernel.

    given: the bytes of each argument; donated ones are where their results are.
    stack: the bytes of values on the stack, by where the plan has them.
    alike: how many kernels inside are the same, by key.
    """

    def __init__(
        self,
        kernel: Kernel,
        memrefs: Sequence[Any],
        scratch: Any,
        workspace: Workspace,
        emit: Emit,
    ):
        self.kernel, self.scratch = kernel, scratch
        self.workspace, self.emit_inside = workspace, emit
        self.plan = plan = _plan_of(kernel, workspace)
        self.kept = _Kept(plan)
        self.results = list(memrefs[len(kernel.arguments) :])
        self.arguments = dict(zip(kernel.arguments, memrefs))
        self.donated = dict(overwritable_in(kernel.computation))
        self.stack: dict[Slice, Any] = {}
        self.constants = dict(plan.constants)
        self.alike = _alike(kernel.computation)
        assert set(kernel.in_place) <= set(self.donated.items())

    def emit(self) -> None:
        """The whole kernel."""
        computation, plan = self.kernel.computation, self.plan
        for number, parameter in enumerate(computation.parameters):
            self._begin(number, parameter.array_shape)
        self._computation(computation)
        root = computation.root
        shapes = list(leaves(root.shape))
        self._move(root, plan.result_slices)
        for number, (place, shape) in enumerate(zip(plan.result_slices, shapes)):
            if self.kept.on_stack(place):
                target = _view(self.results[number], 0, shape)
                _copy(self._buffer(place, shape), target)

    def _begin(self, number: int, shape: Shape) -> None:
        """Put an argument where the plan has it."""
        result = self.donated.get(number)
        here = self.arguments[number] if number in self.arguments else self.results[result or 0]
        place = Slice("parameter", number, 0, shape.byte_size)
        if self.kept.on_stack(place):
            _copy(_view(here, 0, shape), self._buffer(place, shape))
        elif result is not None and number in self.arguments:
            _copy(_view(here, 0, shape), _view(self.results[result], 0, shape))

    def _memory(self, place: Slice) -> tuple[Any, int]:
        """The bytes that hold a slice, and where in them it begins."""
        match place.space:
            case "constant":
                return self._constant(place), 0
            case _ if self.kept.on_stack(place):
                if place not in self.stack:
                    self.stack[place] = _stack_bytes(place.size)
                return self.stack[place], 0
            case "parameter":
                result = self.donated.get(place.index)
                given = self.arguments[place.index] if result is None else self.results[result]
                return given, place.offset
            case "result":
                return self.results[place.index], place.offset
            case _:
                return self.scratch, place.offset

    def _constant(self, place: Slice) -> Any:
        """A constant, which the kernel stores once, when it begins."""
        key = Slice("constant", 0, place.offset)
        if key not in self.stack:
            literal: Literal = self.constants[place.offset]
            self.stack[key] = made = _stack_bytes(place.size)
            shape = Shape(literal.shape.element_type, (literal.array.size,))
            with ir.InsertionPoint.after(made.owner):
                buffer = _view(made, 0, shape)
                for n, number in enumerate(literal.array.reshape(-1)):
                    store_at(constant(shape.element_type, number), buffer, index_value(n))
        return self.stack[key]

    def _buffer(self, place: Slice, shape: Shape) -> Buffer:
        """An array in a slice."""
        return _view(*self._memory(place), shape)

    def _scalar(self, instruction: Instruction, element_type: Any) -> Scalar:
        """The value of a scalar instruction."""
        (place,) = self.plan.slices[instruction]
        return load_at(self._buffer(place, Shape(element_type)), index_value(0))

    def _computation(self, computation: Computation) -> None:
        for instruction in computation.instructions:
            if instruction.opcode == "while":
                self._while(instruction)
            elif instruction.opcode == "conditional":
                self._conditional(instruction, list(enumerate(branches(instruction))))
            elif not is_silent(instruction) and instruction not in self.plan.views:
                self._kernel(instruction)

    def _kernel(self, instruction: Instruction) -> None:
        """The code of a kernel inside."""
        kernel = kernel_of(instruction)
        places = self.plan.slices[instruction]
        if all(place.size == 0 for place in places):
            return
        operands = [self.plan.slices[o][0] for o in kernel.operands]
        in_place = self.plan.in_place(instruction, kernel.operands)
        if in_place and instruction.opcode == "copy":
            return  # it is there already
        key = kernel.key
        kernel = Kernel(kernel.computation, kernel.operands, kernel.results, in_place)
        passed = [self._buffer(operands[n], kernel.operand_shapes[n]) for n in kernel.arguments]
        made = [self._buffer(place, shape) for place, shape in zip(places, kernel.results)]
        repeated = self.alike[key] > _MOST_ALIKE
        scratch, wanted = None, self.workspace(kernel, repeated)
        if wanted is not None:
            # What is empty may lie anywhere.
            place = self.plan.workspace.get(instruction, Slice("result"))
            scratch = self._buffer(place, wanted).memref
        buffers = kernel.buffers([b.memref for b in (*passed, *made)])
        self.emit_inside(kernel, buffers, scratch, repeated)

    def _move(self, source: Instruction, targets: Sequence[Slice]) -> None:
        """Copy each leaf of a value to its target, unless it is there already."""
        shapes = list(leaves(source.shape))
        pieces = self.plan.slices[source]
        for number in self.plan.moves(source, targets):
            shape = shapes[number]
            _copy(self._buffer(pieces[number], shape), self._buffer(targets[number], shape))

    def _while(self, loop: Instruction) -> None:
        condition, body = loop["condition"], loop["body"]
        state = self.plan.slices[loop]
        self._move(loop.operands[0], state)

        def goes_on(_: Sequence[Any]) -> Any:
            self._computation(condition)
            return self._scalar(condition.root, PRED).value

        def following(_: Sequence[Any]) -> Sequence[Any]:
            self._computation(body)
            self._move(body.root, state)
            return []

        while_loop([], goes_on, following)

    def _conditional(
        self, instruction: Instruction, some: Sequence[tuple[int, Computation]]
    ) -> None:
        """The first of some branches if the index is its number, else one of the others."""
        (number, branch), *rest = some
        if not rest:
            self._computation(branch)
            self._move(branch.root, self.plan.slices[instruction])
            return
        selector = instruction.operands[0]
        by_index = "branch_computations" in instruction.attributes
        value = self._scalar(selector, S32 if by_index else PRED)
        chosen = scf.IfOp((value.eq(number) if by_index else value).value, has_else=True)
        for block, inside in ((chosen.then_block, some[:1]), (chosen.else_block, rest)):
            with ir.InsertionPoint(block):
                self._conditional(instruction, inside)
                scf.yield_([])


def _view(memory: Any, offset: int, shape: Shape) -> Buffer:
    """An array in bytes of memory."""
    return Buffer(memref.view(memref_type(shape), memory, index_value(offset), []), shape)


def _stack_bytes(size: int) -> Any:
    """Bytes that each call of the function at hand has; made once, outside of all loops."""
    block = ir.InsertionPoint.current.block
    while block.owner.operation.name != "func.func":
        block = block.owner.operation.block
    bytes_type = memref_type(Shape(U8, (size,)))
    with ir.InsertionPoint.at_block_begin(block):
        return memref.alloca(bytes_type, [], [], alignment=_ALIGNMENT)


def _copy(source: Buffer, target: Buffer) -> None:
    """Copy an array, element by element."""
    count = source.shape.storage_size

    def one(place: Any) -> None:
        store_at(load_at(source, place), target, place)

    if count <= _STRAIGHT:
        for place in range(count):
            one(index_value(place))
    else:
        for_each(0, count, one)
