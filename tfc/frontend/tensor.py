"""Tensor: a value of a function being traced. Its operators build instructions.

The operators and methods are the functions of the NumPy namespace, looked up by name in FUNCTIONS,
which those functions enter when they are defined (@traceable).
"""

from collections.abc import Callable, Iterator
from functools import wraps
from types import FunctionType
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from tfc.errors import AbsentAttributeError, TraceError
from tfc.frontend.absent_attributes import absent_attribute
from tfc.frontend.numpy_keywords import keyword_refusal, numpys_keyword
from tfc.frontend.numpys_calls import directly
from tfc.frontend.trace import Trace, for_user, leak, open_traces, refusal
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.runtime.calls import calls
from tfc.tracebacks import api_boundary

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

FUNCTIONS: dict[str, Callable[..., Any]] = {}

_CHOICES = (
    "use tfc.cond to choose between computations, tfc.numpy.where to choose elementwise, or "
    "tfc.while_loop to repeat until a condition on data holds"
)


def _method(name: str) -> "Callable[..., Tensor]":
    """The method that is the function `name` with the Tensor as its first argument."""

    def method(self: "Tensor", *args: Any, **named: Any) -> "Tensor":
        return FUNCTIONS[name](self, *args, **named)

    method.__name__, method.__doc__ = name, f"tfc.numpy.{name} of this Tensor."
    return method


def _operator(name: str) -> "Callable[[Tensor, Any], Tensor]":
    return lambda self, other: _keep_weak(FUNCTIONS[name](self, other), self, other)


def _reflected(name: str) -> "Callable[[Tensor, Any], Tensor]":
    return lambda self, other: _keep_weak(FUNCTIONS[name](other, self), self, other)


def _prefix(name: str) -> "Callable[[Tensor], Tensor]":
    return lambda self: _keep_weak(FUNCTIONS[name](self), self)


def _keep_weak(result: Any, *operands: Any) -> Any:
    """Operators make Python numbers of Python numbers; functions make NumPy ones."""
    if isinstance(result, Tensor) and all(is_weak(o) for o in operands):
        return Tensor(result.instruction, result.home, weak=True)
    return result


def _with_boundaries(kind: type[T]) -> type[T]:
    """The class, whose methods let errors out without the frames of tfc, as functions do."""
    for name, member in list(vars(kind).items()):
        if isinstance(member, FunctionType) and name != "__init__":
            setattr(kind, name, api_boundary(member))
    return kind


@_with_boundaries
class Tensor:
    """A value of a function being traced: an instruction, and the trace it belongs to.

    instruction: what computes it.
    home: the trace where it may be used; inner traces capture it.
    weak: True for a Python number and what operators make of Python numbers alone: it takes the
        element type of what it meets (NEP 50).
    """

    __slots__ = ("home", "instruction", "weak")

    def __init__(self, instruction: Instruction, home: Trace, weak: bool = False):
        self.instruction, self.home, self.weak = instruction, home, weak

    @property
    def array_shape(self) -> Shape:
        """The HLO shape: element type and dimensions."""
        return self.instruction.array_shape

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimension sizes, known while tracing."""
        return self.array_shape.dims

    @property
    def dtype(self) -> np.dtype:
        """The NumPy dtype of the elements."""
        return self.array_shape.element_type.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.array_shape.rank

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.array_shape.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def device(self) -> str:
        """ "cpu", as of all arrays of tfc.numpy."""
        return "cpu"

    @property
    def real(self) -> "Tensor":
        """The real part."""
        return FUNCTIONS["real"](self)

    @property
    def imag(self) -> "Tensor":
        """The imaginary part."""
        return FUNCTIONS["imag"](self)

    @property
    def flat(self) -> "Tensor":
        """All elements in one dimension, row-major."""
        return FUNCTIONS["ravel"](self)

    @property
    def T(self) -> "Tensor":
        """The transpose: all dimensions reversed."""
        return FUNCTIONS["transpose"](self)

    @property
    def mT(self) -> "Tensor":
        """The matrix transpose: the last two dimensions swapped."""
        return FUNCTIONS["matrix_transpose"](self)

    @property
    def at(self) -> Any:
        """x.at[key].set(y), .add(y) …: new arrays with other elements at x[key]."""
        return FUNCTIONS["at"](self)

    def __repr__(self) -> str:
        weak = ", weak" if self.weak else ""
        return f"Tensor({self.instruction.shape.without_layout()}{weak})"

    # Data that only exists when the program runs cannot steer the Python that is being traced.

    def _unknown(self, message: str) -> TraceError:
        """The error for a need of the value, to be raised: `message`, or that the Tensor leaked."""
        if self.home not in open_traces.traces:
            return leak(self.instruction, self.home)
        return refusal(message)

    def __bool__(self) -> bool:
        raise self._unknown(f"the truth value of {self!r} is not known while tracing; {_CHOICES}")

    def __int__(self) -> int:
        raise self._unknown(
            f"int() needs the value of {self!r}, not known while tracing; use .astype(int)"
        )

    def __float__(self) -> float:
        raise self._unknown(
            f"float() needs the value of {self!r}, not known while tracing; use .astype(float), "
            "and for functions of Python's math those of tfc.numpy"
        )

    def __complex__(self) -> complex:
        raise self._unknown(
            f"complex() needs the value of {self!r}, which is not known while tracing"
        )

    def __index__(self) -> int:
        raise self._unknown(
            f"{self!r} is used as an index or a count, but its value is not known while tracing; "
            f"{self._as_static()}, or select with tfc.numpy.where, or repeat with tfc.while_loop "
            "or tfc.fori_loop"
        )

    def _as_static(self) -> str:
        """What to do to have the value while tracing."""
        if self.instruction.opcode == "parameter" and self.instruction.name.isidentifier():
            name = self.instruction.name
            return f"name it in static_argnames={name!r}, if that is an argument of the function"
        return "use an argument named in static_argnums"

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise self._unknown(
            f"{self!r} has no value while tracing, so NumPy cannot convert it to an array; use the "
            f"functions of tfc.numpy on it; {_CHOICES}"
        )

    def __format__(self, specification: str) -> str:
        if not specification:
            return str(self)
        raise self._unknown(
            f"the format '{specification}' needs the value of {self!r}, not known while tracing"
        )

    def item(self) -> Any:
        """Refused: a traced value is not known yet."""
        raise self._unknown(
            f"item() needs the value of {self!r}, not known while tracing; {_CHOICES}"
        )

    def tolist(self) -> Any:
        """Refused: a traced value is not known yet."""
        raise self._unknown(
            f"tolist() needs the values of {self!r}, which are not known while tracing"
        )

    def __reduce__(self) -> Any:
        raise self._unknown(
            f"{self!r} has no value while tracing, so it cannot be pickled; return it from the "
            "traced function"
        )

    def __getattr__(self, name: str) -> Any:
        raise AbsentAttributeError(absent_attribute(name))

    def __copy__(self) -> "Tensor":
        return self  # nothing about it changes

    def __deepcopy__(self, _: object) -> "Tensor":
        return self

    def __len__(self) -> int:
        if not self.ndim:
            raise refusal(f"len() of the scalar {self!r}: a scalar has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator["Tensor"]:
        if not self.ndim:
            raise refusal(
                f"iteration over the scalar {self!r}; to repeat a number of times known only when "
                "the program runs, use tfc.fori_loop or tfc.while_loop"
            )
        return iter([self[i] for i in range(self.shape[0])])

    def __setitem__(self, key: object, value: object) -> None:
        raise refusal(
            "a Tensor cannot be written to; x.at[key].set(y) is a new one with other elements, "
            "and .add, .multiply, .min … combine y with those there"
        )

    __hash__ = object.__hash__

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The module tfc.numpy, by the array API standard."""
        return FUNCTIONS["__array_namespace__"](api_version)

    def __dlpack__(self, **_: object) -> Any:
        raise self._unknown(f"{self!r} has no memory while tracing that it could share by DLPack")

    __dlpack_device__ = __dlpack__

    # NumPy's own functions, given a Tensor, become those of tfc.numpy.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        if method != "__call__" or ufunc.__name__ not in FUNCTIONS or "out" in named:
            raise refusal(
                f"numpy.{ufunc.__name__} does not work on {self!r} this way; use tfc.numpy"
            )
        return FUNCTIONS[ufunc.__name__](*inputs, **named)

    def __array_function__(
        self, function: Callable[..., Any], _: Any, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        if function.__name__ not in FUNCTIONS:
            raise refusal(
                f"tfc.numpy has no function like numpy.{function.__name__} to use on {self!r}"
            )
        return FUNCTIONS[function.__name__](*args, **named)

    def __getitem__(self, key: Any) -> "Tensor":
        return FUNCTIONS["getitem"](self, key)

    def __eq__(self, other: Any) -> "Tensor":  # type: ignore[override]  # as NumPy's arrays do
        return FUNCTIONS["equal"](self, other)

    def __ne__(self, other: Any) -> "Tensor":  # type: ignore[override]
        return FUNCTIONS["not_equal"](self, other)

    # fmt: off
    __add__,      __radd__      = _operator("add"),          _reflected("add")
    __sub__,      __rsub__      = _operator("subtract"),     _reflected("subtract")
    __mul__,      __rmul__      = _operator("multiply"),     _reflected("multiply")
    __truediv__,  __rtruediv__  = _operator("divide"),       _reflected("divide")
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _reflected("floor_divide")
    __mod__,      __rmod__      = _operator("remainder"),    _reflected("remainder")
    __divmod__,   __rdivmod__   = _method("divmod"),         _reflected("divmod")
    __pow__,      __rpow__      = _operator("power"),        _reflected("power")
    __matmul__,   __rmatmul__   = _operator("matmul"),       _reflected("matmul")
    __and__,      __rand__      = _operator("bitwise_and"),  _reflected("bitwise_and")
    __or__,       __ror__       = _operator("bitwise_or"),   _reflected("bitwise_or")
    __xor__,      __rxor__      = _operator("bitwise_xor"),  _reflected("bitwise_xor")
    __lshift__,   __rlshift__   = _operator("left_shift"),   _reflected("left_shift")
    __rshift__,   __rrshift__   = _operator("right_shift"),  _reflected("right_shift")
    __lt__,       __le__        = _operator("less"),         _operator("less_equal")
    __gt__,       __ge__        = _operator("greater"),      _operator("greater_equal")
    __neg__,      __pos__       = _prefix("negative"),       _prefix("positive")
    __invert__,   __abs__       = _prefix("invert"),         _prefix("absolute")
    __round__                   = _method("round")

    all,     any     = _method("all"),     _method("any")
    max,     min     = _method("max"),     _method("min")
    argmax,  argmin  = _method("argmax"),  _method("argmin")
    sum,     prod    = _method("sum"),     _method("prod")
    cumsum,  cumprod = _method("cumsum"),  _method("cumprod")
    mean,    ptp     = _method("mean"),    _method("ptp")
    std,     var     = _method("std"),     _method("var")
    astype,  clip    = _method("astype"),  _method("clip")
    ravel,   flatten = _method("ravel"),   _method("ravel")
    round            = _method("round")
    squeeze, repeat  = _method("squeeze"), _method("repeat")
    dot,     swapaxes = _method("dot"),    _method("swapaxes")
    conj,    conjugate = _method("conj"),  _method("conjugate")
    sort,    argsort = _method("sort"),    _method("argsort")
    take,    searchsorted = _method("take"), _method("searchsorted")
    copy,    diagonal = _method("copy"),   _method("diagonal")
    view,    to_device = _method("view"),  _method("to_device")
    trace,   choose  = _method("trace"),   _method("choose")
    partition, argpartition = _method("partition"), _method("argpartition")
    nonzero          = _method("nonzero")
    # fmt: on

    def reshape(self, *shape: Any) -> "Tensor":
        """The same elements under other dimensions: x.reshape(2, -1) or x.reshape((2, -1))."""
        return FUNCTIONS["reshape"](self, shape[0] if len(shape) == 1 else shape)

    def compress(self, condition: Any, axis: int | None = None, **named: Any) -> "Tensor":
        """tfc.numpy.compress of this Tensor."""
        return FUNCTIONS["compress"](condition, self, axis, **named)

    def transpose(self, *axes: Any) -> "Tensor":
        """The dimensions in another order; reversed if none is given."""
        return FUNCTIONS["transpose"](self, axes[0] if len(axes) == 1 else axes or None)


# What functions of the NumPy namespace take: Tensors, arrays, Python numbers, lists of them.
ArrayLike: TypeAlias = Any


def is_weak(value: object) -> bool:
    """True for Python numbers and Tensors made of nothing else."""
    if isinstance(value, Tensor):
        return value.weak
    return isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)


def evaluable(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function over Tensors work outside any trace too, and show the user's line on errors.

    Outside a trace the function is traced for itself and run at once: it takes NumPy arrays and
    gives NumPy arrays (eager.py).
    """
    module = str(getattr(function, "__module__", ""))
    closes_over = getattr(function, "__closure__", ())
    return _evaluable(function, closes_over is None and module.startswith("tfc."))


def numpys(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`evaluable` for a function that NumPy has as well, by the name of its row: "fft.rfft".

    What the function does must be decided by its arguments alone.
    """
    return lambda function: directly(function, _evaluable(function, True), name)


def _evaluable(function: Callable[P, R], is_library: bool) -> Callable[P, R]:
    @wraps(function)
    def wrapper(*args: P.args, **named: P.kwargs) -> R:
        try:
            if open_traces.traces:
                return function(*args, **named)
            return calls.run(function, args, named, is_library)
        except Exception as error:
            if type(error) is TypeError and (keyword := numpys_keyword(error)):
                raise keyword_refusal(function.__name__, keyword) from None
            for_user(error)
            raise

    return wrapper


def _enter(function: Callable[..., Any], *names: str) -> None:
    """Enter a function in FUNCTIONS under names that no other function has."""
    for name in names:
        assert name not in FUNCTIONS, f"two functions are called {name}"
        FUNCTIONS[name] = function


def untraced(function: Callable[P, R], *names: str) -> Callable[P, R]:
    """The function, entered in FUNCTIONS: what it gives is known without a trace."""
    wrapper = api_boundary(function)
    _enter(wrapper, function.__name__, *names)
    return wrapper


def traceable(function: Callable[P, R], *names: str) -> Callable[P, R]:
    """`evaluable`, and entered in FUNCTIONS under the function's own name and `names`.

    What the function does must be decided by its arguments alone.
    """
    wrapper = directly(function, _evaluable(function, True), function.__name__)
    _enter(wrapper, function.__name__, *names)
    return wrapper


def alias(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`traceable` under further names."""
    return lambda function: traceable(function, *names)
