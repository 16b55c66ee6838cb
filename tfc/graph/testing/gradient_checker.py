"""Gradients of graphs against differences: TensorFlow 1's compute_gradient and its error."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, UnsupportedError
from tfc.graph.constants import convert_to_tensor
from tfc.graph.differentiation.gradients import gradients
from tfc.graph.functions.creation import placeholder
from tfc.graph.operation import Tensor
from tfc.graph.types.shapes import TensorShape

Jacobians = tuple[np.ndarray, np.ndarray]


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> Any:
    """The derivative of y by x as `gradients` has it, and as differences have it.

    A session must be the default one.

    Args:
        x: a tensor of floats or a list of them; x_shape: its dimensions, a list of them for lists.
        y: a tensor; y_shape: its dimensions.
        x_init_value: where the derivative is taken; random numbers below 1 if left out.
        delta: how far apart the arguments of a difference are from the middle.
        init_targets: what is run first: initializers.
        extra_feed_dict: what else is fed.

    Returns:
        A pair of matrices with a row for each element of x and a column for each of y; a list of
        pairs if x is a list.

    Raises:
        ValueError: a value has another shape, y does not depend on x, or no session is there.
    """
    is_list = isinstance(x, (list, tuple))
    tensors = [convert_to_tensor(one) for one in (x if is_list else [x])]
    shapes = [TensorShape(s).known() for s in (x_shape if is_list else [x_shape])]
    given = x_init_value if is_list and x_init_value is not None else [x_init_value] * len(tensors)
    values = [_start(t, s, v) for t, s, v in zip(tensors, shapes, given, strict=True)]
    graph = tensors[0].op.graph
    session = graph.session_for(None, "compute_gradient")
    for target in init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]:
        if target is not None:
            session.run(target)
    checked = _Checked(convert_to_tensor(y), TensorShape(y_shape).known(), tensors, values)
    checked.session, checked.feeds = session, dict(extra_feed_dict or {})
    pairs = [(checked.theoretical(n), checked.numerical(n, delta)) for n in range(len(tensors))]
    return pairs if is_list else pairs[0]


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> float:
    """The largest difference between the two matrices of `compute_gradient`."""
    found = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs = found if isinstance(found, list) else [found]
    errors = [np.abs(t - n).max() if t.size else 0.0 for t, n in pairs]
    return float(np.max(errors))


def _start(x: Tensor, shape: Sequence[int], value: Any) -> np.ndarray:
    """Where the derivative by x is taken.

    Raises:
        ValueError: the value has another shape. UnsupportedError: x holds no real floats.
    """
    if not x.dtype.is_floating:
        raise UnsupportedError(f"compute_gradient takes tensors of real floats, got {x}")
    if value is None:
        return np.random.random_sample(shape).astype(x.dtype.dtype)
    array = np.array(value, x.dtype.dtype)
    if array.shape != tuple(shape):
        raise ShapeError(f"x_init_value has shape {array.shape}, but x_shape is {tuple(shape)}")
    return array


class _Checked:
    """A tensor y and those by which its derivative is checked.

    session: computes. feeds: what else is fed.
    """

    def __init__(self, y: Tensor, shape: Sequence[int], xs: list[Tensor], values: list[np.ndarray]):
        self._y, self._shape, self._xs, self._values = y, tuple(shape), xs, values
        self.session: Any = None
        self.feeds: dict[Any, Any] = {}

    def _run(self, fetch: Any, more: Mapping[Any, Any]) -> np.ndarray:
        values = dict(zip(self._xs, self._values))
        return np.asarray(self.session.run(fetch, {**self.feeds, **values, **more}))

    def theoretical(self, number: int) -> np.ndarray:
        """The derivative by one of them as `gradients` has it: a column for each element of y."""
        x = self._xs[number]
        dy = placeholder(self._y.dtype, self._shape)
        dx = gradients(self._y, x, grad_ys=dy)[0]
        if dx is None:
            raise ShapeError(f"{self._y.name} has no gradient by {x.name}")
        count = int(np.prod(self._shape))
        made = np.zeros((self._values[number].size, count), x.dtype.dtype)
        for column in range(count):
            unit = np.zeros(count, self._y.dtype.dtype)
            unit[column] = 1
            made[:, column] = self._run(dx, {dy: unit.reshape(self._shape)}).ravel()
        return made

    def numerical(self, number: int, delta: float) -> np.ndarray:
        """The derivative by one of them as differences have it: a row for each element of x."""
        x, value = self._xs[number], self._values[number]
        made = np.zeros((value.size, int(np.prod(self._shape))), x.dtype.dtype)
        for row in range(value.size):
            moved = []
            for step in (delta, -delta):
                near = value.copy()
                near.flat[row] += step
                moved.append(self._run(self._y, {x: near}).astype(np.float64).ravel())
            made[row] = (moved[0] - moved[1]) / (2 * delta)
        return made
