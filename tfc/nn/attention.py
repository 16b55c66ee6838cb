"""Attention: each query's mean of the values, weighted by how well the keys fit it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.promotion import as_tensor, cast, expand
from tfc.frontend.python_numbers import real_number, sizes, whole
from tfc.frontend.tensor import FUNCTIONS, ArrayLike, Tensor, evaluable
from tfc.hlo.shape import F32, S64
from tfc.nn.layers import dense
from tfc.nn.softmax import softmax


@evaluable
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
) -> Tensor:
    """softmax(query · key * scale + bias) · value, for each head; in the shape of the query.

    Args:
        query: [batch, T, heads, size]; the batch may be left out, of all three.
        key, value: [batch, S, their heads, size]; so many heads of the query share one of theirs.
        bias: added to the logits, to whose shape [batch, heads, T, S] it broadcasts.
        mask: booleans that broadcast so: keys that a query may see.
        scale: a factor; one over the root of the size if it is left out.
        is_causal: let no query see keys that come after it.
        query_seq_lengths, key_value_seq_lengths: [batch]: how many of them there are; results of
            queries beyond are 0.
        local_window_size: how far a query sees to the left and to the right.

    Logits of halves are computed in float32.

    Raises:
        ShapeError: the shapes do not fit.
    """
    tensors = [as_tensor(t) for t in (query, key, value)]
    dims = tensors[0].shape
    q, k, v = (ops.reshape(t, (1, *t.shape)) if t.ndim == 3 else t for t in tensors)
    _check_shapes(q, k, v)
    factor = 1 / np.sqrt(q.shape[-1]) if scale is None else real_number(scale, "the scale")
    logits = _logits(q, k)
    logits = logits * ops.full_like(factor, logits)
    if bias is not None:
        logits = logits + expand(cast(_of_rank_4(bias), logits.dtype), logits.shape)
    visible = _visible(logits, mask, is_causal, local_window_size)
    for axis, lengths in ((2, query_seq_lengths), (3, key_value_seq_lengths)):
        if lengths is not None:
            visible = _both(visible, _before(logits, axis, as_tensor(lengths)))
    if visible is not None:
        # Not -inf: a query that sees nothing has a mean of all values, and a derivative.
        low = -0.7 * float(np.finfo(np.float32).max)
        logits = ops.select(visible, logits, ops.full_like(low, logits))
    made = _mixed(cast(softmax(logits), k.dtype), v)
    if query_seq_lengths is not None:
        inside = _before(made, 1, as_tensor(query_seq_lengths))
        made = ops.select(inside, made, ops.full_like(0, made))
    return ops.reshape(made, dims)


def _check_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    fits = q.ndim == k.ndim == v.ndim == 4 and k.shape[:3] == v.shape[:3] == (
        q.shape[0], k.shape[1], k.shape[2],
    ) and q.shape[3] == k.shape[3] == v.shape[3]  # fmt: skip
    if not fits or not k.shape[2] or q.shape[2] % k.shape[2]:
        shown = ", ".join(str(list(t.shape)) for t in (q, k, v))
        raise ShapeError(
            "dot_product_attention requires a query [batch, T, heads, size] and a key and a value "
            f"[batch, S, heads of which the query has a multiple, size], got {shown}"
        )


def _of_rank_4(value: ArrayLike) -> Tensor:
    tensor = as_tensor(value)
    return ops.reshape(tensor, (*[1] * (4 - tensor.ndim), *tensor.shape))


def _logits(q: Tensor, k: Tensor) -> Tensor:
    """[batch, heads, T, S] of products, in float32 at least."""
    batch, length, heads, size = q.shape
    shared = k.shape[2]
    grouped = ops.reshape(q, (batch, length, shared, heads // shared, size))
    element_type = q.array_shape.element_type
    wide = F32 if element_type.is_float and element_type.bits < 32 else None
    # [batch, shared, T, of each, S]
    found = ops.dot(grouped, cast(k, q.dtype), ([4], [3]), ([0, 2], [0, 2]), wide)
    return ops.reshape(ops.transpose(found, (0, 1, 3, 2, 4)), (batch, heads, length, k.shape[1]))


def _mixed(weights: Tensor, v: Tensor) -> Tensor:
    """[batch, T, heads, size] of means of values."""
    batch, heads, length, keys = weights.shape
    shared = v.shape[2]
    grouped = ops.reshape(weights, (batch, shared, heads // shared, length, keys))
    # [batch, shared, of each, T, size]
    found = ops.dot(grouped, cast(v, weights.dtype), ([4], [1]), ([0, 1], [0, 2]))
    return ops.reshape(ops.transpose(found, (0, 3, 1, 2, 4)), (batch, length, heads, v.shape[3]))


def _both(x: Tensor | None, y: Tensor) -> Tensor:
    return y if x is None else ops.operation("and", x, y)


def _before(like: Tensor, axis: int, lengths: Tensor) -> Tensor:
    """pred in the shape of `like`: places along an axis that lie within each batch's length."""
    places = ops.iota(S64, like.shape, axis)
    return ops.compare("LT", places, ops.broadcast(ops.convert(lengths, S64), like.shape, [0]))


def _visible(
    logits: Tensor, mask: ArrayLike | None, is_causal: bool, window: int | tuple[int, int] | None
) -> Tensor | None:
    """pred: the keys that each query may see; None for all."""
    visible = None
    if mask is not None:
        visible = expand(cast(_of_rank_4(mask), np.bool_), logits.shape)
    if not is_causal and window is None:
        return visible
    queries, keys = (ops.iota(S64, logits.shape, d) for d in (2, 3))
    if is_causal:
        visible = _both(visible, ops.compare("LE", keys, queries))
    if window is not None:
        given = sizes(window, "a window's size")
        left, right = given if len(given) == 2 else (given[0], given[0])
        visible = _both(visible, queries <= keys + left)
        visible = _both(visible, queries >= keys - right)
    return visible


@evaluable
def rotary_embedding(
    x: ArrayLike, positions: ArrayLike | None = None, base: float = 10000.0
) -> Tensor:
    """Vectors turned by angles that grow with their position, so that products tell distances.

    Element k of the first half and of the second are turned by position / base^(2 k / size).

    Args:
        x: [..., T, heads, size], of an even size.
        positions: integers that broadcast to [..., T]; 0, 1 … if they are left out.

    Raises:
        ShapeError: the size is odd, or there are not three dimensions.
    """
    tensor = as_tensor(x)
    if tensor.ndim < 3 or tensor.shape[-1] % 2:
        raise ShapeError(
            "rotary_embedding requires [..., T, heads, size] of an even size, got "
            f"{list(tensor.shape)}"
        )
    half = tensor.shape[-1] // 2
    wide = tensor if tensor.array_shape.element_type.bits > 32 else cast(tensor, np.float32)
    places = np.arange(tensor.shape[-3]) if positions is None else positions
    numbers = expand(cast(as_tensor(places), wide.dtype), tensor.shape[:-2])
    rates = np.asarray(base ** (-np.arange(half) / half), wide.dtype)
    dims = (*tensor.shape[:-1], half)
    spread = ops.broadcast(numbers, dims, range(len(dims) - 2))
    angles = spread * ops.broadcast(as_tensor(rates), dims, [len(dims) - 1])
    first, second = (
        ops.slice_along(wide, wide.ndim - 1, start, start + half) for start in (0, half)
    )
    cosine, sine = FUNCTIONS["cos"](angles), FUNCTIONS["sin"](angles)
    turned = [first * cosine - second * sine, second * cosine + first * sine]
    return cast(ops.concatenate(turned, wide.ndim - 1), tensor.dtype)


@evaluable
def multi_head_attention(
    parameters: Mapping[str, Any],
    inputs: ArrayLike,
    num_heads: int,
    memory: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    is_causal: bool = False,
    rotary: bool = False,
) -> Tensor:
    """Attention of inputs among themselves, or to a memory, between four dense layers.

    Args:
        parameters: "query" [features, heads * size], "key" and "value" [features of what is
            attended to, their heads * size], "output" [heads * size, outputs]; and under
            "query_bias" … vectors, if there are some.
        inputs: [batch, T, features].
        num_heads: how many heads queries have; keys have as many as fit their kernel.
        memory: [batch, S, features], attended to in place of the inputs.
        mask, is_causal: as in `dot_product_attention`.
        rotary: turn queries and keys by `rotary_embedding`.

    Raises:
        ShapeError: the shapes do not fit.
    """
    x = as_tensor(inputs)
    seen = x if memory is None else as_tensor(memory)
    heads = whole(num_heads, "the number of heads")
    width = as_tensor(parameters["query"]).shape[-1]
    if heads < 1 or width % heads:
        raise ShapeError(f"multi_head_attention cannot split {width} features into {heads} heads")

    def layer(name: str, source: Tensor) -> Tensor:
        made = dense(source, parameters[name], parameters.get(f"{name}_bias"))
        size = width // heads
        if made.shape[-1] % size:
            raise ShapeError(
                f"multi_head_attention requires heads of {size} features, got "
                f"{made.shape[-1]} features for '{name}'"
            )
        split = ops.reshape(made, (*made.shape[:-1], made.shape[-1] // size, size))
        return rotary_embedding(split) if rotary and name != "value" else split

    q, k, v = layer("query", x), layer("key", seen), layer("value", seen)
    mixed = dot_product_attention(q, k, v, mask=mask, is_causal=is_causal)
    joined = ops.reshape(mixed, (*mixed.shape[:-2], width))
    return dense(joined, parameters["output"], parameters.get("output_bias"))
