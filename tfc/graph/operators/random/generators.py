"""Operators that draw random numbers from a generator that a variable holds: TensorFlow's numbers.

The variable has three integers of 64 bits: two of Philox's counter, and the key. Whatever is drawn
moves the counter on by 256 blocks a number.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import ShapeError
from tfc.graph.operators.partial_values import partial_shape
from tfc.graph.operators.random import seeds
from tfc.graph.operators.registry import Attributes, Spec, known_numbers, operator
from tfc.graph.types.dtypes import as_dtype, int64
from tfc.graph.types.handles import Handle
from tfc.graph.types.shapes import TensorShape

_WIDE = np.dtype(np.uint64)
_BLOCKS = np.uint64(256)  # by which each number moves the counter


def _generator(handle: Handle, context: Any) -> tuple[Any, Any]:
    """(key, counter) of the generator.

    Raises:
        ShapeError: the variable holds none.
    """
    state = context.read(handle)
    if np.dtype(state.dtype) != np.int64 or state.ndim != 1 or state.shape[0] < 3:
        raise ShapeError(
            f"a generator's variable holds 3 integers of 64 bits, got {state.dtype}"
            f"{list(state.shape)}"
        )
    words = state.view(_WIDE)
    return words[2:3], words[:2]


def _move_on(handle: Handle, count: Any, context: Any) -> None:
    """Move the generator on behind so many numbers."""
    state = context.read(handle)
    words = state.view(_WIDE)
    steps = tnp.reshape(count, (1,)) * _BLOCKS
    low = words[:1] + steps
    high = words[1:2] + tnp.astype(low < steps, _WIDE)
    moved = tnp.concatenate([low, high, words[2:]])
    context.write(handle, moved.view(np.dtype(np.int64)))


def _drawn(handle: Handle, algorithm: Any, shape: Any, fill: seeds.Fill, context: Any) -> Any:
    seeds.check_algorithm(algorithm)
    dims = known_numbers(shape, "the shape of random numbers")
    numbers = seeds.filled(dims, *_generator(handle, context), fill)
    _move_on(handle, np.uint64(np.prod(dims, dtype=np.uint64)), context)
    return numbers


def _of_shape(default: Any) -> Callable[[Sequence[Any], Attributes], list[Spec]]:
    def infer(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
        return [(as_dtype(attributes.get("dtype", default)), partial_shape(inputs[2]))]

    return infer


def _enter(name: str, fill_of: Callable[[np.dtype], seeds.Fill], default: Any) -> None:
    @operator(
        name, types="- - shape_dtype", known=(1, 2), infer=_of_shape(default), effect="write"
    )  # fmt: skip
    def draw(
        resource: Any, algorithm: Any, shape: Any, *, dtype: Any = default, context: Any
    ) -> Any:
        return _drawn(resource, algorithm, shape, fill_of(as_dtype(dtype).dtype), context)


_enter("StatefulUniform", seeds.uniform, np.float32)
_enter("StatefulStandardNormalV2", seeds.normal, np.float32)
_enter("StatefulTruncatedNormal", seeds.truncated, np.float32)
_enter("StatefulUniformFullInt", seeds.bits, np.uint64)


def _like_limits(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[3].dtype, partial_shape(inputs[2]))]


@operator(
    "StatefulUniformInt", types="- - shape_dtype dtype", known=(1, 2), infer=_like_limits,
    effect="write",
)  # fmt: skip
def uniform_integers(
    resource: Any, algorithm: Any, shape: Any, minval: Any, maxval: Any, *, context: Any
) -> Any:
    """Integers from the least up to the limit, which is not among them."""
    fill = seeds.between(minval, maxval)
    return _drawn(resource, algorithm, shape, fill, context)


@operator("RngSkip", types="-", known=(1,), infer=lambda *_: [], effect="write")
def skip(resource: Any, algorithm: Any, delta: Any, *, context: Any) -> None:
    """Move the generator on as if so many numbers had been drawn."""
    seeds.check_algorithm(algorithm)
    _generator(resource, context)
    _move_on(resource, tnp.astype(delta, _WIDE), context)


def _state(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(int64, TensorShape([None]))]


@operator("RngReadAndSkip", types="-", known=(1,), infer=_state, effect="write")
def read_and_skip(resource: Any, alg: Any, delta: Any, *, context: Any) -> Any:
    """The generator's state before it is moved on as if so many numbers had been drawn."""
    before = context.read(resource)
    skip(resource, alg, delta, context=context)
    return before
