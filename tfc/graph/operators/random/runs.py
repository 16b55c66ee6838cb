"""Operators that draw random numbers, from keys of the run: other bits than TensorFlow's.

The same seeds give the same numbers in each session, and others in each of its runs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc import random
from tfc.graph.operators.partial_values import partial_shape
from tfc.graph.operators.registry import Attributes, Spec, known_numbers, operator
from tfc.graph.types.dtypes import as_dtype, float32
from tfc.graph.types.shapes import TensorShape


def _drawn(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    dtype = as_dtype(attributes.get("dtype", float32))
    return [(dtype, partial_shape(inputs[0]))]


def _dims(shape: Any) -> tuple[int, ...]:
    return known_numbers(shape, "the shape of random numbers")


@operator("RandomStandardNormal", known=(0,), infer=_drawn, effect="read")
def normal(shape: Any, *, dtype: Any = np.float32, seed: int = 0, seed2: int = 0, context: Any):
    """Normally distributed numbers of mean 0 and standard deviation 1."""
    return random.normal(context.key(seed, seed2), _dims(shape), as_dtype(dtype).dtype)


@operator("RandomUniform", known=(0,), infer=_drawn, effect="read")
def uniform(shape: Any, *, dtype: Any = np.float32, seed: int = 0, seed2: int = 0, context: Any):
    """Numbers from 0 up to 1, which is not among them."""
    return random.uniform(context.key(seed, seed2), _dims(shape), as_dtype(dtype).dtype)


def _drawn_integers(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[1].dtype, partial_shape(inputs[0]))]


@operator("RandomUniformInt", types="T Tout", known=(0,), infer=_drawn_integers, effect="read")
def uniform_integers(
    shape: Any, minval: Any, maxval: Any, *, seed: int = 0, seed2: int = 0, context: Any
):
    """Integers from the least up to the limit, which is not among them."""
    key = context.key(seed, seed2)
    return random.randint(key, _dims(shape), minval, maxval, minval.dtype)


@operator("TruncatedNormal", known=(0,), infer=_drawn, effect="read")
def truncated_normal(
    shape: Any, *, dtype: Any = np.float32, seed: int = 0, seed2: int = 0, context: Any
):
    """Normally distributed numbers, none of them two standard deviations away or further."""
    key = context.key(seed, seed2)
    return random.truncated_normal(key, -2.0, 2.0, _dims(shape), as_dtype(dtype).dtype)


@operator(
    "ParameterizedTruncatedNormal", types="T dtype", known=(0,),
    infer=lambda inputs, _: [(inputs[1].dtype, partial_shape(inputs[0]))], effect="read",
)  # fmt: skip
def truncated_normal_of_each(
    shape: Any,
    means: Any,
    stdevs: Any,
    minvals: Any,
    maxvals: Any,
    *,
    seed: int = 0,
    seed2: int = 0,
    context: Any,
):
    """Normally distributed numbers between bounds, with parameters for each row or for all."""
    dims = _dims(shape)
    rows = (-1, *[1] * (len(dims) - 1))
    given = [tnp.reshape(x, rows) for x in (means, stdevs, minvals, maxvals)]
    return _between_bounds(context.key(seed, seed2), dims, *given)


def _between_bounds(key: Any, dims: Any, mean: Any, deviation: Any, least: Any, most: Any) -> Any:
    low, high = ((bound - mean) / deviation for bound in (least, most))
    made = mean + deviation * random.truncated_normal(key, low, high, dims, mean.dtype)
    return tnp.clip(made, least, most)


@operator(
    "StatelessParameterizedTruncatedNormal", types="S Tseed dtype", known=(0,),
    infer=lambda inputs, _: [(inputs[2].dtype, partial_shape(inputs[0]))],
)  # fmt: skip
def truncated_normal_of_seed(
    shape: Any, seed: Any, means: Any, stddevs: Any, minvals: Any, maxvals: Any
) -> Any:
    """Normally distributed numbers between bounds, which a seed decides: not TensorFlow's."""
    words = tnp.astype(tnp.astype(seed, np.dtype(np.int64)), np.dtype(np.uint64))
    made = random.key(np.uint32(0))
    for word in (words[0], words[1]):
        for half in (word & np.uint64(0xFFFFFFFF), word >> np.uint64(32)):
            made = random.fold_in(made, tnp.astype(half, np.dtype(np.uint32)))
    return _between_bounds(made, _dims(shape), means, stddevs, minvals, maxvals)


def _shuffled(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[0].dtype, inputs[0].shape)]


@operator("RandomShuffle", infer=_shuffled, effect="read")
def shuffle(value: Any, *, seed: int = 0, seed2: int = 0, context: Any):
    """The slices along the first axis in a random order."""
    return random.permutation(context.key(seed, seed2), value)


def _of_each(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    dtype = as_dtype(attributes.get("dtype", inputs[1].dtype))
    return [(dtype, partial_shape(inputs[0]).concatenate(inputs[1].shape))]


@operator("RandomGamma", types="S T", known=(0,), infer=_of_each, effect="read")
def gamma(shape: Any, alpha: Any, *, seed: int = 0, seed2: int = 0, context: Any):
    """Numbers of the gamma distribution of each shape parameter, of scale 1."""
    dims = (*_dims(shape), *alpha.shape)
    return random.gamma(context.key(seed, seed2), alpha, dims, alpha.dtype)


@operator("RandomPoissonV2", types="S R", known=(0,), infer=_of_each, effect="read")
def poisson(
    shape: Any, rate: Any, *, dtype: Any = np.int64, seed: int = 0, seed2: int = 0, context: Any
):
    """Numbers of Poisson's distribution of each rate."""
    dims = (*_dims(shape), *rate.shape)
    drawn = random.poisson(context.key(seed, seed2), rate, dims)
    return tnp.astype(drawn, as_dtype(dtype).dtype)


def _sampled(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    rows = None if inputs[0].shape.dims is None else inputs[0].shape.dims[0]
    count = inputs[1].known_value()
    dtype = as_dtype(attributes.get("output_dtype", np.int64))
    return [(dtype, TensorShape([rows, None if count is None else int(count)]))]


@operator("Multinomial", known=(1,), infer=_sampled, effect="read")
def multinomial(
    logits: Any,
    num_samples: Any,
    *,
    output_dtype: Any = np.int64,
    seed: int = 0,
    seed2: int = 0,
    context: Any,
):
    """Classes drawn for each row of logarithms of probabilities."""
    (count,) = known_numbers(num_samples, "the number of samples")
    noise = random.uniform(
        context.key(seed, seed2),
        (logits.shape[0], count, logits.shape[1]),
        np.dtype(np.float64),
        minval=np.finfo(np.float64).tiny,
    )
    scores = tnp.expand_dims(logits, 1) - tnp.log(-tnp.log(noise))
    return tnp.astype(tnp.argmax(scores, axis=-1), as_dtype(output_dtype).dtype)
