"""Events of cuda-bindings: places in the order of a stream."""

from typing import Any


class Event:
    """A place in the order of a stream."""

    def __init__(self, driver: Any, stream: Any):
        self._driver = driver
        self._ask, self._cuda = driver.binding.ask, driver.binding.cuda
        self.handle = self._ask("cuEventCreate", self._cuda.CUevent_flags.CU_EVENT_DEFAULT)
        driver.do("cuEventRecord", self.handle, stream)

    def wait(self) -> None:
        """Wait until all that was asked before is done."""
        self._driver.enter()
        self._ask("cuEventSynchronize", self.handle)

    def seconds_since(self, earlier: "Event") -> float:
        """How long after an earlier mark the GPU came to this one."""
        self.wait()
        return self._ask("cuEventElapsedTime", earlier.handle, self.handle) / 1e3

    def is_passed(self) -> bool:
        """Whether all that was asked before is done."""
        self._driver.enter()
        status = self._cuda.cuEventQuery(self.handle)[0]
        if status == self._cuda.CUresult.CUDA_ERROR_NOT_READY:
            return False
        if status:
            self._ask("cuEventQuery", self.handle)  # fails again, and says why
        return True

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self._cuda.cuEventDestroy(self.handle)
