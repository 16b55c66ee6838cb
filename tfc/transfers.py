"""What the host sends to devices and running programs, and gets back.

    w = tfc.device_put(weights, backend="gpu")     once: y = f(w, x) does not copy it again
    tfc.device_get(y)                              the result as NumPy's array

    exe = tfc.compile(module)                      module: … infeed(token) …, outfeed(x, token) …
    tfc.transfer_to_infeed(np.float32([1, 2]))     queued until the program reads it
    exe()
    tfc.transfer_from_outfeed("f32[2]")            waits until the program has written it

Queues belong to the process; each device of a program has its own. Values are arrays, or tuples of
arrays. All functions may be called from any thread.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from tfc.errors import UnsupportedError
from tfc.frontend import tree
from tfc.hlo.lexer import Lexer
from tfc.hlo.shape import AnyShape, Shape, element_type_of
from tfc.hlo.specs import spec_of
from tfc.hlo.text.value_text import parse_shape
from tfc.runtime.arrays import Spec, copied
from tfc.runtime.device_arrays import DeviceArray, is_on_gpu
from tfc.runtime.functions import as_value
from tfc.runtime.later import later
from tfc.runtime.transfers import FROM_PROGRAM, INFEED, OUTFEED, TO_PROGRAM, put, receive
from tfc.tracebacks import api_boundary

if TYPE_CHECKING:
    from tfc.backends.gpu import driver, memory
else:
    driver = later("tfc.backends.gpu.driver")
    memory = later("tfc.backends.gpu.memory")


@api_boundary
def transfer_to_infeed(value: Any, *, device: int = 0) -> None:
    """Queue a value for the next infeed of the program on a device; does not wait.

    The program's infeed raises ShapeError if the value is not of its dtypes and dimensions.
    """
    put((INFEED, 0, device), copied(as_value(value)))


@api_boundary
def transfer_from_outfeed(
    shape: AnyShape | str, *, device: int = 0, timeout: float | None = None
) -> Any:
    """The next value that the program on a device writes to its outfeed.

    Args:
        shape: what is expected, such as "f32[2,3]" or "(f32[2], pred[])".
        timeout: seconds to wait for it; no end when left out.

    Raises:
        ShapeError: the next value is something else; it stays in the queue.
        TfcError: none came in time.
        ParseError: the text is no shape.
    """
    return receive((OUTFEED, 0, device), _spec(shape), "the outfeed", timeout)


@api_boundary
def transfer_to_channel(channel: int, value: Any, *, device: int = 0) -> None:
    """Queue a value for a `recv` with that channel_id and is_host_transfer=true."""
    put((TO_PROGRAM, channel, device), copied(as_value(value)))


@api_boundary
def transfer_from_channel(
    channel: int, shape: AnyShape | str, *, device: int = 0, timeout: float | None = None
) -> Any:
    """The next value of a `send` with that channel_id and is_host_transfer=true.

    Args:
        shape: what is expected, such as "f32[2,3]".
        timeout: seconds to wait for it; no end when left out.

    Raises:
        ShapeError: the next value is something else; it stays in the queue.
        TfcError: none came in time.
        ParseError: the text is no shape.
    """
    return receive((FROM_PROGRAM, channel, device), _spec(shape), f"channel {channel}", timeout)


def _spec(shape: AnyShape | str) -> Spec:
    if not isinstance(shape, str):
        return spec_of(shape)
    lexer = Lexer(shape, "shape")
    parsed = parse_shape(lexer)
    if lexer.kind != "end":
        lexer.expected("nothing more")
    return spec_of(parsed)


@api_boundary
def device_put(x: Any, backend: str = "gpu") -> Any:
    """The arrays of a nested structure in the memory of a device.

    What is there already stays where it is, arrays of PyTorch, CuPy and JAX on the GPU too: they
    are read in the same memory.

    Args:
        x: an array or a number, or containers of them.
        backend: "gpu", or "cpu" for arrays of NumPy.

    Raises:
        UnsupportedError: the backend has no memory of its own.
        DriverError: there is no GPU.
        OutOfMemoryError: its memory is full.
    """
    if backend == "cpu":
        return device_get(x)
    if backend != "gpu":
        raise UnsupportedError(f"device_put knows the backends 'gpu' and 'cpu', got '{backend}'")
    leaves, structure = tree.flatten(x)
    return tree.unflatten(structure, [_on_gpu(leaf) for leaf in leaves])


def _on_gpu(leaf: Any) -> DeviceArray:
    device = driver.current_driver()
    if isinstance(leaf, DeviceArray) and leaf.device is device:
        return leaf
    if is_on_gpu(leaf):
        return memory.borrowed(device, leaf)
    array = np.asarray(leaf)
    shape = Shape(element_type_of(array.dtype), array.shape)
    return DeviceArray(memory.to_gpu(array, shape, device), array.dtype, array.shape)


@api_boundary
def device_get(x: Any) -> Any:
    """The arrays of a nested structure as NumPy's, once they are computed."""
    leaves, structure = tree.flatten(x)
    return tree.unflatten(structure, [np.asarray(leaf) for leaf in leaves])
