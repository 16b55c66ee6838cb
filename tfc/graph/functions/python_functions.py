"""py_func: a Python function of NumPy arrays as an operation."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from tfc.errors import TraceError
from tfc.graph.constants import convert_to_tensor
from tfc.graph.graph import get_default_graph
from tfc.graph.types.dtypes import as_dtype

_numbers = count()


def py_func(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """What a Python function returns, called with NumPy arrays when the graph is run.

    It has no gradient but what RegisterGradient and gradient_override_map give it, under PyFunc or
    PyFuncStateless. Its results' shapes are not known: set_shape tells them. An exception arrives
    as an error of `errors`, with itself as the cause.

    Args:
        func: takes the arrays of `inp`; returns an array, or a list of them if Tout is one.
        inp: a list of tensors.
        Tout: the dtype of the result, or a list of them.
        stateful: it has effects: it is called once a run. False lets a call be left out. In
            branches and bodies of loops, their gradient calls it once more either way.

    Raises:
        TypeError: func is no function.
    """
    if not callable(func):
        raise TraceError(f"func must be callable, got {func!r}")
    dtypes = [as_dtype(d) for d in (Tout if isinstance(Tout, (list, tuple)) else [Tout])]
    inputs = [convert_to_tensor(x) for x in (inp if isinstance(inp, (list, tuple)) else [inp])]
    attributes = {
        "token": f"pyfunc_{next(_numbers)}",
        "Tin": [x.dtype for x in inputs],
        "Tout": dtypes,
        "_function": func,
    }
    type = "PyFunc" if stateful else "PyFuncStateless"
    made = get_default_graph().create_operation(type, inputs, attributes, name)
    if isinstance(Tout, (list, tuple)):
        return list(made.outputs) if made.outputs else made
    return made.outputs[0]
