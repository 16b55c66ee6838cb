"""Small models of Keras 2, which TensorFlow still has within it: saved as .h5 files with random
weights, beside their inputs and what Keras 2 computes.

    python old_cases.py FOLDER

`cases.py` does the same for Keras 3.
"""

# ruff: noqa: E402, PLW0108 (layers are made when a model is)
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from tensorflow.python import keras

keras.__version__ = "2.6.0"  # the one that it is, which files state

from tensorflow.python.keras.engine.functional import Functional
from tensorflow.python.keras.engine.input_layer import Input
from tensorflow.python.keras.engine.sequential import Sequential
from tensorflow.python.keras.layers import (
    advanced_activations,
    core,
    dense_attention,
    embeddings,
    merge,
    recurrent,
)
from tensorflow.python.keras.saving import hdf5_format

RNG = np.random.default_rng(1)


def masked(part: Callable[[Any], Any]) -> Callable[[], Any]:
    """A model of tokens, of which those that are 0 are masked."""

    def make() -> Any:
        tokens = Input((6,), dtype="int32")
        return Functional(tokens, part(embeddings.Embedding(5, 3, mask_zero=True)(tokens)))

    return make


def nested() -> Any:
    """Models within one, each called twice."""
    first = Input((5,))
    inner = Functional(first, core.Dense(4)(core.Dense(5)(first)))
    outer = Input((5,))
    chain = Sequential([core.Dense(4, input_shape=(4,)), core.Dense(4)])
    return Functional(outer, [chain(chain(inner(outer))), inner(core.Dense(5)(outer))])


def activations() -> Any:
    """Layers that are activations."""
    kinds = advanced_activations
    first = value = Input((6,))
    for part in (kinds.LeakyReLU(), kinds.ReLU(6.0, 0.1, 0.2), kinds.PReLU(), kinds.ELU(),
                 kinds.ThresholdedReLU(0.1), kinds.Softmax()):  # fmt: skip
        value = part(core.Dense(5, activation="hard_sigmoid")(value) - 0.5)
    return Functional(first, value)


def operations() -> Any:
    """Functions of TensorFlow between layers."""
    a = Input((4, 3))
    x = a * 2.0 + 1.0
    return Functional(a, [
        tf.nn.relu(x[:, 1:]) - tf.reduce_mean(a, axis=1, keepdims=True), tf.concat([x, a], axis=-1),
        tf.transpose(a, [0, 2, 1]), tf.reshape(a, [-1, 12]), tf.matmul(a, a, transpose_b=True),
        tf.expand_dims(a, -1), tf.math.sqrt(tf.abs(a)), 1.0 - a, tf.split(a, 3, axis=-1)[1],
    ])  # fmt: skip


CASES: dict[str, Callable[[], Any]] = {
    "keras2_gru": masked(lambda x: recurrent.GRU(4)(x)),
    "keras2_backwards": masked(lambda x: recurrent.LSTM(4, go_backwards=True)(x)),
    "keras2_attention": masked(lambda x: dense_attention.Attention()([x, x])),
    "keras2_sum": masked(lambda x: recurrent.LSTM(3)(merge.Add()([x, core.Dropout(0.1)(x)]))),
    "keras2_nested": nested,
    "keras2_activations": activations,
    "keras2_operations": operations,
}


def save(name: str, model: Any, folder: Path) -> None:
    """Save a case: name.h5, name.npz with inputs in0 … and outputs out0 …."""
    for weight in model.weights:
        weight.assign(RNG.standard_normal(weight.shape).astype(np.float32) * 0.4)
    values = {}
    for number, port in enumerate(model.inputs):
        shape = (2, *port.shape[1:])
        tokens = port.dtype.is_integer
        values[f"in{number}"] = (
            RNG.integers(0, 5, shape).astype(np.int32) if tokens
            else RNG.standard_normal(shape).astype(np.float32)
        )  # fmt: skip
    results = tf.nest.flatten(model(values["in0"], training=False))
    values |= {f"out{n}": v.numpy() for n, v in enumerate(results)}
    np.savez(folder / f"{name}.npz", **values)
    hdf5_format.save_model_to_hdf5(model, str(folder / f"{name}.h5"))


if __name__ == "__main__":
    for name, make in CASES.items():
        keras.backend.clear_session()
        save(name, make(), Path(sys.argv[1]))
