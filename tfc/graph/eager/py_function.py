"""py_func whose Python function uses the functions of graphs, computed at once."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.graph.constants import constant
from tfc.graph.eager.execution import EagerGraph
from tfc.graph.functions.python_functions import py_func
from tfc.graph.operation import Tensor


def py_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None
) -> Any:
    """What a Python function returns that takes tensors with values, when the graph is run.

    Args:
        func: takes the tensors of `inp`, and may use functions of graphs, computed at once.
        inp: a list of tensors. Tout: the dtype of the result, or a list of them.
    """

    def call(*arrays: Any) -> Any:
        with EagerGraph().as_default():
            made = func(*(constant(x) for x in arrays))
            listed = isinstance(made, (list, tuple))
            values = [_array(x) for x in (made if listed else [made])]
            return values if listed else values[0]

    return py_func(call, inp, Tout, True, name)


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, Tensor) else value
