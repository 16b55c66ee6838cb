"""Write the graph of this example: the product of a 2 x 3 and a 3 x 2 matrix.

    python make_graph.py [FOLDER]

It has no sizes of its own: the configuration states them.
"""

import sys

import tfc.graph as tf


def main(folder: str = ".") -> None:
    """Write test_graph_tfmatmul.pb into a folder."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, name="x_hold")
        y = tf.placeholder(tf.float32, name="y_hold")
        tf.matmul(x, y, name="x_y_prod")
    tf.train.write_graph(graph, folder, "test_graph_tfmatmul.pb", as_text=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
