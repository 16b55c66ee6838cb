"""The networks of models.py in PyTorch, as one would write them there.

Weights come as JAX has them and are turned into PyTorch's layouts before the clock starts: the
matrices of dense layers transposed, kernels OIHW, images NCHW in the order of channels last.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

Weights = Any  # nested dicts and lists of tensors
Tensor = torch.Tensor


@dataclass(frozen=True)
class Network:
    """A function; its arguments from JAX's, its results to JAX's."""

    function: Callable[..., Any]
    prepare: Callable[..., tuple[Any, ...]] = lambda *arguments: tuple(map(natural, arguments))
    finish: Callable[[Any], Any] = lambda results: results


def natural(tree: Weights, back: bool = False) -> Weights:
    """The same tree with each layer's "w" in PyTorch's layout, or back in JAX's."""
    if isinstance(tree, dict):
        return {k: _turned(v, back) if k == "w" else natural(v, back) for k, v in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(natural(child, back) for child in tree)
    return tree


def _turned(w: Tensor, back: bool) -> Tensor:
    if w.ndim == 2:
        return w.t().contiguous()
    return w.permute(2, 3, 1, 0) if back else w.permute(3, 2, 0, 1).contiguous()


def _with_images(weights: Weights, x: Tensor, *rest: Tensor) -> tuple[Any, ...]:
    return (natural(weights), x.permute(0, 3, 1, 2), *rest)


def _with_labels(weights: Weights, x: Tensor, y: Tensor) -> tuple[Any, ...]:
    return natural(weights), x, y.long()


def _dense(p: Weights, x: Tensor) -> Tensor:
    return F.linear(x, p["w"], p["b"])


# Perceptrons.


def _mlp(weights: Weights, x: Tensor) -> Tensor:
    for layer in weights[:-1]:
        x = F.relu(_dense(layer, x))
    return _dense(weights[-1], x)


def _gradients(loss: Tensor, tree: Weights) -> Weights:
    """The gradients of a loss in every tensor of a tree, as the tree."""
    leaves: list[Tensor] = []
    _each(leaves.append, tree)
    found = iter(torch.autograd.grad(loss, leaves))
    return _each(lambda _: next(found), tree)


def _each(function: Callable[..., Any], *trees: Weights) -> Weights:
    """The same containers with a function of each tensor, or of one of each tree."""
    first = trees[0]
    if isinstance(first, dict):
        return {key: _each(function, *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, list | tuple):
        return type(first)(_each(function, *children) for children in zip(*trees))
    return function(*trees)


def _watched(tree: Weights) -> Weights:
    return _each(lambda w: w.detach().requires_grad_(), tree)


def _mlp_gradient(weights: Weights, x: Tensor, y: Tensor) -> Weights:
    weights = _watched(weights)
    return _gradients(F.cross_entropy(_mlp(weights, x), y), weights)


def _logistic_regression_step(weights: Weights, x: Tensor, y: Tensor) -> Weights:
    weights = _watched(weights)
    gradient = _gradients(F.cross_entropy(_dense(weights, x), y), weights)
    with torch.no_grad():
        return _each(lambda w, g: w - 0.1 * g, weights, gradient)


# Convolutional networks.


def _conv_norm(p: Weights, x: Tensor, stride: int) -> Tensor:
    y = F.conv2d(x, p["w"], None, stride, p["w"].shape[-1] // 2)
    return F.batch_norm(y, p["mean"], p["variance"], p["scale"], p["offset"], eps=1e-5)


def _resnet(count: int, weights: Weights, x: Tensor) -> Tensor:
    """`count` convolutions in a block: 2, or 3 with the stride in the second."""
    x = F.max_pool2d(F.relu(_conv_norm(weights["stem"], x, 2)), 3, 2, 1)
    for number, block in enumerate(weights["blocks"]):
        # The first block of the first stage changes channels at most.
        stride = 2 if len(block) > count and number else 1
        y = x
        for place, layer in enumerate(block[:count]):
            y = _conv_norm(layer, y, stride if place == count - 2 else 1)
            if place < count - 1:
                y = F.relu(y)
        x = F.relu(y + (_conv_norm(block[count], x, stride) if len(block) > count else x))
    return _dense(weights["head"], x.mean((2, 3)))


def _cnn_training_step(state: tuple[Weights, Weights], x: Tensor, y: Tensor) -> Any:
    weights, momentum = _watched(state[0]), state[1]
    for name in ("c1", "c2"):
        x = F.relu(F.conv2d(x, weights[name]["w"], weights[name]["b"], 1, 1))
        x = F.max_pool2d(x, 2, 2)
    # Flattened in the order of JAX, whose channels are last.
    x = F.relu(_dense(weights["d1"], x.permute(0, 2, 3, 1).flatten(1)))
    loss = F.cross_entropy(_dense(weights["d2"], x), y)
    gradient = _gradients(loss, weights)
    with torch.no_grad():
        momentum = _each(lambda m, g: 0.9 * m + g, momentum, gradient)
        return (_each(lambda w, m: w - 0.01 * m, weights, momentum), momentum), loss.detach()


def _prepare_training(state: Any, x: Tensor, y: Tensor) -> tuple[Any, ...]:
    return (*_with_images(state, x), y.long())


# Transformers.


def _norm(p: Weights, x: Tensor) -> Tensor:
    return F.layer_norm(x, p["scale"].shape, p["scale"], p["offset"], 1e-5)


def _heads(x: Tensor) -> Tensor:
    return x.unflatten(-1, (-1, 64)).transpose(1, 2)


def _joined(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


def _feed_forward(p: Weights, x: Tensor) -> Tensor:
    return _dense(p["down"], F.gelu(_dense(p["up"], x), approximate="tanh"))


def _bert(blocks: Weights, x: Tensor, mask: Tensor) -> Tensor:
    for p in blocks:
        q, k, v = (_heads(_dense(p[name], x)) for name in "qkv")
        mixed = F.scaled_dot_product_attention(q, k, v, mask)
        x = _norm(p["n1"], x + _dense(p["o"], _joined(mixed)))
        x = _norm(p["n2"], x + _feed_forward(p, x))
    return x


def _gpt2_decode(weights: Weights, caches: Tensor, token: Tensor, place: Tensor) -> Any:
    x = F.embedding(token, weights["embedding"])[:, None] + weights["positions"][place]
    seen = torch.arange(caches.shape[4]) <= place
    mask = torch.zeros(seen.shape).masked_fill(~seen, -1e9)[None]
    at = place.expand(1, caches.shape[3], 1, 64)
    written: list[Tensor] = []  # results beside the arguments, as in JAX
    for p, layer in zip(weights["blocks"], caches):
        y = _norm(p["n1"], x)
        q, k, v = (_heads(_dense(p[name], y)) for name in "qkv")
        keys, values = (torch.scatter(layer[n], 2, at, new) for n, new in enumerate((k, v)))
        written += (keys, values)
        x = x + _dense(p["o"], _joined(F.scaled_dot_product_attention(q, keys, values, mask)))
        x = x + _feed_forward(p, _norm(p["n2"], x))
    return F.linear(_norm(weights["norm"], x)[:, 0], weights["embedding"]), *written


def _finish_decode(results: Any) -> Any:
    return results[0], torch.stack(results[1:]).unflatten(0, (-1, 2))


def _prepare_decode(weights: Weights, *rest: Tensor) -> tuple[Any, ...]:
    caches, token, place = rest
    return natural(weights), caches, token.long(), place.long()


# Recurrence. The gates are in the order of torch.nn.LSTM.


def _lstm(weights: Weights, xs: Tensor) -> Tensor:
    zero = xs.new_zeros(1, xs.shape[1], weights[1].shape[1])
    return torch.lstm(xs, (zero, zero), weights, True, 1, 0.0, False, False, False)[0]


def _prepare_lstm(weights: Weights, xs: Tensor) -> tuple[Any, ...]:
    inputs, states = (weights[name].t().contiguous() for name in "xh")
    return [inputs, states, weights["b"], torch.zeros_like(weights["b"])], xs


def _back(results: Any) -> Any:
    return natural(results, back=True)


NETWORKS: dict[str, Network] = {
    "mlp": Network(_mlp),
    "mlp_gradient": Network(_mlp_gradient, _with_labels, _back),
    "logistic_regression_step": Network(_logistic_regression_step, _with_labels, _back),
    "resnet18": Network(lambda *arguments: _resnet(2, *arguments), _with_images),
    "resnet50": Network(lambda *arguments: _resnet(3, *arguments), _with_images),
    "cnn_training_step": Network(_cnn_training_step, _prepare_training, _back),
    "bert": Network(_bert),
    "gpt2_decode": Network(_gpt2_decode, _prepare_decode, _finish_decode),
    "lstm": Network(_lstm, _prepare_lstm),
}
