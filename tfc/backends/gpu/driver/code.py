"""Code by cuda-bindings: loaded modules, their kernels, and launches with arguments in place."""

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol
from weakref import ref

_SHARED = 48 << 10  # bytes that a launch may give without asking; the code states none


class LaunchDriver(Protocol):
    """What code needs of the driver that loads it.

    binding: `ask` calls a function of the driver; `cuda` is the module with its types.
    """

    binding: Any
    stream: Any

    def submit(self, name: str, arguments: tuple[Any, ...], has_loops: bool = False) -> None:
        """Ask for a launch."""
        ...

    def after_recording(self, action: Callable[[], object]) -> None:
        """Do something at once, or after what this thread records."""
        ...


class Module:
    """Loaded code; it is unloaded with the last reference to it or to a function of it."""

    def __init__(self, driver: LaunchDriver, code: bytes):
        self.binding = driver.binding
        self._driver = ref(driver)  # which is not kept by what is kept for it
        self.handle = self.binding.ask("cuModuleLoadData", code + b"\0")

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if is_finalizing() or not hasattr(self, "handle"):
            return
        unload, driver = partial(self.binding.cuda.cuModuleUnload, self.handle), self._driver()
        if driver is None:
            unload()
        else:
            driver.after_recording(unload)


class Function:
    """A kernel, and the bytes of shared memory that it may have."""

    def __init__(self, module: Module, name: str):
        self._ask = module.binding.ask
        self.handle = self._ask("cuModuleGetFunction", module.handle, name.encode())
        self._module, self._allowed = module, _SHARED

    def allow(self, shared: int) -> None:
        """Let its blocks have this much shared memory."""
        if shared > self._allowed:
            kinds = self._module.binding.cuda.CUfunction_attribute
            kind = kinds.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._ask("cuFuncSetAttribute", self.handle, kind, shared)
            self._allowed = shared


class Prepared:
    """A launch with its arguments in memory, as the driver wants them."""

    def __init__(self, driver: LaunchDriver, function: Function, values: Sequence[int | bytes],
                 sizes: Sequence[int], shared: int):  # fmt: skip
        count = len(values)
        held = [ctypes.c_uint64(v) if isinstance(v, int) else ctypes.create_string_buffer(v)
                for v in values]  # fmt: skip
        places = (ctypes.c_void_p * count)(*map(ctypes.addressof, held))
        self._driver, self._kept = driver, (function, held, places)
        self._arguments = (function.handle, *sizes, shared, driver.stream,
                           ctypes.addressof(places), 0)  # fmt: skip

    def launch(self) -> None:
        """Run it."""
        self._driver.submit("cuLaunchKernel", self._arguments)
