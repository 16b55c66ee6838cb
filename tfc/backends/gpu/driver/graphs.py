"""Graphs by cuda-bindings: recorded by captures of the one stream, with conditional nodes between.

    launches ─► capture ─┐               ┌─► capture ─► …     one graph; each capture goes on after
                         └► conditional ─┘                    the last node of the one before
                              │ captures of its parts, into graphs of their own that the node has

No capture is under way while another one begins, so one stream does for all.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tfc.backends.gpu.driver.interface import Decides, Decision, Graph
from tfc.backends.gpu.driver.loops import Loops
from tfc.errors import DriverError

_IF_AND_WHILE, _SWITCH = 12040, 12080  # CUDA versions


class GraphDriver(Protocol):
    """What graphs need of the driver that records them.

    binding: `ask` calls a function of the driver; `cuda` is the module with its types.
    context: that of all kernels.
    """

    binding: Any
    context: Any
    stream: Any
    loops: Loops

    def submit(self, name: str, arguments: tuple[Any, ...], has_loops: bool = False) -> None:
        """Ask for a launch."""
        ...


def decides(binding: Any, context: Any) -> Decides:
    """What graphs of a driver and its binding decide by themselves: what they say by their
    versions, if they have a condition to give."""
    cuda = binding.cuda
    version = binding.ask("cuDriverGetVersion")
    if version < _IF_AND_WHILE or not hasattr(cuda, "cuStreamBeginCaptureToGraph"):
        return Decides.NOTHING
    graph = binding.ask("cuGraphCreate", 0)
    try:
        binding.ask("cuGraphConditionalHandleCreate", graph, context, 0, 0)
    except DriverError:  # as virtual GPUs may have it
        return Decides.NOTHING
    finally:
        binding.ask("cuGraphDestroy", graph)
    kinds = cuda.CUgraphConditionalNodeType
    has_switch = version >= _SWITCH and hasattr(kinds, "CU_GRAPH_COND_TYPE_SWITCH")
    return Decides.SWITCH if has_switch else Decides.IF_AND_WHILE


class Recorder:
    """A recording under way."""

    def __init__(self, driver: GraphDriver):
        self.graph: Graph | None = None
        self._driver, self._ask, self._cuda = driver, driver.binding.ask, driver.binding.cuda
        self._mode = self._cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        self._is_capturing = self._has_loops = self._has_decisions = False
        self._whole: Any = None
        self._context = driver.context

    def begin(self) -> None:
        """Begin to record."""
        self._ask("cuStreamBeginCapture", self._driver.stream, self._mode)
        self._is_capturing = True

    def end(self) -> None:
        """Make the graph of what was recorded."""
        recorded = self._ask("cuStreamEndCapture", self._driver.stream)
        self._is_capturing, self._whole = False, None
        if self._has_decisions:
            self.graph = DecidingGraph(self._driver, recorded, self._has_loops)
        else:
            self.graph = RecordedGraph(self._driver, recorded)

    def give_up(self) -> None:
        """End the recording without a graph."""
        cuda, captured = self._cuda, None
        if self._is_capturing:
            captured = cuda.cuStreamEndCapture(self._driver.stream)[1]
        whole = captured if self._whole is None else self._whole
        if whole is not None:
            cuda.cuGraphDestroy(whole)

    def condition(self) -> int:
        """A condition of the graph that is being recorded."""
        graph, last = self._pause()
        # No default: kernels set it before it is read.
        made = self._ask("cuGraphConditionalHandleCreate", graph, self._context, 0, 0)
        self._go_on(graph, last)
        return int(made)

    def decide(
        self, decision: Decision, condition: int, parts: Sequence[Callable[[], None]]
    ) -> None:
        """Add a conditional node, and record its parts."""
        graph, last = self._pause()
        node, bodies = self._add(graph, last, decision, condition, len(parts))
        for body, part in zip(bodies, parts, strict=True):
            self._go_on(body, [])
            part()
            self._pause()
        self._go_on(graph, [node])
        self._has_decisions = True
        self._has_loops |= decision is Decision.WHILE

    def _add(
        self, graph: Any, last: list[Any], decision: Decision, condition: int, count: int
    ) -> tuple[Any, list[Any]]:
        """The node, and the graphs of its parts."""
        cuda = self._cuda
        parameters = cuda.CUgraphNodeParams()
        parameters.type = cuda.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
        stated = parameters.conditional
        stated.handle = cuda.CUgraphConditionalHandle(condition)
        kinds = cuda.CUgraphConditionalNodeType
        stated.type = getattr(kinds, f"CU_GRAPH_COND_TYPE_{decision.name}")
        stated.size, stated.ctx = count, self._context
        # Its name in bindings of CUDA 12, where the plain one takes no data of edges.
        name = "cuGraphAddNode_v2" if hasattr(cuda, "cuGraphAddNode_v2") else "cuGraphAddNode"
        node = self._ask(name, graph, last, None, len(last), parameters)
        return node, list(parameters.conditional.phGraph_out)

    def _pause(self) -> tuple[Any, list[Any]]:
        """End a capture: (the graph that it was part of, the nodes after which that goes on)."""
        stream = self._driver.stream
        # Bindings of CUDA 13 give data of the edges between these and the last number.
        _, _, _, last, *_ = self._ask("cuStreamGetCaptureInfo", stream)
        last = list(last or ())
        graph = self._ask("cuStreamEndCapture", stream)
        self._is_capturing = False
        if self._whole is None:
            self._whole = graph
        return graph, last

    def _go_on(self, graph: Any, last: list[Any]) -> None:
        where = graph, last, None, len(last), self._mode
        self._ask("cuStreamBeginCaptureToGraph", self._driver.stream, *where)
        self._is_capturing = True


class RecordedGraph:
    """A recorded graph, made ready to be launched."""

    def __init__(self, driver: GraphDriver, recorded: Any):
        self._driver = driver
        try:
            self._executable = driver.binding.ask("cuGraphInstantiate", recorded, 0)
        finally:
            driver.binding.ask("cuGraphDestroy", recorded)
        self._arguments = (self._executable, driver.stream)

    def launch(self) -> None:
        """Run it."""
        self._driver.submit("cuGraphLaunch", self._arguments)

    def __del__(self) -> None:
        if hasattr(self, "_executable"):
            self._driver.binding.cuda.cuGraphExecDestroy(self._executable)


class DecidingGraph:
    """One with conditional nodes: what was recorded lives as long, since it has the conditions."""

    def __init__(self, driver: GraphDriver, recorded: Any, has_loops: bool):
        self._driver, self._recorded, self._has_loops = driver, recorded, has_loops
        self._executable = driver.binding.ask("cuGraphInstantiate", recorded, 0)
        self._arguments = (self._executable, driver.stream)

    def launch(self) -> None:
        """Run it."""
        self._driver.submit("cuGraphLaunch", self._arguments, self._has_loops)

    def __del__(self) -> None:
        cuda = self._driver.binding.cuda
        if hasattr(self, "_executable"):
            cuda.cuGraphExecDestroy(self._executable)
        cuda.cuGraphDestroy(self._recorded)
