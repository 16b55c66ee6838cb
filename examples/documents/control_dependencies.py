"""What a run reads of a variable that it also assigns, with and without a stated order."""

import tfc.graph as tf


def run(config=None):
    """[the assigned value, the sum] where the sum comes first, where it comes after, and free."""
    a, b = tf.Variable(1), tf.constant(2)
    c = a + b
    with tf.control_dependencies([c]):
        assign = tf.assign(a, 5)
    with tf.control_dependencies([tf.assign(a, 5)]):
        after = a.read_value() + b
    free = tf.assign(a, 5)
    found = []
    for fetches in ([assign, c], [free, after], [free, c]):
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            found.append([int(x) for x in session.run(fetches)])
    return found


if __name__ == "__main__":
    print(*run(), sep="; ")
