"""Rows for tests of operators: what is called, with which inputs, and what NumPy says of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tfc
import tfc.graph as tf
from tfc.graph.evaluation import evaluate, order

RNG = np.random.default_rng(15)


@dataclass(frozen=True)
class Row:
    """A call of one function of graphs.

    name: of the test. call: (tensors) -> a tensor or several. inputs: the arrays that are fed.
    expected: (arrays) -> what comes out, by NumPy.
    differentiable: whether its gradient is compared with finite differences.
    """

    name: str
    call: Callable[..., Any]
    inputs: Sequence[Any]
    expected: Callable[..., Any]
    differentiable: bool = False
    tolerance: float = 2e-5

    @property
    def arrays(self) -> list[np.ndarray]:
        return [np.asarray(x) for x in self.inputs]

    @property
    def results(self) -> list[np.ndarray]:
        made = self.expected(*self.arrays)
        return [np.asarray(x) for x in (made if isinstance(made, (list, tuple)) else [made])]

    def check_values(self, backend: str) -> None:
        """Compiled, it computes what NumPy does; so it does from values that are known."""
        arrays = self.arrays
        _, inputs, outputs = built(self.call, [(x.dtype, x.shape) for x in arrays])
        run = function_of(inputs, outputs)
        for got in (tfc.jit(run, backend=backend)(*arrays), run(*arrays)):
            assert len(got) == len(self.results)
            for tensor, found, expected in zip(outputs, got, self.results):
                found = np.asarray(found)
                assert (found.shape, found.dtype) == (expected.shape, tensor.dtype.dtype)
                accuracy = {"rtol": self.tolerance, "atol": self.tolerance}
                np.testing.assert_allclose(found, expected, **accuracy)

    def check_inference(self) -> None:
        """What the graph knows of the result is so, whatever is known of the inputs."""
        arrays = self.arrays
        for dims in (lambda x: x.shape, lambda x: (None, *x.shape[1:])[: x.ndim], lambda x: None):
            try:
                outputs = built(self.call, [(x.dtype, dims(x)) for x in arrays])[2]
            except ValueError:  # a function may need to know the rank, or the number of its results
                assert dims(arrays[0]) != arrays[0].shape
                continue
            for tensor, expected in zip(outputs, self.results):
                assert tensor.shape.is_compatible_with(expected.shape), (tensor, expected.shape)
                if dims(arrays[0]) == arrays[0].shape:
                    assert tensor.shape == expected.shape
                    assert tensor.dtype.is_floating == (expected.dtype.kind == "f")

    def check_gradient(self) -> None:
        """The derivative along a direction is what the difference of two values says."""
        arrays = [np.float64(x) if x.dtype.kind == "f" else x for x in self.arrays]
        _, inputs, outputs = built(self.call, [(x.dtype, x.shape) for x in arrays])
        run = function_of(inputs, outputs)
        places = [n for n, x in enumerate(arrays) if x.dtype.kind == "f"]
        directions = {n: RNG.standard_normal(arrays[n].shape) for n in places}
        weights = [RNG.standard_normal(x.shape.known()) for x in outputs]

        def weighted(*moved: Any) -> Any:
            given = list(arrays)
            for n, x in zip(places, moved):
                given[n] = x
            made = run(*given)
            return sum(tfc.numpy.sum(r * w) for r, w in zip(made, weights))

        at = [arrays[n] for n in places]
        gradient = tfc.jit(tfc.grad(weighted, tuple(range(len(places)))), backend="interpreter")
        slope = sum(np.sum(g * directions[n]) for g, n in zip(gradient(*at), places))
        step = 1e-6
        value = tfc.jit(weighted, backend="interpreter")
        sides = [
            value(*(x + sign * step * directions[n] for x, n in zip(at, places)))
            for sign in (1, -1)
        ]
        np.testing.assert_allclose(slope, (sides[0] - sides[1]) / (2 * step), rtol=1e-5, atol=1e-6)


class Values:
    """A context of no variables, for evaluating what needs none."""

    def key(self, seed: int, seed2: int) -> Any:
        return tfc.random.key(seed * 1000 + seed2)


def built(call: Callable[..., Any], specs: Sequence[Any]) -> tuple[tf.Graph, list[Any], list[Any]]:
    """A graph of placeholders, (dtype, shape) each, and a call: (graph, placeholders, results)."""
    graph = tf.Graph()
    with graph.as_default():
        inputs = [tf.placeholder(dtype, shape) for dtype, shape in specs]
        made = call(*inputs)
    return graph, inputs, list(made) if isinstance(made, (list, tuple)) else [made]


def function_of(inputs: Sequence[Any], outputs: Sequence[Any]) -> Callable[..., list[Any]]:
    """The part of a graph between tensors as a function that can be traced."""
    operations = order([x.op for x in outputs], set(inputs))

    def run(*arrays: Any) -> list[Any]:
        values = dict(zip(inputs, arrays))
        evaluate(operations, values, Values())
        return [values[x] for x in outputs]

    return run
