"""Attention, and the rotation of embeddings by their positions."""

import math
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import ModelFileError
from tfc.frontend.control.scan import scan
from tfc.importers.onnx.table import operator
from tfc.importers.onnx.tensors import dtype_of


def heads(x: Any, count: int | None) -> Any:
    """[batch, time, heads · size] as [batch, heads, time, size].

    Raises:
        ModelFileError: the number of heads is not said, or does not divide the last dimension.
    """
    if x.ndim == 4:
        return x
    if not count or x.ndim != 3 or x.shape[2] % count:
        raise ModelFileError(f"{count} heads are not in an array {list(x.shape)}")
    n, time, _ = x.shape
    return tnp.transpose(tnp.reshape(x, (n, time, count, -1)), (0, 2, 1, 3))


def merged(x: Any) -> Any:
    """[batch, heads, time, size] as [batch, time, heads · size]."""
    n, count, time, size = x.shape
    return tnp.reshape(tnp.transpose(x, (0, 2, 1, 3)), (n, time, count * size))


def softmax_of_some(scores: Any) -> Any:
    """The softmax along the last axis; zeros where all scores are minus infinity."""
    largest = tnp.max(scores, -1, keepdims=True)
    safe = tnp.where(tnp.isneginf(largest), 0, largest)
    powers = tnp.exp(scores - safe)
    total = tnp.sum(powers, -1, keepdims=True)
    return powers / tnp.where(total == 0, 1, total)


def _padded_mask(mask: Any, keys: int) -> Any:
    """A mask for all keys: those that it says nothing of do not count."""
    missing = keys - mask.shape[-1]
    if missing <= 0:
        return mask
    value = False if mask.dtype == np.bool_ else -np.inf
    return tnp.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, missing)], constant_values=value)


def _visible(queries: int, keys: int, offset: Any, is_causal: int, left: int, right: int) -> Any:
    """Which keys a query sees by its place; None for all of them.

    Args:
        offset: how many keys come before the queries: a number, or [batch, 1, 1, 1].
    """
    if not is_causal and left < 0 and right < 0:
        return None
    distance = np.arange(queries)[:, None] - np.arange(keys)[None] + offset
    found = np.ones((queries, keys), bool)
    if is_causal:
        found = tnp.logical_and(found, distance >= 0)
    if left >= 0:
        found = tnp.logical_and(found, distance <= left)
    if right >= 0:
        found = tnp.logical_and(found, distance >= -right)
    return found


@operator("Attention", since=23)
def attention(
    q: Any, k: Any, v: Any, attn_mask: Any = None, past_key: Any = None, past_value: Any = None,
    nonpad_kv_seqlen: Any = None, *, is_causal: int = 0, kv_num_heads: int | None = None,
    left_window_size: int = -1, q_num_heads: int | None = None, qk_matmul_output_mode: int = 0,
    right_window_size: int = -1, scale: float | None = None, softcap: float = 0.0,
    softmax_precision: int | None = None,
) -> Any:  # fmt: skip
    """Scaled dot products of queries with keys as weights of values; and the keys and values."""
    is_flat = q.ndim == 3
    q, k, v = heads(q, q_num_heads), heads(k, kv_num_heads), heads(v, kv_num_heads)
    if past_key is not None:
        k, v = tnp.concatenate([past_key, k], 2), tnp.concatenate([past_value, v], 2)
    present = k, v
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = tnp.repeat(k, groups, 1), tnp.repeat(v, groups, 1)
    factor = math.sqrt(1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    scores = tnp.matmul(q * factor, tnp.swapaxes(k * factor, -1, -2))
    raw = scores
    if softcap > 0:
        scores = softcap * tnp.tanh(scores / softcap)
    capped = scores
    queries, keys = scores.shape[-2:]
    offset: Any = 0 if past_key is None else past_key.shape[2]
    hidden = np.asarray(-np.inf, q.dtype)
    if nonpad_kv_seqlen is not None:
        lengths = tnp.reshape(nonpad_kv_seqlen, (-1, 1, 1, 1))
        offset = lengths - queries
        scores = tnp.where(np.arange(keys) < lengths, scores, hidden)
    if attn_mask is not None:
        mask = _padded_mask(attn_mask, keys)
        scores = tnp.where(mask, scores, hidden) if mask.dtype == np.bool_ else scores + mask
    seen = _visible(queries, keys, offset, is_causal, left_window_size, right_window_size)
    if seen is not None:
        scores = tnp.where(seen, scores, hidden)
    wide = scores
    if softmax_precision:
        wide = tnp.astype(scores, dtype_of(softmax_precision))
    weights = tnp.astype(softmax_of_some(wide), q.dtype)
    made = tnp.matmul(weights, v)
    shown = (raw, capped, scores, weights)[qk_matmul_output_mode]
    return merged(made) if is_flat else made, *present, shown


def rotated(x: Any, cos: Any, sin: Any, is_interleaved: int) -> Any:
    """Pairs of elements of the last dimension, rotated: neighbours, or the two halves'."""
    if is_interleaved:
        first, second = x[..., 0::2], x[..., 1::2]
    else:
        first, second = tnp.split(x, 2, -1)
    real, imaginary = cos * first - sin * second, sin * first + cos * second
    if is_interleaved:
        return tnp.reshape(tnp.stack([real, imaginary], -1), x.shape)
    return tnp.concatenate([real, imaginary], -1)


@operator("RotaryEmbedding", since=23)
def rotary_embedding(
    x: Any, cos_cache: Any, sin_cache: Any, position_ids: Any = None, *, interleaved: int = 0,
    num_heads: int = 0, rotary_embedding_dim: int = 0,
) -> Any:  # fmt: skip
    """The first elements of each head, rotated by angles of their position."""
    apart = heads(x, num_heads)  # [batch, heads, time, size]
    size = rotary_embedding_dim or apart.shape[-1]
    if position_ids is not None:
        cos_cache, sin_cache = cos_cache[position_ids], sin_cache[position_ids]
    turned = rotated(apart[..., :size], cos_cache[:, None], sin_cache[:, None], interleaved)
    if size < apart.shape[-1]:
        turned = tnp.concatenate([turned, apart[..., size:]], -1)
    return turned if x.ndim == 4 else merged(turned)


@operator("CausalConvWithState", since=27)
def causal_conv(
    x: Any, weight: Any, bias: Any = None, past_state: Any = None, *, activation: str = "none"
) -> Any:
    """The convolution of each channel with what came before; and the last elements, to go on."""
    n, channels, _ = x.shape
    size = weight.shape[2]
    before = tnp.zeros((n, channels, size - 1), x.dtype) if past_state is None else past_state
    padded = tnp.concatenate([before, x], 2)
    count = x.shape[2]
    wide = [tnp.astype(v, np.float32) for v in (padded, weight)]
    made: Any = 0.0 if bias is None else tnp.astype(bias, np.float32)[:, None]
    for k in range(size):
        made = made + wide[0][:, :, k : k + count] * wide[1][None, :, 0, k, None]
    made = tnp.astype(made, x.dtype)
    if activation in ("silu", "swish"):
        made = made * nn.sigmoid(made)
    return made, padded[:, :, padded.shape[2] - (size - 1) :]


@operator("LinearAttention", since=27)
def linear_attention(
    query: Any, key: Any, value: Any, past_state: Any = None, decay: Any = None, beta: Any = None,
    *, chunk_size: int = 64, kv_num_heads: int, q_num_heads: int, scale: float = 0.0,
    update_rule: str = "gated_delta",
) -> Any:  # fmt: skip
    """Queries of a state to which each key adds its value, of which a part may decay."""
    q, k, v = heads(query, q_num_heads), heads(key, kv_num_heads), heads(value, kv_num_heads)
    n, _, time, size = q.shape
    wide = [tnp.astype(x, np.float32) for x in (q, k, v)]
    if decay is not None:
        wide.append(tnp.exp(tnp.astype(heads(decay, kv_num_heads), np.float32)))
    if beta is not None:
        wide.append(tnp.astype(heads(beta, beta.shape[-1]), np.float32))
    dims = (n, kv_num_heads, size, v.shape[-1])
    state = tnp.zeros(dims, np.float32) if past_state is None else past_state
    groups = q_num_heads // kv_num_heads

    def step(state: Any, given: Any) -> Any:
        now, k, v, *rest = given
        if decay is not None:
            state = state * rest.pop(0)[..., None]
        if beta is not None:
            v = rest.pop(0) * (v - tnp.einsum("nhk,nhkv->nhv", k, state))
        state = state + k[..., None] * v[..., None, :]
        read = tnp.repeat(state, groups, 1) if groups > 1 else state
        return state, tnp.einsum("nhk,nhkv->nhv", now, read)

    last, outputs = scan(
        step, tnp.astype(state, np.float32), [tnp.moveaxis(x, 2, 0) for x in wide], time
    )
    factor = scale or 1 / math.sqrt(size)
    made = merged(tnp.moveaxis(outputs, 0, 2) * factor)
    kept = query.dtype if past_state is None else past_state.dtype
    return tnp.astype(made, query.dtype), tnp.astype(last, kept)
