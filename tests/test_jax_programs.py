"""JAX's programs, taken as HLO text, compile on the CPU backend to JAX's values."""

import jax
import numpy as np
import pytest
from test_xla import PROGRAMS, jax_text

import tfc
from tfc.hlo import parse


@pytest.mark.parametrize("name", PROGRAMS)
def test_jax_programs_compile_to_what_jax_computes(name: str):
    function, values = PROGRAMS[name]
    executable = tfc.compile(parse(jax_text(function, *values)))
    got = executable(*(np.asarray(v) for v in values))
    leaves = jax.tree_util.tree_leaves(jax.jit(function)(*values))
    for value, leaf in zip(got, leaves, strict=True):
        expected = np.asarray(leaf)
        assert value.dtype == expected.dtype
        np.testing.assert_allclose(value, expected, rtol=2e-5, atol=2e-6)


def test_a_module_that_xla_optimised_compiles():
    """Its fusions are undone and formed anew; its schedule and layouts do no harm."""
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    text = jax.jit(lambda v: jax.nn.softmax(v @ v.T) + (v * v).sum()).lower(x).compile().as_text()
    (got,) = tfc.compile(parse(text))(x)
    np.testing.assert_allclose(got, jax.nn.softmax(x @ x.T) + (x * x).sum(), rtol=2e-5)
