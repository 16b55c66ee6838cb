"""What goes wrong with a GPU, each as a sentence that says what to do."""

from tfc.backends.gpu.driver.interface import MemoryUse
from tfc.errors import DriverError, OutOfMemoryError

_OUT_OF_MEMORY = 2
_NO_DEVICE = 100
_NEWER_CODE = (209, 218, 222)  # no kernel image, invalid PTX, PTX of a later version
# A kernel did what it must not: the context is of no use any more.
_BROKEN = (700, 702, 710, 714, 715, 716, 717, 718, 719)


def failure(function: str, status: int, said: str) -> DriverError | OutOfMemoryError:
    """The error for what a function of the driver returned, to be raised."""
    if status == _OUT_OF_MEMORY:
        return OutOfMemoryError("there is no memory left on the GPU: make arrays smaller")
    if status == _NO_DEVICE:
        return DriverError("NVIDIA's driver finds no GPU in this machine; use backend='cpu'")
    if status in _BROKEN:
        return DriverError(
            f"a kernel failed on the GPU, which {function} says: {said}; this process cannot use "
            "the GPU any more, so start it again"
        )
    if status in _NEWER_CODE:
        return DriverError(
            f"the GPU's driver does not take the code ({said}): a newer driver may; else use "
            "backend='cpu'"
        )
    return DriverError(f"{function} of the CUDA driver failed: {said}")


def no_driver(error: object) -> DriverError:
    """The error where the driver's library cannot be loaded, to be raised."""
    said = str(error).rstrip(".")
    return DriverError(
        f"NVIDIA's driver cannot be loaded ({said}); use backend='cpu' or take as_text('ptx')"
    )


def no_gpu(number: int, count: int) -> DriverError:
    """The error where there are fewer GPUs, to be raised."""
    return DriverError(f"there is no GPU {number}: the driver finds {count}; use backend='cpu'")


def too_old(name: str, capability: tuple[int, int]) -> DriverError:
    """The error for a GPU that there is no code for, to be raised."""
    return DriverError(
        f"{name} is too old: code is made for compute capability 8.0 and later, and it has "
        f"{'.'.join(map(str, capability))}; use backend='cpu'"
    )


def no_memory(size: int, use: MemoryUse) -> OutOfMemoryError:
    """The error where so many bytes are not to be had, to be raised."""
    return OutOfMemoryError(
        f"there is no memory for {size} bytes on the GPU, of which {use.free} of {use.total} are "
        "free: make arrays smaller, or delete some that are there"
    )
