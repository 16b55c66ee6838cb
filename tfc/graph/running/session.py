"""Sessions: run parts of a graph, and keep its variables' values between runs."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph import errors
from tfc.graph.constants import as_array
from tfc.graph.defaults import default
from tfc.graph.evaluation import evaluate, order
from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.running.effects import Stored
from tfc.graph.running.fetches import Fetches
from tfc.graph.types.shapes import TensorShape


class Session:
    """Runs operations of a graph; safe to call from any thread.

    target: "" only, as a session runs in this process.
    graph: the default one if left out.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None):
        if target:
            raise errors.UnimplementedError(
                None, None, f"sessions run in this process: target must be '', got {target!r}"
            )
        self.graph = graph if graph is not None else get_default_graph()
        self._config = config
        self._variables: dict[str, Any] = {}
        self._runs = 0
        self._closed = False
        self._lock = threading.RLock()

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """The values of fetches, in the same structure.

        Args:
            fetches: tensors, operations, variables, names, or nested lists, tuples, dicts.
            feed_dict: the values of tensors, which are not computed then.

        Raises:
            InvalidArgumentError: a placeholder that is needed is not fed.
            ValueError, TypeError: a fetch or feed is none of this graph, or does not fit.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        wanted = Fetches(self.graph, fetches)
        values = self._fed(feed_dict or {})
        operations = order(wanted.operations, values.keys())
        _check_placeholders(operations)
        with self._lock:
            self._runs += 1
            evaluate(operations, values, Stored(self._variables, np.uint32(self._runs)))
        return wanted.structured([np.asarray(values[x]) for x in wanted.tensors])

    def _fed(self, feed_dict: Mapping[Any, Any]) -> dict[Tensor, Any]:
        """The values of what is fed, as arrays that fit."""
        values: dict[Tensor, Any] = {}
        for key, given in feed_dict.items():
            tensor = self.graph.as_graph_element(key, allow_operation=False)
            assert isinstance(tensor, Tensor)
            if not self.graph.is_feedable(tensor):
                raise ShapeError(f"Tensor {tensor.name} may not be fed.")
            array = as_array(given, tensor.dtype)
            if not tensor.shape.is_compatible_with(array.shape):
                raise ShapeError(
                    f"Cannot feed value of shape {array.shape} for Tensor {tensor.name!r}, which "
                    f"has shape {str(TensorShape(tensor.shape))!r}"
                )
            values[tensor] = array
        return values

    def close(self) -> None:
        """Forget the variables; running is refused from now on."""
        self._closed = True
        self._variables.clear()

    def as_default(self) -> "_AsDefault":
        """Make it the session of `eval()` and `run()` within, which does not close it."""
        return _AsDefault(self)

    def __enter__(self) -> "Session":
        self._entered = self.graph.as_default()
        self._entered.__enter__()
        default.sessions.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        default.sessions.remove(self)
        self._entered.__exit__(*error)
        self.close()


def _check_placeholders(operations: Sequence[Operation]) -> None:
    """Check that each placeholder that a run needs is fed.

    Raises:
        InvalidArgumentError: one is not.
    """
    for op in operations:
        if op.type in ("Placeholder", "PlaceholderV2"):
            x = op.outputs[0]
            raise errors.InvalidArgumentError(
                op,
                op,
                f"You must feed a value for placeholder tensor {op.name!r} with dtype "
                f"{x.dtype.name} and shape {x.shape}",
            )


class _AsDefault:
    """The scope of `Session.as_default`."""

    def __init__(self, session: Session):
        self._session = session

    def __enter__(self) -> Session:
        default.sessions.append(self._session)
        return self._session

    def __exit__(self, *_: Any) -> None:
        default.sessions.remove(self._session)
