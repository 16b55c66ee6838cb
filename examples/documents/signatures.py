"""A graph from a file, whose inputs and outputs are named, run for two signatures."""

import tempfile

import tfc.graph as tf


def build():
    """y = 0.5 x + 2, y3 = 0.5 x2 + 3."""
    a = tf.Variable(0.5, name="a")
    x = tf.placeholder(tf.float32, [None, 1], name="x")
    x2 = tf.placeholder(tf.float32, [None, 1], name="x2")
    tf.add(a * x, tf.Variable(2.0, name="b"), name="y")
    tf.add(a * x2, tf.Variable(3.0, name="c"), name="y3")


def run(config=None):
    """The outputs of both signatures."""
    with tempfile.TemporaryDirectory() as folder:
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            build()
            session.run(tf.global_variables_initializer())
            path = tf.train.Saver().save(session, f"{folder}/half_plus_two")
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            tf.train.import_meta_graph(f"{path}.meta").restore(session, path)
            return [
                session.run("y:0", {"x:0": [[-1.0], [1.0], [3.0]]}),
                session.run("y3:0", {"x2:0": [[-2.0], [0.0], [2.0]]}),
            ]


if __name__ == "__main__":
    print(*run(), sep="\n")
