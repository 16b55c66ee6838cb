"""The program: the kernels of a whole HLO module as MLIR, and the bytecode that runs them.

Each kernel is a private function of its buffers and the number of the chunk to run; equal kernels
are emitted once. What runs when and where is data (runtime/bytecode.py), so that code grows with
the number of different kernels only. Loops and conditionals of HLO are jumps. A program ends with
0, or with what a function outside of the code returned that failed.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from tfc.backends.cpu.calls import Callee, call_operands, call_result, declare, emit_call
from tfc.backends.cpu.kernels import emit_kernel, workspace_shape
from tfc.backends.cpu.products.functions import keep_apart
from tfc.backends.cpu.products.panels import PanelForm, with_panels
from tfc.backends.cpu.runtime.bytecode import Bytecode, Called
from tfc.backends.cpu.runtime.timing import Site
from tfc.backends.cpu.sharing import Shared, chunk_bytes, chunks_of
from tfc.backends.mlir.kernels import Kernel, is_silent, kernel_of
from tfc.backends.mlir.provider import KERNELS, func, ir
from tfc.backends.target import Target
from tfc.errors import InternalError
from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import leaves, lies_alike
from tfc.passes.analysis.called import Walk, run_walk
from tfc.passes.analysis.in_place import overwritable
from tfc.passes.memory.buffers import BufferAssignment, Slice

_TOGETHER = 6  # kernels in a module, of which further ones are emitted while LLVM is at work


@dataclass(frozen=True)
class Program:
    """The emitted MLIR module, what runs its functions, and the places that do or copy bytes."""

    module: Any
    bytecode: Bytecode
    sites: tuple[Site, ...]

    def __str__(self) -> str:
        """The MLIR, with the bytecode as comments."""
        bytecode = "\n".join(f"// {line}" for line in str(self.bytecode).split("\n"))
        return f"{self.module}\n// bytecode\n{bytecode}\n"


def emit_program(
    module: Module,
    assignment: BufferAssignment,
    name: str,
    target: Target,
    callees: Mapping[Instruction, Callee],
    cores: int = 1,
    take: Callable[[Any], None] | None = None,
    panels: Mapping[Instruction, PanelForm] = MappingProxyType({}),
) -> Program:
    """Emit a module whose buffers are assigned, in the thread's MLIR context for kernels.

    Args:
        callees: what the instructions call that functions outside of the code run.
        cores: how many threads share large kernels; see sharing.py.
        take: takes each MLIR module but the last, with the functions that were made since the one
            before, as soon as there are enough for one; without it there is one module.
        panels: of instructions that read a constant in panels, its form.

    Raises:
        UnsupportedError: some instruction has no code on CPU.
    """
    with KERNELS.take(), ir.Location.unknown():
        planned = Planned(module, assignment, callees, panels)
        emitter = _ProgramEmitter(planned, name, target, cores, take)
        emitter.emit()
        return Program(emitter.mlir, emitter.bytecode, tuple(emitter.sites))


@dataclass(frozen=True)
class Planned:
    """A module whose buffers are assigned, what its instructions call, what constants they read."""

    module: Module
    assignment: BufferAssignment
    callees: Mapping[Instruction, Callee]
    panels: Mapping[Instruction, PanelForm] = field(default_factory=dict)


def emit_programs(
    planned: Sequence[Planned], name: str, target: Target, cores: int = 1
) -> list[Program]:
    """Emit several modules as one MLIR module, in which equal kernels are one.

    Returns:
        The program of each, with that module and the sites of all.

    Raises:
        UnsupportedError: some instruction has no code on CPU.
    """
    with KERNELS.take(), ir.Location.unknown():
        first, *others = planned
        emitter = _ProgramEmitter(first, name, target, cores, None)
        emitters = [emitter, *(emitter.beside(other) for other in others)]
        for each in emitters:
            each.emit()
        sites = tuple(emitter.sites)
        return [Program(emitter.mlir, each.bytecode, sites) for each in emitters]


class _ProgramEmitter:
    def __init__(
        self,
        planned: Planned,
        name: str,
        target: Target,
        cores: int,
        take: Callable[[Any], None] | None,
    ):
        self.take, self.name, self.target, self.cores = take, name, target, cores
        self._plan(planned)
        self.mlir = ir.Module.create()
        self.kernels: dict[Hashable, Shared] = {}
        self.calls: dict[tuple[Callee, tuple[str, ...]], str] = {}
        self.sites: list[Site] = []
        self.called: set[str] = set()  # the names of functions that bytecode calls
        self.passed_on: dict[str, Any] = {}  # the types of those that are in earlier modules
        self.bytecode = self._no_code()

    def _plan(self, planned: Planned) -> None:
        """Begin with a program."""
        self.hlo, self.assignment = planned.module, planned.assignment
        self.callees, self.panels = planned.callees, planned.panels

    def _no_code(self) -> Bytecode:
        """The beginning of a program."""
        entry = self.hlo.entry
        arguments = sum(1 for p in entry.parameters for _ in leaves(p.shape))
        results = sum(1 for _ in leaves(entry.root.shape))
        spaces = [("parameter", n) for n in range(arguments)]
        spaces += [("result", n) for n in range(results)]
        spaces += [("arena", 0), ("constant", 0)]
        return Bytecode({space: n for n, space in enumerate(spaces)})

    def beside(self, planned: Planned) -> "_ProgramEmitter":
        """One for another program, whose functions and sites are counted with this one's."""
        made = copy(self)
        made._plan(planned)
        made.bytecode = made._no_code()
        return made

    def emit(self) -> None:
        entry = self.hlo.entry
        run_walk(self._computation(entry))
        self._copy_leaves(entry.root, self.assignment.result_slices)
        self.bytecode.end()
        self._declare(self.passed_on)

    def _site(self, instruction: Instruction, function: str, copied: int = 0) -> int:
        """The number of a new site."""
        self.sites.append(Site(instruction, function, copied))
        return len(self.sites)

    def _computation(self, computation: Computation) -> Walk:
        for instruction in computation.instructions:
            if instruction.opcode == "while":
                yield self._while(instruction)
            elif instruction.opcode == "conditional":
                yield self._conditional(instruction)
            elif instruction in self.callees:
                self._call(instruction)
            elif not is_silent(instruction) and instruction not in self.assignment.views:
                self._kernel(instruction)

    def _call(self, instruction: Instruction) -> None:
        """Call a function outside of the code."""
        callee = self.callees[instruction]
        operands = call_operands(instruction)
        shapes = (*(o.shape for o in operands), call_result(instruction))
        slices = [s for o in operands for s in self.assignment.slices[o]]
        results, count = self.assignment.slices[instruction], sum(1 for _ in leaves(shapes[-1]))
        slices += results[len(results) - count :]
        if callee.is_bound:
            site = self._site(instruction, callee.symbol)
            self.bytecode.call(site, callee.symbol, slices, Called.BOUND)
            return
        key = callee, tuple(map(str, shapes))
        if key not in self.calls:
            with ir.InsertionPoint(self.mlir.body):
                if all(known != callee for known, _ in self.calls):
                    declare(callee)
                self.calls[key] = f"{self.name}.call.{len(self.calls)}"
                keep_apart(emit_call(self.calls[key], instruction, callee))
            self.called.add(self.calls[key])
        name = self.calls[key]
        self.bytecode.call(self._site(instruction, name), name, slices)

    def _kernel(self, instruction: Instruction) -> None:
        """Call the function of an instruction's kernel, emitting it the first time."""
        results = self.assignment.slices[instruction]
        kernel = kernel_of(instruction)
        if all(s.size == 0 for s in kernel.results):
            return
        operands = [self.assignment.slices[o][0] for o in kernel.operands]
        in_place = self.assignment.in_place(instruction, kernel.operands)
        if in_place and instruction.opcode == "copy":
            return  # it is there already
        if kernel.root.opcode in ("scatter", "dynamic-update-slice") and not in_place:
            in_place = tuple(self._put_in_place(instruction, kernel))
        kernel = replace(kernel, in_place=in_place)
        if instruction in self.panels:
            kernel = with_panels(kernel, self.panels[instruction])
        shared = self._function(instruction, kernel)
        buffers = [*(operands[n] for n in kernel.arguments), *results]
        if shared.has_scratch:
            buffers.append(self.assignment.workspace.get(instruction, Slice("arena")))
        self.bytecode.kernel(self._site(instruction, shared.name), shared.name, buffers,
                          shared.chunks, shared.scratch)  # fmt: skip

    def _put_in_place(self, instruction: Instruction, kernel: Kernel) -> Iterator[tuple[int, int]]:
        """Copy what a kernel changes to where it does, if threads had better share that.

        Yields:
            The numbers of an operand of the kernel and of the result where it lies now.
        """
        for number, result in overwritable(instruction):
            operand = instruction.operands[number]
            copy = builder.unary("copy", operand)
            once = instruction.operands.count(operand) == 1 and operand in kernel.operands
            alike = operand.shape == kernel.results[result]
            if once and alike and chunks_of(copy, self.target, self.cores) > 1:
                places = [self.assignment.slices[operand][0],
                          self.assignment.slices[instruction][result]]  # fmt: skip
                shared = self._function(copy, kernel_of(copy))
                site = self._site(instruction, "", operand.array_shape.byte_size)
                self.bytecode.kernel(site, shared.name, places, shared.chunks, 0)
                yield kernel.operands.index(operand), result

    def _function(self, instruction: Instruction, kernel: Kernel) -> Shared:
        """The function of a kernel, which is emitted the first time."""
        if kernel.key not in self.kernels:
            self.kernels[kernel.key] = self._emit_kernel(instruction, kernel)
        return self.kernels[kernel.key]

    def _emit_kernel(self, instruction: Instruction, kernel: Kernel) -> Shared:
        """Emit the function of a kernel."""
        name = f"{self.name}.{len(self.kernels)}.{kernel.opcode}".replace("-", "_")
        chunks = chunks_of(instruction, self.target, self.cores)
        if self.take is not None and self.kernels and len(self.kernels) % _TOGETHER == 0:
            self._pass_on(self.take)
        with ir.InsertionPoint(self.mlir.body):
            emit_kernel(name, kernel, self.target, chunks)
        self.called.add(name)
        scratch = workspace_shape(kernel, self.target, chunks)
        step = chunk_bytes(scratch) if scratch is not None else 0
        return Shared(name, chunks, scratch is not None, step)

    def _pass_on(self, take: Callable[[Any], None]) -> None:
        """Begin another module, which can call what the functions of earlier ones share."""
        made = list(self.mlir.body.operations)
        if any(o.operation.name != "func.func" for o in made):
            return  # a variable, which must exist once
        functions = {o.name.value: o.type for o in made}
        self.passed_on |= {n: functions.pop(n) for n in self.called & functions.keys()}
        self.called.clear()
        take(self.mlir)
        self.mlir = ir.Module.create()
        self._declare(functions)

    def _declare(self, functions: Mapping[str, Any]) -> None:
        """Declare functions of earlier modules."""
        with ir.InsertionPoint(self.mlir.body):
            for name, kind in functions.items():
                func.FuncOp(name, kind, visibility="private")

    def _copy_leaves(self, source: Instruction, targets: Sequence[Slice]) -> None:
        """Copy each leaf of a value to its target, unless it is there already."""
        sizes = [s.byte_size for s in leaves(source.shape)]
        pieces = self.assignment.slices[source]
        for number in self.assignment.moves(source, targets):
            site = self._site(source, "", sizes[number])
            self.bytecode.copy(site, sizes[number], pieces[number], targets[number])

    def _while(self, loop: Instruction) -> Walk:
        state = self.assignment.slices[loop]
        condition, body = loop["condition"], loop["body"]
        _require_same_layouts(loop, loop.operands[0], body.root)
        self._copy_leaves(loop.operands[0], state)
        start = self.bytecode.here
        yield self._computation(condition)
        leave = self.bytecode.unless(self.assignment.slices[condition.root][0])
        yield self._computation(body)
        self._copy_leaves(body.root, state)
        self.bytecode.jump(start)
        self.bytecode.land(leave)

    def _conditional(self, instruction: Instruction) -> Walk:
        called = branches(instruction)
        for branch in called:
            _require_same_layouts(instruction, branch.root)
        (selector,) = self.assignment.slices[instruction.operands[0]]
        by_index = "branch_computations" in instruction.attributes
        leave: list[int] = []
        # The first branch whose number is the index; any other index takes the last (CND).
        for number, branch in enumerate(called):
            is_last = number == len(called) - 1
            skip = None
            if not is_last:
                skip = (
                    self.bytecode.otherwise(selector, number)
                    if by_index
                    else self.bytecode.unless(selector)
                )
            yield self._computation(branch)
            self._copy_leaves(branch.root, self.assignment.slices[instruction])
            if skip is not None:
                leave.append(self.bytecode.jump())
                self.bytecode.land(skip)
        self.bytecode.land(*leave)


def _require_same_layouts(instruction: Instruction, *sources: Instruction) -> None:
    """A buffer that several values share is copied byte for byte, so they must lie alike."""
    for source in sources:
        if not lies_alike(source.shape, instruction.shape):
            raise InternalError(
                f"{instruction.name} needs {source.name} in the layout {instruction.shape}, "
                f"got {source.shape}"
            )
