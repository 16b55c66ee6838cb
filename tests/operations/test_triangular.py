"""cholesky and triangular-solve: the CPU and the evaluator against XLA, NumPy and JAX."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from spec_helpers import floats, ints, refused
from xla_bridge import run_hlo_text

import tfc
import tfc.numpy as tnp
from tfc.hlo import builder, evaluate
from tfc.hlo.ir import Computation, Module
from tfc.hlo.ops.triangular import TRANSPOSES
from tfc.hlo.shape import BF16, C64, C128, F16, F32, F64, ElementType, Layout, Shape

RNG = np.random.default_rng(5)
TYPES = [F32, F64, F16, BF16, C64, C128]


def normal(dims: tuple[int, ...], element_type: ElementType = F64) -> np.ndarray:
    x = RNG.normal(size=dims)
    if element_type.is_complex:
        x = x + 1j * RNG.normal(size=dims)
    return x.astype(element_type.dtype)


def positive(dims: tuple[int, ...], element_type: ElementType = F64) -> np.ndarray:
    """Positive definite matrices, with anything in the upper triangle's place left as it is."""
    wide = normal(dims, C128 if element_type.is_complex else F64)
    found = wide @ np.conj(np.swapaxes(wide, -1, -2)) + dims[-1] * np.eye(dims[-1])
    return found.astype(element_type.dtype)


def module_of(opcode: str, *arrays: np.ndarray, layout: Layout | None = None, **attributes):
    shapes = [builder.constant(a).array_shape for a in arrays]
    shapes = [Shape(s.element_type, s.dims, layout) for s in shapes]
    parameters = [builder.parameter(i, s) for i, s in enumerate(shapes)]
    root = builder.instruction(opcode, parameters, **attributes)
    return Module("m", Computation.make("e", parameters, root))


def solve_module(a: np.ndarray, b: np.ndarray, left, lower, unit, transpose, **more) -> Module:
    return module_of("triangular-solve", a, b, left_side=left, lower=lower,
                     unit_diagonal=unit, transpose_a=transpose, **more)  # fmt: skip


def close(got: np.ndarray, want: np.ndarray, element_type: ElementType) -> None:
    assert got.dtype == want.dtype
    narrow = {F16: 2e-2, BF16: 1e-1, F32: 2e-4, C64: 2e-4}
    tolerance = narrow.get(element_type, 1e-11)
    wide = np.complex128 if element_type.is_complex else np.float64
    np.testing.assert_allclose(got.astype(wide), want.astype(wide), tolerance, tolerance)


def test_cholesky_requires_square_matrices_of_floats():
    for bad in (floats([1]), floats([[1, 2]])):
        with refused("square matrices in the last two dimensions"):
            builder.instruction("cholesky", [bad])
    with refused("operands of type complex or float, got s32"):
        builder.instruction("cholesky", [ints([[1]])])


def test_triangular_solve_requires_operands_that_fit():
    def solve(a, b, **attributes):
        attributes = {"left_side": True, "transpose_a": "TRANSPOSE", **attributes}
        return builder.instruction("triangular-solve", [a, b], **attributes)

    square = floats(np.eye(2))
    with refused("operands that agree in type and batch dimensions"):
        solve(square, floats([[[1], [2]]]))
    with refused("operands that agree in type and batch dimensions"):
        solve(square, builder.constant(np.eye(2)))
    with refused(r"a right-hand side with 2 unknowns for each equation, got f32\[2,3\]"):
        solve(square, floats(np.zeros((2, 3))), left_side=False)
    with refused("NO_TRANSPOSE or TRANSPOSE or ADJOINT, got BOTH"):
        solve(square, square, transpose_a="BOTH")
    with refused("square matrices in the last two dimensions"):
        solve(floats([[1, 2]]), square)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("element_type", TYPES, ids=str)
def test_cholesky_is_xlas(element_type: ElementType, lower: bool):
    """The factor, zeros beside it, and NaN alone where a matrix is not positive definite."""
    a = positive((3, 7, 7), element_type)
    a[1, 4, 4] = -1
    module = module_of("cholesky", a, lower=lower)
    expected = evaluate(module, a)
    close(tfc.compile(module)(a)[0], expected, element_type)
    close(run_hlo_text(str(module), a), expected, element_type)
    assert np.isnan(expected[1]).all()
    assert not expected[0][np.triu_indices(7, 1) if lower else np.tril_indices(7, -1)].any()


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_reads_one_triangle(lower: bool):
    a = positive((9, 9))
    other = np.triu(np.full_like(a, np.nan), 1) if lower else np.tril(np.full_like(a, np.nan), -1)
    module = module_of("cholesky", a, lower=lower)
    expected = np.linalg.cholesky(a)
    for found in (evaluate(module, a + other), tfc.compile(module)(a + other)[0]):
        np.testing.assert_allclose(found, expected if lower else expected.T)


@pytest.mark.parametrize("value", [0.0, -0.0, 4.0, np.inf, -1.0, np.nan, -np.inf])
def test_cholesky_of_a_number_is_its_root(value: float):
    a = np.full((1, 1), value, np.float32)
    module = module_of("cholesky", a, lower=True)
    expected = run_hlo_text(str(module), a)
    for found in (evaluate(module, a), tfc.compile(module)(a)[0]):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dims", [(0, 0), (0, 3, 3), (2, 0, 0), (1, 1), (130, 130)], ids=str)
def test_cholesky_of_any_size(dims: tuple[int, ...]):
    a = positive(dims)
    expected = np.linalg.cholesky(a)
    np.testing.assert_allclose(tfc.compile(module_of("cholesky", a, lower=True))(a)[0], expected)


@pytest.mark.parametrize("element_type", TYPES, ids=str)
@pytest.mark.parametrize("left", [True, False])
def test_triangular_solve_is_xlas(element_type: ElementType, left: bool):
    # Two of the twelve forms for each type, so that the six types have them all.
    forms = list(product([True, False], [True, False], TRANSPOSES))
    for lower, unit, transpose in forms[TYPES.index(element_type) :: 6]:
        a = normal((2, 5, 5), element_type)
        a = (a / 4 + np.eye(5, dtype=a.dtype)).astype(a.dtype)
        b = normal((2, 5, 3) if left else (2, 3, 5), element_type)
        module = solve_module(a, b, left, lower, unit, transpose)
        expected = evaluate(module, a, b)
        close(tfc.compile(module)(a, b)[0], expected, element_type)
        close(run_hlo_text(str(module), a, b), expected, element_type)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_solve_reads_one_triangle(lower: bool, unit: bool):
    triangle = (np.tril if lower else np.triu)(normal((6, 6)), -int(unit) if lower else int(unit))
    unread = np.isin(triangle, 0) & ~(np.eye(6, dtype=bool) & (not unit))
    b = normal((6, 2))
    a = np.where(unread, np.nan, triangle)
    dense = triangle + np.eye(6) if unit else triangle
    for left, transpose in product([True, False], TRANSPOSES):
        right = b if left else b.T
        module = solve_module(a, right, left, lower, unit, transpose)
        op = dense if transpose == "NO_TRANSPOSE" else dense.T
        expected = np.linalg.solve(op, b) if left else np.linalg.solve(op.T, b).T
        for found in (evaluate(module, a, right), tfc.compile(module)(a, right)[0]):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize(("size", "count"), [(0, 2), (2, 0), (1, 1), (3, 64), (3, 65), (100, 130)])
def test_triangular_solve_of_any_size(size: int, count: int):
    a = normal((size, size)) / 30 + np.eye(size)
    for left in (True, False):
        b = normal((size, count) if left else (count, size))
        module = solve_module(a, b, left, True, False, "TRANSPOSE")
        np.testing.assert_allclose(tfc.compile(module)(a, b)[0], evaluate(module, a, b), rtol=1e-9)


@pytest.mark.parametrize("order", [(1, 2, 0), (0, 1, 2)], ids=str)
def test_any_layout(order: tuple[int, ...]):
    a, b = positive((2, 4, 4)), normal((2, 4, 4))
    module = module_of("cholesky", a, layout=Layout(order), lower=False)
    np.testing.assert_allclose(tfc.compile(module)(a)[0], evaluate(module, a))
    module = solve_module(a, b, False, False, False, "TRANSPOSE", layout=Layout(order))
    np.testing.assert_allclose(tfc.compile(module)(a, b)[0], evaluate(module, a, b))


def test_linalg_cholesky_is_numpys():
    a = positive((2, 5, 5), F32)
    for upper in (False, True):
        expected = np.linalg.cholesky(a.astype(np.float64), upper=upper)
        np.testing.assert_allclose(tnp.linalg.cholesky(a, upper=upper), expected, 1e-4, 1e-6)
    assert np.isnan(tfc.jit(tnp.linalg.cholesky)(-a)).all()
    with refused("square matrices"):
        tnp.linalg.cholesky(np.zeros((2, 3)))


@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
def test_linalg_solve_triangular_is_scipys(trans):
    a = normal((4, 4)) / 4 + np.eye(4)
    for b, lower, unit in product([normal((4,)), normal((4, 3))], [True, False], [True, False]):
        got = tnp.linalg.solve_triangular(a, b, trans, lower, unit)
        with jax.enable_x64(True):
            expected = jax.scipy.linalg.solve_triangular(a, b, trans, lower, unit)
        np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_linalg_solve_triangular_repeats_batches_and_refuses_what_does_not_fit():
    a, b = normal((2, 1, 3, 3)) / 4 + np.eye(3), normal((1, 4, 3, 2))
    found = tnp.linalg.solve_triangular(a, b)
    np.testing.assert_allclose(np.triu(a) @ found, np.broadcast_to(b, (2, 4, 3, 2)))
    with refused("trans 0, 1, 2, 'N', 'T' or 'C', got 3"):
        tnp.linalg.solve_triangular(a, b, trans=3)
    with refused(r"requires matrices.*got \[\] and \[3\]"):
        tnp.linalg.solve_triangular(1.0, np.ones(3))


def test_gradients_are_jaxs():
    """Of the likelihood of a normal distribution, whose covariance is factored."""
    a, b = positive((4, 4)), normal((4,))

    def ours(a, b):
        factor = tnp.linalg.cholesky(a)
        whitened = tnp.linalg.solve_triangular(factor, b, lower=True)
        return tnp.sum(whitened**2) + 2 * tnp.sum(tnp.log(tnp.diagonal(factor)))

    def theirs(a, b):
        factor = jnp.linalg.cholesky(a)
        whitened = jax.scipy.linalg.solve_triangular(factor, b, lower=True)
        return jnp.sum(whitened**2) + 2 * jnp.sum(jnp.log(jnp.diagonal(factor)))

    got = tfc.jit(tfc.grad(ours, (0, 1)))(a, b)
    with jax.enable_x64(True):
        expected = jax.grad(theirs, (0, 1))(a, b)
    for mine, other in zip(got, expected):
        np.testing.assert_allclose(mine, other, rtol=1e-9)
