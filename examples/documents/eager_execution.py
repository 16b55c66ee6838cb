"""Operations computed as they are called: control flow of Python, a tape, a line fitted."""

import tfc.graph as tf
from tfc.graph.contrib import eager as tfe


def fizzbuzz(limit):
    """The words for the numbers below a limit."""
    words, counter = [], tf.constant(0)
    for number in range(limit):
        num = tf.constant(number)
        if int(num % 3) == 0 and int(num % 5) == 0:
            words.append("FizzBuzz")
        elif int(num % 3) == 0:
            words.append("Fizz")
        elif int(num % 5) == 0:
            words.append("Buzz")
        else:
            words.append(str(num.numpy()))
        counter += 1
    return words, counter.numpy()


def derivative_of_square():
    """The derivative of w * w at 1."""
    w = tfe.Variable([[1.0]])
    with tf.GradientTape() as tape:
        loss = w * w
    (gradient,) = tape.gradient(loss, [w])
    return gradient.numpy()


def fit_by_hand(steps=200, rate=0.01):
    """The losses before and after, and the slope and offset of y = 3 x + 2 + noise."""
    inputs = tf.random_normal([1000])
    outputs = inputs * 3 + 2 + tf.random_normal([1000])
    slope, offset = tfe.Variable(5.0), tfe.Variable(10.0)

    def loss():
        return tf.reduce_mean(tf.square(inputs * slope + offset - outputs))

    first = loss()
    for _ in range(steps):
        with tf.GradientTape() as tape:
            value = loss()
        for v, gradient in zip([slope, offset], tape.gradient(value, [slope, offset])):
            v.assign_sub(gradient * rate)
    return [float(x) for x in (first, loss(), slope, offset)]


class Model:
    """A line."""

    def __init__(self):
        self.slope, self.offset = tfe.Variable(5.0, name="weight"), tfe.Variable(10.0, name="bias")

    def predict(self, inputs):
        """Its value."""
        return inputs * self.slope + self.offset


def fit_by_optimizer(steps=300, rate=0.01):
    """The same of a model, by gradient descent."""
    inputs = tf.random_normal([2000])
    outputs = inputs * 3 + 2 + tf.random_normal([2000])
    model, optimizer = Model(), tf.train.GradientDescentOptimizer(rate)

    def loss():
        return tf.reduce_mean(tf.square(model.predict(inputs) - outputs))

    first, variables = loss(), [model.slope, model.offset]
    for _ in range(steps):
        with tf.GradientTape() as tape:
            value = loss()
        optimizer.apply_gradients(
            zip(tape.gradient(value, variables), variables),
            global_step=tf.train.get_or_create_global_step(),
        )
    return [float(x) for x in (first, loss(), model.slope, model.offset)]


if __name__ == "__main__":
    tf.enable_eager_execution()
    print(*fizzbuzz(15)[0])
    print(derivative_of_square())
    for fit in (fit_by_hand, fit_by_optimizer):
        before, after, w, b = fit()
        print(f"Initial loss: {before:.3f}")
        print(f"Final loss: {after:.3f}")
        print(f"W = {w}, B = {b}")
