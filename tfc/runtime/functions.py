"""Functions outside of a program that its code calls: void target(void* out, void** in).

in[i] points to operand i and out to the result; a tuple is an array of pointers to its elements,
and a token the null pointer. A program calls a Python function through a callback of this form that
returns 0, or 1 after an exception, which `reraise` raises once the code has come to its end.
"""

import ctypes
import importlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from tfc.errors import TfcError, UnsupportedError
from tfc.runtime.arrays import Spec, Value, address, check, copied, empty, store, view
from tfc.tracebacks import api_boundary

_NATIVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
# XLA's for GPUs: a stream, the buffers, and a text with its length.
_NATIVE_ON_GPU = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p, ctypes.c_size_t
)
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)

_FUNCTION_POINTER: type = _NATIVE.__bases__[0]  # what every ctypes function pointer is


@dataclass(frozen=True)
class HostFunction:
    """What a custom call runs: a Python function, or else the machine code at an address.

    `kept` is whatever must live as long as the code may be called.
    """

    name: str
    function: Callable[..., Any] | None = None
    address: int = 0
    kept: Any = None

    def __call__(self, values: Sequence[Value], result: Spec) -> Value:
        """The result for row-major operands.

        Raises:
            ShapeError: a Python function returned something else than `result`.
            Exception: whatever a Python function raises.
        """
        if self.function is not None:
            made = as_value(self.function(*(copied(v) for v in values)))
            check(made, result, f"the result of the custom call '{self.name}'")
            return made
        keep: list[Any] = []
        arguments = address(tuple(map(copied, values)), keep)
        made = empty(result)
        _NATIVE(self.address)(address(made, keep), arguments)
        return made


def as_value(value: Any) -> Value:
    """What a Python function returned, as arrays and tuples; None is the empty tuple."""
    if value is None:
        return ()
    return tuple(map(as_value, value)) if isinstance(value, (tuple, list)) else np.asarray(value)


_targets: dict[str, HostFunction] = {}
_gpu_targets: dict[str, HostFunction] = {}


class CallbackName(str):
    """The name of a function of this process that a traced program calls.

    It keeps the function alive: programs hold the name, and nothing else holds the function.

    host: the function.
    shown: what it is to the user: "pure_callback of f".
    vmap_method: how it is called for a batch, if that was said.
    remake: the same function for results of other shapes.
    """

    host: HostFunction
    shown: str
    vmap_method: str | None
    remake: Callable[[Any], Callable[..., Any]]

    def giving(self, shapes: Any) -> "CallbackName":
        """The name of the same function for results of these shapes."""
        return register_callback(self.shown, self.remake, shapes, self.vmap_method)

    def __reduce__(self) -> Any:
        raise UnsupportedError(
            f"{self.shown} is a function of this process, so what calls it cannot be pickled: "
            "pickle the function that is traced instead"
        )


_callbacks: WeakValueDictionary[str, CallbackName] = WeakValueDictionary()
_numbers = count()
_PREFIX = "tfc.callback."


def register_callback(
    title: str,
    make: Callable[[Any], Callable[..., Any]],
    shapes: Any,
    vmap_method: str | None = None,
) -> CallbackName:
    """A name for custom calls of a Python function, which lives as long as the name does.

    Args:
        make: gives the function for the shapes of its results.
    """
    name = CallbackName(f"{_PREFIX}{next(_numbers)}")
    name.host, name.shown = HostFunction(title, function=make(shapes)), title
    name.vmap_method, name.remake = vmap_method, make
    _callbacks[str(name)] = name
    return name


def is_callback(name: str) -> bool:
    """True for the names that `register_callback` gives."""
    return name.startswith(_PREFIX)


def callback_title(name: str) -> str:
    """What a callback is to the user."""
    return _callbacks[name].shown if name in _callbacks else "a Python callback"


@api_boundary
def register_custom_call(name: str, target: Any, platform: str = "cpu") -> None:
    """Say which function custom calls of a name run, from now on; code compiled before keeps its.

    Args:
        name: the `custom_call_target` of the instructions.
        target: void target(void* out, void** in) as an address, a ctypes or cffi function pointer,
            a numba cfunc or a capsule; or a Python function of arrays that returns an array, or a
            tuple of them for a tuple, of the dtypes and dimensions that the instruction states.
            An exception that it raises reaches whoever runs the program.
        platform: "cpu": the target gets arrays on the host, whatever the program runs on. "gpu" (or
            "CUDA"): programs on a GPU call it with arrays there, void target(CUstream, void**
            buffers, const char* opaque, size_t opaque_length), where the buffers are the operands'
            and then the results'; or a Python function of the stream's address and `GpuBuffer`s. It
            asks for its work in that stream.

    Raises:
        UnsupportedError: another platform.
        TfcError: the target is none of these.
    """
    targets = {"cpu": _targets, "gpu": _gpu_targets, "CUDA": _gpu_targets}.get(platform)
    if targets is None:
        raise UnsupportedError(
            f"custom calls run on the platforms 'cpu' and 'gpu' only, got '{platform}'"
        )
    if not isinstance(name, str) or not name:
        raise TfcError(f"a custom call must be named by a text that is not empty, got {name!r}")
    found = _address_of(target)
    if found is None and callable(target):
        targets[name] = HostFunction(name, function=target)
    elif found:
        targets[name] = HostFunction(name, address=found, kept=target)
    else:
        raise TfcError(
            f"the target of the custom call '{name}' must be an address, a function pointer, a "
            f"capsule or a Python function, got {target!r}"
        )


@dataclass(frozen=True)
class GpuBuffer:
    """An operand or a result of a custom call on the GPU: row-major, to be used in its stream."""

    address: int
    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """How other libraries see it; it is in the order of the call's stream."""
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False),
            "version": 3, "strides": None, "stream": None,
        }  # fmt: skip


def gpu_target(name: str) -> Callable[[int, Sequence[GpuBuffer], bytes], None] | None:
    """What programs on a GPU call under a name: with a stream, operands and results, and a text.

    None if it is called with arrays on the host.
    """
    found = _gpu_targets.get(name)
    if found is None:
        return None

    def call(stream: int, buffers: Sequence[GpuBuffer], opaque: bytes) -> None:
        if found.function is not None:
            found.function(stream, *buffers)
            return
        places = (ctypes.c_void_p * max(len(buffers), 1))(*(b.address for b in buffers))
        _NATIVE_ON_GPU(found.address)(stream, places, opaque, len(opaque))

    return call


def custom_call_target(name: str) -> HostFunction:
    """The function registered under a name.

    Raises:
        UnsupportedError: there is none.
    """
    if is_callback(name):
        if name not in _callbacks:
            raise UnsupportedError(
                f"the Python function that '{name}' stands for is no more, or is of another "
                "process: trace the program again where it is to run"
            )
        return _callbacks[name].host
    if name not in _targets:
        raise UnsupportedError(
            f"the custom call target '{name}' is not registered; "
            f"call tfc.register_custom_call('{name}', function) before compiling"
        )
    return _targets[name]


def _address_of(target: Any) -> int | None:
    """The address that an object stands for; 0 for a null pointer, None if it is no pointer."""
    if isinstance(target, bool):
        return None
    if isinstance(target, int):
        return target
    if isinstance(target, ctypes.c_void_p):
        return target.value or 0
    if isinstance(target, _FUNCTION_POINTER):
        return ctypes.cast(target, ctypes.c_void_p).value or 0
    if type(target).__name__ == "PyCapsule":
        return _capsule_pointer(target)
    if type(target).__module__ == "_cffi_backend":
        return int(importlib.import_module("cffi").FFI().cast("uintptr_t", target))
    found = getattr(target, "address", None)  # numba's cfunc
    return found if isinstance(found, int) else None


def _capsule_pointer(capsule: Any) -> int:
    api = ctypes.pythonapi
    name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return kind(("PyCapsule_GetPointer", api))(capsule, name(capsule)) or 0


_failures = threading.local()


def callback(
    function: Callable[[Sequence[Value]], Value], operands: tuple[Spec, ...], result: Spec
) -> Any:
    """A C function that runs a Python function on copies of the operands; it has an address.

    The specs have the strides that the operands and the result have in memory.
    """

    def call(out: int | None, arguments: int | None) -> int:
        try:
            values = [copied(v) for v in view(arguments, operands)]
            store(function(values), view(out, result))
        except BaseException as error:
            leave_behind(error)
            return 1
        return 0

    return _CALLBACK(call)


def leave_behind(error: BaseException) -> None:
    """Keep for `reraise` what a callback must not raise; it says that there is something."""
    _failures.error = error


def address_of_callback(made: Any) -> int:
    """The address of what `callback` made."""
    return ctypes.cast(made, ctypes.c_void_p).value or 0


def reraise() -> None:
    """Raise what a callback of this thread left behind; its code has said that there is something.

    Raises:
        BaseException: what the Python function raised.
    """
    error, _failures.error = _failures.error, None
    try:
        raise error
    finally:
        del error  # else it would hold this frame, which holds it
