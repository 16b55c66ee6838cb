"""Every function of tfc.numpy on drawn shapes and dtypes, against NumPy, and against jax.numpy.

A public function without a sample fails by name. Programs are evaluated here, as compiling takes
longer; test_numpy_page.py compiles them.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy_samples import SAMPLES, Sample, evaluated, flat, functions_of

import tfc.numpy as tnp

DTYPES = {"b": "?", "i": "i4 i1 i8", "u": "u1 u4", "f": "f8 f4 f2", "c": "c16 c8"}
PRECISION = {"f2": 4e-3, "f4": 2e-5, "c8": 2e-5, "f8": 1e-11, "c16": 1e-11}
RNG = np.random.default_rng(5)
NUMPYS = [s for s in SAMPLES if hasattr(np, s.name) and s.of_numpy]
JAXS = [s for s in SAMPLES if hasattr(jnp, s.name) and s.of_jax and s.traced]


def test_every_public_function_has_a_sample():
    assert functions_of(tnp) - {s.name for s in SAMPLES} == set()
    assert {s.name for s in SAMPLES} - functions_of(tnp) == set()


def assert_alike(got: Any, want: Any, dtype: str, exact_dtype: bool = True) -> None:
    """The same results: shapes, dtypes, and values up to the precision of what they are of."""
    results, expected = flat(got), flat(want)
    assert len(results) == len(expected)
    for g, w in zip(results, expected):
        g, w = np.asarray(g), np.asarray(w)
        assert g.shape == w.shape
        assert g.dtype == w.dtype or not exact_dtype
        room = max(PRECISION.get(t, 0) for t in (g.dtype.str[1:], w.dtype.str[1:], dtype))
        if w.dtype.kind in "fc" and g.dtype.kind in "fc":
            np.testing.assert_allclose(g.astype(complex), w.astype(complex), room, room)
        else:
            np.testing.assert_array_equal(g, w)


def each(samples: list[Sample]) -> Callable[..., Any]:
    return pytest.mark.parametrize("sample", samples, ids=lambda s: s.name)


@each(NUMPYS)
def test_values_and_dtypes_are_numpys(sample: Sample):
    for kind in sample.kinds:
        dtype = RNG.choice(DTYPES[kind].split())
        arrays = sample.arrays(RNG, np.dtype(dtype))
        found = evaluated(sample, arrays) if sample.traced else sample.call(tnp, *arrays)
        assert_alike(found, sample.call(np, *arrays), dtype)


@pytest.mark.slow
@each(JAXS)
def test_values_are_jaxs(sample: Sample):
    for kind in sample.kinds.replace("b", ""):
        dtype = DTYPES[kind].split()[0]
        arrays = sample.arrays(RNG, np.dtype(dtype))
        with jax.enable_x64(True):
            want = jax.tree.map(np.asarray, sample.call(jnp, *map(jnp.asarray, arrays)))
        assert_alike(evaluated(sample, arrays), want, dtype, exact_dtype=False)
