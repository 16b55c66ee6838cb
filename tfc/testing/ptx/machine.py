"""A machine that runs PTX: global memory, loaded modules, launches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.errors import KindError
from tfc.testing.ptx.instructions.copies import Copies
from tfc.testing.ptx.program import Program, decode_kernel
from tfc.testing.ptx.scheduling import Scheduler
from tfc.testing.ptx.state.bulk import Bulk
from tfc.testing.ptx.state.clusters import Clusters
from tfc.testing.ptx.state.conditions import Conditions
from tfc.testing.ptx.state.memory import WRITTEN, GlobalMemory, Space
from tfc.testing.ptx.state.order import Order
from tfc.testing.ptx.state.phases import Phases
from tfc.testing.ptx.state.proxies import Proxies
from tfc.testing.ptx.state.races import Races
from tfc.testing.ptx.state.report import Report
from tfc.testing.ptx.state.seen import Seen
from tfc.testing.ptx.state.threads import Threads, Triple
from tfc.testing.ptx.state.warpgroups import Warpgroups
from tfc.testing.ptx.text.parser import parse
from tfc.testing.ptx.text.syntax import Function, Source

BATCH = 16_384  # threads that run together: their registers stay in a CPU's caches
BATCH_SHARED = 8 << 20  # bytes of shared memory that they have at most
MAX_SHARED = 232_448
_LIMITS = ((1 << 31) - 1, 65_535, 65_535), (1024, 1024, 64)


@dataclass(frozen=True)
class Kernel:
    """A function of a loaded module that can be launched."""

    name: str
    program: Program
    parameter_sizes: tuple[int, ...]

    @property
    def shared_bytes(self) -> int:
        """Bytes of the shared variables of known size."""
        return self.program.static_shared_bytes

    @property
    def max_threads(self) -> int:
        """The most threads of a block."""
        return self.program.max_threads


@dataclass
class Module:
    """A loaded text: its kernels, and the addresses of its variables in global memory."""

    functions: dict[str, Kernel]
    globals: dict[str, int]

    def __getitem__(self, name: str) -> Kernel:
        return self.functions[name]


class Machine:
    """A GPU of a kind: memory, and kernels that run on it.

    Args:
        memory_limit: bytes of global memory, taken from the host as they are touched.
        instruction_budget: instructions that a batch of blocks may issue in one launch.
    """

    def __init__(self, memory_limit: int = 1 << 30, instruction_budget: int = 5_000_000):
        self.memory, self.conditions = GlobalMemory(memory_limit), Conditions()
        self.memory_limit, self.instruction_budget = memory_limit, instruction_budget

    @property
    def allocated(self) -> int:
        """Bytes of global memory that are allocated now."""
        return self.memory.allocated

    def allocate(self, byte_count: int) -> int:
        """The address of new global memory: a multiple of 256, not yet to be read."""
        return self.memory.allocate(byte_count)

    def free(self, address: int) -> None:
        """Give back what `allocate` gave."""
        self.memory.free(address)

    def write(self, address: int, values: Any) -> None:
        """Copy an array, or anything with a buffer, into global memory."""
        self.memory.host_write(address, values)

    def read(self, address: int, byte_count: int) -> np.ndarray:
        """A copy of bytes of global memory.

        Raises:
            Fault: they are in no allocation, or were never written.
        """
        return self.memory.host_read(address, byte_count)

    def fill(self, address: int, value: Any, count: int) -> None:
        """Write a scalar of NumPy (an int is one byte) `count` times."""
        self.memory.host_fill(address, value, count)

    def load(self, text: str | bytes) -> Module:
        """Parse and decode a module, and place its variables in global memory.

        Raises:
            ParseError: the text is not PTX.
            UnknownInstructionError: the interpreter lacks an instruction.
        """
        source = parse(text)
        addresses = self._place_variables(source)
        functions = {
            name: self._kernel(function, source, addresses)
            for name, function in source.functions.items()
            if function.is_entry and function.is_defined
        }
        return Module(functions, addresses)

    def _kernel(self, function: Function, source: Source, addresses: dict[str, int]) -> Kernel:
        program = decode_kernel(function, source, addresses)
        return Kernel(function.name, program, tuple(function.parameter_sizes))

    def _place_variables(self, source: Source) -> dict[str, int]:
        placed = [v for v in source.variables.values() if v.space in ("global", "const")]
        addresses = {v.name: self.allocate(v.size) for v in placed}
        for variable in placed:
            data = bytearray(variable.initial or bytes(variable.size))
            for offset, symbol, size in variable.references:
                address = addresses[symbol.name] + symbol.offset
                data[offset : offset + size] = address.to_bytes(8, "little")[:size]
            self.write(addresses[variable.name], bytes(data))
        return addresses

    # --- Launches ---------------------------------------------------------------------------------

    def launch(
        self,
        kernel: Kernel,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> Report:
        """Run a grid to its end.

        Args:
            grid, block: one to three sizes.
            arguments: one for each parameter: an int, a scalar of NumPy, or bytes of its size.
            shared_bytes: dynamic shared memory of each block.

        Raises:
            Fault: a thread does what it must not.
            KindError: sizes or arguments do not fit the kernel.
        """
        grid_sizes, block_sizes = _triple(grid, _LIMITS[0]), _triple(block, _LIMITS[1])
        size = block_sizes[0] * block_sizes[1] * block_sizes[2]
        if size > min(kernel.max_threads, 1024):
            raise KindError(f"{kernel.name} takes at most {kernel.max_threads} threads a block, "
                            f"got {size}")  # fmt: skip
        if kernel.shared_bytes + shared_bytes > MAX_SHARED:
            raise KindError(f"a block has at most {MAX_SHARED} bytes of shared memory")
        parameters = _packed(kernel, arguments)
        report = Report()
        self.conditions.begin_launch()
        blocks = grid_sizes[0] * grid_sizes[1] * grid_sizes[2]
        shared = max(kernel.shared_bytes + shared_bytes, 1)
        cluster = kernel.program.cluster
        if grid_sizes[0] % cluster:
            raise KindError(f"{kernel.name} has clusters of {cluster} blocks, and a grid of "
                            f"{grid_sizes[0]} in a row")  # fmt: skip
        together = max(min(BATCH // size, BATCH_SHARED // shared) // cluster, 1) * cluster
        for first in range(0, blocks, together):
            count = min(together, blocks - first)
            threads = Threads(grid_sizes, block_sizes, first, count, cluster)
            self._prepare(threads, kernel.program, parameters, shared_bytes, report)
            Scheduler(kernel.program, threads, self.instruction_budget).run()
        return report

    def _prepare(
        self, t: Threads, program: Program, parameters: np.ndarray, dynamic: int, report: Report
    ) -> None:
        t.registers = [np.zeros(t.count, dtype) for dtype in program.dtypes]
        t.written = {number: np.zeros(t.count, bool) for number in program.doubtful}
        t.report, t.parameters = report, parameters
        t.static_shared_bytes = program.static_shared_bytes
        t.shared_bytes = program.static_shared_bytes + dynamic
        t.spaces = {
            "global": self.memory,
            "shared": Space("shared", t.blocks, t.shared_bytes),
            "local": Space("local", t.count, program.local_bytes),
            "param": Space("param", 1, len(parameters)),
        }
        t.spaces["param"].data[: len(parameters)] = parameters
        t.spaces["param"].shadow[:] = WRITTEN
        t.races = Races(t, len(t.spaces["shared"].data), program.shared_granule)
        t.copies, t.conditions = Copies(t), self.conditions
        if program.works_beside:
            t.phases, t.bulk, t.proxies, t.seen = Phases(t), Bulk(t), Proxies(t), Seen(t)
            t.clusters = Clusters(t)
            t.races.order = Order(t, len(t.races.writer))
            t.warpgroups = Warpgroups(t, program.fragile, program.max_registers)


def _triple(sizes: Sequence[int], limits: Triple) -> Triple:
    padded = (*(int(s) for s in sizes), 1, 1, 1)[:3]
    if len(sizes) > 3 or any(not 0 < s <= limit for s, limit in zip(padded, limits)):
        raise KindError(f"a grid or block has one to three sizes of 1 … {limits}, got {sizes}")
    return padded[0], padded[1], padded[2]


def _packed(kernel: Kernel, arguments: Sequence[Any]) -> np.ndarray:
    """The arguments as the bytes of the parameters."""
    sizes, offsets = kernel.parameter_sizes, kernel.program.offsets
    if len(arguments) != len(sizes):
        raise KindError(f"{kernel.name} takes {len(sizes)} arguments, got {len(arguments)}")
    data = np.zeros(kernel.program.parameter_bytes, np.uint8)
    for number, (argument, size, offset) in enumerate(zip(arguments, sizes, offsets)):
        match argument:
            case int():
                packed = (argument % (1 << 8 * size)).to_bytes(size, "little")
            case np.generic() | np.ndarray():
                packed = argument.tobytes()
            case _:
                packed = bytes(argument)
        if len(packed) != size:
            raise KindError(
                f"argument {number} of {kernel.name} has {size} bytes, got {len(packed)}"
            )
        data[offset : offset + size] = np.frombuffer(packed, np.uint8)
    return data
