"""Programs whose values must not depend on how they are divided: functions and the dims of arrays.

By name, each with the dims of its arguments, which are of f32. `UNEVEN` says what
sizes take the place of those that divide.
"""

from typing import Any

import tfc
import tfc.numpy as tnp
from tfc import nn

UNEVEN = {2: 3, 4: 5, 8: 7, 16: 11}
A, B, C = (8, 4), (4, 8), (8,)
IMAGE, FILTER = (4, 8, 8, 2), (3, 3, 2, 4)


def scanned(x, w):
    return tfc.scan(lambda c, r: (tnp.tanh(c @ w + r), c.sum()), tnp.zeros(x.shape[1], x.dtype), x)


def power_iteration(x):
    return tfc.fori_loop(
        0, 3, lambda _, v: (x @ v) / tnp.sqrt((v * v).sum()), tnp.ones(x.shape[0], x.dtype)
    )


def branched(x, y):
    return tfc.cond(x.sum() > 0, lambda a, b: a @ b, lambda a, b: a.sum() + 0 * (a @ b), x, y)


def attention(q, k, v):
    scores = nn.softmax(tnp.einsum("bqd,bkd->bqk", q, k))
    return tnp.einsum("bqk,bkd->bqd", scores, v)


def mlp(x, w, v):
    return tnp.tanh(x @ w) @ v


def loss(x, w, v):
    return ((mlp(x, w, v) - 1) ** 2).mean()


def layer_norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / tnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def convolved(x, w, strides=1, padding="SAME", dilation=1):
    return tnp.tanh(nn.conv(x, w, strides, padding, rhs_dilation=dilation))


def slopes_of(function):
    return tfc.grad(lambda *a: (function(*a) ** 2).sum(), (0, 1))


def embedded(table, x):
    return table[(tnp.abs(x) * 3).astype(int) % len(table)]


def counted(x):
    return tnp.zeros(len(x), x.dtype).at[(tnp.abs(x) * 3).astype(int) % len(x)].add(x)


PROGRAMS: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "sum": (lambda x: x.sum(), [A]),
    "sum of rows": (lambda x: x.sum(1), [A]),
    "sum of columns": (lambda x: x.sum(0), [A]),
    "mean and variance": (lambda x: (x.mean(), x.var(0)), [A]),
    "largest": (lambda x: (x.max(0), x.min(1), x.max()), [A]),
    "arg": (lambda x: (x.argmax(0), x.argmin(1)), [A]),
    "product of numbers": (lambda x: tnp.prod(x, 0), [A]),
    "elementwise": (lambda x, y: tnp.exp(x) * y - tnp.sin(x * y), [A, A]),
    "broadcast": (lambda x, y: x + y[:, None], [A, C]),
    "outer": (lambda x, y: x[:, None] * y, [C, C]),
    "transpose": (lambda x: x.T * 2, [A]),
    "turned": (lambda x: tnp.transpose(x, (2, 0, 1)) + 1, [(4, 2, 8)]),
    "reshape merges": (lambda x: x.reshape(-1) * 2, [A]),
    "reshape splits": (lambda x: x.reshape(2 - len(x) % 2, -1, x.shape[1]) * 2, [A]),
    "reshape regroups": (lambda x: x.reshape(4 - 3 * (len(x) % 2), -1) * 2, [(8, 8)]),
    "reversed": (lambda x: x[::-1] + x[:, ::-1], [A]),
    "slice": (lambda x: x[2:6] * x[:4], [A]),
    "strided": (lambda x: x[::2, 1::2], [A]),
    "padded": (lambda x: tnp.pad(x, ((1, 2), (0, 0))), [A]),
    "joined": (lambda x, y: tnp.concatenate([x, y, x], 0), [A, A]),
    "stacked": (lambda x, y: tnp.stack([x, y], 1), [A, A]),
    "rolled": (lambda x: tnp.roll(x, 3, 0), [A]),
    "iota": (lambda x: x * tnp.arange(len(x), dtype=x.dtype)[:, None], [A]),
    "where": (lambda x: tnp.where(x > 0, x, -2 * x), [A]),
    "clip": (lambda x: tnp.clip(x, -0.5, 0.5), [A]),
    "sorted": (lambda x: tnp.sort(x, 0), [A]),
    "sorted rows": (lambda x: (tnp.sort(x, 1), tnp.argsort(x, 1)), [A]),
    "cumulative": (lambda x: tnp.cumsum(x, 0), [A]),
    "matmul": (lambda x, y: x @ y, [A, B]),
    "gram": (lambda x: x.T @ x, [A]),
    "matvec": (lambda x, y: y @ x, [A, C]),
    "batched product": (lambda x, y: x @ y, [(4, 2, 8), (4, 8, 2)]),
    "einsum": (lambda x, y: tnp.einsum("abc,cd->bad", x, y), [(2, 4, 8), A]),
    "chain of products": (lambda x, y: x @ y @ x @ y, [A, B]),
    "mlp": (mlp, [(8, 4), (4, 16), (16, 4)]),
    "loss": (loss, [(8, 4), (4, 16), (16, 4)]),
    "gradient": (tfc.grad(loss, (1, 2)), [(8, 4), (4, 16), (16, 4)]),
    "step": (lambda x, w, v: w - 0.1 * tfc.grad(loss, 1)(x, w, v), [(8, 4), (4, 16), (16, 4)]),
    "softmax": (nn.softmax, [A]),
    "log of sums": (lambda x: tnp.log(tnp.exp(x).sum(0)), [A]),
    "layer norm": (layer_norm, [A]),
    "gradient of layer norm": (tfc.grad(lambda x: (layer_norm(x) ** 3).sum()), [A]),
    "attention": (attention, [(4, 8, 4), (4, 8, 4), (4, 8, 4)]),
    "gradient of attention": (
        tfc.grad(lambda q, k, v: (attention(q, k, v) ** 2).sum(), (0, 1, 2)), [(2, 4, 4)] * 3),
    "gather": (embedded, [A, C]),
    "scatter": (counted, [C]),
    "updated": (lambda x, y: x.at[2:4].set(y[:2]).at[5].add(1.0), [A, A]),
    "scan": (scanned, [A, (4, 4)]),
    "gradient of scan": (
        tfc.grad(lambda x, w: (scanned(x, w)[0] ** 2).sum(), (0, 1)), [A, (4, 4)]),
    "loop": (power_iteration, [(8, 8)]),
    "branch": (branched, [A, B]),
    "mapped": (tfc.vmap(lambda x, y: tnp.outer(x, y).sum(0)), [A, A]),
    "convolution": (convolved, [IMAGE, FILTER]),
    "valid convolution": (lambda x, w: convolved(x, w, 1, "VALID"), [IMAGE, FILTER]),
    "strided convolution": (lambda x, w: convolved(x, w, 2), [IMAGE, FILTER]),
    "dilated convolution": (lambda x, w: convolved(x, w, 1, "SAME", 2), [IMAGE, FILTER]),
    "gradient of convolution": (slopes_of(convolved), [IMAGE, FILTER]),
    "gradient of strided convolution": (
        slopes_of(lambda x, w: convolved(x, w, 2)), [IMAGE, FILTER]),
    "pools": (lambda x: (nn.max_pool(x, 3, 2, "SAME"), nn.avg_pool(x, 2, 1)), [IMAGE]),
    "gradient of pools": (
        tfc.grad(lambda x: (nn.max_pool(x, 2, 2) ** 2).sum() + nn.avg_pool(x, 3, 1).var()),
        [IMAGE]),
    "differences": (lambda x: x[1:] - x[:-1], [A]),
    "twice used": (lambda x: (x @ x.T, x.T @ x, x.sum(0)), [A]),
}  # fmt: skip
