"""Steps of training on GPUs: which kernels they are, and that they give the evaluator's values."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.backends.gpu.driver import using
from tfc.hlo import evaluate
from tfc.hlo.shape import Shape, leaves
from tfc.testing.ptx.driver import InterpretedDriver


def large_arrays(executable: Any, size: int) -> list[Shape]:
    """The arrays of a program that have so many elements or more."""
    return [
        shape
        for x in executable.hlo.entry.instructions
        for shape in leaves(x.shape)
        if isinstance(shape, Shape) and shape.size >= size
    ]


def code_of_kernels(executable: Any) -> list[str]:
    """The texts of a program's kernels for GPUs with warpgroups."""
    return re.split(r"(?=\.visible \.entry)", executable.code("sm_90a"))[1:]


def assert_gradients_are_the_evaluators(
    gradient: Any, arguments: Sequence[Any], architecture: str, error: float
) -> None:
    """Compare gradients on the interpreter of PTX with those that are evaluated in f64.

    Args:
        gradient: a function under jit, of weights by name and of arrays.
        error: of each gradient beside its norm, or the largest element of all.
    """
    weights, *arrays = arguments
    given = [*(weights[n] for n in sorted(weights)), *arrays]
    wide = gradient.lower(
        {n: w.astype(np.float64) for n, w in weights.items()},
        *(a.astype(np.float64) for a in arrays),
    )
    want = evaluate(wide.hlo, *(a.astype(np.float64) for a in given))
    with using(InterpretedDriver(architecture)):
        got = gradient.lower(*arguments).compile().executable(*given)
    most = max(np.abs(b).max() for b in want)
    for a, b in zip(got, want, strict=True):  # some are 0, but for rounding
        a = np.asarray(a).astype(np.float64)
        assert np.linalg.norm(a - b) <= error * np.linalg.norm(b) + error * most
