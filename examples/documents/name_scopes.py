"""Names of operations in scopes, and two graphs side by side."""

import tfc.graph as tf


def run(config=None):
    """The names, and what the second graph computes."""
    with tf.Graph().as_default():
        names = [tf.constant(0, name="c"), tf.constant(2, name="c")]
        with tf.name_scope("outer"):
            names.append(tf.constant(2, name="c"))
            with tf.name_scope("inner"):
                names.append(tf.constant(3, name="c"))
            names.append(tf.constant(4, name="c"))
            with tf.name_scope("inner"):
                names.append(tf.constant(5, name="c"))
    first, second = tf.Graph(), tf.Graph()
    with first.as_default():
        tf.constant(1, name="node")
    with second.as_default():
        node = tf.constant(2, name="node")
    with tf.Session(graph=second, config=config) as session:
        return [x.op.name for x in names], int(session.run(node)), first is not node.graph


if __name__ == "__main__":
    print(*run(), sep="\n")
