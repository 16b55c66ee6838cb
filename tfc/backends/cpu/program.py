"""The program: the MLIR module of a whole HLO module for CPU.

One private function a kernel (equal kernels are emitted once), and one entry that walks the
computations and calls them over the planned buffers:

    func @NAME.body(%arg0: memref<Bxi8> …, %result0: memref<Bxi8> …,
                    %arena: memref<Bxi8>, %constants: memref<Bxi8>) -> i32

Every buffer is a view of one of these. Loops and conditionals of HLO become scf.while and scf.if
around the calls. The result is 0, or what a function outside of the code returned that failed: then
loops end and nothing outside is called any more.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tfc.backends.cpu.calls import Callee, call_shapes, declare, emit_call
from tfc.backends.cpu.kernels import emit_kernel, workspace_shape
from tfc.backends.cpu.sharing import Shared, chunk_bytes, chunks_of
from tfc.backends.cpu.timing import Clock, Site
from tfc.backends.mlir.functions import make_internal
from tfc.backends.mlir.kernels import Kernel, buffer_types, is_silent, kernel_of, memref_type
from tfc.backends.mlir.loops import index_constant
from tfc.backends.mlir.provider import arith, func, ir, memref, scf
from tfc.backends.mlir.value import from_memory
from tfc.backends.target import Target
from tfc.errors import UnsupportedError
from tfc.hlo.control import branches
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.shape import PRED, S32, Shape, leaves
from tfc.passes.buffers import BufferAssignment, Slice


@dataclass(frozen=True)
class Program:
    """The emitted MLIR module, its functions, and the places that call them or copy bytes."""

    module: Any
    kernel_names: tuple[str, ...]
    sites: tuple[Site, ...]
    shared: tuple[Shared, ...] = ()


def emit_program(
    module: Module,
    assignment: BufferAssignment,
    name: str,
    target: Target,
    callees: Mapping[Instruction, Callee],
    timed: bool = False,
    cores: int = 1,
) -> Program:
    """Emit a module whose buffers are assigned; a new MLIR context belongs to the result.

    Args:
        callees: what the instructions call that functions outside of the code run.
        timed: with a clock around each site; see timing.py.
        cores: how many threads share large kernels; see sharing.py.

    Raises:
        UnsupportedError: some instruction has no code on CPU.
    """
    with ir.Context(), ir.Location.unknown():
        emitter = _ProgramEmitter(module, assignment, name, target, callees, cores)
        if timed:
            emitter.clock = Clock(name, emitter.mlir.body)
        emitter.emit()
        return Program(
            emitter.mlir,
            tuple(emitter.kernels.values()),
            tuple(emitter.sites),
            tuple(emitter.shared.values()),
        )


class _ProgramEmitter:
    def __init__(
        self,
        module: Module,
        assignment: BufferAssignment,
        name: str,
        target: Target,
        callees: Mapping[Instruction, Callee],
        cores: int,
    ):
        self.hlo, self.assignment, self.name, self.target = module, assignment, name, target
        self.callees, self.cores = callees, cores
        self.mlir = ir.Module.create()
        self.kernels: dict[Hashable, str] = {}
        self.shared: dict[str, Shared] = {}
        self.sites: list[Site] = []
        self.clock: Clock | None = None
        self.spaces: dict[tuple[str, int], Any] = {}
        self.status: Any = None  # where the status is, if something may fail

    def emit(self) -> None:
        entry = self.hlo.entry
        parameters = [s for p in entry.parameters for s in leaves(p.shape)]
        results = list(leaves(entry.root.shape))
        sizes = [s.byte_size for s in (*parameters, *results)]
        sizes += [self.assignment.arena_size, self.assignment.constant_size]
        types = [ir.MemRefType.get([n], ir.IntegerType.get_signless(8)) for n in sizes]
        with ir.InsertionPoint(self.mlir.body):
            function = func.FuncOp(f"{self.name}.body", (types, [_i32()]))
            make_internal(function)
        block = function.add_entry_block()
        keys = [("parameter", n) for n in range(len(parameters))]
        keys += [("result", n) for n in range(len(results))]
        self.spaces = dict(
            zip([*keys, ("arena", 0), ("constant", 0)], block.arguments, strict=True)
        )
        with ir.InsertionPoint(block):
            if any(c.can_fail for c in self.callees.values()):
                self.status = memref.alloca(ir.MemRefType.get([1], _i32()), [], [])
                self._set_status(arith.constant(_i32(), 0))
            if self.clock is not None:
                self.clock.time_nothing()
            self._computation(entry)
            self._copy_leaves(entry.root, self.assignment.result_slices)
            func.return_([self._get_status()])
        if self.clock is not None:
            self.clock.finish()

    @contextmanager
    def _site(self, instruction: Instruction, function: str, copied: int = 0) -> Iterator[None]:
        """What is emitted inside is one site."""
        self.sites.append(Site(instruction, function, copied))
        begin = self.clock.now() if self.clock is not None else None
        yield
        if self.clock is not None:
            self.clock.record(begin)

    def _computation(self, computation: Computation) -> None:
        for instruction in computation.instructions:
            if instruction.opcode == "while":
                self._while(instruction)
            elif instruction.opcode == "conditional":
                self._conditional(instruction)
            elif instruction in self.callees:
                self._call(instruction)
            elif not is_silent(instruction):
                self._kernel(instruction)

    def _call(self, instruction: Instruction) -> None:
        """Call a function outside of the code, unless one has failed before."""
        callee = self.callees[instruction]
        key = callee, tuple(str(o.shape) for o in (*instruction.operands, instruction))
        if key not in self.kernels:
            with ir.InsertionPoint(self.mlir.body):
                if not any(isinstance(k, tuple) and k[0] == callee for k in self.kernels):
                    declare(callee)
                self.kernels[key] = f"{self.name}.call.{len(self.kernels)}"
                make_internal(emit_call(self.kernels[key], instruction, callee))
        slices = [
            s for i in (*instruction.operands, instruction) for s in self.assignment.slices[i]
        ]
        shapes = call_shapes(instruction)
        arguments = [self._view(s, memref_type(t)) for s, t in zip(slices, shapes, strict=True)]
        with self._site(instruction, self.kernels[key]):
            if self.status is None:
                func.CallOp([_i32()], self.kernels[key], arguments)
                return
            guarded = scf.IfOp(self._is_well())
            with ir.InsertionPoint(guarded.then_block):
                self._set_status(func.CallOp([_i32()], self.kernels[key], arguments).result)
                scf.yield_([])

    def _set_status(self, value: Any) -> None:
        memref.store(value, self.status, [index_constant(0)])

    def _get_status(self) -> Any:
        if self.status is None:
            return arith.constant(_i32(), 0)
        return memref.load(self.status, [index_constant(0)])

    def _is_well(self) -> Any:
        zero = arith.constant(_i32(), 0)
        return arith.cmpi(arith.CmpIPredicate.eq, self._get_status(), zero)

    def _kernel(self, instruction: Instruction) -> None:
        """Call the function of an instruction's kernel, emitting it the first time."""
        results = self.assignment.slices[instruction]
        kernel = kernel_of(instruction)
        if all(s.size == 0 for s in kernel.results):
            return
        places = {piece: n for n, piece in enumerate(results) if piece.size}
        operands = [self.assignment.slices[o][0] for o in kernel.operands]
        in_place = tuple((n, places[s]) for n, s in enumerate(operands) if s in places)
        if in_place and instruction.opcode == "copy":
            return  # it is there already
        kernel = replace(kernel, in_place=in_place)
        if kernel.key not in self.kernels:
            self.kernels[kernel.key] = self._emit_kernel(instruction, kernel)
        name = self.kernels[kernel.key]
        shared = self.shared.get(name)
        slices = [*(operands[n] for n in kernel.arguments), *results]
        arguments = [self._view(s, t) for s, t in zip(slices, buffer_types(kernel), strict=True)]
        scratch = workspace_shape(kernel, self.target, shared.chunks if shared else 1)
        if scratch is not None:
            piece = self.assignment.workspace.get(instruction, Slice("arena"))
            arguments.append(self._view(piece, memref_type(scratch)))
        with self._site(instruction, name):
            func.CallOp([], shared.caller if shared else name, arguments)

    def _emit_kernel(self, instruction: Instruction, kernel: Kernel) -> str:
        """Emit the function of a kernel, and return its name."""
        name = f"{self.name}.{len(self.kernels)}.{kernel.root.opcode}".replace("-", "_")
        chunks = chunks_of(instruction, self.target, self.cores)
        with ir.InsertionPoint(self.mlir.body):
            emit_kernel(name, kernel, self.target, chunks)
            if chunks > 1:
                types = buffer_types(kernel)
                scratch = workspace_shape(kernel, self.target, chunks)
                if scratch is not None:
                    types.append(memref_type(scratch))
                step = chunk_bytes(scratch) if scratch is not None else 0
                self.shared[name] = Shared(name, len(types), chunks, step)
                func.FuncOp(self.shared[name].caller, (types, []), visibility="private")
        return name

    def _view(self, piece: Slice, memref_type: Any) -> Any:
        """The buffer that a slice is, as elements of its type."""
        base = self.spaces[(piece.space, piece.index)]
        return memref.view(memref_type, base, index_constant(piece.offset), [])

    def _copy_leaves(self, source: Instruction, targets: Sequence[Slice]) -> None:
        """Copy each leaf of a value to its target, unless it is there already."""
        shapes, pieces = list(leaves(source.shape)), self.assignment.slices[source]
        moves = self.assignment.moves(source, targets)
        if not moves:
            return
        with self._site(source, "", sum(shapes[number].byte_size for number in moves)):
            for number in moves:
                kind = memref_type(shapes[number])
                memref.CopyOp(self._view(pieces[number], kind), self._view(targets[number], kind))

    def _scalar(self, instruction: Instruction, shape: Shape) -> Any:
        """The value of a scalar in memory."""
        (piece,) = self.assignment.slices[instruction]
        view = self._view(piece, memref_type(shape))
        return from_memory(memref.load(view, [index_constant(0)]), shape.element_type).value

    def _while(self, loop: Instruction) -> None:
        state = self.assignment.slices[loop]
        condition, body = loop["condition"], loop["body"]
        _require_same_layouts(loop, loop.operands[0], body.root)
        self._copy_leaves(loop.operands[0], state)
        made = scf.WhileOp([], [])
        with ir.InsertionPoint(made.before.blocks.append()):
            self._computation(condition)
            goes_on = self._scalar(condition.root, Shape(PRED))
            if self.status is not None:
                goes_on = arith.andi(goes_on, self._is_well())
            scf.condition(goes_on, [])
        with ir.InsertionPoint(made.after.blocks.append()):
            self._computation(body)
            self._copy_leaves(body.root, state)
            scf.yield_([])

    def _conditional(self, instruction: Instruction) -> None:
        called = branches(instruction)
        for branch in called:
            _require_same_layouts(instruction, branch.root)
        selector = instruction.operands[0]
        if "branch_computations" not in instruction.attributes:
            self._branch(instruction, self._scalar(selector, Shape(PRED)), called)
            return
        # The first branch whose number is the index; any other index takes the last (CND).
        chosen = self._scalar(selector, Shape(S32))
        self._branches(instruction, chosen, called, 0)

    def _branches(
        self, instruction: Instruction, chosen: Any, called: Sequence[Computation], number: int
    ) -> None:
        if number == len(called) - 1:
            self._finish(instruction, called[number])
            return
        wanted = arith.constant(chosen.type, number)
        made = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, chosen, wanted), has_else=True)
        with ir.InsertionPoint(made.then_block):
            self._finish(instruction, called[number])
            scf.yield_([])
        with ir.InsertionPoint(made.else_block):
            self._branches(instruction, chosen, called, number + 1)
            scf.yield_([])

    def _branch(self, instruction: Instruction, test: Any, called: Sequence[Computation]) -> None:
        made = scf.IfOp(test, has_else=True)
        for block, computation in zip((made.then_block, made.else_block), called):
            with ir.InsertionPoint(block):
                self._finish(instruction, computation)
                scf.yield_([])

    def _finish(self, instruction: Instruction, branch: Computation) -> None:
        """Run a branch and put its result where the conditional's is."""
        self._computation(branch)
        self._copy_leaves(branch.root, self.assignment.slices[instruction])


def _i32() -> Any:
    return ir.IntegerType.get_signless(32)


def _require_same_layouts(instruction: Instruction, *sources: Instruction) -> None:
    """A buffer that several values share is copied byte for byte, so they must lie alike."""
    for source in sources:
        if list(leaves(source.shape)) != list(leaves(instruction.shape)):
            raise UnsupportedError(
                f"{instruction.name} needs {source.name} in the layout {instruction.shape}, "
                f"got {source.shape}; put a copy with that layout between them"
            )
