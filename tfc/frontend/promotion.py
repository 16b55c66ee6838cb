"""Element types of mixed operands: NumPy's promotion, with Python numbers weak (NEP 50).

A weak operand gives way: float32 + 2.0 is float32. It only counts when its kind is higher than that
of all others: int32 + 2.0 is float64. Types that NumPy cannot join (bfloat16 and int32) follow one
rule: a float wins over any integer, and two narrow floats meet in float32.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.eager import parameter_for
from tfc.frontend.tensor import ArrayLike, Tensor, is_weak
from tfc.frontend.trace import refusal, user_location
from tfc.hlo.shape import F32, ElementType, element_type_of

NOT_NUMERIC = "OSUMm"  # the kinds of dtypes that hold no numbers: objects, text, times
_LARGE = 64 << 20  # bytes of a constant from which on it is worth a warning
_KINDS = ("pred", "unsigned", "signed", "float", "complex")
_DEFAULTS = {"float": np.dtype(np.float64), "complex": np.dtype(np.complex128)}


def as_tensor(value: ArrayLike, dtype: Any = None) -> Tensor:
    """The value as a Tensor of the current trace: itself, captured, a constant, or an argument.

    It is an argument of the program in traces that are run at once (eager.py).

    Args:
        value: a Tensor, an array or anything that NumPy makes one of, a Python number, or a list.
        dtype: what to make of a constant; a Tensor keeps its own.

    Raises:
        ShapeError: no element type holds the array's dtype.
        TraceError: a Tensor of a finished trace.
    """
    if isinstance(value, Tensor):
        return ops.adopt(value)
    weak = is_weak(value) and dtype is None
    if isinstance(value, (list, tuple)) and _holds_tensor(value):
        raise refusal("a list with Tensors in it is not an array; use tfc.numpy.array on it")
    try:
        array = np.asarray(value, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise refusal(f"NumPy makes no array of {shortened(value)}: {error}") from error
    if array.dtype.kind in NOT_NUMERIC:
        kind = type(value).__name__
        raise refusal(
            f"an array, a number or a Tensor is needed, got {shortened(value)} of type {kind}"
        )
    argument = parameter_for(value, array)
    if argument is not None:
        return ops.adopt(Tensor(*argument, weak))
    if array.nbytes >= _LARGE and isinstance(value, np.ndarray):
        _warn_of_constant(array)
    made = ops.constant(array)
    return Tensor(made.instruction, made.home, weak)


def _warn_of_constant(array: np.ndarray) -> None:
    """Warn that a large array becomes a constant, at the user's line."""
    file, line = user_location()
    warnings.warn_explicit(
        f"an array {array.dtype}{list(array.shape)} of {array.nbytes >> 20} MiB becomes a constant "
        "of the program, which is copied and takes long to compile; pass it as an argument",
        UserWarning,
        file or "<unknown>",
        line,
    )


def shortened(value: object) -> str:
    """A value as Python writes it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:76]} …"


def _holds_tensor(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_tensor(v) for v in value)
    return isinstance(value, Tensor)


def dtype_of(value: ArrayLike) -> np.dtype:
    """The NumPy dtype of an array, Tensor, number, dtype or dtype's name."""
    if isinstance(value, (np.dtype, type, str)):
        return element_type_of(value).dtype
    return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype


def result_type(*values: ArrayLike) -> np.dtype:
    """The dtype in which arrays, Tensors, Python numbers and dtypes meet.

    Raises:
        ShapeError: there are no operands, or one has a dtype that no element type holds.
    """
    if not values:
        raise ShapeError("result_type requires at least one operand, got none")
    strong = [dtype_of(v) for v in values if not is_weak(v)]
    weak = [dtype_of(v) for v in values if is_weak(v)]
    if not strong:
        return _join(weak)
    joined = _join(strong)
    for dtype in weak:
        if _rank(dtype) > _rank(joined):
            joined = _promote_weak(joined, element_type_of(dtype).kind)
    return joined


def _rank(dtype: np.dtype) -> int:
    # All integers are one kind here: a Python int never changes an integer's type.
    return 0 if dtype == np.bool_ else max(2, _KINDS.index(element_type_of(dtype).kind))


def _promote_weak(joined: np.dtype, kind: str) -> np.dtype:
    met = element_type_of(joined)
    if kind == "complex" and met.is_float and met.bits <= 32:
        return np.dtype(np.complex64)
    return _DEFAULTS.get(kind, np.dtype(np.int64))


def _join(dtypes: Sequence[np.dtype]) -> np.dtype:
    joined = dtypes[0]
    for dtype in dtypes[1:]:
        joined = _join_pair(joined, dtype)
    return joined


def _join_pair(x: np.dtype, y: np.dtype) -> np.dtype:
    if x == y:
        return x
    left, right = element_type_of(x), element_type_of(y)
    try:
        return np.result_type(x, y)
    except TypeError:
        if left.is_float and right.is_float:
            return np.dtype(np.float32)
        return x if _KINDS.index(left.kind) > _KINDS.index(right.kind) else y


def float_type(dtype: np.dtype) -> np.dtype:
    """The floating-point dtype in which NumPy computes a function of that dtype's values."""
    element_type = element_type_of(dtype)
    if element_type.is_float or element_type.is_complex:
        return dtype
    return np.result_type(dtype, np.float16)


def cast(tensor: Tensor, dtype: Any) -> Tensor:
    """The values as another dtype, by HLO's convert; the result is not weak."""
    element_type = element_type_of(dtype)
    if tensor.array_shape.element_type == element_type:
        return Tensor(tensor.instruction, tensor.home)
    literal = tensor.instruction.attributes.get("literal")
    if literal is not None and not tensor.shape and tensor.weak:
        return as_tensor(_checked_number(literal.array.item(), element_type), element_type.dtype)
    return ops.convert(tensor, element_type)


def as_inexact(x: ArrayLike) -> Tensor:
    """The operand of a mean, a quantile, a transform: integers and booleans become float64."""
    tensor = as_tensor(x)
    element_type = tensor.array_shape.element_type
    return tensor if element_type.is_float or element_type.is_complex else cast(tensor, np.float64)


def widen(tensor: Tensor) -> Tensor:
    """Floats narrower than float32 as float32, for what takes several steps that round."""
    element_type = tensor.array_shape.element_type
    return ops.convert(tensor, F32) if element_type.is_float and element_type.bits < 32 else tensor


def _checked_number(value: Any, element_type: ElementType) -> Any:
    """A Python number that is to become a constant of a type that can hold it."""
    if element_type.is_integer:
        low, high = element_type.limits
        if not low <= value <= high:
            raise ShapeError(f"the Python integer {value} does not fit into {element_type.dtype}")
    return value


def promote(*values: ArrayLike, dtype: Any = None) -> list[Tensor]:
    """The values as Tensors of one dtype; their shapes are left alone."""
    tensors = [as_tensor(v) for v in values]
    common = result_type(*tensors) if dtype is None else np.dtype(dtype)
    return [cast(t, common) for t in tensors]


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The dimensions to which NumPy broadcasts: aligned on the right, each equal or one.

    Raises:
        ShapeError: the sizes do not match.
    """
    rank = max((len(s) for s in shapes), default=0)
    dims: list[int] = []
    for aligned in zip(*([1] * (rank - len(s)) + list(s) for s in shapes)):
        found = {n for n in aligned if n != 1}
        if len(found) > 1:
            shown = " and ".join(str(list(s)) for s in shapes)
            raise ShapeError(f"broadcasting requires dimensions that are equal or one, got {shown}")
        dims.append(found.pop() if found else 1)
    return tuple(dims)


def expand(tensor: Tensor, dims: Sequence[int]) -> Tensor:
    """Repeat a Tensor to `dims` by NumPy's rules, as an explicit HLO broadcast (BC-3).

    Raises:
        ShapeError: it does not broadcast to `dims`.
    """
    dims = tuple(dims)
    if tensor.shape == dims:
        return tensor
    if broadcast_shapes(tensor.shape, dims) != dims:
        raise ShapeError(f"broadcasting {list(tensor.shape)} cannot give {list(dims)}")
    offset = len(dims) - tensor.ndim
    kept = [d for d, n in enumerate(tensor.shape) if n == dims[d + offset]]
    squeezed = ops.reshape(tensor, [tensor.shape[d] for d in kept])
    return ops.broadcast(squeezed, dims, [d + offset for d in kept])


def broadcast_together(*tensors: Tensor) -> list[Tensor]:
    """The Tensors repeated to their common dimensions."""
    dims = broadcast_shapes(*(t.shape for t in tensors))
    return [expand(t, dims) for t in tensors]
