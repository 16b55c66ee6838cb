"""A libcuda.so.1 for tests, which runs what is asked of the CUDA driver on the interpreter of PTX.

    python libcuda.py FOLDER        loads FOLDER/libcuda.so.1 and FOLDER/program.so; calls run()

The library passes each call on to Python, with its arguments as numbers of 64 bits; Python answers
by the stand-in for cuda-bindings. `run()` of the program gives how many checks have failed. Printed
are the names of all calls, then what is left allocated.

NVIDIA's own cuda-bindings find the functions in it, too: `load()` puts it in the driver's place.
"""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

from cuda_bindings import CAPABILITY, ERRORS, HOPPER, FakeCuda, NodeParameters
from cuda_descriptors import encode_pixels, encode_tiled

# The arguments of each function, in letters: i an int, n a number of 64 bits or an address, h a
# handle; capitals, where such results go; s a string, t a float's place, p a number's place.
FUNCTIONS = {
    "cuInit": "i", "cuDriverGetVersion": "I", "cuDeviceGetCount": "I", "cuDeviceGet": "Ii",
    "cuDeviceGetName": "nii", "cuDeviceGetAttribute": "Iii", "cuGetErrorString": "iN",
    "cuDevicePrimaryCtxRetain": "Hi", "cuDevicePrimaryCtxRelease_v2": "i",
    "cuCtxSetCurrent": "h", "cuCtxPushCurrent_v2": "h", "cuCtxPopCurrent_v2": "H",
    "cuStreamCreate": "Ni", "cuStreamDestroy_v2": "n", "cuStreamSynchronize": "n",
    "cuStreamWaitEvent": "nni", "cuEventCreate": "Ni", "cuEventRecord": "nn",
    "cuEventSynchronize": "n", "cuEventElapsedTime": "tnn", "cuEventDestroy_v2": "n",
    "cuModuleLoadData": "Hn", "cuModuleUnload": "h", "cuModuleGetFunction": "Hhs",
    "cuFuncSetAttribute": "hii", "cuFuncGetAttribute": "Iih",
    "cuLinkCreate_v2": "innH", "cuLinkAddData_v2": "hinnsinn", "cuLinkComplete": "hNN",
    "cuLinkDestroy": "h",
    "cuDeviceGetDefaultMemPool": "Hi", "cuMemPoolSetAttribute": "hip", "cuMemPoolTrimTo": "hn",
    "cuMemGetInfo_v2": "NN", "cuPointerGetAttribute": "Iin",
    "cuMemAllocAsync": "Nnn", "cuMemFreeAsync": "nn",
    "cuMemAlloc_v2": "Nn", "cuMemFree_v2": "n", "cuMemHostAlloc": "Nni", "cuMemFreeHost": "n",
    "cuMemcpyHtoDAsync_v2": "nnnn", "cuMemcpyDtoHAsync_v2": "nnnn", "cuMemcpyDtoDAsync_v2": "nnnn",
    "cuLaunchKernel": "hiiiiiiinnn",
    "cuStreamBeginCapture": "ni", "cuStreamEndCapture": "nH", "cuGraphInstantiateWithFlags": "Hhn",
    "cuGraphDestroy": "h", "cuGraphExecDestroy": "h", "cuGraphUpload": "hn", "cuGraphLaunch": "hn",
    "cuGraphCreate": "Hi", "cuGraphConditionalHandleCreate": "Nhhii", "cuGraphAddNode": "Hhnnnn",
    "cuStreamBeginCaptureToGraph": "nhnnni", "cuStreamGetCaptureInfo": "nINHNNN",
    "cuEventQuery": "n", "cuMemsetD32Async": "ninn",
    "cuTensorMapEncodeTiled": "niinnnnniiii", "cuTensorMapEncodeIm2col": "niinnnnniiniiii",
}  # fmt: skip
HOOK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64))
_RESULTS = {"I": ctypes.c_int, "N": ctypes.c_uint64, "H": ctypes.c_uint64, "t": ctypes.c_float}


def base(name: str) -> str:
    """What the API calls a function, whose symbol may have a version."""
    return name.removesuffix("_v2")


def c_source() -> str:
    """The library: arguments of 32 bits come in registers of 64, whose upper half is no one's."""
    texts = [
        "#include <stdint.h>\n#include <string.h>\n"
        "typedef int (*Hook)(const char*, const uint64_t*);\n"
        "static Hook hook;\nvoid set_hook(Hook h) { hook = h; }\n"
    ]
    for name, letters in FUNCTIONS.items():
        count = range(len(letters))
        taken = ", ".join(f"{'unsigned' if letters[n] == 'i' else 'uint64_t'} a{n}" for n in count)
        passed = ", ".join(f"a{n}" for n in count)
        texts.append(
            f"int {name}({taken}) {{\n  const uint64_t a[] = {{{passed}}};\n"
            f'  return hook("{name}", a);\n}}\n'
        )
    found = "".join(
        f'  if (strcmp(name, "{base(n)}") == 0) *found = (void*){n};\n' for n in FUNCTIONS
    )
    texts.append(
        "int cuGetProcAddress_v2(const char* name, void** found, int version, uint64_t flags, "
        "int* status) {\n  (void)version, (void)flags;\n  *found = 0;\n"
        '  if (strcmp(name, "cuGetProcAddress") == 0) *found = (void*)cuGetProcAddress_v2;\n'
        f"{found}  if (status) *status = *found ? 0 : 1;\n  return *found ? 0 : 500;\n}}\n"
    )
    return "".join(texts)


class _ConditionalNode(ctypes.Structure):
    """CUgraphNodeParams of a conditional node, to the end of what it uses."""

    _fields_ = [
        ("type", ctypes.c_int), ("reserved", ctypes.c_int * 3), ("handle", ctypes.c_uint64),
        ("kind", ctypes.c_int), ("size", ctypes.c_uint), ("graphs", ctypes.c_uint64),
        ("context", ctypes.c_uint64),
    ]  # fmt: skip


class Answers:
    """What Python does for each call; handles are numbers of objects, those of earlier ones too."""

    _objects: ClassVar[list[Any]] = [None]

    def __init__(self, fake: FakeCuda):
        self.fake, self.calls = fake, list[str]()
        self.hook = HOOK(self)
        self._nodes: Any = ()  # what the last answer about a capture points to
        self._kept: list[Any] = []  # tables of nodes' graphs
        self._texts = {n: ctypes.c_char_p(text.encode()) for n, (_, text) in ERRORS.items()}

    def __call__(self, name: bytes, arguments: Any) -> int:
        """Do what a function is to do, and give its status."""
        called = name.decode()
        letters = FUNCTIONS[called]
        self.calls.append(called)
        values = [self._taken(arguments[n], letter) for n, letter in enumerate(letters)]
        places = [n for n, letter in enumerate(letters) if letter in _RESULTS]
        given = [v for n, v in enumerate(values) if n not in places]
        try:
            status, *found = self._do(base(called), given)
            if status == 0:
                for n, value in zip(places, found, strict=True):
                    kind = _RESULTS[letters[n]]
                    kept = self._handle(value) if letters[n] == "H" else value
                    kind.from_address(arguments[n]).value = kept
        except Exception as error:
            print(f"{called}: {type(error).__name__}: {error}", flush=True)
            os._exit(9)
        return status

    def _taken(self, value: int, letter: str) -> Any:
        match letter:
            case "h":
                return self._objects[value]
            case "s":
                return ctypes.string_at(value)
            case "p":
                return ctypes.c_uint64.from_address(value).value
            case _:
                return value

    def _handle(self, found: Any) -> int:
        self._objects.append(found)
        return len(self._objects) - 1

    def _do(self, name: str, given: list[Any]) -> Any:
        fake = self.fake
        match name:
            case "cuGetErrorString":
                return 0, ctypes.cast(self._texts[given[0]], ctypes.c_void_p).value
            case "cuDeviceGetName":
                status, text = fake.cuDeviceGetName(given[1], given[2])
                ctypes.memmove(given[0], text, given[1])
                return (status,)
            case "cuCtxPopCurrent":
                return 0, "primary"
            case "cuDevicePrimaryCtxRelease" | "cuCtxPushCurrent" | "cuStreamDestroy":
                return (0,)
            case "cuModuleLoadData":
                return fake.cuModuleLoadData(ctypes.string_at(given[0]))
            case "cuLinkAddData":
                given[2] = ctypes.string_at(given[2], given[3])
                return fake.cuLinkAddData(*given)[:1]
            case "cuGraphInstantiateWithFlags":
                return fake.cuGraphInstantiate(*given)
            case "cuGraphAddNode":
                return self._add_node(*given)
            case "cuStreamBeginCaptureToGraph":
                stream, graph, nodes, _, count, mode = given
                last = self._handled(nodes, count)
                return fake.cuStreamBeginCaptureToGraph(stream, graph, last, None, count, mode)
            case "cuStreamGetCaptureInfo":
                status, state, number, graph, nodes, _, count = fake.cuStreamGetCaptureInfo(*given)
                lists = (ctypes.c_uint64 * (2 * count))(*map(self._handle, nodes))
                self._nodes, start = lists, ctypes.addressof(lists)  # then data of as many edges
                return status, state, number, graph, start, start + 8 * count, count
            case "cuTensorMapEncodeTiled":
                return (fake.failing.get(name, 0) or encode_tiled(*given),)
            case "cuTensorMapEncodeIm2col":
                return (fake.failing.get(name, 0) or encode_pixels(*given),)
            case _:
                return getattr(fake, name)(*given)

    def _handled(self, start: int, count: int) -> list[Any]:
        found = (ctypes.c_uint64 * count).from_address(start) if count else ()
        return [self._objects[handle] for handle in found]

    def _add_node(self, graph: Any, nodes: int, edges: int, count: int, place: int) -> Any:
        """A conditional node, as CUgraphNodeParams states it."""
        stated = _ConditionalNode.from_address(place)
        asked = NodeParameters()
        asked.type, conditional = stated.type, asked.conditional
        conditional.handle, conditional.type = stated.handle, stated.kind
        conditional.size, conditional.ctx = stated.size, self._objects[stated.context]
        last = self._handled(nodes, count)
        status, node = self.fake.cuGraphAddNode(graph, last, None, count, asked)
        if status == 0:
            handles = map(self._handle, conditional.phGraph_out)
            self._kept.append((ctypes.c_uint64 * stated.size)(*handles))
            stated.graphs = ctypes.addressof(self._kept[-1])
        return status, node


def build_library(folder: Path, *compiler: str) -> None:
    """Write the library to a folder."""
    (folder / "libcuda.c").write_text(c_source())
    options = ["-x", "c", "libcuda.c", "-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1"]
    _compile(folder, *compiler, *options)


def build(folder: Path, compiler: str, program: str, *sources: Path) -> None:
    """Write the library, and a program of C++ with a function `run`, to a folder."""
    build_library(folder, compiler)
    (folder / "program.cpp").write_text(program)
    strict = ["-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wconversion", "-Wsign-conversion",
              "-Wshadow"]  # fmt: skip
    own = ["-std=c++11", *strict, "program.cpp", *map(str, sources), "-o", "program.so"]
    _compile(folder, compiler, *own)


def _compile(folder: Path, *command: str) -> None:
    done = subprocess.run(
        [*command, "-shared", "-fPIC"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def run(
    folder: Path, failing: dict[str, int] | None = None, hopper: bool = False
) -> tuple[int, list[str], int]:
    """How many checks failed, the calls of the driver, and the bytes that are left allocated.

    Args:
        failing: the status that functions give, by name.
        hopper: whether the device has warpgroups.
    """
    done = subprocess.run(
        [sys.executable, __file__, str(folder), json.dumps(failing or {}), str(int(hopper))],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    *said, last = done.stdout.strip().split("\n")
    failures, calls, left = json.loads(last)
    assert failures == 0, "\n".join(said)
    return failures, calls, left


_loaded: list[Answers] = []  # what is left of a program may be given back at any time later


def load(folder: Path | str, fake: FakeCuda) -> Answers:
    """Put the library in the place of the driver's, where it stays; from now on `fake` answers."""
    _loaded.append(Answers(fake))
    library = ctypes.CDLL(f"{folder}/libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
    library.set_hook(_loaded[-1].hook)
    return _loaded[-1]


def main(folder: str, failing: str, hopper: str) -> None:
    """What a process of its own does."""
    fake = FakeCuda(HOPPER if hopper == "1" else CAPABILITY)
    fake.failing = json.loads(failing)
    answers = load(folder, fake)
    failures = ctypes.CDLL(f"{folder}/program.so").run()
    sys.stdout.flush()
    print(json.dumps([failures, answers.calls, fake.machine.allocated]))


if __name__ == "__main__":
    main(*sys.argv[1:])
