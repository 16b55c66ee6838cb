"""Events by cuda-bindings: places in the order of a stream; reading a few bytes at such a place."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from threading import Lock
from typing import Any, Protocol

import numpy as np

from tfc.backends.gpu.driver.loops import Loops


class EventDriver(Protocol):
    """What events need of their driver."""

    binding: Any
    stream: Any
    loops: Loops

    @property
    def turn(self) -> AbstractContextManager[Any]:
        """Held while something is asked for in its stream."""
        ...

    def enter(self) -> None:
        """Make the context this thread's."""
        ...

    def do(self, name: str, *arguments: Any) -> Any:
        """Ask for something in the stream."""
        ...


class Event:
    """A place in the order of a stream."""

    def __init__(self, driver: EventDriver, stream: Any):
        self._driver = driver
        self._ask, self._cuda = driver.binding.ask, driver.binding.cuda
        self.handle = self._ask("cuEventCreate", self._cuda.CUevent_flags.CU_EVENT_DEFAULT)
        self.record(stream)

    def record(self, stream: Any) -> None:
        """Make it the place at which a stream is now."""
        with self._driver.turn:
            self._asked = self._driver.loops.asked
            self._driver.do("cuEventRecord", self.handle, stream)

    def wait(self) -> None:
        """Wait until all that was asked before is done."""
        self._driver.enter()
        loops = self._driver.loops
        if loops.ended < self._asked:
            loops.wait(self.is_passed, self._asked)
        else:
            self._ask("cuEventSynchronize", self.handle)

    def is_passed(self) -> bool:
        """Whether all that was asked before is done."""
        self._driver.enter()
        status, *_ = self._cuda.cuEventQuery(self.handle)
        if status == self._cuda.CUresult.CUDA_ERROR_NOT_READY:
            return False
        if status != self._cuda.CUresult.CUDA_SUCCESS:
            self._ask("cuEventQuery", self.handle)  # fails again, and says why
        return True

    def seconds_since(self, earlier: "Event") -> float:
        """How long after an earlier mark the GPU came to this one."""
        self.wait()
        return self._ask("cuEventElapsedTime", earlier.handle, self.handle) / 1e3

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self._cuda.cuEventDestroy(self.handle)


class Word:
    """A few bytes of pinned memory, through which as many are read: the driver copies them there
    without the host, and one event, used again and again, says when.

    Args:
        pinned: makes an array of so many bytes in pinned memory.
    """

    size = 16  # bytes

    def __init__(self, driver: EventDriver, pinned: Callable[[int], np.ndarray]):
        self._driver, self._new, self._lock = driver, pinned, Lock()
        self._event: Event | None = None

    @cached_property
    def _pinned(self) -> np.ndarray:
        return self._new(self.size)

    def read(self, target: np.ndarray, address: int) -> None:
        """Copy bytes of the GPU's memory to an array of their size, and wait."""
        driver, count = self._driver, target.nbytes
        with self._lock:
            with driver.turn:
                where = self._pinned.ctypes.data, address, count
                driver.do("cuMemcpyDtoHAsync", *where, driver.stream)
                if self._event is None:
                    self._event = Event(driver, driver.stream)
                else:
                    self._event.record(driver.stream)
            self._event.wait()
            target.reshape(-1).view(np.uint8)[:] = self._pinned[:count]
