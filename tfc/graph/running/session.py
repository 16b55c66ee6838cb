"""Sessions: run parts of a graph, and keep its variables' values between runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend.trace import for_user
from tfc.graph import errors
from tfc.graph.defaults import default
from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.running.config import (
    ConfigProto,
    OptimizerOptions,
    RunOptions,
    check_config,
    check_options,
)
from tfc.graph.running.devices import DeviceAttributes, Placement
from tfc.graph.running.execution import execute
from tfc.graph.running.feeds import check_shape, fed_array, fed_tensor
from tfc.graph.running.fetches import Fetches
from tfc.graph.running.metadata import RunMetadata, step_stats
from tfc.graph.running.placing import Placing
from tfc.graph.running.plans import Plan, make_plan
from tfc.graph.running.recording import Recorder
from tfc.graph.running.state import State

_MOST_REQUESTS = 1024  # combinations of fetches and feeds that a session remembers

# Classes of what is the same fetch or feed whenever it is equal: with others, containers for
# example, a run looks at what is in them. Sessions add those of variables as they meet them.
_LEAVES: set[type] = {Tensor, Operation, str}


class _Request:
    """What a run is asked for, apart from the values that it is fed."""

    def __init__(self, fetches: Fetches, fed: Sequence[Tensor], plan: Plan):
        self.fetches, self.plan = fetches, plan
        self.is_list = fetches.is_list
        self.fed = [(tensor, tensor.dtype.numpy) for tensor in fed]

    def arrays(self, values: Sequence[Any]) -> list[np.ndarray]:
        """What is fed as arrays, which are taken as they are where they fit."""
        made = [
            x if type(x) is np.ndarray and x.dtype is dtype else fed_array(tensor, x)
            for x, (tensor, dtype) in zip(values, self.fed)
        ]
        shapes = tuple([x.shape for x in made])
        if shapes not in self.plan.checked:
            for (tensor, _), array in zip(self.fed, made):
                check_shape(tensor, array)
            self.plan.checked.add(shapes)
        return made

    def result(self, values: Sequence[Any]) -> Any:
        """The values of the fetches in their structure; what has no dimensions is a number."""
        made = [x if x.shape else x[()] for x in map(np.asarray, values)]
        return made if self.is_list else self.fetches.structured(made)


class Session:
    """Runs operations of a graph; safe to call from any thread.

    All that can be compiled is, unless the configuration says otherwise.

    target: "" only, as a session runs in this process.
    graph: the default one if left out.
    config: a ConfigProto.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ):
        if target:
            raise errors.UnimplementedError(
                None, None, f"sessions run in this process: target must be '', got {target!r}"
            )
        if graph is not None and not isinstance(graph, Graph):
            raise TraceError(f"graph must be a tf.Graph, got {graph!r}")
        self.graph = graph if graph is not None else get_default_graph()
        self._config = ConfigProto() if config is None else config
        check_config(self._config)
        level = self._config.graph_options.optimizer_options.global_jit_level
        self._placing = Placing(by_default=level != OptimizerOptions.OFF)
        self._placement = Placement(self._config)
        self._state = State(self._config.backend)
        self._requests: dict[Any, _Request] = {}
        self._changes = self.graph.changes
        self._closed = False
        self._entered: list[Any] = []

    @property
    def graph_def(self) -> Any:
        """The graph as a GraphDef."""
        return self.graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        """The target."""
        return ""

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """The values of fetches, in the same structure.

        Args:
            fetches: tensors, operations, variables, names, or nested lists, tuples, dicts, objects
                of dataclasses and of classes of attrs. An operation's value is None.
            feed_dict: the values of tensors, which are not computed then.
            run_metadata: what receives records of the run, if the options ask for a trace.

        Raises:
            InvalidArgumentError: a placeholder that is needed is not fed.
            OpError: an operation failed; it says which.
            ValueError, TypeError: a fetch or feed is none of this graph, or does not fit.
            RuntimeError: the session is closed.
        """
        try:
            feeds = feed_dict or {}
            if self._closed or self._changes != self.graph.changes:
                self._begin_anew()
            key = _key(fetches, feeds)
            request = self._requests.get(key)
            if request is None:
                request = self._request(fetches, feeds, key)
            arrays = request.arrays([*feeds.values()])
            if options is None:
                return request.result(execute(request.plan, arrays, self._state))
            return request.result(self._observed(request.plan, arrays, options, run_metadata))
        except Exception as error:
            for_user(error)
            raise

    def _begin_anew(self) -> None:
        """Forget plans, as operations changed.

        Raises:
            RuntimeError: the session is closed.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        self._changes = self.graph.changes
        self._requests = {}

    def _request(self, fetches: Any, feeds: Mapping[Any, Any], key: Any) -> _Request:
        if not isinstance(feeds, Mapping):
            raise TraceError(f"feed_dict must be a dictionary, got {feeds!r}")
        wanted = Fetches(self.graph, fetches)
        fed = [fed_tensor(self.graph, x) for x in feeds]
        if len(set(fed)) < len(fed):
            raise ShapeError("feed_dict has two values for one tensor")
        inner = tuple(wanted.operations), tuple(wanted.tensors), tuple(fed)
        known = self._requests.get(inner)
        plan = known.plan if known is not None else self._plan(wanted, fed)
        made = _Request(wanted, fed, plan)
        for leaf in (*wanted.leaves, *feeds):
            if type(leaf).__hash__ is object.__hash__ and type(leaf).__eq__ is object.__eq__:
                _LEAVES.add(type(leaf))
        if len(self._requests) >= _MOST_REQUESTS:
            self._requests.clear()
        self._requests[inner if key is None else key] = made
        return made

    def _plan(self, wanted: Fetches, fed: Sequence[Tensor]) -> Plan:
        return make_plan(
            wanted.operations, fed, wanted.tensors, self._state, self._placing, self._placement
        )

    def _observed(
        self,
        plan: Plan,
        arrays: Sequence[np.ndarray],
        options: RunOptions,
        metadata: RunMetadata | None,
    ) -> list[Any]:
        """The values of a plan; the metadata receive what the options ask for."""
        check_options(options)
        recorder = Recorder() if options.trace_level and metadata is not None else None
        values = execute(plan, arrays, self._state, recorder)
        if recorder is not None and metadata is not None:
            metadata.step_stats = step_stats(self._placement.devices[0].name, recorder.events)
        if options.output_partition_graphs and metadata is not None:
            metadata.partition_graphs = [self.graph_def]
        return values

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function that runs fetches, given the values of the feeds in their order.

        Args:
            accept_options: whether it takes `options` and `run_metadata` by name.

        Raises:
            TypeError: feed_list is no list.
        """
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TraceError(f"feed_list must be a list or tuple, got {feed_list!r}")
        feeds = list(feed_list or ())

        def call(*values: Any, **named: Any) -> Any:
            if len(values) != len(feeds):
                raise ShapeError(f"takes {len(feeds)} values, one for each feed, got {len(values)}")
            if named and not accept_options:
                raise TraceError("make_callable(…, accept_options=True) takes options")
            return self.run(fetches, dict(zip(feeds, values)), **named)

        return call

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Refused: a run is a whole.

        Raises:
            UnimplementedError: always.
        """
        raise errors.UnimplementedError(
            None, None, "partial runs are not offered: run each part with its feeds by run()"
        )

    def partial_run(self, handle: Any, fetches: Any, feed_dict: Any = None) -> Any:
        """Refused: a run is a whole.

        Raises:
            UnimplementedError: always.
        """
        return self.partial_run_setup(fetches)

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices that operations may be placed on.

        Raises:
            RuntimeError: the session is closed.
        """
        if self._closed:
            self._begin_anew()
        return list(self._placement.devices)

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        """Refused: there is no server that keeps variables; they end with their session.

        Raises:
            UnimplementedError: always.
        """
        raise errors.UnimplementedError(
            None, None, "variables belong to their session: close it, and begin another"
        )

    def close(self) -> None:
        """Forget the variables; running is refused from now on."""
        self._closed = True
        self._requests = {}
        with self._state.lock:
            self._state.variables.clear()

    def as_default(self) -> "_AsDefault":
        """Make it the session of `eval()` and `run()` within, which does not close it."""
        return _AsDefault(self)

    def __enter__(self) -> "Session":
        entered = self.graph.as_default()
        entered.__enter__()
        self._entered.append(entered)
        default.sessions.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _remove(self)
        self._entered.pop().__exit__(*error)
        self.close()


class InteractiveSession(Session):
    """A session that is the default one, of this thread, from its making until it is closed."""

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ):
        super().__init__(target, graph, config)
        default.sessions.append(self)
        if graph is not None:
            default.graphs.append(graph)
        self._is_default_graph = graph is not None

    def close(self) -> None:
        """Forget the variables, and be the default session no longer."""
        super().close()
        if self in default.sessions:
            _remove(self)
        if self._is_default_graph and self.graph in default.graphs:
            default.graphs.remove(self.graph)


class _AsDefault:
    """The scope of `Session.as_default`."""

    def __init__(self, session: Session):
        self._session = session

    def __enter__(self) -> Session:
        default.sessions.append(self._session)
        return self._session

    def __exit__(self, *_: Any) -> None:
        _remove(self._session)


def _remove(session: Session) -> None:
    """Take a session out of the default ones, where it is innermost."""
    place = max(n for n, x in enumerate(default.sessions) if x is session)
    del default.sessions[place]


def _key(fetches: Any, feeds: Mapping[Any, Any]) -> Any:
    """What tells fetches and feeds from others without a look into them; None where it cannot."""
    kind = type(fetches)
    if kind is list or kind is tuple:
        for x in fetches:
            if type(x) not in _LEAVES:
                return None
        first = (kind, *fetches)
    elif kind in _LEAVES:
        first = fetches
    else:
        return None
    for x in feeds:
        if type(x) not in _LEAVES:
            return None
    return first, *feeds
