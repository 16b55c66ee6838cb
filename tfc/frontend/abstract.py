"""What a value is before it is computed: ShapeDtypeStruct, eval_shape."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.frontend import tree
from tfc.frontend.arguments import call_python
from tfc.frontend.program import Abstract, trace_function
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor, is_weak
from tfc.frontend.trace import Trace
from tfc.hlo.shape import Shape, element_type_of
from tfc.tracebacks import api_boundary


@dataclass(frozen=True)
class ShapeDtypeStruct:
    """The shape and dtype of an array without its elements: stands for one in `lower`, eval_shape.

    shape: the dimensions; a number counts as one dimension.
    dtype: a dtype or what NumPy makes one of.
    weak_type: whether it is what Python numbers give: see NEP 50.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool = field(default=False, compare=True)

    def __post_init__(self) -> None:
        dims = (self.shape,) if isinstance(self.shape, int) else tuple(self.shape)
        object.__setattr__(self, "shape", tuple(int(n) for n in dims))
        object.__setattr__(self, "dtype", element_type_of(self.dtype).dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a scalar")
        return self.shape[0]

    def __str__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"

    __repr__ = __str__


def shape_of(value: Any, what: str) -> Shape:
    """The HLO shape of what has the attributes shape and dtype.

    Raises:
        TraceError: it has none; `what` says which value it is.
    """
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        raise TraceError(
            f"{what} must have a shape and a dtype, as tfc.ShapeDtypeStruct has, got {value!r}"
        )
    return Shape(element_type_of(value.dtype), tuple(value.shape))


@api_boundary
def eval_shape(fun: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """The shapes and dtypes of what a function returns, without computing anything.

    Args:
        args, named: nested structures of arrays, numbers and ShapeDtypeStructs.

    Returns:
        The result's structure, with a ShapeDtypeStruct for each array.
    """
    leaves, structure = tree.flatten((args, named))

    def traced(*tensors: Tensor) -> Any:
        given, by_name = tree.unflatten(structure, tensors)
        return call_python(fun, *given, **by_name)

    with Trace("eval_shape"):
        known = [_known(leaf) for leaf in leaves]
        program = trace_function(getattr(fun, "__name__", "function"), traced, known)
    made = [ShapeDtypeStruct(r.shape, r.dtype, r.weak) for r in program.results]
    return tree.unflatten(program.structure, made)


def _known(leaf: Any) -> Abstract:
    if isinstance(leaf, ShapeDtypeStruct):
        return Abstract(shape_of(leaf, "an argument"), leaf.weak_type)
    if isinstance(leaf, Tensor):
        return Abstract.of(leaf)
    return Abstract(as_tensor(leaf).array_shape, is_weak(leaf))
