"""What operations act on while they run: variables as values that are replaced, random keys.

In a trace nothing can be changed, so that a part of a program takes the variables that it may read
as arguments and gives those that it wrote as results: `Effects` holds both while it is traced. What
runs operation by operation acts on `Stored` variables at once.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfc import random
from tfc.graph import errors
from tfc.graph.evaluation import evaluate, order
from tfc.graph.operation import Operation
from tfc.graph.types.handles import Handle


class Effects:
    """Variables and random keys of a part of a run; a `Context`.

    values: what variables hold, by name.
    count: the number of the run, a uint32: what random numbers depend on besides their seeds.
    path: the operations around those that run here, as names.
    iterations: the numbers of the loops' iterations around them.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        count: Any,
        path: tuple[str, ...] = (),
        iterations: tuple[Any, ...] = (),
    ):
        self._values, self._count = values, count
        self._path, self._iterations = path, iterations
        self.operation: Operation | None = None
        self.written: dict[str, Any] = {}
        self._drawn: list[bool] = []  # shared with the contexts within this one

    @property
    def draws(self) -> bool:
        """Whether random numbers were drawn, here or in a context within."""
        return bool(self._drawn)

    def read(self, handle: Handle) -> Any:
        """The value of a variable.

        Raises:
            FailedPreconditionError: it has none.
        """
        if handle.name in self.written:
            return self.written[handle.name]
        if handle.name not in self._values:
            raise errors.FailedPreconditionError(
                self.operation,
                self.operation,
                f"Attempting to use uninitialized value {handle.name}",
            )
        return self._values[handle.name]

    def write(self, handle: Handle, value: Any) -> None:
        """Give a variable a value.

        Raises:
            InvalidArgumentError: it is not of the variable's dtype or shape.
        """
        check_fits(handle, value, self.operation)
        self.written[handle.name] = value

    def is_initialized(self, handle: Handle) -> Any:
        """Whether a variable has a value."""
        return np.bool_(handle.name in self.written or handle.name in self._values)

    def key(self, seed: int, seed2: int) -> Any:
        """A random key of this run: of the seeds, or of the operation at hand if both are 0."""
        self._drawn.append(True)
        made = random.key(self._count)
        for number in (seed, seed2):
            made = random.fold_in(made, np.uint32(number & 0xFFFFFFFF))
        if not seed and not seed2:
            name = self.operation.name if self.operation is not None else ""
            number = zlib.crc32("/".join((*self._path, name)).encode())
            made = random.fold_in(made, np.uint32(number))
        for iteration in self._iterations:
            made = random.fold_in(made, iteration)
        return made

    def call(self, subgraph: Any, arguments: Sequence[Any]) -> list[Any]:
        """The results of a subgraph, whose effects are of this context."""
        values = dict(zip(subgraph.inputs, arguments))
        fetched = [*(x.op for x in subgraph.outputs), *subgraph.control_outputs]
        outer, path = self.operation, self._path
        self._path = self._inner_path()
        try:
            evaluate(order(fetched, values.keys()), values, self)
        finally:
            self.operation, self._path = outer, path
        return [values[x] for x in subgraph.outputs]

    def nested(self, values: Mapping[Handle, Any], iteration: Any = None) -> "Effects":
        """A context whose variables have these values, and where what is written stays."""
        more = () if iteration is None else (iteration,)
        named = {handle.name: value for handle, value in values.items()}
        made = Effects(named, self._count, self._inner_path(), (*self._iterations, *more))
        made.operation, made._drawn = self.operation, self._drawn
        return made

    def _inner_path(self) -> tuple[str, ...]:
        return self._path if self.operation is None else (*self._path, self.operation.name)


class Stored(Effects):
    """The variables of a session themselves, and the random keys of one run.

    What is read and written is copied: nobody else has the memory of a session's variables, which
    compiled code may write to.
    """

    def __init__(self, variables: dict[str, np.ndarray], count: Any):
        super().__init__(variables, count)
        self._variables = variables

    def read(self, handle: Handle) -> Any:
        """The value of a variable, of which the caller may do what he likes."""
        return np.array(super().read(handle))

    def write(self, handle: Handle, value: Any) -> None:
        """Give a variable a value."""
        check_fits(handle, value, self.operation)
        self._variables[handle.name] = np.array(value)


def check_fits(handle: Handle, value: Any, op: Operation | None) -> None:
    """Check that a variable may hold a value.

    Raises:
        InvalidArgumentError: it is of another dtype, or of a shape that the variable has not.
    """
    dtype, shape = np.dtype(value.dtype), tuple(value.shape)
    if dtype != handle.dtype.dtype:
        raise errors.InvalidArgumentError(
            op, op, f"variable {handle.name} holds {handle.dtype.name}, got a value of {dtype}"
        )
    if not handle.shape.is_compatible_with(shape):
        raise errors.InvalidArgumentError(
            op,
            op,
            f"Assign requires shapes of both tensors to match. lhs shape= {handle.shape} rhs "
            f"shape= {shape}, for variable {handle.name}",
        )
