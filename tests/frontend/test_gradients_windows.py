"""Gradients of windows and scans: against finite differences, and against JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gradient_checks import check, jit

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.windows import cumulative, reduce_window
from tfc.frontend.operations import operation
from tfc.hlo import builder
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.builder import binary, parameter, scalar_computation
from tfc.hlo.ir import Computation
from tfc.hlo.shape import F64, Shape

RNG = np.random.default_rng(5)
SCALARS = [parameter(n, Shape(F64)) for n in range(2)]


def distinct(*dims: int) -> np.ndarray:
    """Values none of which are near one another, so that no step changes which is the largest."""
    return RNG.permutation(int(np.prod(dims))).reshape(dims) / 7.0 - 1.2


def windowed(opcode: str, init: float, *dimensions: WindowDimension):
    dims = [5, 6][: len(dimensions)]
    window = Window(dimensions)
    return lambda: check(lambda x: reduce_window(x, opcode, init, window), distinct(*dims))


def running(opcode: str, init: float, reverse: bool):
    return lambda: check(lambda x: cumulative(x, opcode, init, 1, reverse), distinct(2, 5, 3))


def picked(direction: str, *dimensions: WindowDimension):
    """The gradient by the source; the operand only says where it goes."""
    window, operand = Window(dimensions), distinct(5, 6)
    select = Computation.make("select", SCALARS, builder.compare(direction, *SCALARS))

    def function(source, init):
        return operation(
            "select-and-scatter", ops.constant(operand), source, init, window=window,
            select=select, scatter=scalar_computation("add", F64),
        )  # fmt: skip

    source = RNG.standard_normal(window.counts(operand.shape))
    return lambda: check(function, source, 0.3)


def mapped(x, y):
    root = binary("multiply", builder.unary("sine", SCALARS[0]), SCALARS[1])
    to_apply = Computation.make("f", SCALARS, root)
    return operation("map", x, y, dimensions=(0, 1), to_apply=to_apply)


def scanned(dimension: int, reverse: bool):
    """h = tanh(w x + u h), all of them carried or given, with a constant carry and two outputs."""

    def function(x, u, h):
        parts = [parameter(0, Shape(F64, (3,))), parameter(1, Shape(F64, (3, 3))),
                 parameter(2, Shape(F64, (3,)))]  # fmt: skip
        product = builder.instruction(
            "dot", [parts[1], parts[2]], lhs_contracting_dims=(1,), rhs_contracting_dims=(0,)
        )
        after = builder.unary("tanh", binary("add", parts[0], product))
        total = binary("multiply", after, parts[0])
        root = builder.instruction("tuple", [total, after, parts[1], after])
        results = operation(
            "scan", x, u, h, dimensions=(dimension,), num_carries=2, is_reverse=reverse,
            is_associative=False, to_apply=Computation.make("step", parts, root),
        )  # fmt: skip
        first, second, _, last = ops.elements(results)
        return first, second, last

    x = RNG.standard_normal((4, 3) if dimension == 0 else (3, 4))
    return lambda: check(function, x, RNG.standard_normal((3, 3)), RNG.standard_normal(3))


PLAIN, D = WindowDimension(1), WindowDimension
RULES = {
    "reduce-window add": windowed("add", 0.5, D(3, 2, 1, 1), D(2, 1, 0, 2)),
    "reduce-window add, dilated": windowed("add", 0, D(2, 1, 1, 0, 2, 2), D(3, 3, -1, 2, 3, 1)),
    "reduce-window add, cropped": windowed("add", 0, D(1, 2, -1, -2), D(2, 2, -2, 1)),
    "reduce-window maximum": windowed("maximum", -np.inf, D(3, 2, 1, 1), D(2, 1)),
    "reduce-window minimum": windowed("minimum", np.inf, D(2, 2), D(2, 2, 1, 0, 1, 2)),
    "cumulative add": running("add", 0, False),
    "cumulative add, reverse": running("add", 0, True),
    "cumulative multiply": running("multiply", 2, False),
    "cumulative multiply, reverse": running("multiply", 1, True),
    "cumulative maximum": running("maximum", -np.inf, False),
    "cumulative minimum, reverse": running("minimum", np.inf, True),
    "products with zeros": lambda: check(tnp.cumprod, [2.0, 0, 3, 0, 5]),
    "products along a size of 1": lambda: check(
        lambda x: tnp.cumprod(x, 1) ** 2, RNG.standard_normal((3, 1))
    ),
    "reduce-window multiply of single elements": windowed("multiply", 3, PLAIN, PLAIN),
    "select-and-scatter GE": picked("GE", D(3, 2, 1, 1), D(2, 2)),
    "select-and-scatter LT": picked("LT", D(2, 1), D(3, 1, 0, 1)),
    "map": lambda: check(mapped, RNG.standard_normal((2, 3)), RNG.standard_normal((2, 3))),
    "scan": scanned(0, False),
    "scan, reverse, along another dimension": scanned(1, True),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_agree_with_finite_differences(name):
    RULES[name]()


PADS = [(1, 0), (2, 1)]
FUNCTIONS = {
    "cumsum": lambda np_, _, x: np_.cumsum(x[0], axis=1) ** 2,
    "cumsum of all": lambda np_, _, x: np_.cumsum(x[0]) * np_.cumsum(x[0] ** 2),
    "cumprod": lambda np_, _, x: np_.cumprod(x[0], axis=2) ** 2,
    "cummax": lambda np_, lib, x: lib.cummax(x[0], axis=1) * x[0],
    "cummin": lambda np_, lib, x: lib.cummin(x[0], axis=0, reverse=True) * x[0],
    "max pool": lambda np_, lib, x: lib.max_pool(x, (3, 2), (2, 1), "SAME") ** 2,
    "max pool inside": lambda np_, lib, x: lib.max_pool(x, (2, 2), (2, 2), "VALID") * 3,
    "max pool, padded": lambda np_, lib, x: lib.max_pool(x, (2, 3), (1, 2), PADS) ** 2,
    "average pool": lambda np_, lib, x: lib.avg_pool(x, (3, 2), (2, 1), "SAME") ** 2,
    "average pool, padded": lambda np_, lib, x: lib.avg_pool(x, (2, 3), (1, 2), PADS) ** 2,
}  # fmt: skip


class Jax:
    """The functions as JAX users write them."""

    cummax, cummin = jax.lax.cummax, jax.lax.cummin

    @staticmethod
    def _pool(x, init, combine, window, strides, padding):
        pads = padding if isinstance(padding, str) else [(0, 0), *padding, (0, 0)]
        return jax.lax.reduce_window(x, init, combine, (1, *window, 1), (1, *strides, 1), pads)

    @staticmethod
    def max_pool(x, window, strides, padding):
        return Jax._pool(x, -jnp.inf, jax.lax.max, window, strides, padding)

    @staticmethod
    def avg_pool(x, window, strides, padding):
        sums = Jax._pool(x, 0.0, jax.lax.add, window, strides, padding)
        return sums / Jax._pool(jnp.ones_like(x), 0.0, jax.lax.add, window, strides, padding)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_of_functions_are_jaxs(name, backend):
    function, x = FUNCTIONS[name], distinct(2, 5, 4, 3)
    with jax.enable_x64(True):
        expected = jax.value_and_grad(lambda v: function(jnp, Jax, v).sum())(x)
    ours = tfc.value_and_grad(lambda v: tnp.sum(function(tnp, nn, v)))
    value, gradient = tfc.jit(ours, backend=backend)(x)
    np.testing.assert_allclose(value, expected[0], rtol=1e-10)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", ["cumsum", "max pool", "average pool"])
def test_second_derivatives_are_jaxs(name):
    function, x = FUNCTIONS[name], distinct(2, 5, 4, 3)

    def curvature(np_, lib, gradient):
        slope = gradient(lambda v: (function(np_, lib, v) ** 2).sum())
        return gradient(lambda v: (slope(v) ** 2).sum())

    with jax.enable_x64(True):
        expected = curvature(jnp, Jax, jax.grad)(x)
    got = jit(curvature(tnp, nn, tfc.grad))(x)
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-9)


def test_ties_of_a_max_pool_go_to_the_first():
    got = tfc.grad(lambda v: tnp.sum(nn.max_pool(v, 2, 1)))(np.zeros((1, 3, 3, 1)))
    np.testing.assert_array_equal(got[0, :, :, 0], [[1, 1, 0], [1, 1, 0], [0, 0, 0]])


def test_what_has_no_gradient_says_so():
    product = Window((WindowDimension(2),))
    with pytest.raises(TraceError, match="only where it is cumulative"):
        tfc.grad(lambda v: tnp.sum(reduce_window(v, "multiply", 1, product)))(np.ones(3))
    with pytest.raises(TraceError, match="by add, multiply, maximum and minimum"):
        tfc.grad(lambda v: tnp.sum(reduce_window(v, "subtract", 0, product)))(np.ones(3))
    with pytest.raises(TraceError, match="init value that is computed"):
        tfc.grad(lambda v: tnp.sum(operation(
            "reduce-window", v, v[0], window=product, to_apply=scalar_computation("maximum", F64)
        )))(np.ones(3))  # fmt: skip
