"""Makes text.zip and tables.zip as make_models.py does: models that begin with text, or look up.

pip install tensorflow==2.21 && python make_tables.py
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from make_models import saved

WORDS = np.array([["the quick brown fox"], ["jumps over the lazy dog"]], object)


def text():
    """Words become numbers, `words`, of which a score is computed."""
    keras.utils.set_random_seed(1)
    vectors = layers.TextVectorization(20, output_sequence_length=5)
    vectors.adapt(WORDS[:, 0])
    model = keras.Sequential([
        keras.Input((1,), dtype="string", name="text"), vectors, layers.Embedding(20, 3),
        layers.GlobalAveragePooling1D(), layers.Dense(2),
    ])  # fmt: skip
    model(WORDS)
    words = vectors(WORDS)
    saved("text", lambda folder: model.export(folder, verbose=False), {"words": words},
          {"score": model(WORDS)})  # fmt: skip


class Tables(tf.Module):
    """What is looked up in a table of numbers, counted in bins, drawn by a generator."""

    def __init__(self):
        super().__init__()
        keys, values = tf.constant([5, -1, 9], tf.int64), tf.constant([10.0, 20.0, 30.0])
        filled = tf.lookup.KeyValueTensorInitializer(keys, values)
        self.table = tf.lookup.StaticHashTable(filled, -1.0)
        self.generator = tf.random.Generator.from_seed(7, alg="philox")

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.int64, name="keys")])
    def look(self, keys):
        """The values of keys."""
        return {"values": self.table.lookup(keys) * 2.0, "size": self.table.size()}

    @tf.function(input_signature=[tf.TensorSpec([2, 3], tf.int64, name="numbers")])
    def count(self, numbers):
        """How often each number below 6 occurs in a row."""
        return {"counts": tf.math.bincount(numbers, minlength=6, maxlength=6, axis=-1)}

    @tf.function(input_signature=[])
    def draw(self):
        """Numbers, others in each call."""
        return {"normal": self.generator.normal([2, 3]), "uniform": self.generator.uniform([3])}


def tables():
    module = Tables()
    keys = np.array([[5, 0, 9], [-1, -2, 5]], np.int64)
    numbers = np.array([[5, 0, 5], [1, 7, 1]], np.int64)
    names = {"look": module.look, "count": module.count, "draw": module.draw}
    first = module.generator.state.numpy()
    outputs = {**module.look(keys), **module.count(numbers)}
    for call in ("first", "second"):
        outputs |= {f"{call}.{name}": value for name, value in module.draw().items()}
    module.generator.reset(first)
    saved("tables", lambda folder: tf.saved_model.save(module, folder, signatures=names),
          {"keys": keys, "numbers": numbers}, outputs)  # fmt: skip


if __name__ == "__main__":
    text()
    tables()
