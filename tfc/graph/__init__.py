"""Graph mode: programs that build a graph and run it in sessions, under TensorFlow 1's names.

    import tfc.graph as tf

    x = tf.placeholder(tf.float32, [None, 3])
    with tf.Session() as session:
        session.run(x, {x: [[1, 2, 3]]})

A graph holds operations of TensorFlow's names; what each computes is a row in `operators`, written
in tfc's own functions, so that a run is traced, compiled and run like any other program.
"""

from tfc.graph.running.session import Session

__all__ = ["Session"]
