"""Graphs of torch.fx as the common ones: each call one node, its nested arguments a template."""

import operator
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from tfc.errors import UnsupportedError
from tfc.importers.graph import Graph, Node, Port
from tfc.importers.torch.exchange import array_of, numpy_dtype
from tfc.importers.torch.operators import ATEN
from tfc.importers.torch.table import SEED, Place

torch: Any = import_module("torch")
_decomposed: Any = import_module("torch._decomp")

_NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool, bool, int, float)
_PYTHON = ("_operator", "math", "builtins", "torch", "torch.fx.experimental.sym_node")


def decompositions() -> dict[Any, Any]:
    """torch's own definitions of the operators that the table has no row for."""
    known = {**_decomposed.decomposition_table, **_decomposed.core_aten_decompositions()}
    return {op: found for op, found in known.items() if name_of(op) not in ATEN}


def name_of(target: Any) -> str:
    """`add.Tensor` of the operator aten.add.Tensor; others with their namespace."""
    return str(target).removeprefix("aten.")


def functional(name: str) -> str:
    """The name of the operator that gives what one gives that writes to its argument."""
    return name.replace("_.", ".")


def read_graph(
    module: Any, name: str, weights: Mapping[str, tuple[str, np.ndarray]], has_seed: bool = False
) -> Graph:
    """The graph of a module of torch.fx.

    Args:
        weights: of the placeholders that are parameters, their names there and their arrays.
        has_seed: whether the first input is the seed of random numbers, which is constant if not.

    Raises:
        UnsupportedError: an array has no counterpart.
    """
    constants: dict[str, Any] = {} if has_seed else {SEED: np.uint32(0)}
    constants |= {place: array for place, (_, array) in weights.items()}
    first = [Port(SEED, np.dtype(np.uint32), ())] if has_seed else []
    graph = _Reader(module).graph(name, first, constants)
    return Graph(
        name, graph.inputs, graph.outputs, graph.nodes, graph.constants,
        {place: own for place, (own, _) in weights.items()},
    )  # fmt: skip


class _Reader:
    """One reading of a module of torch.fx."""

    def __init__(self, module: Any):
        self.module = module
        self.nodes: list[Node] = []
        self.draws = 0
        # Arrays and graphs that calls name as attributes of the module, by the nodes that do.
        self.graphs: dict[Any, Graph] = {}

    def graph(self, name: str, inputs: list[Port], constants: dict[str, Any]) -> Graph:
        """The graph, whose placeholders that are no constants follow its inputs."""
        outputs: list[Port] = []
        for node in self.module.graph.nodes:
            if node.op == "placeholder" and node.name not in constants:
                inputs.append(port_of(node))
            elif node.op == "get_attr":
                found = operator.attrgetter(node.target)(self.module)
                if isinstance(found, torch.fx.GraphModule):
                    self.graphs[node] = _Reader(found).graph(node.name, [], {})
                else:
                    constants[node.name] = array_of(found)
            elif node.op == "output":
                given = node.args[0]
                given = given if isinstance(given, (list, tuple)) else [given]
                outputs = [self._output(n, value) for n, value in enumerate(given)]
            elif node.op != "placeholder":
                self.nodes.append(self._call(node))
        return Graph(name, tuple(inputs), tuple(outputs), tuple(self.nodes), constants)

    def _output(self, number: int, value: Any) -> Port:
        if isinstance(value, torch.fx.Node):
            return port_of(value)
        name = f"output {number}"
        attributes = {"args": (value,), "named": {}}
        self.nodes.append(Node("python", "constant", 1, name, (), (name,), attributes))
        return Port(name)

    def _call(self, node: Any) -> Node:
        inputs: list[str] = []
        graphs: list[Graph] = []
        args, named = self._template((tuple(node.args), dict(node.kwargs)), inputs, graphs)
        attributes: dict[str, Any] = {
            "args": args, "named": named, "graphs": tuple(graphs),
            "dtypes": tuple(_dtypes(node.meta.get("val"))), "common": _common(node),
        }  # fmt: skip
        tags = getattr(node.target, "tags", ())
        if torch.Tag.nondeterministic_seeded in tags:
            inputs.append(SEED)
            attributes["draw"] = self.draws = self.draws + 1
        if torch.Tag.dynamic_output_shape in tags:
            attributes["is_open"] = True
        domain, op = _operator(node.target)
        if domain == "python":
            attributes["function"] = node.target
        return Node(domain, op, 1, node.name, tuple(inputs), (node.name,), attributes)

    def _template(self, value: Any, inputs: list[str], graphs: list[Graph]) -> Any:
        """Nested arguments with places of values and graphs for nodes."""
        if isinstance(value, torch.fx.Node):
            if value in self.graphs:
                graphs.append(self.graphs[value])
                return graphs[-1]
            inputs.append(value.name)
            return Place(len(inputs) - 1, isinstance(value.meta.get("val"), _NUMBERS))
        if isinstance(value, (list, tuple)):
            return [self._template(v, inputs, graphs) for v in value]
        if isinstance(value, dict):
            return {key: self._template(v, inputs, graphs) for key, v in value.items()}
        return value


def _operator(target: Any) -> tuple[str, str]:
    """An operator's domain and name, those of `relu` for `relu_`; "python" for those of numbers."""
    if hasattr(target, "_schema"):
        domain, _, op = functional(str(target)).partition(".")
        return domain, op
    module = getattr(target, "__module__", None) or ""
    if target is operator.getitem:
        return "python", "getitem"
    if module in _PYTHON or module.startswith("torch.utils._sympy"):
        return "python", getattr(target, "__name__", str(target))
    return "higher_order", str(target)


def port_of(node: Any) -> Port:
    """What a node of torch.fx gives, as far as it is stated."""
    meta = node.meta.get("val")
    if not isinstance(meta, torch.Tensor):
        return Port(node.name)
    return Port(node.name, numpy_dtype(meta.dtype), tuple(map(_size, meta.shape)))


def _size(n: Any) -> int | str | None:
    if isinstance(n, int):
        return n
    return str(n) if str(n).isidentifier() else None


def _dtypes(value: Any) -> Iterator[Any]:
    """The dtypes of what a node is known to give; None for what is no tensor."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _dtypes(part)
    else:
        yield _dtype(value.dtype) if isinstance(value, torch.Tensor) else None


def _dtype(dtype: Any) -> Any:
    """NumPy's name for a dtype; None for those without one, which no row gives."""
    try:
        return numpy_dtype(dtype)
    except UnsupportedError:
        return None


def _common(node: Any) -> Any:
    """The dtype that a node's first two arguments are promoted to; None if they are no numbers."""
    found = [a.meta.get("val") if isinstance(a, torch.fx.Node) else a for a in node.args[:2]]
    numbers = [v for v in found if isinstance(v, (torch.Tensor, bool, int, float, complex))]
    if len(numbers) < 2:
        return next((_dtype(v.dtype) for v in numbers if isinstance(v, torch.Tensor)), None)
    return _dtype(torch.result_type(*numbers))
