"""An image plus two constants, compiled ahead of time with the constants in the code."""

import tempfile
from pathlib import Path

import numpy as np

import tfc
import tfc.graph as tf


def run(config=None):
    """What the session gives for an image, the function, and the size of the object file."""
    image = tf.placeholder(name="img", dtype=tf.float32, shape=(1, 64, 64, 3))
    value = image + tf.constant([1.0, 2.0, 3.0]) + tf.constant([1.0, 4.0, 4.0])
    out = tf.identity(value, name="out")
    given = np.random.RandomState(0).uniform(size=(1, 64, 64, 3)).astype(np.float32)
    with tf.Session(config=config) as session:
        found = session.run(out, {image: given})
        function = tf.graph_util.as_function(session, [image], [out])
    with tempfile.TemporaryDirectory() as folder:
        tfc.aot.compile(function, "f32[1,64,64,3]", cpp_class="Image", out_dir=folder)
        size = Path(folder, "image.o").stat().st_size
    return given, found, np.asarray(tfc.jit(function)(given)[0]), size


if __name__ == "__main__":
    before, after, _, length = run()
    print((after - before)[0, 0, 0], f"{length} bytes of object")
