"""The programs that are compiled, each stated once for every library.

    mlp = PROGRAMS["mlp"]
    y = mlp.function(operations, mlp.weights(), x)

Only NumPy is loaded here, as each library has a process of its own. Data is f32; images are in the
order that the library likes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Weights = Mapping[str, np.ndarray]
Array = Any


class Operations(Protocol):
    """What programs are made of, in some library. Reductions are over the last dimension, kept."""

    def matmul(self, x: Array, y: Array, /) -> Array: ...
    def add(self, x: Array, y: Array, /) -> Array: ...
    def subtract(self, x: Array, y: Array, /) -> Array: ...
    def multiply(self, x: Array, y: Array, /) -> Array: ...
    def divide(self, x: Array, y: Array, /) -> Array: ...
    def relu(self, x: Array, /) -> Array: ...
    def tanh(self, x: Array, /) -> Array: ...
    def exp(self, x: Array, /) -> Array: ...
    def log(self, x: Array, /) -> Array: ...
    def rsqrt(self, x: Array, /) -> Array: ...
    def softmax(self, x: Array, /) -> Array: ...
    def max(self, x: Array, /) -> Array: ...
    def sum(self, x: Array, /) -> Array: ...
    def reshape(self, x: Array, dims: tuple[int, ...], /) -> Array: ...
    def transpose(self, x: Array, order: tuple[int, ...], /) -> Array: ...

    def convolution(self, x: Array, w: np.ndarray, stride: int, /) -> Array:
        """Of images with weights [height, width, in, out], odd windows padded to the same size."""
        ...

    def bias(self, x: Array, b: np.ndarray, /) -> Array:
        """Images with a number added to each channel."""
        ...

    def max_pool(self, x: Array, /) -> Array:
        """Of windows of 3 × 3 at every second place, padded by one."""
        ...

    def pixel_mean(self, x: Array, /) -> Array:
        """[images, channels]."""
        ...

    def lstm(self, x: Array, w: np.ndarray, r: np.ndarray, b: np.ndarray, /) -> Array:
        """The last state of a layer: [batch, time, in] → [batch, size].

        w is [in, 4 size], r [size, 4 size], b [4 size], their gates input, forget, cell, output.
        """
        ...


@dataclass(frozen=True)
class Program:
    """A function of one array, whose first dimension is the batch, to one array.

    name: in the table. key: in names of files.
    dims: the argument's dimensions after the batch. For images [height, width, channels].
    batches: those that are measured.
    """

    name: str
    key: str
    dims: tuple[int, ...]
    batches: tuple[int, ...]
    weights: Callable[[], Weights]
    function: Callable[[Operations, Weights, Array, int], Array]
    images: bool = False

    def argument(self, batch: int) -> np.ndarray:
        """The same normally distributed numbers at each run; images are channels last."""
        return np.random.default_rng(7).standard_normal((batch, *self.dims), np.float32)

    def weight_bytes(self) -> int:
        """Of all weights."""
        return sum(w.nbytes for w in self.weights().values())


def _random(shapes: Mapping[str, tuple[int, ...]]) -> Callable[[], Weights]:
    """Weights whose products keep the size of what they are applied to."""

    def weights() -> Weights:
        generator = np.random.default_rng(0)
        return {
            name: generator.standard_normal(dims, np.float32)
            * np.float32(0.1 if len(dims) == 1 else np.sqrt(1 / np.prod(dims[:-1])))
            for name, dims in shapes.items()
        }

    return weights


_SIZES = (784, 128, 64, 10)


def _mlp(op: Operations, w: Weights, x: Array, batch: int) -> Array:
    for n in range(2):
        x = op.relu(op.matmul(x, w[f"w{n}"]))
    return op.softmax(op.matmul(x, w["w2"]))


# The blocks of ResNet-18: channels in, channels out, stride.
_BLOCKS = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1),
           (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]  # fmt: skip


def _resnet_shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"stem": (7, 7, 3, 64), "stem_bias": (64,)}
    for n, (inputs, outputs, stride) in enumerate(_BLOCKS):
        shapes |= {f"a{n}": (3, 3, inputs, outputs), f"a{n}_bias": (outputs,)}
        shapes |= {f"b{n}": (3, 3, outputs, outputs), f"b{n}_bias": (outputs,)}
        if stride == 2:
            shapes |= {f"c{n}": (1, 1, inputs, outputs), f"c{n}_bias": (outputs,)}
    return {**shapes, "last": (512, 1000), "last_bias": (1000,)}


def _resnet18(op: Operations, w: Weights, x: Array, batch: int) -> Array:
    """Normalizations are part of the weights, as in any network that is used."""

    def layer(x: Array, name: str, stride: int) -> Array:
        return op.bias(op.convolution(x, w[name], stride), w[f"{name}_bias"])

    x = op.max_pool(op.relu(layer(x, "stem", 2)))
    for n, (_, _, stride) in enumerate(_BLOCKS):
        y = layer(op.relu(layer(x, f"a{n}", stride)), f"b{n}", 1)
        x = op.relu(op.add(y, layer(x, f"c{n}", 2) if stride == 2 else x))
    return op.add(op.matmul(op.pixel_mean(x), w["last"]), w["last_bias"])


def _lstm(op: Operations, w: Weights, x: Array, batch: int) -> Array:
    return op.matmul(op.lstm(x, w["w"], w["r"], w["b"]), w["last"])


_TIME, _WIDTH, _HEADS = 64, 128, 4


def _transformer(op: Operations, w: Weights, x: Array, batch: int) -> Array:
    def normalized(x: Array, name: str) -> Array:
        size = np.float32(1 / _WIDTH)
        centred = op.subtract(x, op.multiply(op.sum(x), size))
        variance = op.multiply(op.sum(op.multiply(centred, centred)), size)
        scaled = op.multiply(centred, op.rsqrt(op.add(variance, np.float32(1e-5))))
        return op.add(op.multiply(scaled, w[f"{name}_scale"]), w[f"{name}_offset"])

    def heads(x: Array) -> Array:
        apart = op.reshape(x, (batch, _TIME, _HEADS, _WIDTH // _HEADS))
        return op.transpose(apart, (0, 2, 1, 3))

    def gelu(x: Array) -> Array:
        cube = op.multiply(x, op.multiply(x, x))
        inner = op.add(x, op.multiply(cube, np.float32(0.044715)))
        curve = op.tanh(op.multiply(inner, np.float32(np.sqrt(2 / np.pi))))
        return op.multiply(op.multiply(x, np.float32(0.5)), op.add(curve, np.float32(1)))

    y = normalized(x, "first")
    q, k, v = (heads(op.matmul(y, w[name])) for name in ("q", "k", "v"))
    scores = op.matmul(q, op.transpose(k, (0, 1, 3, 2)))
    scores = op.softmax(op.multiply(scores, np.float32((_WIDTH // _HEADS) ** -0.5)))
    y = op.transpose(op.matmul(scores, v), (0, 2, 1, 3))
    x = op.add(x, op.matmul(op.reshape(y, (batch, _TIME, _WIDTH)), w["o"]))
    y = gelu(op.add(op.matmul(normalized(x, "second"), w["in"]), w["in_bias"]))
    return op.add(x, op.add(op.matmul(y, w["out"]), w["out_bias"]))


_TRANSFORMER = {
    **dict.fromkeys("qkvo", (_WIDTH, _WIDTH)),
    **{f"{n}_{k}": (_WIDTH,) for n in ("first", "second") for k in ("scale", "offset")},
    "in": (_WIDTH, 4 * _WIDTH), "in_bias": (4 * _WIDTH,),
    "out": (4 * _WIDTH, _WIDTH), "out_bias": (_WIDTH,),
}  # fmt: skip


def _entropy(op: Operations, w: Weights, x: Array, batch: int) -> Array:
    """The entropy of the distribution that each row says, which is a softmax and two sums."""
    exponentials = op.exp(op.subtract(x, op.max(x)))
    p = op.divide(exponentials, op.sum(exponentials))
    return op.sum(op.multiply(p, op.log(op.add(p, w["least"]))))


PROGRAMS = {
    program.key: program
    for program in (
        Program("MLP 784-128-64-10", "mlp", (784,), (1, 32),
                _random({f"w{n}": _SIZES[n : n + 2] for n in range(3)}), _mlp),
        Program("ResNet-18", "resnet18", (224, 224, 3), (1,), _random(_resnet_shapes()), _resnet18,
                images=True),
        Program("LSTM 64-128, 32 steps", "lstm", (32, 64), (1, 32),
                _random({"w": (64, 512), "r": (128, 512), "b": (512,), "last": (128, 10)}), _lstm),
        Program("transformer layer, 64 × 128", "transformer", (_TIME, _WIDTH), (1, 32),
                _random(_TRANSFORMER), _transformer),
        Program("entropy of rows of 1024", "entropy", (1024,), (1, 32),
                lambda: {"least": np.array([1e-9], np.float32)}, _entropy),
    )
}  # fmt: skip
