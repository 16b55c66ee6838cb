"""A libcuda.so.1 for tests, which runs what C++ asks of the CUDA driver on the interpreter of PTX.

    python libcuda.py FOLDER        loads FOLDER/libcuda.so.1 and FOLDER/program.so; calls run()

The library passes each call on to Python, with its arguments as numbers of 64 bits; Python answers
by the stand-in for cuda-bindings. `run()` of the program gives how many checks have failed. Printed
are the names of all calls, then what is left allocated.
"""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from cuda_bindings import CAPABILITY, ERRORS, HOPPER, FakeCuda, encode_tiled

# How many arguments each function has, and whether the first is where its result goes: an int or
# an address.
FUNCTIONS = {
    "cuInit": (1, None), "cuDeviceGetCount": (1, ctypes.c_int), "cuDeviceGet": (2, ctypes.c_int),
    "cuDeviceGetAttribute": (3, ctypes.c_int), "cuDevicePrimaryCtxRetain": (2, ctypes.c_uint64),
    "cuDevicePrimaryCtxRelease_v2": (1, None), "cuCtxPushCurrent_v2": (1, None),
    "cuCtxPopCurrent_v2": (1, ctypes.c_uint64), "cuStreamCreate": (2, ctypes.c_uint64),
    "cuStreamDestroy_v2": (1, None), "cuStreamSynchronize": (1, None),
    "cuModuleLoadData": (2, ctypes.c_uint64), "cuModuleUnload": (1, None),
    "cuModuleGetFunction": (3, ctypes.c_uint64), "cuFuncSetAttribute": (3, None),
    "cuMemAlloc_v2": (2, ctypes.c_uint64), "cuMemFree_v2": (1, None),
    "cuMemcpyHtoDAsync_v2": (4, None), "cuMemcpyDtoHAsync_v2": (4, None),
    "cuMemcpyDtoDAsync_v2": (4, None), "cuLaunchKernel": (11, None),
    "cuTensorMapEncodeTiled": (12, None),
}  # fmt: skip
HOOK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64))


def c_source() -> str:
    """The library: arguments of 32 bits come in registers of 64, whose upper half is no one's."""
    texts = [
        "#include <stdint.h>\ntypedef int (*Hook)(const char*, const uint64_t*);\n"
        "static Hook hook;\nvoid set_hook(Hook h) { hook = h; }\n"
        "int cuGetErrorString(int status, const char** said) {\n"
        + "".join(f'  if (status == {n}) *said = "{text}";\n' for n, (_, text) in ERRORS.items())
        + "  return 0;\n}\n"
    ]
    for name, (count, _) in FUNCTIONS.items():
        narrow = _NARROW.get(name, ())
        taken = ", ".join(f"{'unsigned' if n in narrow else 'uint64_t'} a{n}" for n in range(count))
        passed = ", ".join(f"a{n}" for n in range(count))
        texts.append(
            f"int {name}({taken}) {{\n  const uint64_t a[] = {{{passed}}};\n"
            f'  return hook("{name}", a);\n}}\n'
        )
    return "".join(texts)


_NARROW: dict[str, tuple[int, ...]] = {
    "cuInit": (0,), "cuDeviceGet": (1,), "cuDeviceGetAttribute": (1, 2),
    "cuDevicePrimaryCtxRetain": (1,), "cuDevicePrimaryCtxRelease_v2": (0,),
    "cuStreamCreate": (1,), "cuFuncSetAttribute": (1, 2), "cuLaunchKernel": tuple(range(1, 8)),
    "cuTensorMapEncodeTiled": (1, 2, 8, 9, 10, 11),
}  # fmt: skip


class Answers:
    """What Python does for each call; handles are numbers of objects."""

    def __init__(self, fake: FakeCuda):
        self.fake, self.calls = fake, list[str]()
        self._objects: list[Any] = [None]

    def __call__(self, name: bytes, arguments: Any) -> int:
        """Do what a function is to do, and give its status."""
        called = name.decode()
        count, result = FUNCTIONS[called]
        given = [arguments[n] for n in range(count)]
        self.calls.append(called)
        try:
            status, *found = self._do(called.removesuffix("_v2"), given)
        except Exception as error:
            print(f"{called}: {type(error).__name__}: {error}", flush=True)
            os._exit(9)
        if result is not None and status == 0:
            value = found[0] if isinstance(found[0], int) else self._handle(found[0])
            result.from_address(given[0]).value = value
        return status

    def _handle(self, found: Any) -> int:
        self._objects.append(found)
        return len(self._objects) - 1

    def _do(self, name: str, given: list[int]) -> Any:
        fake, held = self.fake, self._objects
        match name:
            case "cuDeviceGetCount":
                return fake.cuDeviceGetCount()
            case "cuDevicePrimaryCtxRelease" | "cuCtxPushCurrent" | "cuCtxPopCurrent":
                return 0, 1
            case "cuStreamDestroy":
                return (0,)
            case "cuModuleLoadData":
                code = ctypes.string_at(given[1])
                return (209,) if code.startswith(b"\x7fELF") else fake.cuModuleLoadData(code)
            case "cuModuleGetFunction":
                return fake.cuModuleGetFunction(held[given[1]], ctypes.string_at(given[2]))
            case "cuLaunchKernel":
                return fake.cuLaunchKernel(held[given[0]], *given[1:])
            case "cuTensorMapEncodeTiled":
                status = fake.failing.get(name, 0)
                return (status or encode_tiled(*given),)
            case "cuFuncSetAttribute":
                return fake.cuFuncSetAttribute(held[given[0]], *given[1:])
            case _:
                _, result = FUNCTIONS.get(name) or FUNCTIONS[f"{name}_v2"]
                return getattr(fake, name)(*(given if result is None else given[1:]))


def build(folder: Path, compiler: str, program: str, *sources: Path) -> None:
    """Write the library, and a program of C++ with a function `run`, to a folder."""
    (folder / "libcuda.c").write_text(c_source())
    (folder / "program.cpp").write_text(program)
    library = ["-x", "c", "libcuda.c", "-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1"]
    strict = ["-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wconversion", "-Wsign-conversion",
              "-Wshadow"]  # fmt: skip
    own = ["-std=c++11", *strict, "program.cpp", *map(str, sources), "-o", "program.so"]
    for arguments in (library, own):
        done = subprocess.run(
            [compiler, "-shared", "-fPIC", *arguments], cwd=folder, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
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


def main(folder: str, failing: str, hopper: str) -> None:
    """What a process of its own does: libcuda.so.1 stays loaded in it."""
    fake = FakeCuda(HOPPER if hopper == "1" else CAPABILITY)
    fake.failing = json.loads(failing)
    answers = Answers(fake)
    hook = HOOK(answers)
    library = ctypes.CDLL(f"{folder}/libcuda.so.1")
    library.set_hook(hook)
    program = ctypes.CDLL(f"{folder}/program.so")
    failures = program.run()
    sys.stdout.flush()
    print(json.dumps([failures, answers.calls, fake.machine.allocated]))


if __name__ == "__main__":
    main(*sys.argv[1:])
