"""Attention: by products of queries and keys, by sums of them, and in several heads."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.importers.keras.layer import Layer, Variable
from tfc.importers.keras.operators.activations import masked_softmax
from tfc.importers.keras.table import Use, layer


def _first_mask(use: Use, mask: Any, result: Any) -> Any:
    """The mask of the queries, as the results lie in their places."""
    return mask[0] if isinstance(mask, (list, tuple)) else mask


def _causal(rows: int, columns: int) -> Any:
    """Where a place sees another: itself and those before."""
    return np.arange(rows)[:, None] >= np.arange(columns)


def _scored(use: Use, scores: Any, value: Any, causal: bool) -> tuple[Any, Any]:
    """What scores take of values, and the weights that they become, as the masks allow."""
    masks = use.mask if isinstance(use.mask, (list, tuple)) else [None, None]
    shown = masks[1] if len(masks) > 1 else None
    shown = None if shown is None else shown[:, None, :]
    if causal:
        past = _causal(*scores.shape[-2:])
        shown = past if shown is None else shown & past
    if shown is not None:
        low = 65504.0 if scores.dtype.name == "float16" else 1e9
        scores = tnp.where(shown, scores, scores - low)
    weights = nn.softmax(scores)
    made = tnp.matmul(weights, value)
    if masks and masks[0] is not None:
        made = tnp.where(masks[0][..., None], made, tnp.zeros_like(made))
    return made, weights


def _attention_variables(layer: Layer) -> list[Variable]:
    names = ["scale"] if layer.config.get("use_scale") else []
    concat = layer.config.get("score_mode") == "concat"
    return [Variable(n) for n in [*names, *(["concat_score_weight"] if concat else [])]]


@layer("Attention", variables=_attention_variables, mask=_first_mask)
def attention(
    use: Use, inputs: Sequence[Any], return_attention_scores: bool = False,
    use_causal_mask: bool = False, *, use_scale: bool = False, score_mode: str = "dot",
    dropout: Any = None, causal: bool = False,
) -> Any:  # fmt: skip
    """What queries take of values, by their products with keys."""
    query, value = inputs[:2]
    key = inputs[2] if len(inputs) > 2 else value
    if score_mode == "concat":
        both = query[..., :, None, :] + key[..., None, :, :]
        both = both if not use_scale else both * use["scale"]
        scores = use["concat_score_weight"] * tnp.sum(tnp.tanh(both), axis=-1)
    else:
        scores = tnp.matmul(query, tnp.swapaxes(key, -1, -2))
        scores = scores if not use_scale else scores * use["scale"]
    found = _scored(use, scores, value, causal or use_causal_mask)
    return found if return_attention_scores else found[0]


def _additive_variables(layer: Layer) -> list[Variable]:
    return [Variable("scale")] if layer.config.get("use_scale", True) else []


@layer("AdditiveAttention", variables=_additive_variables, mask=_first_mask)
def additive_attention(
    use: Use, inputs: Sequence[Any], return_attention_scores: bool = False,
    use_causal_mask: bool = False, *, use_scale: bool = True, dropout: Any = None,
    causal: bool = False,
) -> Any:  # fmt: skip
    """What queries take of values, by tanh of their sums with keys."""
    query, value = inputs[:2]
    key = inputs[2] if len(inputs) > 2 else value
    both = tnp.tanh(query[..., :, None, :] + key[..., None, :, :])
    scores = tnp.sum(both * use["scale"] if use_scale else both, axis=-1)
    found = _scored(use, scores, value, causal or use_causal_mask)
    return found if return_attention_scores else found[0]


def _projections(layer: Layer) -> dict[str, Any]:
    """The dense layers of an attention in several heads."""
    config = layer.config
    bias = "x" if config.get("use_bias", True) else None
    names = ["query_dense", "key_dense", "value_dense", "output_dense"]
    if config.get("use_gate"):
        names.insert(2, "gate_dense")
    inner = {"equation": "", "bias_axes": bias, "dtype": config.get("dtype")}
    if "trainable" in config:
        inner["trainable"] = config["trainable"]
    return {n: {"class_name": "EinsumDense", "config": {**inner, "name": n}} for n in names}


def _dense(use: Use, name: str, x: Any, count: int = 1) -> Any:
    """An array through one of the dense layers, whose kernel takes its last dimensions."""
    inner = use.children[name]
    made = tnp.tensordot(x, inner["kernel"], count)
    bias = inner["bias"]
    return made if bias is None else made + bias


def _shown(
    use: Use, query: Any, value: Any, key: Any, attention_mask: Any, causal: bool, window: Any,
    stated: Sequence[Any],
) -> Any:  # fmt: skip
    """Which values each query sees [batch, queries, values]; None if all."""
    found = []
    masks = [_mask_of(use, n, name) for n, name in enumerate(("query", "value", "key"))]
    masks = [m if s is None else s for m, s in zip(masks, stated)]
    if masks[0] is not None:
        found.append(masks[0].astype(bool)[:, :, None])
    found += [m.astype(bool)[:, None, :] for m in masks[1:] if m is not None]
    rows, columns = query.shape[1], value.shape[1]
    if causal:
        found.append(tnp.asarray(_causal(rows, columns)[None]))
    if window is not None:
        apart = np.abs(np.arange(rows)[:, None] - np.arange(columns))
        found.append(tnp.asarray((apart < window)[None]))
    if attention_mask is not None:
        found.append(attention_mask.astype(bool))
    made = None
    for part in found:
        made = part if made is None else made & part
    return made


def _mask_of(use: Use, number: int, name: str) -> Any:
    mask = use.masks.get(number, use.masks.get(name))
    return None if isinstance(mask, (list, tuple)) else mask


def _weights(use: Use, scores: Any, shown: Any, exact: bool) -> Any:
    """The weights of scores [batch, heads, queries, values], where a mask shows."""
    if shown is None:
        return nn.softmax(scores)
    while shown.ndim < scores.ndim:
        shown = tnp.expand_dims(shown, -3)
    if use.is_old:
        low = np.finfo(np.float16).min if scores.dtype.name == "float16" else -1e9
        return nn.softmax(scores + tnp.where(shown, 0.0, low).astype(scores.dtype))
    if exact:
        return masked_softmax(scores, shown)
    low = -0.7 * float(np.finfo(np.float32).max)
    low = -0.7 * 65504 if scores.dtype.name == "float16" else low
    return nn.softmax(tnp.where(shown, scores, tnp.full_like(scores, low)))


def _query_mask(use: Use, mask: Any, result: Any) -> Any:
    return _mask_of(use, 0, "query")


@layer("MultiHeadAttention", children=_projections, mask=_query_mask)
def multi_head_attention(
    use: Use, query: Any, value: Any, key: Any = None, query_mask: Any = None,
    value_mask: Any = None, key_mask: Any = None, attention_mask: Any = None,
    return_attention_scores: bool = False, use_causal_mask: bool = False, *, num_heads: int,
    key_dim: int, value_dim: Any = None, dropout: float = 0.0, use_bias: bool = True,
    output_shape: Any = None, attention_axes: Any = None, sliding_window: Any = None,
    use_gate: bool = False, query_shape: Any = None, key_shape: Any = None,
    value_shape: Any = None,
) -> Any:  # fmt: skip
    """What queries take of values, in several heads; attended axes other than all are batch."""
    key = value if key is None else key
    q, k, v = (_dense(use, f"{n}_dense", x)
               for n, x in (("query", query), ("key", key), ("value", value)))  # fmt: skip
    middle = tuple(range(1, query.ndim - 1))
    axes = middle if attention_axes is None else attention_axes
    axes = tuple(sorted(a % query.ndim for a in ([axes] if isinstance(axes, int) else axes)))
    free = [a for a in middle if a not in axes]
    if query.ndim > 3 and attention_mask is not None:
        raise UnsupportedError("a mask for attention along several axes is not supported")
    shown = None
    if query.ndim == 3:
        shown = _shown(use, query, value, key, attention_mask, use_causal_mask, sliding_window,
                       (query_mask, value_mask, key_mask))  # fmt: skip
    elif use_causal_mask or sliding_window:
        raise UnsupportedError("causal attention along several axes is not supported")
    q, k, v = (tnp.transpose(x, (0, *free, *axes, x.ndim - 2, x.ndim - 1)) for x in (q, k, v))
    lead, places = q.shape[: 1 + len(free)], q.shape[1 + len(free) : -2]
    q, k, v = (tnp.reshape(x, (math.prod(lead), -1, *x.shape[-2:])) for x in (q, k, v))
    scores = tnp.einsum("btnh,bsnh->bnts", q * (1 / math.sqrt(key_dim)), k)
    weights = _weights(use, scores, shown, dropout > 0 or return_attention_scores)
    made = tnp.einsum("bnts,bsnh->btnh", weights, v)
    made = tnp.reshape(made, (*lead, *places, *made.shape[-2:]))
    back = np.argsort((0, *free, *axes, made.ndim - 2, made.ndim - 1))
    made = tnp.transpose(made, tuple(int(a) for a in back))
    if use_gate:
        made = made * nn.sigmoid(_dense(use, "gate_dense", query))
    made = _dense(use, "output_dense", made, 2)
    if not return_attention_scores:
        return made
    if query.ndim > 3:
        raise UnsupportedError("the scores of attention along several axes are not supported")
    return made, weights


@layer("GroupQueryAttention", "GroupedQueryAttention", children=_projections, mask=_query_mask)
def group_query_attention(
    use: Use, query: Any, value: Any, key: Any = None, query_mask: Any = None,
    value_mask: Any = None, key_mask: Any = None, attention_mask: Any = None,
    return_attention_scores: bool = False, use_causal_mask: bool = False, *, head_dim: int,
    num_query_heads: int, num_key_value_heads: int, dropout: float = 0.0, use_bias: bool = True,
    sliding_window: Any = None, use_gate: bool = False,
) -> Any:  # fmt: skip
    """Attention in several heads, of which some share keys and values."""
    key = value if key is None else key
    shown = _shown(use, query, value, key, attention_mask, use_causal_mask, sliding_window,
                   (query_mask, value_mask, key_mask))  # fmt: skip
    q, k, v = (_dense(use, f"{n}_dense", x)
               for n, x in (("query", query), ("key", key), ("value", value)))  # fmt: skip
    k, v = (tnp.repeat(x, num_query_heads // num_key_value_heads, axis=2) for x in (k, v))
    scores = tnp.einsum("btnh,bsnh->bnts", q * (1 / math.sqrt(head_dim)), k)
    weights = _weights(use, scores, shown, dropout > 0 or return_attention_scores)
    made = tnp.einsum("bnts,bsnh->btnh", weights, v)
    if use_gate:
        made = made * nn.sigmoid(_dense(use, "gate_dense", query))
    made = _dense(use, "output_dense", made, 2)
    return (made, weights) if return_attention_scores else made
