"""einsum in all its forms, and sums that have a type of their own, against NumPy and JAX."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError

RNG = np.random.default_rng(8)


def numbers(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [RNG.integers(-4, 5, s).astype(np.float64) for s in shapes]


# subscripts and the operands' shapes; dimensions of size one are repeated to meet larger ones.
FORMS = {
    "ij,jk": ((2, 3), (3, 4)), "ij,jk->ki": ((2, 3), (3, 4)), "ba": ((2, 3),), "ii": ((3, 3),),
    "ii->i": ((3, 3),), "iij->ji": ((3, 3, 2),), "iji->j": ((3, 2, 3),), "ij->": ((2, 3),),
    "...ij,...jk": ((2, 1, 2, 3), (4, 3, 2)), "...,...": ((2, 3), (3,)), "i...->...": ((2, 3, 4),),
    "i...i->...": ((3, 2, 3),), "bij,bjk,bkl->bil": ((2, 2, 3), (2, 3, 2), (2, 2, 4)),
    "ij,ij->ij": ((2, 1), (2, 3)), "ij,jk,kl,lm->im": ((2, 9), (9, 3), (3, 8), (8, 2)),
    "a,b,c->cab": ((2,), (3,), (4,)), "ii,jj->ij": ((3, 3), (2, 2)), ",ij->ij": ((), (2, 3)),
    "ab , bA->Aa": ((2, 3), (3, 4)), "aB": ((2, 3),), "ijk,jil->kl": ((2, 3, 4), (3, 2, 5)),
    "i,i,i->": ((4,), (4,), (4,)), "...i,i...->...": ((2, 3), (3, 2)), "ij,kj->": ((2, 0), (3, 0)),
}  # fmt: skip


@pytest.mark.parametrize("subscripts", FORMS)
def test_subscripts_mean_what_they_mean_in_numpy(subscripts: str):
    operands = numbers(*FORMS[subscripts])
    want = np.einsum(subscripts, *operands)
    for optimize in ("greedy", "optimal", False, True):
        got = tnp.einsum(subscripts, *operands, optimize=optimize)
        assert got.shape == np.shape(want)
        assert_allclose(got, want)


def test_lists_of_numbers_are_subscripts_too():
    x, y = numbers((2, 3, 4), (4, 3, 5))
    calls = [
        (x, [0, 1, 2], y, [2, 1, 3]),
        (x, [0, 1, 2], y, [2, 1, 3], [3, 0]),
        (x, [..., 30, 2], y[..., :2], [2, 30, ...]),
        (x, [2, 40, 1], []),
        (x, [2, 40, 1]),
    ]
    for call in calls:
        assert_allclose(tnp.einsum(*call), np.einsum(*call))


def test_a_path_says_the_order_of_the_products():
    operands = numbers((2, 9), (9, 3), (3, 8))
    path, text = tnp.einsum_path("ij,jk,kl->il", *operands)
    assert path == np.einsum_path("ij,jk,kl->il", *operands)[0]
    assert "Complete contraction" in text
    got = tnp.einsum("ij,jk,kl->il", *operands, optimize=["einsum_path", (1, 2), (0, 1)])
    assert_allclose(got, operands[0] @ operands[1] @ operands[2])


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [("ij,jk", ((2, 3), (4, 2))), ("ii", ((2, 3),)), ("ij->ik", ((2, 3),)), ("ij,j", ((2, 3),)),
     ("ij->ii", ((2, 3),)), ("i.j", ((2, 3),)), ("ijk", ((2, 3),)), ("ii", ((1, 3),))],
)  # fmt: skip
def test_subscripts_that_do_not_fit_are_refused(subscripts: str, shapes: Any):
    with pytest.raises(ShapeError):
        tnp.einsum(subscripts, *numbers(*shapes))


PRODUCTS = {
    "matmul": (lambda m, x, y, **k: m.matmul(x, y, **k), (2, 3, 4), (4, 5)),
    "dot": (lambda m, x, y, **k: m.dot(x, y, **k), (3, 4), (4,)),
    "tensordot": (lambda m, x, y, **k: m.tensordot(x, y, 1, **k), (3, 4), (4, 2)),
    "vecdot": (lambda m, x, y, **k: m.vecdot(x, y, **k), (3, 4), (4,)),
    "einsum": (lambda m, x, y, **k: m.einsum("ij,kj->k", x, y, **k), (3, 4), (2, 4)),
    "einsum of one": (lambda m, x, y, **k: m.einsum("ij->i", x, **k), (3, 4), (2, 4)),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("types", [("int8", "int32"), ("float16", "float32")])
def test_sums_have_the_type_that_is_asked_for(name: str, types: tuple[str, str]):
    call, *shapes = PRODUCTS[name]
    narrow, wide = types
    x, y = (RNG.integers(-100, 100, s).astype(narrow) for s in shapes)
    got = tfc.jit(lambda x, y: call(tnp, x, y, preferred_element_type=wide))(x, y)
    want = call(np, x.astype(wide), y.astype(wide))
    assert (got.dtype, got.shape) == (np.dtype(wide), want.shape)
    assert_allclose(got, want)
    if name != "einsum of one":  # JAX's sums of one operand keep its type
        assert_allclose(got, np.asarray(call(jnp, x, y, preferred_element_type=wide)))


def test_gradients_of_wide_sums_have_the_operands_types():
    x, y = RNG.standard_normal((3, 4)).astype("f2"), RNG.standard_normal((4, 2)).astype("f2")
    slopes = tfc.grad(
        lambda x, y: tnp.sum(tnp.matmul(x, y, preferred_element_type=np.float32)), (0, 1)
    )(x, y)
    for got, want in zip(slopes, (np.ones((3, 2)) @ y.T, x.T @ np.ones((3, 2)))):
        assert got.dtype == np.float16
        assert_allclose(got, want, rtol=4e-3, atol=4e-3)


def test_vectors_and_matrices_broadcast():
    m, v = RNG.standard_normal((2, 1, 3, 4)), RNG.standard_normal((5, 4)) * 1j
    assert_allclose(tnp.matvec(m, v), np.matvec(m, v))
    assert_allclose(tnp.vecmat(v[..., :3], m), np.vecmat(v[..., :3], m))
    a, b = RNG.standard_normal((4, 3, 1)) * (1 + 2j), RNG.standard_normal((3, 5))
    assert_allclose(tnp.vecdot(a, b, axis=-2), np.vecdot(a, b, axis=-2))
    with pytest.raises(ShapeError, match="vecdot requires vectors of equal size"):
        tnp.vecdot(np.ones(3), np.ones(1))


@pytest.mark.parametrize(
    "shapes", [((2, 3), (4,)), ((), (2, 2)), ((2, 1, 3), (2, 2)), ((0,), (3,))]
)
def test_kronecker_products_are_numpys(shapes: Any):
    x, y = numbers(*shapes)
    assert_allclose(tnp.kron(x, y), np.kron(x, y))


def test_cross_products_of_two_and_three_elements():
    x, y = numbers((4, 3), (2, 4))
    assert_allclose(tnp.cross(x, y, axisb=0, axisc=0)[2], tnp.cross(x[:, :2], y, axisb=0))
    assert_allclose(tnp.cross(x, x[::-1], axis=-1), np.cross(x, x[::-1]))
    with pytest.raises(ShapeError, match="two or three elements, got 4 and 3"):
        tnp.cross(np.ones(4), np.ones(3))
