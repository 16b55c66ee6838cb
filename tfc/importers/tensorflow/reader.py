"""A GraphDef message, with its library of functions, as the importers' Graph.

Only what outputs need is read: nodes that they take values of, and those that change variables
before. Constants of floats are the model's parameters.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfc.errors import ModelFileError, UnsupportedError
from tfc.graph.control.facts import Facts
from tfc.graph.operators.registry import OPERATORS
from tfc.importers.graph import Function, Graph, Key, Node, Port
from tfc.importers.tensorflow.cutting import is_of_numbers, numeric_values
from tfc.importers.tensorflow.frames import ENTER, SWITCH
from tfc.importers.tensorflow.inlining import inlined
from tfc.importers.tensorflow.meanings import Meanings, functions_of
from tfc.importers.tensorflow.nodes import CHECKS, Nodes, changes, computed, in_order, value_name
from tfc.importers.tensorflow.switches import rewritten
from tfc.importers.tensorflow.table import TENSORFLOW

_LEGACY = 24  # graphs made for versions before it state no shape as that of a scalar
_MOST_DEPTH = 48  # functions within functions
_MOST_REPEATED = 1 << 26  # bytes of constants of one repeated value each that take memory
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")


@dataclass(frozen=True)
class Feed:
    """What a model takes.

    tensor: the value that it replaces, `node` or `node:1`.
    name: what it is called; as the tensor if left out.
    is_assumed: whether the dtype is only what seems likely.
    """

    tensor: str
    name: str = ""
    dtype: np.dtype | None = None
    dims: tuple[int | None, ...] | None = None
    is_assumed: bool = False


@dataclass(frozen=True)
class Fetch:
    """What a model gives: a value, under a name, with what is known of it."""

    tensor: str
    name: str = ""
    dtype: np.dtype | None = None
    dims: tuple[int | None, ...] | None = None


@dataclass(frozen=True)
class VariableArgument:
    """A variable that is an argument, and a result as well if it may be written.

    variable: what its handle names: its `shared_name`, or the node's name.
    """

    variable: str
    dtype: np.dtype
    dims: tuple[int, ...]
    name: str = ""
    readonly: bool = False


@dataclass(frozen=True)
class Content:
    """What is read: the graph with its values' own names, functions, constants by name.

    facts: what running each function does. changed: the variables that the graph changes.
    tables: what tables hold, by the nodes that make them.
    """

    file: str
    graph: Graph
    functions: Mapping[Key, Function]
    parameters: Mapping[str, np.ndarray]
    facts: Mapping[str, Facts]
    changed: frozenset[str]
    tables: Mapping[str, Any] = field(default_factory=dict)


class Reader:
    """Reads one GraphDef.

    file: what to call it in errors.
    meanings: what attributes, types and shapes in it mean.
    """

    def __init__(self, file: str, graph_def: Any):
        self.file = file
        self.graph_def = graph_def
        self.library = {f.signature.name: f for f in graph_def.library.function}
        self.meanings = Meanings(file, self.library)
        self.refused: dict[str, str] = {}
        self.nodes = self.all_nodes = Nodes(file, graph_def.node)
        self.parameters: dict[str, np.ndarray] = {}
        self.functions: dict[str, Function] = {}
        self.facts: dict[str, Facts] = {}
        self.tables: dict[str, Any] = {}
        self._open: list[str] = []
        self._repeated = 0

    def limit(self, fetched: Sequence[str]) -> None:
        """Leave out what fetched values do not need, and put If and While for what TensorFlow 1
        had in their place."""
        self.nodes = self._rewritten(self.nodes, [self.nodes.place(x)[0] for x in fetched])

    def _rewritten(self, nodes: Nodes, wanted: Sequence[str]) -> Nodes:
        """The nodes that some need, without TensorFlow 1's control flow."""
        kept = [nodes.by_name[name] for name in nodes.ancestors(wanted)]
        if all(node.op not in (*ENTER, *SWITCH) for node in kept):
            return nodes
        made = rewritten(kept, wanted, list(self.library))
        self.library |= {f.signature.name: f for f in made.functions}
        self.refused |= made.refused
        return Nodes(nodes.file, made.nodes.values(), sorted(nodes.arguments))

    def inline(self) -> None:
        """Put the nodes of functions in place of their calls, so that they have names here."""
        self.nodes = inlined(self.nodes, self.library)

    def numeric_values(self, fetched: Sequence[str]) -> list[str]:
        """The values behind all that is text or has no row, functions' as `inline` names them."""

        def has_row(op: str) -> bool:
            return TENSORFLOW.find(Node("", op, 1, "", (), ())) is not None

        nodes = inlined(self.nodes, self.library)
        return numeric_values(nodes, fetched, lambda n: is_of_numbers(n, self.library, has_row))

    # --- what a graph takes and gives, where nobody says it

    def placeholders(self, fetched: Sequence[str], fed: Sequence[str] = ()) -> list[Feed]:
        """Feeds for the placeholders that fetched values need, in the file's order."""
        ordered = self._ordered(self.nodes, fetched, [self.nodes.place(x) for x in fed])
        found = {node.name for node in ordered if node.op in _PLACEHOLDERS}
        return [self.feed(node.name) for node in self.graph_def.node if node.name in found]

    def feed(self, tensor: str, name: str = "") -> Feed:
        """A feed for a value, with what a placeholder states of it."""
        node_name, place = self.nodes.place(tensor)
        node = self.nodes.by_name[node_name]
        name = name or value_name(node_name, place)
        if not node.op.startswith("Placeholder"):
            number = self._number_of_dtype(node_name, place)
            dtype = None if number is None else self.meanings.dtype_of(number, name)
            # A row says the dtypes of an operator, not which input has which.
            return Feed(value_name(node_name, place), name, dtype, None, is_assumed=True)
        dtype = (
            self.meanings.dtype_of(node.attr["dtype"].type, name) if "dtype" in node.attr else None
        )
        stated = node.attr["shape"].WhichOneof("value") if "shape" in node.attr else None
        dims = self.meanings.shape(node.attr["shape"].shape) if stated == "shape" else None
        if dims == () and self.graph_def.versions.producer < _LEGACY:
            dims = None
        return Feed(node_name, name, dtype, dims)

    def _number_of_dtype(self, name: str, place: int) -> int | None:
        """The likely dtype of a value, by TensorFlow's number, as a node states it that takes the
        value; None if none does."""
        for node in self.nodes.by_name.values():
            for n, taken in enumerate(self.nodes.taken(node)):
                row = OPERATORS.get(node.op)
                if taken != (name, place) or row is None:
                    continue
                stated = row.types[min(n, len(row.types) - 1)] if row.types else ""
                if stated in node.attr and node.attr[stated].type:
                    return node.attr[stated].type
                if node.op == "IdentityN" and n < len(node.attr["T"].list.type):
                    return node.attr["T"].list.type[n]
        return None

    def sinks(self) -> list[str]:
        """The values that no node takes or waits for, of those that depend on placeholders if any
        do."""
        nodes = self.nodes.by_name.values()
        taken = {name for node in nodes for name, _ in self.nodes.taken(node)}
        taken |= {name for node in nodes for name in self.nodes.before(node)}
        ends = [
            node for node in nodes
            if node.name not in taken and node.op not in (*CHECKS, *ENTER, *SWITCH, "Const")
            and not changes(node.op, {})
        ]  # fmt: skip
        dependent = self._dependent()
        depending = [node for node in ends if node.name in dependent]
        found = [name for node in depending or ends for name in self._results(node)]
        if not found:
            raise ModelFileError(f"{self.file} has no node that could be an output: name outputs=")
        return found

    def _dependent(self) -> set[str]:
        """The nodes that depend on placeholders."""
        users: dict[str, list[str]] = {}
        for node in self.nodes.by_name.values():
            for name, _ in self.nodes.taken(node):
                users.setdefault(name, []).append(node.name)
        pending = [n.name for n in self.graph_def.node if n.op.startswith("Placeholder")]
        found: set[str] = set()
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending += users.get(name, ())
        return found

    def _results(self, node: Any) -> list[str]:
        """The names of all results of a node that states how many there are."""
        counts = {"Unpack": "num", "Split": "num_split", "SplitV": "num_split"}
        count = 1
        if node.op in counts:
            count = node.attr[counts[node.op]].i
        elif "Tout" in node.attr or node.op == "IdentityN":
            count = len(node.attr["Tout" if "Tout" in node.attr else "T"].list.type)
        elif node.op in ("TopKV2", "TopK"):
            count = 2
        return [value_name(node.name, n) for n in range(min(count, 1 << 10))]

    # --- reading

    def content(self, feeds: Sequence[Feed], fetches: Sequence[Fetch]) -> Content:
        """The part of the graph between feeds and fetches.

        Raises:
            ModelFileError: it is inconsistent.
            UnsupportedError: functions of the library call themselves.
        """
        inputs = tuple(Port(x.tensor, x.dtype, x.dims) for x in feeds)
        outputs = tuple(Port(self.nodes.value(x.tensor), x.dtype, x.dims) for x in fetches)
        graph = self._graph("graph", self.nodes, inputs, outputs, ())
        functions = {("", name): function for name, function in self.functions.items()}
        handles = {n.outputs[0]: n.attributes.get("shared_name") or n.name
                   for n in graph.nodes if n.op == "VarHandleOp"}  # fmt: skip
        changed = frozenset(self._effects(graph, handles)[1])
        return Content(
            self.file, graph, functions, self.parameters, self.facts, changed, self.tables
        )

    def _ordered(
        self, nodes: Nodes, wanted: Iterable[str], fed: Iterable[tuple[str, int]]
    ) -> list[Any]:
        """The nodes that values need, and those among them that must run, in order."""
        given = set(fed)
        starts = [nodes.place(x) for x in wanted]
        names = [name for name, place in starts if (name, place) not in given]
        ordered = in_order(nodes, names, given)
        writers = {n.name for n in ordered if self._writes(n)}
        kept = computed(nodes, ordered, [*names, *writers], given)
        if refused := [n.name for n in ordered if n.name in kept and n.name in self.refused]:
            raise UnsupportedError(f"{self.file}: {self.refused[refused[0]]}")
        return [node for node in ordered if node.name in kept]

    def _writes(self, node: Any) -> bool:
        """Whether a node changes variables, itself or by functions that it runs."""
        called = [self._facts_of(name) for name in self._called(node)]
        return any(f.effect == "write" for f in called) or (not called and changes(node.op, {}))

    def _called(self, node: Any) -> list[str]:
        """The functions of the library that a node runs."""
        names = [node.op] if node.op in self.library else []
        for value in node.attr.values():
            names += [x.name for x in (value.func, *value.list.func) if x.name in self.library]
        return names

    def _facts_of(self, name: str) -> Facts:
        self.function(name)
        return self.facts[name]

    def _graph(
        self,
        name: str,
        nodes: Nodes,
        inputs: tuple[Port, ...],
        outputs: tuple[Port, ...],
        controls: Sequence[str],
    ) -> Graph:
        fed = [nodes.place(p.name) for p in inputs]
        wanted = [*(p.name for p in outputs), *controls]
        ordered = self._ordered(nodes, wanted, fed)
        counts = {node.name: 0 for node in ordered}
        references = [nodes.place(p.name) for p in outputs]
        references += [x for node in ordered for x in nodes.taken(node)]
        for used, place in references:
            counts[used] = max(counts.get(used, 0), place + 1)
        constants: dict[str, np.ndarray] = {}
        weights: dict[str, str] = {}
        made = []
        for node in ordered:
            if (bound := self._bound(nodes, node)) is not None:
                constants[node.name] = bound
            elif node.op != "Const" or not self._constant(name, node, constants, weights):
                made.append(self._node(nodes, node, counts[node.name], set(fed)))
        writers = {node.name for node in ordered if self._writes(node)}
        also = frozenset(node.outputs[0] for node in made if node.name in writers)
        return Graph(name, inputs, outputs, tuple(made), constants, weights, also)

    def _node(self, nodes: Nodes, node: Any, count: int, fed: set[tuple[str, int]]) -> Node:
        outputs = [
            "" if (node.name, place) in fed else value_name(node.name, place)
            for place in range(count)
        ]
        attributes = {
            name: self.meanings.attribute(value, f"{self.file}, node '{node.name}', {name}")
            for name, value in node.attr.items()
            if not name.startswith("_")
        }
        inputs = tuple(value_name(*x) for x in nodes.taken(node))
        for called in self._called(node):
            self.function(called)
        return Node("", node.op, 1, node.name, inputs, tuple(outputs) or (f"^{node.name}",),
                    attributes)  # fmt: skip

    def _bound(self, nodes: Nodes, node: Any) -> np.ndarray | None:
        """The constant that min(c, max(d, x)) is where d is c or more; sizes of bins are such."""
        if node.op != "Minimum":
            return None
        outer = [nodes.by_name.get(name) for name, _ in nodes.taken(node)]
        limit = self._integer(outer)
        inner = next((x for x in outer if x is not None and x.op == "Maximum"), None)
        if limit is None or inner is None:
            return None
        least = self._integer([nodes.by_name.get(name) for name, _ in nodes.taken(inner)])
        return limit if least is not None and least >= limit else None

    def _integer(self, nodes: Sequence[Any]) -> np.ndarray | None:
        """The integer among nodes, behind what hands it on; None if none is one."""
        for node in nodes:
            if node is not None and node.op == "Const":
                array = self.meanings.tensor(node.attr["value"].tensor, node.name)
                if array.dtype.kind in "iu" and not array.ndim:
                    return array
        return None

    def _constant(
        self, graph: str, node: Any, constants: dict[str, np.ndarray], weights: dict[str, str]
    ) -> bool:
        """Enter a constant; not one whose value is repeated to be far larger than the file."""
        array = self.meanings.tensor(node.attr["value"].tensor, node.name)
        if array.size > 1 and not any(array.strides):
            self._repeated += array.nbytes
            if self._repeated > _MOST_REPEATED:
                return False
        constants[node.name] = array
        if array.ndim and (array.dtype.kind == "f" or array.dtype.name == "bfloat16"):
            name = node.name if graph == "graph" else f"{graph}/{node.name}"
            self.parameters[name] = array
            weights[node.name] = name
        return True

    # --- functions

    def function(self, name: str) -> Function:
        """A function of the library.

        Raises:
            UnsupportedError: it calls itself.
        """
        if name in self._open or len(self._open) > _MOST_DEPTH:
            raise UnsupportedError(
                f"{self.file} has functions that call themselves, or too many within each other, "
                f"at '{name}'"
            )
        if name not in self.functions:
            self._open.append(name)
            try:
                self._read_function(name, self.library[name])
            finally:
                self._open.pop()
        return self.functions[name]

    def _read_function(self, name: str, made: Any) -> None:
        arguments = [x.name for x in made.signature.input_arg]
        nodes = Nodes(f"{self.file}, function '{name}'", made.node_def, arguments)
        results = []
        for result in made.signature.output_arg:
            if result.name not in made.ret:
                raise ModelFileError(f"{nodes.file} does not say its result '{result.name}'")
            results.append(nodes.value(made.ret[result.name]))
        controls = [x for x in made.control_ret.values() if x in nodes.by_name]
        ends = [*(nodes.place(x)[0] for x in results), *controls]
        nodes = self._rewritten(nodes, [x for x in ends if x not in nodes.arguments])
        inputs = tuple(map(Port, arguments))
        graph = self._graph(name, nodes, inputs, tuple(map(Port, results)), controls)
        defaults = {k: self.meanings.attribute(v, nodes.file) for k, v in made.attr.items()
                    if not k.startswith("_")}  # fmt: skip
        self.functions[name] = Function(graph, defaults)
        self.facts[name] = self._found_facts(graph)

    def _found_facts(self, graph: Graph) -> Facts:
        """What running a graph does."""
        origins = {port.name: n for n, port in enumerate(graph.inputs)}
        effects, written = self._effects(graph, origins)
        effect = "write" if "write" in effects else "read" if "read" in effects else ""
        return Facts(effect, False, frozenset(written))

    def _effects(self, graph: Graph, handles: Mapping[str, Any]) -> tuple[set[str], set[Any]]:
        """The effects of a graph's nodes, and which of the handles they write.

        Args:
            handles: what stands for each value that is one.
        """
        effects: set[str] = set()
        written: set[Any] = set()
        origins = dict(handles)
        for node in graph.needed:
            if node.op == "Identity" and origins.keys() & node.inputs[:1]:
                origins[node.outputs[0]] = origins[node.inputs[0]]
            called = functions_of(node, self.library)
            for name in called:
                effects.add(self.facts[name].effect)
                count = len(self.functions[name].graph.inputs)
                given = dict(enumerate(node.inputs[len(node.inputs) - count :]))
                changed = [given.get(n, "") for n in self.facts[name].written]
                written |= {origins[x] for x in changed if x in origins}
            if not called and changes(node.op, {}):
                effects.add("write")
                written |= {origins[x] for x in node.inputs[:1] if x in origins}
            elif not called and node.op in OPERATORS:
                effects.add(OPERATORS[node.op].effect)
        return effects, written
