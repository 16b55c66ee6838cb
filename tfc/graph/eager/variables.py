"""Variables and metrics of eager execution."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from tfc.graph.eager.execution import eager_graph
from tfc.graph.operation import Tensor
from tfc.graph.variables.variable import Variable as GraphVariable


class Variable(GraphVariable):
    """A variable that has a value at once."""

    _noted: ClassVar[list[dict["Variable", None]]] = []

    def __init__(self, initial_value: Any = None, *args: Any, **named: Any):
        eager_graph("tfe.Variable")
        super().__init__(initial_value, *args, **named)

    @classmethod
    @contextmanager
    def noting(cls) -> Iterator[dict["Variable", None]]:
        """Note the variables that are read within."""
        used: dict[Variable, None] = {}
        cls._noted.append(used)
        try:
            yield used
        finally:
            cls._noted.remove(used)

    def _as_tensor(self) -> Tensor:
        for used in self._noted:
            used[self] = None
        return super()._as_tensor()

    def numpy(self) -> Any:
        """Its value as an array, or as a number of NumPy."""
        return np.asarray(self._as_tensor())[()]

    def __float__(self) -> float:
        return float(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __repr__(self) -> str:
        return (
            f"<tf.Variable {self.name!r} shape={self.shape} dtype={self.dtype.name}, "
            f"numpy={self.numpy()!r}>"
        )


class Mean:
    """The mean of the values it was called with, by their weights."""

    def __init__(self, name: str | None = None, dtype: Any = np.float64):
        self.name, self._dtype = name, np.dtype(dtype)
        self._total = self._count = self._dtype.type(0)

    def __call__(self, values: Any, weights: Any = None) -> Any:
        """Take values in; gives them back."""
        array = np.asarray(values, self._dtype)
        weight = np.ones_like(array) if weights is None else np.asarray(weights, self._dtype)
        self._total += np.sum(array * weight)
        self._count += np.sum(np.broadcast_to(weight, array.shape))
        return values

    def result(self) -> Any:
        """The mean so far; NaN before the first value."""
        return self._total / self._count if self._count else self._dtype.type(np.nan)

    def init_variables(self) -> None:
        """Begin anew."""
        self._total = self._count = self._dtype.type(0)
