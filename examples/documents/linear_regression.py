"""A line through four points, by gradient descent: the loss before each step."""

import tfc.graph as tf


def run(config=None, steps=100, start=-0.2683497):
    """Every tenth loss, and the predictions at the end."""
    x = tf.constant([[1.0], [2.0], [3.0], [4.0]])
    y_true = tf.constant([[0.0], [-1.0], [-2.0], [-3.0]])
    kernel = tf.get_variable("kernel", [1, 1], initializer=tf.constant_initializer(start))
    bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
    y_pred = tf.matmul(x, kernel) + bias
    loss = tf.reduce_mean(tf.square(y_pred - y_true))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    losses = []
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            losses.append(float(session.run((train, loss))[1]))
        return losses, session.run(y_pred)


if __name__ == "__main__":
    found, predictions = run()
    print(*found[:10], sep="\n")
    print(predictions)
