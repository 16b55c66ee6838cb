"""A dense layer with one output, of random weights."""

import tfc.graph as tf


def run(config=None):
    """The outputs for two inputs."""
    x = tf.placeholder(tf.float32, shape=[None, 3])
    kernel = tf.get_variable("kernel", [3, 1])
    y = tf.matmul(x, kernel) + tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return session.run([y, kernel], {x: [[1, 2, 3], [4, 5, 6]]})


if __name__ == "__main__":
    print(run()[0])
