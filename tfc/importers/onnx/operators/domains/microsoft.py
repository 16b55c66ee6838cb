"""com.microsoft: fusions that ONNX Runtime's optimizer and exporters put into models."""

import math
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.importers.onnx.operators.activations import gelu
from tfc.importers.onnx.operators.layers.attention import heads, merged, rotated
from tfc.importers.onnx.operators.layers.normalization import layer_normalized, rms_normalization
from tfc.importers.onnx.table import MICROSOFT, operator


@operator("Gelu", domain=MICROSOFT)
def plain_gelu(x: Any) -> Any:
    """x times the normal distribution at x."""
    return gelu(x)


@operator("BiasGelu", domain=MICROSOFT)
def bias_gelu(a: Any, b: Any) -> Any:
    """The Gelu of a sum."""
    return gelu(a + b)


@operator("FastGelu", domain=MICROSOFT)
def fast_gelu(x: Any, bias: Any = None) -> Any:
    """The approximation of Gelu by tanh, of a sum."""
    return gelu(x if bias is None else x + bias, approximate="tanh")


@operator("QuickGelu", domain=MICROSOFT)
def quick_gelu(x: Any, *, alpha: float = 1.702) -> Any:
    """x · sigmoid(alpha·x)."""
    return x * nn.sigmoid(x * alpha)


def _root_normalized(x: Any, scale: Any, epsilon: float) -> tuple[Any, Any]:
    """x over the root of the mean of its squares, scaled; and one over that root."""
    wide = tnp.astype(x, np.float32) if x.dtype.itemsize < 4 else x
    inverse = 1 / tnp.sqrt(tnp.mean(wide * wide, -1, keepdims=True) + epsilon)
    return tnp.astype(wide * inverse, x.dtype) * scale, inverse


def _simplified(
    x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    """x over the root of the mean of its squares from an axis on, scaled."""
    return rms_normalization(x, scale, axis=axis, epsilon=epsilon, stash_type=stash_type)


for _domain in ("", MICROSOFT):  # exporters name it in either
    operator("SimplifiedLayerNormalization", domain=_domain)(_simplified)


@operator("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(
    x: Any, skip: Any, gamma: Any, beta: Any = None, bias: Any = None, *, epsilon: float = 1e-12
) -> Any:
    """A sum, normalized along its last axis, scaled and shifted; and the sum as fourth output."""
    total = x + skip if bias is None else x + skip + bias
    return *layer_normalized(total, gamma, beta, -1, epsilon), total


@operator("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_simplified(
    x: Any, skip: Any, gamma: Any, bias: Any = None, *, epsilon: float = 1e-12
) -> Any:
    """A sum, over the root of the mean of its squares; and the sum as fourth output."""
    total = x + skip if bias is None else x + skip + bias
    made, inverse = _root_normalized(total, gamma, epsilon)
    return made, None, inverse, total


@operator("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_normalization(
    input_ids: Any, segment_ids: Any, word: Any, position: Any, segment: Any = None,
    gamma: Any = None, beta: Any = None, mask: Any = None, position_ids: Any = None, *,
    epsilon: float = 1e-12, mask_index_type: int = 0,
) -> Any:  # fmt: skip
    """The sum of the embeddings of words, places and segments, normalized; lengths; and the sum."""
    places = np.arange(input_ids.shape[1])[None] if position_ids is None else position_ids
    total = tnp.take(word, input_ids, 0, mode="clip") + tnp.take(position, places, 0, mode="clip")
    if segment_ids is not None and segment is not None:
        total = total + tnp.take(segment, segment_ids, 0, mode="clip")
    count = input_ids.shape[0]
    lengths: Any = np.zeros(count, np.int32)
    if mask is not None:
        lengths = tnp.astype(tnp.sum(mask, 1), np.int32)
    return layer_normalized(total, gamma, beta, -1, epsilon)[0], lengths, total


def _refuse(**given: Any) -> None:
    """Refuse attributes that ask for more than is here.

    Raises:
        UnsupportedError: one does.
    """
    for name, value in given.items():
        if value:
            raise UnsupportedError(f"the attribute '{name}' is not supported")


def _masked(scores: Any, mask: Any, value: float) -> Any:
    """Scores with a large negative number where a mask of keys, or of both, has zero.

    Args:
        mask: [batch] lengths, [batch, keys], [batch, queries, keys] or with heads.
    """
    keys = scores.shape[-1]
    if mask.ndim == 1:
        mask = np.arange(keys) < tnp.reshape(mask, (-1, 1))
    if mask.ndim == 2:
        mask = mask[:, None, None]
    elif mask.ndim == 3:
        mask = mask[:, None]
    return scores + tnp.where(tnp.astype(mask, np.bool_), 0, np.asarray(value, scores.dtype))


def _attended(
    q: Any, k: Any, v: Any, scale: float | None, mask: Any, bias: Any, value: float, causal: int
) -> Any:
    """Attention of [batch, heads, time, size], merged."""
    factor = scale or 1 / math.sqrt(q.shape[-1])
    scores = tnp.matmul(q, tnp.swapaxes(k, -1, -2)) * factor
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = _masked(scores, mask, value)
    if causal:
        queries, keys = scores.shape[-2:]
        seen = np.arange(keys) <= np.arange(queries)[:, None] + (keys - queries)
        scores = tnp.where(seen, scores, np.asarray(value, scores.dtype))
    return merged(tnp.matmul(nn.softmax(scores, -1), v))


@operator("Attention", domain=MICROSOFT)
def attention(
    x: Any, weights: Any, bias: Any = None, mask_index: Any = None, past: Any = None,
    attention_bias: Any = None, *, num_heads: int,
    do_rotary: int = 0, mask_filter_value: float = -10000.0, past_present_share_buffer: int = 0,
    qkv_hidden_sizes: Any = None, scale: float | None = None,
    unidirectional: int = 0,
) -> Any:  # fmt: skip
    """Attention of an array to itself; queries, keys and values come of one product."""
    _refuse(do_rotary=do_rotary, past_present_share_buffer=past_present_share_buffer)
    inner = tnp.matmul(x, weights)
    inner = inner if bias is None else inner + bias
    size = inner.shape[-1] // 3
    sizes = list(qkv_hidden_sizes or (size, size, size))
    q, k, v = (
        heads(part, num_heads) for part in tnp.split(inner, np.cumsum(sizes)[:2].tolist(), -1)
    )
    if past is not None:
        k, v = tnp.concatenate([past[0], k], 2), tnp.concatenate([past[1], v], 2)
    made = _attended(q, k, v, scale, mask_index, attention_bias, mask_filter_value, unidirectional)
    present = tnp.stack([k, v], 0) if k.shape == v.shape else None
    return made, present


@operator("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(
    query: Any, key: Any = None, value: Any = None, bias: Any = None, key_padding_mask: Any = None,
    attention_bias: Any = None, past_key: Any = None, past_value: Any = None, *, num_heads: int,
    mask_filter_value: float = -10000.0, scale: float | None = None, unidirectional: int = 0,
) -> Any:  # fmt: skip
    """Attention of queries to keys, whose values are weighted; and the keys and values."""
    parts = [query, key, value]
    if key is None:  # packed: [batch, time, heads, 3, size]
        parts = [merged(tnp.swapaxes(query[:, :, :, n], 1, 2)) for n in range(3)]
    if bias is not None:
        ends = np.cumsum([parts[0].shape[-1]] * 2).tolist()
        parts = [p + b if p.ndim == 3 else p for p, b in zip(parts, tnp.split(bias, ends, -1))]
    q, k, v = (heads(p, num_heads) for p in parts)
    if past_key is not None:
        k, v = tnp.concatenate([past_key, k], 2), tnp.concatenate([past_value, v], 2)
    made = _attended(
        q, k, v, scale, key_padding_mask, attention_bias, mask_filter_value, unidirectional
    )
    return made, k, v


@operator("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(
    x: Any, position_ids: Any, cos_cache: Any, sin_cache: Any, *, interleaved: int = 0,
    is_packed_batching: int = 0, num_heads: int = 0, rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Any:  # fmt: skip
    """The first elements of each head, rotated by angles of their position."""
    _refuse(is_packed_batching=is_packed_batching, scale=scale != 1.0)
    size = rotary_embedding_dim or 2 * cos_cache.shape[-1]
    apart = heads(x, num_heads or x.shape[-1] // size)
    places = position_ids
    if position_ids.size == 1:
        places = tnp.reshape(position_ids, (1, 1)) + np.arange(apart.shape[2])[None]
    cos, sin = (tnp.take(c, places, 0, mode="clip")[:, None] for c in (cos_cache, sin_cache))
    turned = rotated(apart[..., :size], cos, sin, interleaved)
    if size < apart.shape[-1]:
        turned = tnp.concatenate([turned, apart[..., size:]], -1)
    return turned if x.ndim == 4 else merged(turned)
