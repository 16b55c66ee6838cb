"""`tf.contrib.eager`: what eager programs import as tfe."""

from tfc.graph.differentiation.functions import custom_gradient
from tfc.graph.eager import variables as metrics
from tfc.graph.eager.checkpoint import Checkpoint
from tfc.graph.eager.execution import enable_eager_execution, executing_eagerly
from tfc.graph.eager.py_function import py_function as py_func
from tfc.graph.eager.tapes import (
    GradientTape,
    gradients_function,
    implicit_gradients,
    implicit_value_and_gradients,
    value_and_gradients_function,
)
from tfc.graph.eager.variables import Variable

__all__ = [
    "Checkpoint",
    "GradientTape",
    "Variable",
    "custom_gradient",
    "enable_eager_execution",
    "executing_eagerly",
    "gradients_function",
    "implicit_gradients",
    "implicit_value_and_gradients",
    "metrics",
    "py_func",
    "value_and_gradients_function",
]
