"""Functions that draw random numbers: others in each run, the same for the same seeds."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import operation, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.arithmetic import add, multiply
from tfc.graph.functions.creation import shape_tensor
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import as_dtype, float32, int64
from tfc.graph.variables.seeds import seeds


def set_random_seed(seed: int) -> None:
    """Set the default graph's seed: what draws without a seed draws the same in each session."""
    get_default_graph().seed = seed


def _drawn(
    type: str, *inputs: Any, seed: int | None, name: str | None = None, **more: Any
) -> Tensor:
    return result(type, *inputs, name=name, **seeds(seed), **more)


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers."""
    return _normal(
        "RandomStandardNormal", shape, mean, stddev, dtype, seed, name or "random_normal"
    )


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers, none of them two standard deviations away or further."""
    return _normal("TruncatedNormal", shape, mean, stddev, dtype, seed, name or "truncated_normal")


def _normal(
    type: str, shape: Any, mean: Any, stddev: Any, dtype: Any, seed: int | None, name: str
) -> Tensor:
    wanted = as_dtype(dtype)
    with get_default_graph().name_scope(name) as scope:
        dims = shape_tensor(shape)
        middle = convert_to_tensor(mean, wanted, name="mean")
        width = convert_to_tensor(stddev, wanted, name="stddev")
        drawn = _drawn(type, dims, seed=seed, dtype=wanted)
        return add(multiply(drawn, width, name="mul"), middle, name=scope)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from the least up to the limit, which is not among them; integers too.

    Raises:
        ValueError: integers are asked for without a limit.
    """
    wanted = as_dtype(dtype)
    if maxval is None:
        if wanted.is_integer:
            raise ShapeError(f"Must specify maxval for integer dtype {wanted.name}")
        maxval = 1
    with get_default_graph().name_scope(name or "random_uniform") as scope:
        dims = shape_tensor(shape)
        low = convert_to_tensor(minval, wanted, name="min")
        high = convert_to_tensor(maxval, wanted, name="max")
        if wanted.is_integer:
            return _drawn("RandomUniformInt", dims, low, high, seed=seed, name=scope)
        drawn = _drawn("RandomUniform", dims, seed=seed, dtype=wanted)
        span = result("Sub", high, low, name="sub")
        return add(multiply(drawn, span, name="mul"), low, name=scope)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The slices along the first axis in a random order."""
    return _drawn("RandomShuffle", value, seed=seed, name=name)


def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of the gamma distribution: of each `alpha`, divided by `beta`."""
    wanted = as_dtype(dtype)
    with get_default_graph().name_scope(name or "random_gamma"):
        dims = shape_tensor(shape)
        form = convert_to_tensor(alpha, wanted, name="alpha")
        rate = convert_to_tensor(1 if beta is None else beta, wanted, name="beta")
        drawn = _drawn(
            "RandomGamma", dims, result("Add", form, result("ZerosLike", rate)), seed=seed
        )
        least = convert_to_tensor(np.finfo(wanted.dtype).tiny, wanted)
        return result("Maximum", least, result("RealDiv", drawn, rate))


def random_poisson(
    lam: Any,
    shape: Any,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of Poisson's distribution of each rate `lam`."""
    dims = shape_tensor(shape)
    rate = convert_to_tensor(lam, name="lam")
    return _drawn("RandomPoissonV2", dims, rate, seed=seed, name=name, dtype=as_dtype(dtype))


def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = int64,
) -> Tensor:
    """Classes drawn for each row of logarithms of probabilities."""
    wanted = as_dtype(output_dtype)
    return _drawn("Multinomial", logits, num_samples, seed=seed, name=name, output_dtype=wanted)


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A part of a size, at a random place."""
    with get_default_graph().name_scope(name or "random_crop") as scope:
        x = convert_to_tensor(value, name="value")
        wanted = shape_tensor(size, "size")
        limit = result("Add", result("Sub", result("Shape", x), wanted), np.int32(1))
        top = np.int32(2**31 - 1)
        drawn = random_uniform(result("Shape", wanted), 0, top, as_dtype("int32"), seed)
        begin = operation("FloorMod", [drawn, limit]).outputs[0]
        return result("Slice", x, begin, wanted, name=scope)
