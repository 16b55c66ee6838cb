"""Programs that JAX exported, called by a node of a graph."""

import jax
import numpy as np
import pytest

from tfc.errors import UnsupportedError
from tfc.graph.operators.registry import find

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def program(x):
    return jax.numpy.tanh(x) @ x.T, x.sum(0)


def exported(platforms):
    return jax.export.export(jax.jit(program), platforms=platforms)(X).mlir_module_serialized


@pytest.mark.parametrize("platforms", [["CPU"], ["CUDA", "CPU"]])
def test_a_module_computes_what_it_does_in_jax(platforms):
    module = exported([name.lower() for name in platforms])
    made = find("XlaCallModule")([X], {"module": module, "platforms": platforms})
    for got, wanted in zip(made, program(X), strict=True):
        np.testing.assert_allclose(got, wanted, 1e-6)


def test_a_module_for_other_platforms_is_refused():
    with pytest.raises(UnsupportedError, match="a program for TPU: export it for CPUs as well"):
        find("XlaCallModule")([X], {"module": exported(["cpu"]), "platforms": ["TPU"]})
