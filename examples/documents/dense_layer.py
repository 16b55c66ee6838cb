"""A dense layer with one output, of random weights."""

import tfc.graph as tf


def run(config=None):
    """The outputs for two inputs, and the weights."""
    x = tf.placeholder(tf.float32, shape=[None, 3])
    linear_model = tf.layers.Dense(units=1)
    y = linear_model(x)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return session.run([y, linear_model.kernel], {x: [[1, 2, 3], [4, 5, 6]]})


if __name__ == "__main__":
    print(run()[0])
