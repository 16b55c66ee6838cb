"""Gradients of operations that run subgraphs: operations that run the gradients of those.

The gradient of a subgraph is a subgraph: a copy of what the first does, and what `gradients` makes
of it. So gradients that the user registered hold within branches and bodies as well.
"""

from collections.abc import Sequence
from typing import Any

from tfc.errors import UnsupportedError
from tfc.graph.building import result
from tfc.graph.control.facts import facts, subgraphs
from tfc.graph.control.gradient_rows import deciding
from tfc.graph.control.rows import carried
from tfc.graph.differentiation.gradients import gradients, held, is_differentiable
from tfc.graph.differentiation.registered import RegisterGradient
from tfc.graph.evaluation import order
from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.operators.registry import find
from tfc.graph.subgraph import Subgraph, agree
from tfc.graph.types.dtypes import resource


class Copy(Subgraph):
    """A subgraph that begins as a copy of what another computes, under the same names.

    copies: its tensors for those of the other one.
    """

    def __init__(self, outer: Graph, of: Subgraph):
        super().__init__(outer, f"{of.name}_grad")
        self._of = of
        self.copies: dict[Tensor, Tensor] = {}
        for x in of.inputs:
            name = x.op.name
            self.copies[x] = self.parameter(x.dtype, x.shape, name, x.element)

    def admit(self, tensor: Tensor) -> Tensor:
        """As in any subgraph; a tensor of the other one is copied, and what it needs."""
        if tensor.graph is self._of:
            if tensor not in self.copies:
                self._copy(tensor.op)
            return self.copies[tensor]
        return super().admit(tensor)

    def _copy(self, wanted: Operation) -> None:
        """Copy an operation and what it takes; what does more than compute is left out.

        Raises:
            UnsupportedError: it reads a variable that the subgraph writes.
        """
        for op in order([wanted], self.copies.keys()):
            row = find(op.type, op.attributes)
            if row.effect == "write" and not op.outputs:
                continue
            if all(x in self.copies for x in op.outputs):
                continue
            if row.effect and any(x in self._written() for x in op.inputs):
                raise UnsupportedError(
                    f"{op.name!r} reads a variable that the branch or loop around it assigns to, "
                    "and so has no gradient: read it outside, or use stop_gradient"
                )
            type = "Identity" if op.type in ("Print", "CheckNumerics") else op.type
            inputs = [self.copies[x] for x in op.inputs[: 1 if type == "Identity" else None]]
            specs = [(x.dtype, x.shape) for x in op.outputs]
            with self.control_dependencies(None), self.name_scope(None):
                made = self.create_operation(type, inputs, op.attributes, op.name, specs)
            for x, y in zip(op.outputs, made.outputs):
                y.element = x.element
                self.copies[x] = y

    def _written(self) -> list[Tensor]:
        return [self._of.inputs[n] for n in facts(self._of).written]


def gradient_graph(
    of: Subgraph, outer: Graph, given: Sequence[int], wanted: Sequence[int]
) -> Subgraph:
    """The subgraph that takes another's inputs and gradients of its results, giving its inputs'.

    Args:
        given: the results whose gradients it takes, by number. wanted: the inputs, likewise.
    """
    made = Copy(outer, of)
    with made.building():
        ys = [made.admit(of.outputs[n]) for n in given]
        grads = []
        for n in given:
            dtype, shape = held(of.outputs[n])
            grads.append(made.parameter(dtype, shape, "gradient", of.outputs[n].element))
        xs = [made.copies[of.inputs[n]] for n in wanted]
        found = gradients(ys, xs, grads) if ys else [None] * len(xs)
        made.outputs = [
            made.admit(_zeros(x)) if gradient is None else gradient
            for x, gradient in zip(xs, found)
        ]
    return made


def _zeros(x: Tensor) -> Tensor:
    """Zeros as the gradient of an input: a variable's for its handle."""
    if x.dtype == resource:
        x = result("ReadVariableOp", x, dtype=held(x)[0])
    return result("ZerosLike", x)


def _wanted(inputs: Sequence[Tensor]) -> list[int]:
    return [n for n, x in enumerate(inputs) if is_differentiable(x)]


def _put(count: int, places: Sequence[int], made: Sequence[Tensor], first: int = 0) -> list[Any]:
    """Gradients at the places of an operation's inputs, None elsewhere."""
    found: list[Any] = [None] * count
    for place, gradient in zip(places, made):
        found[first + place] = gradient
    return found


@RegisterGradient("If")
@RegisterGradient("StatelessIf")
@RegisterGradient("Case")
@RegisterGradient("StatelessCase")
def _of_branches(op: Operation, *grads: Any) -> list[Any]:
    """The gradient of a choice is a choice among gradients."""
    graph = get_default_graph()
    branches = subgraphs(op.attributes)
    given = [n for n, g in enumerate(grads) if g is not None]
    wanted = _wanted(op.inputs[1:])
    made = [gradient_graph(b, graph, given, wanted) for b in branches]
    captured, controls = agree(made)
    attributes = dict(op.attributes)
    if "branches" in attributes:
        attributes["branches"] = tuple(made)
    else:
        attributes |= {"then_branch": made[0], "else_branch": made[1]}
    inputs = [*op.inputs, *(grads[n] for n in given), *captured]
    attributes["Tin"] = [x.dtype for x in inputs[1:]]
    attributes["Tout"] = [x.dtype for x in made[0].outputs]
    attributes["_forward"] = op
    with graph.control_dependencies(controls):
        results = graph.create_operation(op.type, inputs, attributes).outputs
    return _put(len(op.inputs), wanted, results, 1)


@RegisterGradient("PartitionedCall")
@RegisterGradient("StatefulPartitionedCall")
def _of_call(op: Operation, *grads: Any) -> list[Any]:
    graph = get_default_graph()
    given = [n for n, g in enumerate(grads) if g is not None]
    wanted = _wanted(op.inputs)
    made = gradient_graph(op.attributes["f"], graph, given, wanted)
    captured, controls = agree([made])
    inputs = [*op.inputs, *(grads[n] for n in given), *captured]
    with graph.control_dependencies(controls):
        attributes = {**op.attributes, "f": made, "_forward": op}
        results = graph.create_operation(op.type, inputs, attributes).outputs
    return _put(len(op.inputs), wanted, results)


@RegisterGradient("While")
@RegisterGradient("StatelessWhile")
def _of_loop(op: Operation, *grads: Any) -> list[Any]:
    """One operation, `WhileGrad`, which repeats the loop and then its body's gradient backwards."""
    if not op.attributes.get("_back_prop", True):
        return [None] * len(op.inputs)
    graph = get_default_graph()
    body = op.attributes["body"]
    moving = set(carried(body))
    wanted = _wanted(body.inputs)
    given = [n for n in wanted if n in moving]
    made = gradient_graph(body, graph, given, wanted)
    captured, controls = agree([made])
    inputs = [*op.inputs, *(grads[n] for n in wanted), *captured]
    attributes = {
        "cond": op.attributes["cond"],
        "body": body,
        "gradient": made,
        "wanted": wanted,
        "given": given,
        "_forward": op,
        "_on_host": op.attributes.get("_on_host", False) or not _is_counted(op),
    }
    with graph.control_dependencies(controls):
        specs = [held(op.inputs[n]) for n in wanted]
        results = graph.create_operation("WhileGrad", inputs, attributes, None, specs).outputs
    for n, x in zip(wanted, results):
        if x.dtype.numpy is None:
            x.element = op.inputs[n].element
    return _put(len(op.inputs), wanted, results)


def _is_counted(op: Operation) -> bool:
    """Whether a trace will know how often a loop repeats its body."""
    places = deciding(op.attributes["cond"], op.attributes["body"])
    return all(_is_known_in_traces(op.inputs[n]) for n in places)


_OF_SHAPES = ("Shape", "ShapeN", "Size", "Rank")


def _is_known_in_traces(tensor: Tensor) -> bool:
    """Whether constants and shapes alone decide a value, the shapes being those of a run."""
    left, seen = [tensor], set()
    while left:
        x = left.pop()
        graph = x.graph
        if isinstance(graph, Subgraph) and x in graph.inputs:
            outer = [o for o, inner in graph.captures.items() if inner is x]
            if not outer:
                return False
            left += outer
            continue
        if x.op in seen or x.op.type in (*_OF_SHAPES, "Const"):
            continue
        seen.add(x.op)
        row = find(x.op.type, x.op.attributes)
        if row.effect or row.on_host or not x.op.inputs:
            return False
        left += x.op.inputs
    return True
