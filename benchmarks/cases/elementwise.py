"""Chains of operations on elements, and operations on rows: softmax, normalisation, attention."""

from typing import Any

import numpy as np

from benchmarks.case import Case, Torch, flops, normal, shared, traffic

_ROWS = {"best": 1.0, "JAX": 1.5}


def add(xp: Any, a: Any, b: Any) -> Any:
    """A sum of two arrays."""
    return xp.add(a, b)


def chain(xp: Any, a: Any, b: Any) -> Any:
    """A chain of operations that a compiler can make one loop."""
    return xp.tanh(a * b + a) * xp.exp(-b * b) + 1 / (1 + xp.exp(-a))


def chain_torch(torch: Any, a: Any, b: Any) -> Any:
    """The same with PyTorch's sigmoid."""
    return torch.tanh(a * b + a) * torch.exp(-b * b) + torch.sigmoid(a)


def softmax(xp: Any, x: Any) -> Any:
    """The softmax of each row."""
    powers = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return powers / xp.sum(powers, axis=-1, keepdims=True)


def layer_norm(xp: Any, x: Any, scale: Any, offset: Any) -> Any:
    """Each row normalised, scaled and moved."""
    mean = xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / xp.sqrt(variance + 1e-5) * scale + offset


def _cross_entropy(jax: Any, logits: Any, labels: Any) -> Any:
    def loss(x: Any) -> Any:
        powers = jax.nn.log_softmax(x)
        return -jax.numpy.take_along_axis(powers, labels[:, None], axis=-1).mean()

    return jax.value_and_grad(loss)(logits)


def _cross_entropy_numpy(np: Any, logits: Any, labels: Any) -> Any:
    shifted = logits - logits.max(-1, keepdims=True)
    powers = np.exp(shifted)
    sums = powers.sum(-1, keepdims=True)
    rows = np.arange(len(labels))
    loss = np.mean(np.log(sums[:, 0]) - shifted[rows, labels])
    powers /= sums
    powers[rows, labels] -= 1
    powers /= len(labels)
    return loss, powers


def _cross_entropy_torch(torch: Any, logits: Any, labels: Any) -> Any:
    x = logits.detach().requires_grad_()
    loss = torch.nn.functional.cross_entropy(x, labels)
    return loss.detach(), torch.autograd.grad(loss, x)[0]


def _logits(rows: int, classes: int) -> Any:
    def draw() -> tuple[Any, ...]:
        labels = np.random.default_rng(1).integers(0, classes, rows, np.int32)
        return (*normal((rows, classes))(), labels)

    return draw


def _attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    scores = xp.matmul(q, xp.swapaxes(k, -1, -2)) * np.float32(q.shape[-1] ** -0.5)
    return xp.matmul(softmax(xp, scores), v)


_MILLIONS = 2**24
_BIG = (_MILLIONS,)
_HEADS = (1, 12, 512, 64)

CASES = [
    Case(
        "elementwise", "add, 16 M", shared(add), normal(_BIG, _BIG), normal((37,), (37,)),
        numpy=add, torch=Torch(add), work=traffic(12 * _MILLIONS, "stream"),
        aims={"best": 1.0, "share": 0.8},
    ),
    Case(
        "elementwise", "chain, 16 M", shared(chain), normal(_BIG, _BIG), normal((37,), (37,)),
        numpy=chain, torch=Torch(chain_torch), work=traffic(12 * _MILLIONS, "stream"),
    ),
    Case(
        "elementwise", "chain, 64 K", shared(chain), normal((2**16,), (2**16,)),
        normal((37,), (37,)), numpy=chain, torch=Torch(chain_torch), aims={"JAX": 1.5},
    ),
    Case(
        "rows", "softmax 4096²", shared(softmax), normal((4096, 4096)), normal((9, 37)),
        numpy=softmax, torch=Torch(lambda torch, x: torch.softmax(x, -1)),
        work=traffic(8 * 4096**2), aims=_ROWS,
    ),
    Case(
        "rows", "layer norm 8192×1024", shared(layer_norm),
        normal((8192, 1024), (1024,), (1024,)), normal((9, 37), (37,), (37,)), numpy=layer_norm,
        torch=Torch(lambda torch, x, scale, offset: torch.nn.functional.layer_norm(
            x, scale.shape, scale, offset, 1e-5)),
        work=traffic(8 * 8192 * 1024), aims=_ROWS,
    ),
    Case(
        "rows", "cross-entropy 4096×1000, with gradient", _cross_entropy, _logits(4096, 1000),
        _logits(9, 37), numpy=_cross_entropy_numpy,
        torch=Torch(_cross_entropy_torch, lambda torch, x, y: (x, y.long()), exported=False),
        work=traffic(8 * 4096 * 1000), aims=_ROWS,
    ),
    Case(
        "rows", "attention, 12 heads, 512×64", shared(_attention), normal(_HEADS, _HEADS, _HEADS),
        normal((1, 2, 9, 16), (1, 2, 9, 16), (1, 2, 9, 16)), numpy=_attention,
        torch=Torch(lambda torch, q, k, v:
                    torch.nn.functional.scaled_dot_product_attention(q, k, v)),
        work=flops(4 * 12 * 512 * 512 * 64), tolerance=1e-4,
    ),
]  # fmt: skip
