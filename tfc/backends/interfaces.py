"""What a backend is: the roles of the new-backend chapter of the operation semantics (§4.3).

A backend is one object with a compiler (module → executable) and a transfer manager (host arrays ↔
device memory); executables run. Outside packages add one through the entry-point group
`tfc.backends`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np

from tfc.backends.choices import Keeper, Question, Source, source_in_use
from tfc.backends.target import Target
from tfc.errors import ShapeError, UnsupportedError
from tfc.hlo.attributes.devices import device_counts, require_devices
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.shape import Shape, from_memory, leaves, to_memory
from tfc.options import Options
from tfc.passes.analysis.cost import CostAnalysis, cost_analysis
from tfc.passes.report import PipelineReport
from tfc.runtime.engines.threads import run_devices
from tfc.tools.pictures.arena import LiveBuffer, arena_svg
from tfc.tracebacks import api_boundary


@dataclass(frozen=True)
class MemoryAnalysis:
    """Bytes of memory that one call of an executable uses.

    `peak` is what is held at once: arguments, results and temporaries.

    aliased_bytes: of the results, those that are written into the memory of donated arguments.
    lower_bound: the most bytes of temporaries in use at one step; no plan needs less.
    buffers: the temporaries, each with its place in the arena and the steps when it is in use.
    """

    argument_bytes: int
    result_bytes: int
    temporary_bytes: int
    constant_bytes: int
    aliased_bytes: int = 0
    lower_bound: int = 0
    buffers: tuple[LiveBuffer, ...] = field(default=(), repr=False)
    name: str = field(default="", repr=False)

    @property
    def peak(self) -> int:
        """Arguments, results, temporaries and constants together."""
        own = self.result_bytes - self.aliased_bytes
        return self.argument_bytes + own + self.temporary_bytes + self.constant_bytes

    def to_svg(self, standalone: bool = True) -> str:
        """A picture of the arena: which buffer is where from which step to which.

        Args:
            standalone: with its own style and background, rather than those of a page.
        """
        return arena_svg(
            self.buffers, self.temporary_bytes, self.lower_bound, self.name, standalone
        )


@dataclass(frozen=True)
class LaunchFigures:
    """How a kernel runs on a GPU.

    blocks, threads: blocks of its first launch, and threads of each.
    registers: of a thread; 0 where nobody can tell.
    shared, local: bytes that a block shares, and of a thread's own memory.
    occupancy: the warps that a multiprocessor runs at one time, as a share of the most; None where
        registers are not known.
    counts: what an interpreter of the code counted in a run; empty where times were measured.
    """

    blocks: int
    threads: int
    registers: int
    shared: int
    local: int
    occupancy: float | None
    counts: Mapping[str, int]


@dataclass(frozen=True)
class TimedKernel:
    """What one place of a program took in one run.

    function: the name of the kernel in the program's code; "" for a copy of `copied` bytes.
    count: how often it ran.
    figures: of a kernel on a GPU.
    """

    instruction: Instruction
    function: str
    copied: int
    count: int
    nanoseconds: float
    figures: LaunchFigures | None = None


@dataclass(frozen=True)
class KernelTimes:
    """What one run of a program took, place by place.

    events: (number of the kernel, begin, end) of the first things that ran; all times are
        nanoseconds of Python's time.monotonic_ns.
    is_counted: whether an interpreter ran it, so that times say nothing and figures have counts.
    """

    kernels: tuple[TimedKernel, ...]
    events: tuple[tuple[int, int, int], ...]
    began: int
    ended: int
    is_counted: bool = False


class TransferManager(Protocol):
    """Moves arrays between the host and a backend's memory, in the layout that a shape asks for."""

    def to_device(self, array: np.ndarray, shape: Shape) -> Any:
        """The array in the backend's memory, laid out as `shape` says."""
        ...

    def from_device(self, buffer: Any, shape: Shape) -> np.ndarray:
        """The host array that a buffer of the backend holds."""
        ...


class HostTransferManager:
    """Transfers of a backend that computes in host memory: no copy where the layout agrees."""

    def to_device(self, array: np.ndarray, shape: Shape) -> np.ndarray:
        """A contiguous, aligned array whose memory is laid out as `shape` says."""
        is_plain = shape.has_default_layout
        made = np.ascontiguousarray(array) if is_plain else to_memory(array, shape)
        return made if made.flags.aligned else made.copy()

    def from_device(self, buffer: np.ndarray, shape: Shape) -> np.ndarray:
        """The array that lies in `buffer`, which is flat unless the layout is row-major."""
        return buffer if shape.has_default_layout else from_memory(buffer, shape)


class Nest(Protocol):
    """Nested containers without their leaves; `kind` is the type, None for a leaf."""

    @property
    def kind(self) -> type | None:
        """The container's type."""
        ...

    @property
    def keys(self) -> Sequence[Any]:
        """What each child is found under."""
        ...

    @property
    def children(self) -> "Sequence[Nest | Fixed]":
        """The containers and leaves in it."""
        ...


@dataclass(frozen=True)
class Fixed:
    """An argument that has to be one certain object."""

    value: Any


@dataclass(frozen=True)
class Signature:
    """What a quick way to run takes and gives.

    arguments: those by place, then those by name.
    names: of the last arguments.
    weak: the numbers of the leaves in the arguments that are Python's numbers, and not arrays.
    """

    arguments: Sequence[Nest | Fixed]
    result: Nest
    names: Sequence[str] = ()
    weak: frozenset[int] = frozenset()


class Executable(ABC):
    """A compiled module, ready to be called from any thread.

    Calling takes one array for each leaf of the entry's parameters, in order, and returns the list
    of the leaves of its result.
    """

    hlo: Module

    def __init__(self, module: Module, optimized: Module):
        self.source = module
        self.hlo = optimized
        self.parameter_shapes = [s for p in module.entry.parameters for s in leaves(p.shape)]
        self.result_shapes = list(leaves(module.entry.root.shape))
        self.device_counts = device_counts(module)

    @abstractmethod
    def __call__(self, *arguments: np.ndarray) -> list[np.ndarray]:
        """Run with one array for each parameter leaf; returns the result's leaves.

        Raises:
            ShapeError: the arguments do not fit the parameters.
        """

    @api_boundary
    def __reduce__(self) -> Any:
        raise UnsupportedError(
            "an executable is machine code in the memory of this process and cannot be pickled; "
            "pickle its `source`, a module, and pass that to tfc.compile"
        )

    def __copy__(self) -> "Executable":
        return self

    def __deepcopy__(self, _: object) -> "Executable":
        return self  # nothing about it changes

    def python_entry(self, signature: Signature) -> Callable[..., Any] | None:
        """A quick way to run with nested arguments: a function that gives the nested result.

        It returns NotImplemented, and does nothing, where an argument is not an array or a number
        just as the program wants it, or not where it should be. None if there is no such way.
        """
        return None

    @api_boundary
    def run_replicas(self, arguments: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
        """Run on all devices of the module at the same time, each in a thread of its own.

        In a job of as many processes (tfc.distributed.initialize) a plain call with this process's
        arguments runs its device instead: process r is device r, replica r // partitions.

        Args:
            arguments: for each device, replica by replica, what a call takes.

        Returns:
            For each device, the leaves of its result.

        Raises:
            ShapeError: there are not as many as the module has devices, or they do not fit.
            TfcError: the devices wait for each other in vain.
            Exception: what the first device to fail raised; the others are stopped.
        """
        counts = require_devices(self.source, len(arguments))
        return run_devices(*counts, lambda device: self(*arguments[device]))

    def as_text(self, stage: str = "hlo") -> str:
        """The program at a stage of its compilation; `stages` lists what there is.

        Raises:
            UnsupportedError: this backend has no such stage.
        """
        if stage not in self.stages:
            raise UnsupportedError(
                f"this executable has no stage '{stage}'; it has {', '.join(self.stages)}"
            )
        return self._text(stage)

    @property
    def stages(self) -> tuple[str, ...]:
        """The names that `as_text` knows."""
        return ("hlo",)

    def _text(self, stage: str) -> str:
        return str(self.hlo)

    @abstractmethod
    def memory_analysis(self) -> MemoryAnalysis:
        """Bytes of arguments, results, temporaries and constants."""

    def cost_analysis(self) -> CostAnalysis:
        """Arithmetic operations, transcendental functions and bytes moved by one call."""
        return cost_analysis(self.hlo)

    def timed(self) -> Callable[..., KernelTimes]:
        """The same program with clocks around its kernels: takes what a call takes.

        Raises:
            UnsupportedError: the backend cannot time its kernels.
        """
        raise UnsupportedError("this backend does not time its kernels; use backend='cpu'")

    def questions(
        self, kernels: Iterable[Instruction]
    ) -> Mapping[Instruction, tuple[Question, ...]]:
        """Which kernels of `hlo` have alternatives of schedule, and which ones, to be measured."""
        return {}

    def check_arguments(self, arguments: Sequence[np.ndarray]) -> None:
        """Check number, element types and dimensions.

        Raises:
            ShapeError: they do not fit the parameters.
        """
        shapes = self.parameter_shapes
        if len(arguments) != len(shapes):
            raise ShapeError(f"{self.hlo.name} takes {len(shapes)} arrays, got {len(arguments)}")
        for number, (array, shape) in enumerate(zip(arguments, shapes)):
            if array.shape != shape.dims or array.dtype != shape.element_type.dtype:
                raise ShapeError(
                    f"argument {number} of {self.hlo.name} must be {shape.without_layout()}, "
                    f"got {array.dtype}{list(array.shape)}"
                )


class Constants(Enum):
    """Where the constants of an object file lie.

    INSIDE: in it. LINKED: in another, as the symbol NAME_constants. GIVEN: where the caller says at
    each call.
    """

    INSIDE, LINKED, GIVEN = range(3)


@dataclass(frozen=True)
class ObjectOptions:
    """What an object file is to be like.

    threads: how many may share the work of a kernel; the caller brings them.
    is_timed: whether the caller brings a clock.
    is_small: whether few bytes of code are worth more than speed.
    constants: where they lie.
    data: further arrays of bytes that it holds, with the names that C has for them.
    """

    threads: int = 1
    is_timed: bool = False
    is_small: bool = False
    constants: Constants = Constants.INSIDE
    data: tuple[tuple[str, bytes], ...] = ()

    @property
    def is_served(self) -> bool:
        """Whether the caller of one program gives it more than memory; see runtime/abi.py."""
        return self.threads > 1 or self.is_timed or self.constants is Constants.GIVEN


@dataclass(frozen=True)
class ObjectCode:
    """An object file whose C function `name` runs `module`, and the memory it needs.

    The function's signature is in backends/cpu/runtime/abi.py; `arena_size` is in bytes.
    It has a version for each of `cpus`, the first of which is `target`'s and asks least of a
    processor; whether it has that `is_checked`. `sites` are the instructions that its clock times,
    from number 1 on, `symbols` the C functions it calls that the user links. `constants` are those
    that do not lie in it, aligned to 64 bytes where they are read.
    """

    name: str
    code: bytes
    module: Module
    arena_size: int
    constant_size: int
    target: Target
    is_checked: bool = False
    cpus: tuple[str, ...] = ()
    sites: tuple[Instruction, ...] = ()
    symbols: tuple[str, ...] = ()
    constants: bytes = b""


class Compiler(ABC):
    """Turns a verified module into an executable."""

    @abstractmethod
    def optimize(
        self, module: Module, options: Options, report: PipelineReport | None = None
    ) -> Module:
        """Run the backend's HLO passes; `report` receives what each did."""

    @abstractmethod
    def compile(self, module: Module, options: Options, target: Target | None) -> Executable:
        """Compile a module; `target` None means the machine at hand.

        Raises:
            UnsupportedError: the module needs something that the backend does not offer.
        """

    def choices(self, options: Options) -> Keeper | None:
        """What is kept of measured schedules for the machine at hand; None where nothing can be."""
        return None

    def source_for(self, options: Options) -> Source | None:
        """Who says which schedules a program gets that is compiled to run at hand, if anybody."""
        return source_in_use() or (self.choices(options) if options.tuned else None)

    def emit_text(self, module: Module, stage: str, options: Options, target: Target | None) -> str:
        """The program at a stage of its compilation, for any target; stage "hlo" is `module`.

        Nothing is run, and a backend whose `compile` loads code does not load any here.

        Raises:
            UnsupportedError: the backend has no such stage, or cannot compile the module.
        """
        if stage == "hlo":
            return str(module)
        return self.compile(module, options, target).as_text(stage)

    def compile_object(
        self,
        module: Module,
        name: str,
        targets: Sequence[Target],
        options: Options,
        asked: "ObjectOptions",
        others: Sequence[Module] = (),
    ) -> ObjectCode:
        """Compile to an object file whose entry point is the C function `name`.

        Args:
            targets: of the versions that it has, among which it chooses by the processor.
            others: further programs in it, of which the caller chooses one for each run.

        Raises:
            UnsupportedError: the backend makes no object files, or not for this module or target.
        """
        raise UnsupportedError("this backend makes no object files; use backend='cpu'")


@dataclass(frozen=True)
class Backend:
    """A name, a compiler and a transfer manager."""

    name: str
    compiler: Compiler
    transfer_manager: TransferManager
