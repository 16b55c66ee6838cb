"""A tensor in other shapes, and one that its elements do not fill."""

import tfc.graph as tf


def run(config=None):
    """The shapes, and the error."""
    first = tf.ones([3, 4, 5])
    matrix = tf.reshape(first, [6, 10])
    other = tf.reshape(matrix, [3, -1])
    last = tf.reshape(other, [4, 3, -1])
    try:
        tf.reshape(last, [13, 2, -1])
        error = ""
    except ValueError as refused:
        error = str(refused)
    with tf.Session(config=config) as session:
        shapes = [session.run(x).shape for x in (first, matrix, other, last)]
    return shapes, [x.shape.as_list() for x in (first, matrix, other, last)], error


if __name__ == "__main__":
    print(*run(), sep="\n")
