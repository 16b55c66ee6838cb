"""A layer of a transformer: attention with several heads, then two dense layers, in NumPy's terms.

    python examples/transformer.py
    tfc explore examples/transformer.py:layer -o report.html

The defaults of `layer` say the shapes of its arguments, for commands that are told no others.
"""

import numpy as np

import tfc
import tfc.numpy as tnp

LENGTH, WIDTH, HEADS, INNER = 128, 256, 4, 1024

WEIGHTS = {
    "query": f"f32[{WIDTH},{WIDTH}]",
    "key": f"f32[{WIDTH},{WIDTH}]",
    "value": f"f32[{WIDTH},{WIDTH}]",
    "output": f"f32[{WIDTH},{WIDTH}]",
    "scale1": f"f32[{WIDTH}]",
    "offset1": f"f32[{WIDTH}]",
    "dense1": f"f32[{WIDTH},{INNER}]",
    "bias1": f"f32[{INNER}]",
    "dense2": f"f32[{INNER},{WIDTH}]",
    "bias2": f"f32[{WIDTH}]",
    "scale2": f"f32[{WIDTH}]",
    "offset2": f"f32[{WIDTH}]",
}


def normalise(x, scale, offset):
    centred = x - tnp.mean(x, axis=-1, keepdims=True)
    variance = tnp.mean(centred**2, axis=-1, keepdims=True)
    return centred / tnp.sqrt(variance + 1e-5) * scale + offset


def attention(x, weights):
    def split(name):
        return (x @ weights[name]).reshape(LENGTH, HEADS, -1).transpose(1, 0, 2)

    query, key, value = split("query"), split("key"), split("value")
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(WIDTH // HEADS).astype(np.float32)
    mixed = tfc.nn.softmax(scores) @ value
    return mixed.transpose(1, 0, 2).reshape(LENGTH, WIDTH) @ weights["output"]


def gelu(x):
    return 0.5 * x * (1 + tnp.tanh(np.float32(np.sqrt(2 / np.pi)) * (x + 0.044715 * x**3)))


@tfc.jit
def layer(x=f"f32[{LENGTH},{WIDTH}]", weights=WEIGHTS):
    w = weights
    x = normalise(x + attention(x, w), w["scale1"], w["offset1"])
    inner = gelu(x @ w["dense1"] + w["bias1"])
    return normalise(x + inner @ w["dense2"] + w["bias2"], w["scale2"], w["offset2"])


def main():
    generator = np.random.default_rng(0)

    def make(shape):
        dims = [int(n) for n in shape[4:-1].split(",")]
        return generator.standard_normal(dims, np.float32) / np.float32(np.sqrt(dims[0]))

    weights = {name: make(shape) for name, shape in WEIGHTS.items()}
    x = generator.standard_normal((LENGTH, WIDTH), np.float32)
    print(tfc.profile(layer, x, weights))


if __name__ == "__main__":
    main()
