"""Graphs with conditional nodes on the interpreter: what they do, and what is refused."""

from collections.abc import Callable

import numpy as np
import pytest

from tfc.testing.ptx import Fault, Machine
from tfc.testing.ptx.graphs import Graph, GraphError

TEXT = """.version 8.6
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 condition, .param .b32 value);
.visible .entry count_down(.param .u64 handle, .param .u64 place)
{
    .reg .b32 %n;
    .reg .b64 %handle, %place;
    ld.param.u64 %handle, [handle];
    ld.param.u64 %place, [place];
    ld.global.u32 %n, [%place];
    sub.u32 %n, %n, 1;
    st.global.u32 [%place], %n;
    {
    .param .b64 condition;
    .param .b32 to;
    st.param.b64 [condition], %handle;
    st.param.b32 [to], %n;
    call.uni cudaGraphSetConditional, (condition, to);
    }
    ret;
}
"""


class Counting:
    """A machine with a number that a kernel counts down, and a condition that it sets to that."""

    def __init__(self, start: int):
        self.machine = Machine(memory_limit=1 << 20)
        self.kernel = self.machine.load(TEXT)["count_down"]
        self.place = self.machine.allocate(4)
        self.machine.write(self.place, np.uint32(start))
        self.graph = Graph(self.machine.conditions)

    def step(self, handle: int, threads: int = 1) -> Callable[[], object]:
        """The kernel's launch."""
        return lambda: self.machine.launch(self.kernel, [1], [threads], [handle, self.place])

    @property
    def number(self) -> int:
        """The number now."""
        return int(self.machine.read(self.place, 4).view(np.uint32)[0])


def nothing() -> None:
    """What a node does that is only there."""


def test_a_loop_goes_on_until_a_kernel_sets_its_condition_to_zero():
    counting = Counting(5)
    graph = counting.graph
    handle = graph.condition()
    first = graph.add("kernel", counting.step(handle), [])
    loop = graph.decide("WHILE", handle, 1, [first])
    rounds: list[int] = []
    noted = loop.parts[0].add("copy", lambda: rounds.append(counting.number), [])
    loop.parts[0].add("kernel", counting.step(handle), [noted])
    graph.ready().launch()
    assert rounds == [4, 3, 2, 1]
    assert counting.number == 0


@pytest.mark.parametrize(("value", "chosen"), [(0, [0]), (2, [2]), (3, [])])
def test_a_switch_takes_the_part_of_a_number_or_none(value: int, chosen: list[int]):
    counting = Counting(value + 1)
    handle = counting.graph.condition()
    first = counting.graph.add("kernel", counting.step(handle), [])
    node = counting.graph.decide("SWITCH", handle, 3, [first])
    taken: list[int] = []
    for number, part in enumerate(node.parts):
        part.add("empty", lambda n=number: taken.append(n), [])
    counting.graph.ready().launch()
    assert taken == chosen


def test_a_default_is_there_at_each_launch_and_nothing_else_is():
    graph = Counting(1).graph
    handle = graph.condition(default=1)
    taken: list[int] = []
    for part in graph.decide("IF", handle, 2, []).parts:
        part.add("memset", lambda: taken.append(len(taken)), [])
    ready = graph.ready()
    ready.launch()
    ready.launch()
    assert taken == [0, 1]
    unset = Counting(1).graph
    unset.decide("IF", unset.condition(), 1, []).parts[0].add("empty", nothing, [])
    with pytest.raises(GraphError, match="is read before it is set"):
        unset.ready().launch()


def test_only_the_running_graphs_conditions_are_set_and_once_a_launch():
    counting = Counting(9)
    handle = counting.graph.condition()
    with pytest.raises(Fault, match="the running graph has no condition"):
        counting.step(handle)()
    first = counting.graph.add("kernel", counting.step(handle, threads=2), [])
    counting.graph.decide("IF", handle, 1, [first]).parts[0].add("empty", nothing, [])
    with pytest.raises(Fault, match=r"race: condition .* is set twice"):
        counting.graph.ready().launch()


def _handle_of_another_graph(graph: Graph) -> None:
    graph.decide("IF", Graph(Machine().conditions).condition(), 1, [])


def _handle_of_a_part(graph: Graph) -> None:
    inner = graph.decide("IF", graph.condition(), 1, []).parts[0].condition()
    graph.decide("IF", inner, 1, graph.nodes)


def _two_nodes_of_a_handle(graph: Graph) -> None:
    handle = graph.condition()
    graph.decide("IF", handle, 1, [])
    graph.decide("IF", handle, 1, graph.nodes)


def _two_rounds(graph: Graph) -> None:
    graph.decide("WHILE", graph.condition(), 2, [])


def _no_order(graph: Graph) -> None:
    graph.add("kernel", nothing, [])
    graph.add("kernel", nothing, [])


def _handle_without_node(graph: Graph) -> None:
    graph.condition()
    graph.ready()


def _host_in_a_part(graph: Graph) -> None:
    graph.decide("IF", graph.condition(), 1, []).parts[0].add("copy with the host", nothing, [])
    graph.ready()


def _empty_part(graph: Graph) -> None:
    graph.decide("SWITCH", graph.condition(), 2, []).parts[0].add("empty", nothing, [])
    graph.ready()


def _part_by_itself(graph: Graph) -> None:
    graph.decide("IF", graph.condition(), 1, []).parts[0].ready()


def _ready_twice(graph: Graph) -> None:
    graph.decide("IF", graph.condition(), 1, []).parts[0].add("empty", nothing, [])
    graph.ready()
    graph.ready()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_handle_of_another_graph, "belongs to another graph"),
        (_handle_of_a_part, "belongs to another graph"),
        (_two_nodes_of_a_handle, "decides already"),
        (_two_rounds, "a node WHILE of 2 parts"),
        (_no_order, "does not come after the last one"),
        (_handle_without_node, "a condition decides nothing"),
        (_host_in_a_part, "a node of kind 'copy with the host'"),
        (_empty_part, "is empty"),
        (_part_by_itself, "is no graph by itself"),
        (_ready_twice, "made ready twice"),
    ],
)
def test_what_cuda_does_not_allow_is_refused(make: Callable[[Graph], None], message: str):
    with pytest.raises(GraphError, match=message):
        make(Counting(1).graph)
