"""The table of ATen's operators: one function over tfc's own for each row."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

import tfc.numpy as tnp

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Call:
    """What a row may ask of the node that it is called for.

    dtypes: those of the results, as torch knows them; None for what is no array.
    common: the dtype that torch promotes the arguments to.
    key: makes the key of the node's random numbers.
    """

    dtypes: tuple[Any, ...]
    common: Any
    key: Callable[[], Any]

    @property
    def dtype(self) -> Any:
        """The dtype of the first result."""
        return self.dtypes[0]


ATEN: dict[str, tuple[Callable[..., Any], bool]] = {}  # name → function, whether it takes `node`


def aten(*names: str) -> Callable[[Function], Function]:
    """Enter a function as the row of operators, named as `add.Tensor`.

    It takes what the operator takes, and as `node` the Call if it has such a parameter.
    """

    def enter(function: Function) -> Function:
        for name in names:
            ATEN[name] = function, "node" in inspect.signature(function).parameters
        return function

    return enter


def cast(x: Any, dtype: Any) -> Any:
    """An array or a number in a dtype; of complex numbers the real part for real ones."""
    if isinstance(x, (bool, int, float, complex)):
        return np.array(x).astype(dtype)
    if x.dtype == dtype:
        return x
    if np.dtype(x.dtype).kind == "c" and np.dtype(dtype).kind not in "cb":
        x = tnp.real(x)
    return tnp.astype(x, dtype)


def axis_of(dim: int, rank: int) -> int:
    """A dimension counted from the front; numbers have one to torch."""
    return dim % max(rank, 1)


def axes_of(dims: Any, rank: int) -> tuple[int, ...]:
    """Dimensions counted from the front; all of them for None or none."""
    if dims is None or dims == []:
        return tuple(range(rank))
    given = [dims] if isinstance(dims, int) else list(dims)
    return tuple(axis_of(d, rank) for d in given) if rank else ()
