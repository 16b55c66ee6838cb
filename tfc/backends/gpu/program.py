"""The program: the kernels of a whole HLO module as one gpu.module, and the steps that run them.

Each part of a kernel is a function of its buffers, of scratch memory if it needs any, and of the
numbers of its launch; equal kernels are emitted once. Loops and conditionals of HLO are steps; of a
loop that is known to run some number of times neither the condition is computed, nor what only the
condition is about.
"""

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from tfc.backends.gpu.grid import beside_others, gpu
from tfc.backends.gpu.instructions import INSTRUCTIONS
from tfc.backends.gpu.kernels import parts_of, scratch_array
from tfc.backends.gpu.memory import ALIGNMENT
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.side_by_side import SideBySide
from tfc.backends.gpu.steps import (
    Branch,
    Copy,
    DeviceCall,
    HostCall,
    Joining,
    Launch,
    Loop,
    Meeting,
    Repeat,
    Step,
    Steps,
    launches_of,
)
from tfc.backends.host_calls import host_function, is_call
from tfc.backends.llvm.compilation import DESCRIPTOR_ALIGNMENT
from tfc.backends.mlir.arithmetic.elemental import emitting
from tfc.backends.mlir.arithmetic.narrow_floats import with_instructions
from tfc.backends.mlir.kernels import Kernel, buffer_types, is_silent, kernel_of, memref_type
from tfc.backends.mlir.provider import arith, ir, new_context
from tfc.backends.mlir.vectors import index_value
from tfc.errors import InternalError, UnsupportedError
from tfc.hlo.attributes.replica_groups import is_collective
from tfc.hlo.ir import Computation, Instruction, Module, callees_first, postorder
from tfc.hlo.lexer import unquote
from tfc.hlo.loops.loop_config import proved_trip_count
from tfc.hlo.loops.loop_state import Numbers, loop_of, used_elements
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import Shape, leaves, lies_alike
from tfc.passes.analysis.called import Walk, run_walk
from tfc.passes.memory.buffers import BufferAssignment, Slice
from tfc.runtime.functions import gpu_target


@dataclass(frozen=True)
class GpuProgram:
    """The emitted MLIR module, and the steps, in order, that run its functions.

    has_host_calls: whether the host runs some of its instructions.
    """

    module: Any
    steps: Steps
    has_host_calls: bool


def emit_gpu_program(module: Module, assignment: BufferAssignment, architecture: str) -> GpuProgram:
    """Emit the kernels and the steps of a module whose buffers are assigned.

    Args:
        architecture: the GPUs that the kernels are for, such as "sm_90a".

    Raises:
        UnsupportedError: some instruction has no GPU code.
    """
    with (
        new_context("gpu", "nvvm"),
        ir.Location.unknown(),
        with_instructions(),
        emitting(INSTRUCTIONS),
    ):
        mlir = ir.Module.create()
        mlir.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
        with ir.InsertionPoint(mlir.body):
            kernels = gpu.GPUModuleOp(ir.StringAttr.get("kernels"))
        region = kernels.regions[0]
        block = region.blocks[0] if len(region.blocks) else region.blocks.append()
        emitter = _ProgramEmitter(block, assignment, architecture)
        return GpuProgram(mlir, emitter.program(module.entry), emitter.has_host_calls)


class _ProgramEmitter:
    def __init__(self, block: Any, assignment: BufferAssignment, architecture: str):
        self._block, self._assignment = block, assignment
        self._architecture = architecture
        self._kernels: dict[Hashable, list[tuple[str, Part]]] = {}
        self._with_scratch: set[str] = set()
        self._whole: dict[str, tuple[Kernel, Part]] = {}
        self.has_host_calls = self._has_pairs = False

    def program(self, entry: Computation) -> Steps:
        """The steps of the entry, which end with its results where they are wanted."""
        steps: list[Step] = []
        every = (i for c in callees_first(entry) for i in c.instructions)
        self._has_pairs = any(i.opcode == "async-start" for i in every)
        run_walk(self._computation(entry, steps))
        steps += self._copies(entry.root, self._assignment.result_slices)
        merging = SideBySide(lambda launch: launch.function in self._whole)
        found = merging.steps(tuple(steps))
        self._emit_merged(merging.functions, found)
        return found

    def _emit_merged(self, functions: Mapping[str, tuple[str, int]], steps: Steps) -> None:
        """Emit functions that run several kernels of one, and erase those that no step runs now.

        Args:
            functions: for each, the function of one kernel, and how many.
        """
        used = {launch.function for launch in launches_of(steps)}
        for operation in list(self._block.operations):
            name = operation.operation.attributes["sym_name"].value
            if operation.operation.name == "gpu.func" and name not in used:
                operation.operation.erase()
        for name, (function, count) in functions.items():
            with ir.InsertionPoint(self._block):
                _emit_part(name, *self._whole[function], count)

    def _computation(
        self,
        computation: Computation,
        steps: list[Step],
        live: Container[Instruction] | None = None,
    ) -> Walk:
        """Add the steps of a computation.

        Args:
            live: the instructions that are needed; None for all.
        """
        for instruction in computation.instructions:
            if live is not None and instruction not in live:
                continue
            if instruction.opcode == "while":
                needed = used_elements(computation, instruction)
                yield self._while(instruction, needed, steps)
            elif instruction.opcode == "conditional":
                yield self._conditional(instruction, steps)
            elif is_call(instruction):
                steps.append(self._call(instruction))
            elif not is_silent(instruction) and instruction not in self._assignment.views:
                steps += self._kernel(instruction)

    def _meeting(self, instruction: Instruction) -> Step:
        """A collective, its beginning or its end."""
        self.has_host_calls = True
        if instruction.opcode == "async-done":
            return Joining(instruction)
        begins = instruction.opcode == "async-start"
        collective = instruction["calls"].root if begins else instruction
        slices = self._assignment.slices
        results = slices[instruction]
        if begins:  # its operands are leaves of it, too, before the results
            results = results[-len(list(leaves(collective.shape))) :]
        operands = tuple(slices[o] for o in instruction.operands)
        call = HostCall(collective, host_function(collective), operands, results)
        return Meeting(instruction, call, self._has_pairs)

    def _call(self, instruction: Instruction) -> Step:
        """The call of what is outside of the code: with arrays on the GPU, or on the host."""
        if instruction.opcode in ("async-start", "async-done") or is_collective(instruction):
            return self._meeting(instruction)
        slices = self._assignment.slices
        operands = tuple(slices[o] for o in instruction.operands)
        is_custom = instruction.opcode == "custom-call"
        target = gpu_target(instruction["custom_call_target"]) if is_custom else None
        if target is None:
            self.has_host_calls = True
            run = host_function(instruction)
            return HostCall(instruction, run, operands, slices[instruction])
        shapes = [s for i in (*instruction.operands, instruction) for s in leaves(i.shape)]
        if not all(s.has_default_layout for s in shapes):
            raise UnsupportedError(
                f"the custom call {instruction.name} takes and gives row-major arrays on a GPU"
            )
        buffers = [s for places in (*operands, slices[instruction]) for s in places]
        text = dict(instruction.annotations).get("backend_config", "")
        opaque = (unquote(text) if text.startswith('"') else text).encode()
        return DeviceCall(instruction, target, tuple(buffers), tuple(shapes), opaque)

    def _kernel(self, instruction: Instruction) -> list[Step]:
        """The launches of a kernel, whose functions are emitted the first time."""
        kernel = kernel_of(instruction)
        if all(s.size == 0 for s in kernel.results):
            return []
        assignment = self._assignment
        operands = [assignment.slices[o][0] for o in kernel.operands]
        in_place = assignment.in_place(instruction, kernel.operands)
        if in_place and instruction.opcode == "copy":
            return []  # it is there already
        kernel = replace(kernel, in_place=in_place)
        if kernel.key not in self._kernels:
            self._kernels[kernel.key] = self._emit(kernel)
        buffers = *(operands[n] for n in kernel.arguments), *assignment.slices[instruction]
        return [
            Launch(
                instruction,
                name,
                (*buffers, assignment.workspace[instruction])
                if name in self._with_scratch
                else buffers,
                part.blocks,
                (part.threads, 1, 1),
                numbers,
                part.shared,
                tuple(part.boxes),
            )
            for name, part in self._kernels[kernel.key]
            if part.count
            for numbers in part.numbers
        ]

    def _emit(self, kernel: Kernel) -> list[tuple[str, Part]]:
        """The functions of a kernel's parts."""
        stem = f"{kernel.opcode}_{len(self._kernels)}".replace("-", "_")
        parts = parts_of(kernel, self._architecture)
        names: dict[Callable[[Work], None], str] = {}
        single = all(part.emit is parts[0].emit for part in parts)
        for part in parts:
            if part.emit not in names:
                name = names[part.emit] = stem if single else f"{stem}_{len(names)}"
                with ir.InsertionPoint(self._block):
                    if _emit_part(name, kernel, part):
                        self._with_scratch.add(name)
        is_alone = len(parts) == 1 and parts[0].numbers == ((),)
        if is_alone and stem not in self._with_scratch and not kernel.computation.effects:
            self._whole[stem] = kernel, parts[0]
        return [(names[part.emit], part) for part in parts]

    def _copies(
        self, source: Instruction, targets: Sequence[Slice], live: Container[int] | None = None
    ) -> list[Step]:
        """Each leaf of a value, or each that is needed, to its target, unless it is there."""
        sizes = [s.byte_size for s in leaves(source.shape)]
        pieces = self._assignment.slices[source]
        moves = self._assignment.moves(source, targets)
        wanted = [n for n in moves if sizes[n] and (live is None or n in live)]
        return [Copy(pieces[n], targets[n], sizes[n]) for n in wanted]

    def _while(self, loop: Instruction, used: Numbers, steps: list[Step]) -> Walk:
        count = proved_trip_count(loop)
        if count is not None:
            yield self._repeat(loop, count, used, steps)
            return
        state = self._assignment.slices[loop]
        condition, body = loop["condition"], loop["body"]
        _require_same_layouts(loop, loop.operands[0], body.root)
        steps += self._copies(loop.operands[0], state)
        tested: list[Step] = []
        yield self._computation(condition, tested)
        done: list[Step] = []
        yield self._computation(body, done)
        done += self._copies(body.root, state)
        (selector,) = self._assignment.slices[condition.root]
        steps.append(Loop(tuple(tested), selector, tuple(done)))

    def _repeat(self, loop: Instruction, count: int, used: Numbers, steps: list[Step]) -> Walk:
        """A loop that is known to run so many times, without what only its condition needs."""
        state, body = self._assignment.slices[loop], loop["body"]
        _require_same_layouts(loop, loop.operands[0], body.root)
        known, numbers, live = loop_of(loop), None, None
        if known is not None and all(isinstance(i.shape, Shape) for i in known.inits):
            needed = known.needed(sum(1 << n for n in used), is_tested=False)
            numbers = [n for n in range(len(known.inits)) if needed >> n & 1]
            live = set(postorder([*(known.results[n] for n in numbers), *body.effects]))
        steps += self._copies(loop.operands[0], state, numbers)
        done: list[Step] = []
        yield self._computation(body, done, live)
        done += self._copies(body.root, state, numbers)
        steps += [Repeat(tuple(done), count)] if count and done else []

    def _conditional(self, instruction: Instruction, steps: list[Step]) -> Walk:
        called = branches(instruction)
        taken: list[Steps] = []
        for branch in called:
            _require_same_layouts(instruction, branch.root)
            own: list[Step] = []
            yield self._computation(branch, own)
            own += self._copies(branch.root, self._assignment.slices[instruction])
            taken.append(tuple(own))
        (selector,) = self._assignment.slices[instruction.operands[0]]
        by_index = "branch_computations" in instruction.attributes
        steps.append(Branch(selector, by_index, tuple(taken)))


def _emit_part(name: str, kernel: Kernel, part: Part, times: int = 1) -> bool:
    """Emit a function; whether it takes the kernel's scratch memory: only where its code uses that.

    Args:
        times: how many kernels without scratch memory it runs, whose arguments it takes one after
            the other.
    """
    types = buffer_types(kernel)
    scratch = scratch_array(kernel) if times == 1 else None
    memrefs = len(types)
    if scratch is not None:
        types.append(memref_type(scratch))
    buffers, count, boxes = len(types), len(part.numbers[0]), len(part.boxes)
    types = types * times + [ir.IndexType.get()] * count
    types += [ir.Type.parse("!llvm.ptr")] * (boxes * times)
    function = _function(name, part, types)
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        arguments = list(block.arguments)
        first_box = len(arguments) - boxes * times
        memory, numbers = arguments[: buffers * times], arguments[buffers * times : first_box]
        with nullcontext() if times == 1 else beside_others(part.blocks[0]) as turn:
            own = _of_turn(memory, times, turn)
            held, kept = kernel.buffers(own[:memrefs]), own[memrefs] if scratch else None
            descriptors = _of_turn(arguments[first_box:], times, turn)
            part.emit(Work(kernel, held, kept, numbers, descriptors))
        gpu.return_([])
    uses_scratch = scratch is not None and (
        bool(list(block.arguments[memrefs].uses)) or any(n == memrefs for n, _ in part.boxes)
    )
    if scratch is not None and not uses_scratch:
        block.erase_argument(memrefs)
        function.attributes["function_type"] = _type_of(types[:memrefs] + types[memrefs + 1 :])
    shapes = [*(kernel.operands[n].array_shape for n in kernel.arguments), *kernel.results]
    sizes = [*(s.byte_size for s in shapes), *[ALIGNMENT] * uses_scratch]
    ends = [gcd(size, ALIGNMENT) if n in part.wide else 1 for n, size in enumerate(sizes)]
    _describe_arguments(function, ends * times, count, boxes * times)
    return uses_scratch


def _type_of(types: Sequence[Any]) -> Any:
    return ir.TypeAttr.get(ir.FunctionType.get(types, []))


def _function(name: str, part: Part, types: Sequence[Any]) -> Any:
    """A function without code for a part, whose arguments have these types."""
    function = gpu.GPUFuncOp(_type_of(types), sym_name=name, kernel=True)
    # So that no thread is given more registers than there are for as many.
    function.attributes["nvvm.maxntid"] = ir.DenseI32ArrayAttr.get([part.threads, 1, 1])
    if part.cluster > 1:
        cluster = ir.DenseI32ArrayAttr.get([part.cluster, 1, 1])
        function.attributes["nvvm.cluster_dim"] = cluster
    if part.resident:
        count_type = ir.IntegerType.get_signless(32)
        function.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(count_type, part.resident)
    return function


def _of_turn(arguments: Sequence[Any], times: int, turn: Any) -> list[Any]:
    """Those of the arguments of several kernels that belong to the kernel of a number."""
    count = len(arguments) // times
    own = list(arguments[:count])
    for number in range(1, times):
        here = arith.cmpi(arith.CmpIPredicate.eq, turn, index_value(number))
        others = arguments[number * count : (number + 1) * count]
        own = [arith.select(here, new, old) for new, old in zip(others, own)]
    return own


def _describe_arguments(function: Any, ends: Sequence[int], numbers: int, boxes: int) -> None:
    """State what is known of arguments.

    What is stored is in one buffer only. Descriptors are passed as they are, not by their
    addresses.

    Args:
        ends: what divides the addresses at which buffers begin and end.
    """

    def aligned(to: int) -> dict[str, Any]:
        return {"llvm.align": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), to)}

    alone = {"llvm.noalias": ir.UnitAttr.get()}
    described = [ir.DictAttr.get({**alone, **aligned(to)}) for to in ends]
    described += [ir.DictAttr.get({})] * numbers
    described += [ir.DictAttr.get(aligned(DESCRIPTOR_ALIGNMENT))] * boxes
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(described)


def _require_same_layouts(instruction: Instruction, *sources: Instruction) -> None:
    """A buffer that several values share is copied byte for byte, so they must lie alike."""
    for source in sources:
        if not lies_alike(source.shape, instruction.shape):
            raise InternalError(
                f"{instruction.name} needs {source.name} in the layout {instruction.shape}, "
                f"got {source.shape}"
            )
