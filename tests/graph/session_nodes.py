"""Operators that tests of sessions make graphs of: each does one thing that sessions handle."""

import numpy as np

from tfc import numpy as tnp
from tfc import random
from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import evaluable
from tfc.graph.building import operation, result
from tfc.graph.graph import get_default_graph
from tfc.graph.operators.registry import OPERATORS, operator
from tfc.graph.types.dtypes import as_dtype, float32, int32
from tfc.graph.types.shapes import TensorShape


def _like(inputs, _):
    return [(inputs[0].dtype, inputs[0].shape)]


def enter_rows():
    """Enter the rows, once a process."""
    if "NodeAdd" in OPERATORS:
        return
    operator("NodeAdd")(lambda x, y: x + y)
    operator("NodeProduct")(lambda x, y: x * y)
    operator("NodeTwiceOnHost", on_host=True, infer=_like)(lambda x: np.asarray(x) * 2)
    operator("NodePython", on_host=True, infer=_like)(lambda x, *, function: function(x))
    operator("NodeNonzero", infer=lambda *_: [(int32, TensorShape([None]))])(_nonzero)
    operator("NodeReshape", known=(1,), infer=lambda i, _: [(i[0].dtype, TensorShape(None))])(
        lambda x, shape: tnp.reshape(x, tuple(int(n) for n in shape))
    )
    operator("NodeShape", infer=lambda i, _: [(int32, TensorShape([None]))])(
        lambda x: np.array(x.shape, np.int32)
    )
    operator("NodeUniform", infer=lambda *_: [(float32, TensorShape([3]))], effect="read")(_uniform)
    operator("NodeNowhere", infer=_like)(_nowhere)
    operator("NodeEffect", infer=lambda *_: [], effect="write", on_host=True)(
        lambda *, function: function()
    )


def _nonzero(x):
    """Where x is not 0: how many places there are, only its values tell."""
    if not isinstance(x, np.ndarray):
        raise TraceError("the number of places is not known while tracing")
    return np.nonzero(np.asarray(x))[0].astype(np.int32)


def _uniform(*, seed=0, seed2=0, context):
    return random.uniform(context.key(seed, seed2), (3,))


@evaluable
def _nowhere(x):
    """Code that nobody offers: it is traced, and then cannot be compiled."""
    x = as_tensor(x)
    return ops.operation("custom-call", x, shape=x.array_shape, custom_call_target="nowhere")


def placeholder(shape=None, dtype=float32, name=None):
    """A placeholder."""
    spec = (as_dtype(dtype), TensorShape(shape))
    attributes = {"dtype": spec[0], "shape": spec[1]}
    made = get_default_graph().create_operation("Placeholder", (), attributes, name, [spec])
    return made.outputs[0]


def add(x, y, name=None):
    """x + y."""
    return result("NodeAdd", x, y, name=name)


def product(x, y, name=None):
    """x * y."""
    return result("NodeProduct", x, y, name=name)


def twice_on_host(x, name=None):
    """2 * x, which is never compiled."""
    return result("NodeTwiceOnHost", x, name=name)


def python(function, x, name=None):
    """What a Python function makes of x."""
    return result("NodePython", x, name=name, function=function)


def nonzero(x, name=None):
    """The places where x is not 0."""
    return result("NodeNonzero", x, name=name)


def nowhere(x, name=None):
    """What no backend has code for."""
    return result("NodeNowhere", x, name=name)


def reshape(x, shape):
    """x with the dimensions that a tensor holds."""
    return result("NodeReshape", x, shape)


def shape_of(x):
    """The dimensions of x."""
    return result("NodeShape", x)


def uniform(seed=0, seed2=0):
    """Three random numbers."""
    return result("NodeUniform", seed=seed, seed2=seed2)


def effect(function, name=None):
    """An operation that calls a Python function."""
    return operation("NodeEffect", (), name, function=function)
