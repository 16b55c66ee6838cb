"""A stand-in for `cuda.bindings.driver`, whose device is the interpreter of PTX.

    with installed() as cuda: …         what imports cuda.bindings.driver meanwhile gets this

It has the functions that tfc and the loader of bundles call, with their arguments and what they
return; `calls` lists them, `failing` makes one return a status.
"""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from tfc.testing.ptx.graphs import Graph, GraphError, Node, ReadyGraph
from tfc.testing.ptx.machine import Machine

ERRORS = {
    0: ("CUDA_SUCCESS", "no error"),
    1: ("CUDA_ERROR_INVALID_VALUE", "invalid argument"),
    2: ("CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
    3: ("CUDA_ERROR_NOT_INITIALIZED", "initialization error"),
    100: ("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
    209: ("CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution"),
    218: ("CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"),
    222: ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is of another version"),
    600: ("CUDA_ERROR_NOT_READY", "device not ready"),
    700: ("CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    719: ("CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"),
    801: ("CUDA_ERROR_NOT_SUPPORTED", "operation not supported"),
    900: ("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted when stream is capturing"),
}
MACHINE_CODE = b"\x7fELF of the stand-in\n"  # what it makes of PTX begins so
CAPABILITY = {75: 8, 76: 0}  # attributes of a device: its compute capability, major and minor
ATTRIBUTES = {
    **CAPABILITY, 16: 108, 39: 2048, 81: 164 << 10, 82: 65536, 97: 163 << 10, 106: 32
}  # fmt: skip


HOPPER = {75: 9, 76: 0}  # the compute capability of a device that has warpgroups


class Enumeration:
    """Names of numbers, each of which is only equal to itself."""

    def __init__(self, **values: int):
        self.__dict__.update(values)


class Refused(Exception):
    """A function returns a status."""

    def __init__(self, status: int):
        self.status = status


class ConditionalParameters:
    """CUDA_CONDITIONAL_NODE_PARAMS: what a conditional node is to be, and then its graphs."""

    def __init__(self) -> None:
        self.handle = self.type = self.ctx = None
        self.size = 0
        self.made: list[Graph] | None = None

    @property
    def phGraph_out(self) -> list[Graph]:
        """The graphs, which the real ones read behind a null pointer before there is a node."""
        assert self.made is not None, "read before the node is added"
        return self.made


class NodeParameters:
    """CUgraphNodeParams, of which only what conditional nodes need is there."""

    def __init__(self) -> None:
        self.type, self.conditional = None, ConditionalParameters()


class Capture:
    """A capture under way: into which graph, and after which nodes the next one comes."""

    def __init__(self, graph: Graph, last: list[Node]):
        self.graph, self.last = graph, last

    def add(self, kind: str, step: Any) -> None:
        """Add a node."""
        self.last = [self.graph.add(kind, step, self.last)]


class FakeCuda(ModuleType):
    """The module; one device of capability 8.0, which takes PTX and what it made of it itself."""

    def __init__(self, attributes: dict[int, int] | None = None):
        super().__init__("cuda.bindings.driver")
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.failing: dict[str, int] = {}
        self.replaced: dict[str, Any] = {}
        self.machine = Machine(memory_limit=64 << 20)
        self.attributes = {**ATTRIBUTES, **(attributes or {})}
        self.count, self.version = 1, 13000
        self._capture: Capture | None = None
        self._pinned: dict[int, Any] = {}
        self._shared: dict[int, tuple[Any, int]] = {}  # what functions may be given, if it was set
        self._events, self._streams = 0, 0
        self.CUresult = Enumeration(**{name: code for code, (name, _) in ERRORS.items()})
        self.CUdevice_attribute = Enumeration(
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=75,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=76,
            CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT=16,
            CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR=39,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR=81,
            CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR=82,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=97,
            CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR=106,
        )
        self.CUfunction_attribute = Enumeration(
            CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES=1,
            CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES=3,
            CU_FUNC_ATTRIBUTE_NUM_REGS=4,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8,
        )
        self.CUpointer_attribute = Enumeration(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL=9)
        self.elsewhere: set[int] = set()  # addresses in the memory of a second GPU
        self.CUstream_flags = Enumeration(CU_STREAM_NON_BLOCKING=1)
        self.CUevent_flags = Enumeration(CU_EVENT_DEFAULT=0, CU_EVENT_DISABLE_TIMING=2)
        self.CUmemPool_attribute = Enumeration(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD=4)
        self.CUstreamCaptureMode = Enumeration(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL=1)
        self.CUjitInputType = Enumeration(CU_JIT_INPUT_PTX=1)
        self.CUgraphNodeType = Enumeration(CU_GRAPH_NODE_TYPE_CONDITIONAL=13)
        self.CUgraphConditionalNodeType = Enumeration(
            CU_GRAPH_COND_TYPE_IF=0, CU_GRAPH_COND_TYPE_WHILE=1, CU_GRAPH_COND_TYPE_SWITCH=2
        )
        self.CUgraphConditionalHandle = int
        self.CUgraphNodeParams = NodeParameters
        self.cuuint64_t = int

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith("cu") or name in ("cuuint64_t", "cuda"):
            return found

        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, arguments))
            if name in self.failing:
                return (self.failing[name], None)
            if name in self.replaced:
                return self.replaced[name](*arguments)
            try:
                given = found(*arguments)
            except Refused as refused:
                return (refused.status, None)
            return (0, *(given if isinstance(given, tuple) else (given,)))

        return call

    def names(self) -> list[str]:
        """What was called, in order."""
        return [name for name, _ in self.calls]

    # --- Devices, contexts, streams, events -----------------------------------------------------

    def cuInit(self, flags: int) -> tuple[()]:
        return ()

    def cuDriverGetVersion(self) -> int:
        return self.version

    def cuDeviceGetCount(self) -> int:
        return self.count

    def cuDeviceGet(self, number: int) -> int:
        return number

    def cuDeviceGetName(self, length: int, device: int) -> bytes:
        return b"interpreter of PTX".ljust(length, b"\0")

    def cuDeviceGetAttribute(self, attribute: int, device: int) -> int:
        return self.attributes[attribute]

    def cuDevicePrimaryCtxRetain(self, device: int) -> str:
        return "primary"

    def cuCtxSetCurrent(self, context: str) -> tuple[()]:
        assert context == "primary"
        return ()

    def cuStreamCreate(self, flags: int) -> int:
        self._streams += 1
        return 0x5EA if self._streams == 1 else 0xB000 + self._streams

    def cuStreamSynchronize(self, stream: int) -> tuple[()]:
        self._require_no_capture()
        return ()

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> tuple[()]:
        return ()

    def cuEventCreate(self, flags: int) -> int:
        self._events += 1
        return self._events

    def cuEventRecord(self, event: int, stream: int) -> tuple[()]:
        if self._capture is not None and stream == 0x5EA:
            self._capture.add("event", lambda: None)
        return ()

    def cuEventSynchronize(self, event: int) -> tuple[()]:
        self._require_no_capture()
        return ()

    def cuEventQuery(self, event: int) -> tuple[()]:
        self._require_no_capture()
        return ()

    def cuEventElapsedTime(self, first: int, second: int) -> float:
        return 0.25 * (second - first)

    def cuEventDestroy(self, event: int) -> tuple[()]:
        return ()

    def cuGetErrorString(self, status: int) -> bytes:
        return ERRORS[status][1].encode()

    # --- Memory ---------------------------------------------------------------------------------

    def cuDeviceGetDefaultMemPool(self, device: int) -> str:
        return "pool"

    def cuMemPoolSetAttribute(self, pool: str, kind: int, value: int) -> tuple[()]:
        return ()

    def cuMemPoolTrimTo(self, pool: str, kept: int) -> tuple[()]:
        return ()

    def cuMemGetInfo(self) -> tuple[int, int]:
        machine = self.machine
        return machine.memory_limit - machine.allocated, machine.memory_limit

    def cuMemAllocAsync(self, size: int, stream: int) -> int:
        self._require_no_capture()  # it would be the graph's
        return self.machine.allocate(size)

    def cuMemFreeAsync(self, address: int, stream: int) -> tuple[()]:
        self._require_no_capture()
        self.machine.free(address)
        return ()

    def cuPointerGetAttribute(self, kind: int, address: int) -> int:
        assert kind == 9
        return int(address in self.elsewhere)

    def cuMemAlloc(self, size: int) -> int:
        return self.machine.allocate(size)

    def cuMemFree(self, address: int) -> tuple[()]:
        self.machine.free(address)
        return ()

    def cuMemHostAlloc(self, size: int, flags: int) -> int:
        block = ctypes.create_string_buffer(size)
        self._pinned[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def cuMemFreeHost(self, address: int) -> tuple[()]:
        del self._pinned[address]
        return ()

    def cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: int) -> tuple[()]:
        data = np.frombuffer(ctypes.string_at(source, size), np.uint8)
        self._do("copy with the host", lambda: self.machine.write(int(target), data))
        return ()

    def cuMemcpyDtoHAsync(self, target: int, source: int, size: int, stream: int) -> tuple[()]:
        def copy() -> None:
            read = self.machine.read(int(source), size)
            ctypes.memmove(target, read.ctypes.data, size)

        self._do("copy with the host", copy)
        return ()

    def cuMemcpyDtoDAsync(self, target: int, source: int, size: int, stream: int) -> tuple[()]:
        self._do("copy", lambda: self.machine.write(target, self.machine.read(source, size)))
        return ()

    def cuMemsetD32Async(self, target: int, value: int, count: int, stream: int) -> tuple[()]:
        step = lambda: self.machine.fill(target, np.uint32(value), count)  # noqa: E731
        if stream == 0x5EA:
            self._do("memset", step)
        else:
            step()
        return ()

    # --- Code and launches ----------------------------------------------------------------------

    def cuLinkCreate(self, count: int, options: list[Any], values: list[Any]) -> list[bytes]:
        return []

    def cuLinkAddData(
        self, linking: list[bytes], kind: int, data: bytes, size: int, name: bytes, *options: Any
    ) -> tuple[()]:
        linking.append(data[:size])
        return ()

    def cuLinkComplete(self, linking: list[bytes]) -> tuple[int, int]:
        held = ctypes.create_string_buffer(MACHINE_CODE + linking[0])
        self._pinned[ctypes.addressof(held)] = held
        return ctypes.addressof(held), len(held)

    def cuLinkDestroy(self, linking: list[bytes]) -> tuple[()]:
        return ()

    def cuModuleLoadData(self, code: bytes) -> Any:
        code = code.removeprefix(MACHINE_CODE)
        if code.startswith(b"\x7fELF"):
            raise Refused(209)
        assert code.lstrip().startswith((b"//", b".version")), code[:40]
        return self.machine.load(code.rstrip(b"\0"))

    def cuModuleUnload(self, module: Any) -> tuple[()]:
        return ()

    def cuModuleGetFunction(self, module: Any, name: bytes) -> Any:
        return module[name.decode()]

    def cuFuncSetAttribute(self, function: Any, kind: int, value: int) -> tuple[()]:
        assert kind == 8
        self._shared[id(function)] = function, value
        return ()

    def cuFuncGetAttribute(self, kind: int, function: Any) -> int:
        return {1: function.shared_bytes, 3: 0, 4: 32}[kind]

    def cuLaunchKernel(self, function: Any, *rest: Any) -> tuple[()]:
        grid, block, (shared, _, places, _) = rest[:3], rest[3:6], rest[6:]
        pointers = (ctypes.c_void_p * len(function.parameter_sizes)).from_address(places)
        passed = [
            np.frombuffer(ctypes.string_at(p, size), np.uint8)
            for p, size in zip(pointers, function.parameter_sizes)
        ]
        usual = (48 << 10) - function.shared_bytes
        if shared > self._shared.get(id(function), (function, usual))[1]:
            raise Refused(1)
        self._do(
            "kernel",
            lambda: self.machine.launch(
                function, grid=grid, block=block, arguments=passed, shared_bytes=shared
            ),
        )
        return ()

    # --- Graphs ---------------------------------------------------------------------------------

    def _do(self, kind: str, step: Any) -> None:
        if self._capture is None:
            step()
        else:
            self._capture.add(kind, step)

    def _require_no_capture(self) -> None:
        if self._capture is not None:
            raise Refused(900)

    def cuStreamBeginCapture(self, stream: int, mode: int) -> tuple[()]:
        self._require_no_capture()
        self._capture = Capture(Graph(self.machine.conditions), [])
        return ()

    def cuStreamBeginCaptureToGraph(
        self, stream: int, graph: Graph, last: list[Node], data: None, count: int, mode: int
    ) -> tuple[()]:
        self._require_no_capture()
        assert (data, count) == (None, len(last))
        self._capture = Capture(graph, list(last))
        return ()

    def cuStreamGetCaptureInfo(self, stream: int) -> tuple[int, int, Graph, list[Node], list, int]:
        assert self._capture is not None
        last = self._capture.last
        return 1, 7, self._capture.graph, list(last), [None] * len(last), len(last)

    def cuStreamEndCapture(self, stream: int) -> Graph:
        assert self._capture is not None
        capture, self._capture = self._capture, None
        return capture.graph

    def cuGraphCreate(self, flags: int) -> Graph:
        return Graph(self.machine.conditions)

    def cuGraphConditionalHandleCreate(
        self, graph: Graph, context: str, default: int, flags: int
    ) -> int:
        if self.version < 12030:
            raise Refused(801)
        assert context == "primary"
        return graph.condition(default if flags == 1 else None)

    def cuGraphAddNode(
        self, graph: Graph, last: list[Node], data: None, count: int, parameters: NodeParameters
    ) -> Node:
        asked = parameters.conditional
        assert (parameters.type, asked.ctx, data, count) == (13, "primary", None, len(last))
        assert asked.handle is not None
        kind = {0: "IF", 1: "WHILE", 2: "SWITCH"}[asked.type]
        if self.version < 12080 and (kind == "SWITCH" or asked.size > 1):
            raise Refused(801)
        node = graph.decide(kind, asked.handle, asked.size, last)
        asked.made = node.parts
        return node

    def cuGraphInstantiate(self, graph: Graph, flags: int) -> ReadyGraph:
        self._require_no_capture()
        return graph.ready()

    def cuGraphDestroy(self, graph: Graph) -> tuple[()]:
        if graph.own and graph.is_ready:
            raise GraphError("a graph with conditions is given up before what was made of it")
        return ()

    def cuGraphExecDestroy(self, graph: ReadyGraph) -> tuple[()]:
        graph.close()
        return ()

    def cuGraphUpload(self, graph: Any, stream: int) -> tuple[()]:
        return ()

    def cuGraphLaunch(self, graph: ReadyGraph, stream: int) -> tuple[()]:
        self._require_no_capture()
        graph.launch()
        return ()


class Elsewhere:
    """An array of another library on the GPU, which says so by __cuda_array_interface__."""

    def __init__(self, cuda: FakeCuda, array: np.ndarray, **about: Any):
        self.address = cuda.machine.allocate(array.nbytes)
        cuda.machine.write(self.address, np.ascontiguousarray(array))
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (self.address, False),
            "version": 3, "strides": None, "stream": None, **about,
        }  # fmt: skip


@contextmanager
def installed(fake: FakeCuda | None = None) -> Iterator[FakeCuda]:
    """The stand-in in the place of `cuda.bindings.driver`."""
    made = fake or FakeCuda()
    package, bindings = ModuleType("cuda"), ModuleType("cuda.bindings")
    package.__path__, bindings.__path__ = [], []
    bindings.driver = made  # type: ignore[attr-defined]
    with in_place({"cuda": package, "cuda.bindings": bindings, "cuda.bindings.driver": made}):
        yield made


@contextmanager
def in_place(modules: dict[str, ModuleType | None]) -> Iterator[None]:
    """Modules under these names, None where there is none; what else is imported stays."""
    before = {name: sys.modules.pop(name, None) for name in modules}
    sys.modules.update(modules)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name, module in before.items():
            del sys.modules[name]
            if module is not None:
                sys.modules[name] = module
