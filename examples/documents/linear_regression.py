"""A line through four points, by gradient descent: the loss before each step."""

import tfc.graph as tf


def run(config=None, steps=100, start=-0.2683497):
    """Every tenth loss, and the predictions at the end."""
    x = tf.constant([[1.0], [2.0], [3.0], [4.0]])
    y_true = tf.constant([[0.0], [-1.0], [-2.0], [-3.0]])
    linear_model = tf.layers.Dense(units=1, kernel_initializer=tf.constant_initializer(start))
    y_pred = linear_model(x)
    loss = tf.losses.mean_squared_error(labels=y_true, predictions=y_pred)
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
