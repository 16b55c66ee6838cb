"""Functions of Python in a graph, each with a gradient that is a function of Python as well."""

import itertools

import tfc.graph as tf

_numbers = itertools.count()


def py_func(function, inputs, dtype, gradient, name=None):
    """A Python function as an operation, with a gradient (operation, *gradients) -> gradients."""
    registered = f"PythonGradient{next(_numbers)}"
    tf.RegisterGradient(registered)(gradient)
    with tf.get_default_graph().gradient_override_map({"PyFunc": registered}):
        return tf.py_func(function, inputs, dtype, stateful=True, name=name)
