"""A program moves by changing its imports: thirty and more give in tfc what they give in JAX."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import learning_programs  # noqa: F401
import numpy as np
import pytest
import science_programs  # noqa: F401
from program_bundle import PROGRAMS

import tfc
import tfc.numpy as tnp

SHARED = "grad value_and_grad jvp vmap hessian"
LOOPS = "scan fori_loop while_loop"


OURS = SimpleNamespace(
    np=tnp, nn=tfc.nn, random=tfc.random, linalg=tfc.linalg, tree_map=tfc.tree.map,
    **{name: getattr(tfc, name) for name in (SHARED + " " + LOOPS).split()},
)  # fmt: skip
JAXS = SimpleNamespace(
    np=jnp, nn=jax.nn, random=jax.random, linalg=jax.scipy.linalg, tree_map=jax.tree.map,
    **{name: getattr(jax, name) for name in SHARED.split()},
    **{name: getattr(jax.lax, name) for name in LOOPS.split()},
)  # fmt: skip


# The others are run with the tests that take longer: most of the time is JAX's.
QUICK = {
    "long_short_term_memory", "k_means", "fourier_filter", "page_rank", "mandelbrot", "viterbi",
    "logistic_regression", "nearest_neighbours", "conjugate_gradient", "option_price",
}  # fmt: skip
CASES = [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in PROGRAMS]


def test_there_are_thirty_programs_and_more():
    assert len(PROGRAMS) > 30
    assert set(PROGRAMS) >= QUICK


@pytest.mark.parametrize("name", CASES)
def test_a_program_gives_what_it_gives_in_jax(name: str):
    got = tfc.jit(lambda: PROGRAMS[name](OURS))()
    with jax.enable_x64(True):
        quickly = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
        lowered = jax.jit(lambda: PROGRAMS[name](JAXS)).lower()
        want = lowered.compile(compiler_options=quickly)()
    found, wanted = jax.tree.leaves(got), jax.tree.leaves(want)
    assert len(found) == len(wanted) > 0
    for ours, theirs in zip(found, wanted):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)
