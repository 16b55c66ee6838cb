"""Networks, written once in JAX with random weights, for measuring and for tests of the optimiser.

    model = MODELS["resnet50"]()
    expected = model.function(*model.arguments)            in JAX
    f = tfc.from_stablehlo(model.stablehlo())
    results = f(*model.leaves())                           the same program in tfc

Weights are arguments, or with `constant_weights` part of the program. Data is f32 and NHWC.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = Any
Weights = Any  # nested dicts and lists of arrays


@dataclass(frozen=True)
class Model:
    """A function and arguments for it, the weights first."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def leaves(self) -> list[np.ndarray]:
        """The arrays among the arguments, in the order of the program's parameters."""
        return [np.asarray(x) for x in jax.tree_util.tree_leaves(self.arguments)]

    def constant_weights(self) -> "Model":
        """The same with the first argument as constants."""
        weights, *rest = self.arguments
        return Model(self.name, partial(self.function, weights), tuple(rest))

    def stablehlo(self) -> str:
        """The program as StableHLO text."""
        return jax.jit(self.function).lower(*self.arguments).as_text()


class Maker:
    """Random weights and data; the same at each run."""

    def __init__(self, seed: int = 0):
        self._generator = np.random.default_rng(seed)

    def normal(self, *dims: int, scale: float = 1.0) -> np.ndarray:
        """Normally distributed numbers."""
        return self._generator.standard_normal(dims, np.float32) * np.float32(scale)

    def weight(self, *dims: int) -> np.ndarray:
        """Weights whose products keep the size of what they are applied to; the last dimension is
        that of the result."""
        return self.normal(*dims, scale=float(np.sqrt(2 / np.prod(dims[:-1]))))

    def integers(self, high: int, *dims: int) -> np.ndarray:
        """Numbers from 0 up to, not including, `high`."""
        return self._generator.integers(0, high, dims, np.int32)

    def dense(self, inputs: int, outputs: int) -> Weights:
        """The weights of a dense layer."""
        return {"w": self.weight(inputs, outputs), "b": self.normal(outputs, scale=0.1)}

    def norm(self, size: int) -> Weights:
        """Scale and offset of a normalisation."""
        return {"scale": 1 + self.normal(size, scale=0.1), "offset": self.normal(size, scale=0.1)}


# Layers.


def dense(p: Weights, x: Array) -> Array:
    """x · w + b."""
    return x @ p["w"] + p["b"]


def layer_norm(p: Weights, x: Array) -> Array:
    """Each row normalised."""
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p["scale"] + p["offset"]


def softmax(x: Array) -> Array:
    """The softmax of each row."""
    return jax.nn.softmax(x, axis=-1)


def gelu(x: Array) -> Array:
    """GELU in its form with tanh."""
    return jax.nn.gelu(x, approximate=True)


def convolution(x: Array, kernel: Array, stride: int = 1) -> Array:
    """A convolution, NHWC and HWIO, padded alike on all sides."""
    padding = ((kernel.shape[0] // 2,) * 2,) * 2
    return lax.conv_general_dilated(
        x, kernel, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def batch_norm(p: Weights, x: Array) -> Array:
    """Batch normalisation with statistics from training."""
    return (x - p["mean"]) * lax.rsqrt(p["variance"] + 1e-5) * p["scale"] + p["offset"]


def max_pool(x: Array, size: int, stride: int) -> Array:
    """The largest of each window; windows of odd sizes are centred."""
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    around = ((size - 1) // 2,) * 2
    padding = ((0, 0), around, around, (0, 0))
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, padding)


def attention(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    """softmax(q · kᵀ / √d + mask) · v, for [batch, heads, length, d]."""
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.float32(np.sqrt(q.shape[-1]))
    if mask is not None:
        scores = scores + mask
    return jnp.einsum("bhqk,bhkd->bhqd", softmax(scores), v)


def cross_entropy(logits: Array, labels: Array) -> Array:
    """The mean of -log softmax at the labels."""
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=-1)
    return -chosen.mean()


# Perceptrons.


def mlp(batch: int = 64, sizes: Sequence[int] = (784, 512, 512, 10)) -> Model:
    """Dense layers with relu between them."""
    make = Maker()
    weights = [make.dense(a, b) for a, b in itertools.pairwise(sizes)]
    return Model("mlp", _mlp, (weights, make.normal(batch, sizes[0])))


def _mlp(weights: Weights, x: Array) -> Array:
    for layer in weights[:-1]:
        x = jax.nn.relu(dense(layer, x))
    return dense(weights[-1], x)


def mlp_gradient(batch: int = 64, width: int = 512, layers: int = 8) -> Model:
    """The gradient of a deep perceptron's loss in its weights."""
    forward = mlp(batch, [width] * (layers + 1))
    labels = Maker(1).integers(width, batch)
    step = jax.grad(lambda w, x, y: cross_entropy(_mlp(w, x), y))
    return Model("mlp_gradient", step, (*forward.arguments, labels))


def logistic_regression_step(batch: int = 256, features: int = 784, classes: int = 10) -> Model:
    """One step of gradient descent of a logistic regression."""
    make = Maker()

    def step(w: Weights, x: Array, y: Array) -> Weights:
        gradient = jax.grad(lambda w: cross_entropy(dense(w, x), y))(w)
        return jax.tree_util.tree_map(lambda a, g: a - 0.1 * g, w, gradient)

    weights = make.dense(features, classes)
    data = make.normal(batch, features), make.integers(classes, batch)
    return Model("logistic_regression_step", step, (weights, *data))


# Residual networks.

_RESNETS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}


def resnet(depth: int, batch: int = 1, size: int = 224, classes: int = 1000) -> Model:
    """ResNet-18 (basic blocks) or ResNet-50 (bottlenecks), for inference."""
    make = Maker()
    bottleneck = depth == 50
    blocks, channels = [], 64
    for stage, count in enumerate(_RESNETS[depth]):
        width = 64 << stage
        out = width * (4 if bottleneck else 1)
        for number in range(count):
            stride = 2 if stage and not number else 1
            shapes = (
                [(1, channels, width), (3, width, width), (1, width, out)]
                if bottleneck
                else [(3, channels, width), (3, width, width)]
            )
            layers = [_conv_weights(make, *s) for s in shapes]
            if stride != 1 or channels != out:
                layers.append(_conv_weights(make, 1, channels, out))
            blocks.append(layers)
            channels = out
    stem = _conv_weights(make, 7, 3, 64)
    weights = {"stem": stem, "blocks": blocks, "head": make.dense(channels, classes)}
    function = partial(_resnet, bottleneck)
    return Model(f"resnet{depth}", function, (weights, make.normal(batch, size, size, 3)))


def _conv_weights(make: Maker, size: int, inputs: int, outputs: int) -> Weights:
    statistics = {"mean": make.normal(outputs, scale=0.1),
                  "variance": 1 + make.normal(outputs, scale=0.1) ** 2}  # fmt: skip
    return {"w": make.weight(size, size, inputs, outputs), **make.norm(outputs), **statistics}


def _resnet(bottleneck: bool, weights: Weights, x: Array) -> Array:
    x = jax.nn.relu(_conv_norm(weights["stem"], x, 2))
    x = max_pool(x, 3, 2)
    for block in weights["blocks"]:
        x = _residual(bottleneck, block, x)
    return dense(weights["head"], x.mean((1, 2)))


def _residual(bottleneck: bool, block: Weights, x: Array) -> Array:
    count = 3 if bottleneck else 2
    # A block whose first convolution keeps the channels has stride 1.
    shortened = len(block) > count
    first = block[0]["w"].shape
    stride = 2 if shortened and first[2] != first[3] else 1
    at = 1 if bottleneck else 0  # which convolution takes the stride
    y = x
    for number, layer in enumerate(block[:count]):
        y = _conv_norm(layer, y, stride if number == at else 1)
        if number < count - 1:
            y = jax.nn.relu(y)
    shortcut = _conv_norm(block[count], x, stride) if shortened else x
    return jax.nn.relu(y + shortcut)


def _conv_norm(p: Weights, x: Array, stride: int) -> Array:
    return batch_norm(p, convolution(x, p["w"], stride))


# A small network in training.


def cnn_training_step(batch: int = 64, size: int = 28, classes: int = 10) -> Model:
    """One step of gradient descent with momentum of a network of two convolutions."""
    make = Maker()
    flat = (size // 4) ** 2 * 64
    weights = {
        "c1": {"w": make.weight(3, 3, 1, 32), "b": make.normal(32, scale=0.1)},
        "c2": {"w": make.weight(3, 3, 32, 64), "b": make.normal(64, scale=0.1)},
        "d1": make.dense(flat, 128),
        "d2": make.dense(128, classes),
    }
    momentum = jax.tree_util.tree_map(np.zeros_like, weights)

    def loss(w: Weights, x: Array, y: Array) -> Array:
        for name in ("c1", "c2"):
            x = jax.nn.relu(convolution(x, w[name]["w"]) + w[name]["b"])
            x = max_pool(x, 2, 2)
        x = jax.nn.relu(dense(w["d1"], x.reshape(x.shape[0], -1)))
        return cross_entropy(dense(w["d2"], x), y)

    def step(state: tuple[Weights, Weights], x: Array, y: Array) -> Any:
        w, m = state
        value, gradient = jax.value_and_grad(loss)(w, x, y)
        m = jax.tree_util.tree_map(lambda a, g: 0.9 * a + g, m, gradient)
        w = jax.tree_util.tree_map(lambda a, b: a - 0.01 * b, w, m)
        return (w, m), value

    data = make.normal(batch, size, size, 1), make.integers(classes, batch)
    return Model("cnn_training_step", step, ((weights, momentum), *data))


# Transformers.


def bert(layers: int = 12, length: int = 128, batch: int = 1, width: int = 768) -> Model:
    """The encoder of BERT; heads of 64, an attention mask."""
    make = Maker()
    blocks = [_transformer_weights(make, width) for _ in range(layers)]
    mask = np.zeros((batch, 1, 1, length), np.float32)
    mask[..., length - length // 8 :] = -1e9
    return Model("bert", _bert, (blocks, make.normal(batch, length, width), mask))


def _transformer_weights(make: Maker, width: int) -> Weights:
    return {
        "q": make.dense(width, width), "k": make.dense(width, width),
        "v": make.dense(width, width), "o": make.dense(width, width),
        "up": make.dense(width, 4 * width), "down": make.dense(4 * width, width),
        "n1": make.norm(width), "n2": make.norm(width),
    }  # fmt: skip


def _heads(x: Array) -> Array:
    batch, length, width = x.shape
    return x.reshape(batch, length, width // 64, 64).transpose(0, 2, 1, 3)


def _joined(x: Array) -> Array:
    batch, heads, length, d = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * d)


def _bert(blocks: Weights, x: Array, mask: Array) -> Array:
    for p in blocks:
        q, k, v = (_heads(dense(p[name], x)) for name in "qkv")
        x = layer_norm(p["n1"], x + dense(p["o"], _joined(attention(q, k, v, mask))))
        x = layer_norm(p["n2"], x + dense(p["down"], gelu(dense(p["up"], x))))
    return x


def gpt2_decode(layers: int = 12, cache: int = 512, width: int = 768, vocabulary: int = 50257):
    """One step of decoding of GPT-2: the token's logits and the caches with its keys and values."""
    make = Maker()
    weights = {
        "embedding": make.normal(vocabulary, width, scale=0.02),
        "positions": make.normal(cache, width, scale=0.02),
        "blocks": [_transformer_weights(make, width) for _ in range(layers)],
        "norm": make.norm(width),
    }
    shape = (layers, 2, 1, width // 64, cache, 64)
    token, place = np.zeros((1,), np.int32), np.int32(cache - 2)
    return Model("gpt2_decode", _gpt2_decode, (weights, make.normal(*shape), token, place))


def _gpt2_decode(weights: Weights, caches: Array, token: Array, place: Array) -> Any:
    x = weights["embedding"][token][:, None] + weights["positions"][place]
    mask = jnp.where(jnp.arange(caches.shape[4]) <= place, 0.0, -1e9).astype(np.float32)
    for number, p in enumerate(weights["blocks"]):
        q, k, v = (_heads(dense(p[name], layer_norm(p["n1"], x))) for name in "qkv")
        for part, new in enumerate((k, v)):
            at = (*map(np.int32, (number, part, 0, 0)), place, np.int32(0))
            caches = lax.dynamic_update_slice(caches, new[None, None], at)
        mixed = attention(q, caches[number, 0], caches[number, 1], mask)
        x = x + dense(p["o"], _joined(mixed))
        x = x + dense(p["down"], gelu(dense(p["up"], layer_norm(p["n2"], x))))
    return layer_norm(weights["norm"], x)[:, 0] @ weights["embedding"].T, caches


# Recurrence.


def lstm(steps: int = 100, batch: int = 1, width: int = 256) -> Model:
    """A long short-term memory over a sequence, as a scan."""
    make = Maker()
    weights = {"x": make.weight(width, 4 * width), "h": make.weight(width, 4 * width),
               "b": make.normal(4 * width, scale=0.1)}  # fmt: skip
    return Model("lstm", _lstm, (weights, make.normal(steps, batch, width)))


def _lstm(p: Weights, xs: Array) -> Array:
    def step(state: tuple[Array, Array], x: Array) -> Any:
        h, c = state
        i, f, g, o = jnp.split(x @ p["x"] + h @ p["h"] + p["b"], 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros_like(xs[0])
    return lax.scan(step, (zero, zero), xs)[1]


MODELS: dict[str, Callable[..., Model]] = {
    "mlp": mlp,
    "mlp_gradient": mlp_gradient,
    "logistic_regression_step": logistic_regression_step,
    "resnet18": partial(resnet, 18),
    "resnet50": partial(resnet, 50),
    "cnn_training_step": cnn_training_step,
    "bert": bert,
    "gpt2_decode": gpt2_decode,
    "lstm": lstm,
}
