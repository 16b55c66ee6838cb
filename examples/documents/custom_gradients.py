"""Gradients of functions, higher ones, and gradients that a function states itself."""

import tfc.graph as tf


def log1pexp(x):
    """log(1 + exp(x)), whose gradient is inf / inf for large x."""
    return tf.log(1 + tf.exp(x))


@tf.custom_gradient
def stable_log1pexp(x):
    """The same with its gradient stated."""
    e = tf.exp(x)
    return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))


def derivative(function, value, order=1):
    """The derivative of an order at a value; None if there is none."""
    x = tf.constant(value)
    y = function(x)
    for _ in range(order):
        (y,) = tf.gradients(y, [x])
        if y is None:
            return None
    return y


def run(config=None):
    """The values and derivatives."""
    square = lambda x: tf.multiply(x, x)  # noqa: E731
    found = [square(tf.constant(3.0))]
    found += [derivative(square, 3.0, order) for order in (1, 2)]
    assert derivative(square, 3.0, 3) is None
    found += [derivative(tf.abs, value) for value in (3.0, -3.0)]
    for function in (log1pexp, stable_log1pexp):
        found += [derivative(function, value) for value in (0.0, 100.0)]
    with tf.Session(config=config) as session:
        return [float(x) for x in session.run(found)]


if __name__ == "__main__":
    print(*run())
