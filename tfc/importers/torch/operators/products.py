"""Products of matrices, and convolutions with their gradients."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.frontend.differentiation.gradient import vjp
from tfc.importers.torch.table import Call, aten, cast


@aten("mm.default", "bmm.default", "mv.default", "dot.default")
def product(a: Any, b: Any) -> Any:
    """The products of matrices."""
    return tnp.matmul(a, b)


@aten("addmm.default", "addmv.default")
def add_product(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1, node: Call) -> Any:
    """beta · c + alpha · a @ b; c is not looked at for a beta of zero."""
    made = tnp.matmul(a, b)
    made = made if alpha == 1 else made * cast(alpha, made.dtype)
    return made if beta == 0 else made + (c if beta == 1 else c * cast(beta, made.dtype))


def _formats(rank: int) -> dict[str, Any]:
    data, kernel = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}[rank]
    return {"data_format": data, "kernel_format": kernel}


def _each(numbers: Sequence[int], rank: int) -> list[int]:
    found = list(numbers)
    return found * rank if len(found) == 1 else found


@aten("convolution.default")
def convolution(
    x: Any, w: Any, bias: Any, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
) -> Any:  # fmt: skip
    """The convolution with channels second, or its transpose; with a bias for each channel."""
    rank = w.ndim - 2
    is_single = x.ndim == rank + 1
    x = x[None] if is_single else x
    steps, around, apart = (_each(n, rank) for n in (stride, padding, dilation))
    if transposed:
        made = _transposed(x, w, steps, around, apart, _each(output_padding, rank), groups)
    else:
        made = nn.conv(
            x, w, steps, [(p, p) for p in around], rhs_dilation=apart,
            feature_group_count=groups, **_formats(rank),
        )  # fmt: skip
    if bias is not None:
        made = made + tnp.reshape(bias, (-1, *[1] * rank))
    return made[0] if is_single else made


def _transposed(
    x: Any, w: Any, steps: list[int], around: list[int], apart: list[int], further: list[int],
    groups: int,
) -> Any:  # fmt: skip
    """The transpose of a convolution, whose kernel is [inputs, outputs of a group, *sizes]."""
    inputs, outputs, *sizes = w.shape
    kernel = tnp.reshape(w, (groups, inputs // groups, outputs, *sizes))
    kernel = tnp.reshape(tnp.swapaxes(kernel, 1, 2), (groups * outputs, inputs // groups, *sizes))
    kernel = tnp.flip(kernel, tuple(range(2, kernel.ndim)))
    extents = [(k - 1) * d + 1 for k, d in zip(sizes, apart)]
    padding = [(e - 1 - p, e - 1 - p + o) for e, p, o in zip(extents, around, further)]
    return nn.conv(
        x, kernel, 1, padding, lhs_dilation=steps, rhs_dilation=apart,
        feature_group_count=groups, **_formats(len(sizes)),
    )  # fmt: skip


@aten("convolution_backward.default")
def convolution_gradients(
    g: Any, x: Any, w: Any, bias_sizes: Any, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
    mask: Sequence[bool],
) -> Any:  # fmt: skip
    """The gradients by the array, the kernel and the bias; None for those not asked for."""

    def forward(array: Any, kernel: Any) -> Any:
        return convolution(
            array, kernel, None, stride, padding, dilation, transposed, output_padding, groups
        )

    by_array = vjp(lambda v: forward(v, w), x)[1](g)[0] if mask[0] else None
    by_kernel = vjp(lambda v: forward(x, v), w)[1](g)[0] if mask[1] else None
    channel = g.ndim - (w.ndim - 2) - 1
    rest = tuple(d for d in range(g.ndim) if d != channel)
    return by_array, by_kernel, tnp.sum(g, axis=rest) if mask[2] else None


def _attention(
    query: Any, key: Any, value: Any, is_causal: bool, mask: Any, scale: float | None
) -> tuple[Any, Any]:
    """softmax(query keyᵀ · scale + mask) value, and the logarithms of the softmax's sums.

    Several heads of the query may share one of key and value.
    """
    if query.ndim > 2 and query.shape[-3] != key.shape[-3]:
        shared = query.shape[-3] // key.shape[-3]
        key, value = (tnp.repeat(part, shared, -3) for part in (key, value))
    scores = tnp.matmul(query, tnp.swapaxes(key, -1, -2))
    scores = scores * cast(query.shape[-1] ** -0.5 if scale is None else scale, scores.dtype)
    least = np.asarray(-np.inf, scores.dtype)
    if is_causal:
        scores = tnp.where(np.tri(*scores.shape[-2:], dtype=np.bool_), scores, least)
    if mask is not None:
        is_mask = np.dtype(mask.dtype) == np.bool_
        scores = tnp.where(mask, scores, least) if is_mask else scores + cast(mask, scores.dtype)
    sums = nn.logsumexp(scores, -1)
    return tnp.matmul(nn.softmax(scores, -1), value), sums


def _refuse_dropout(share: float) -> None:
    """Raise UnsupportedError if attention drops a share of its elements, as when it is trained."""
    if share:
        raise UnsupportedError("attention drops elements: call .eval() before the export")


@aten("_scaled_dot_product_flash_attention_for_cpu.default")
def attention(
    query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, *,
    attn_mask: Any = None, scale: float | None = None,
) -> Any:  # fmt: skip
    """Scaled dot product attention, and the logarithms of its softmax's sums.

    Raises:
        UnsupportedError: it drops elements, as when it is trained.
    """
    _refuse_dropout(dropout_p)
    return _attention(query, key, value, is_causal, attn_mask, scale)


@aten("_scaled_dot_product_flash_attention_for_cpu_backward.default")
def attention_gradients(
    g: Any, query: Any, key: Any, value: Any, out: Any, sums: Any, dropout_p: float,
    is_causal: bool, *, attn_mask: Any = None, scale: float | None = None,
) -> Any:  # fmt: skip
    """The gradients of attention by query, key and value.

    Raises:
        UnsupportedError: it dropped elements.
    """
    _refuse_dropout(dropout_p)
    return vjp(lambda q, k, v: _attention(q, k, v, is_causal, attn_mask, scale)[0],
               query, key, value)[1](g)  # fmt: skip
