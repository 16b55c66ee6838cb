"""A variable's value where it has one, its initial value elsewhere: a choice when it is run."""

from tfc.graph.graph import Graph
from tfc.graph.operation import Tensor
from tfc.graph.subgraph import Subgraph
from tfc.graph.types.shapes import TensorShape


def value_or_initial(graph: Graph, handle: Tensor, initial: Tensor, shape: TensorShape) -> Tensor:
    """What the variable of a handle holds, or the initial value while it holds nothing."""
    name = graph.unique_name(f"{handle.op.name}/initialized_value")
    kinds = {"ReadVariableOp": f"{name}_read", "Identity": f"{name}_initial"}
    bodies = [_body(graph, body, type, handle, initial, shape) for type, body in kinds.items()]
    known = graph.create_operation("VarIsInitializedOp", [handle]).outputs[0]
    attributes = {
        "Tcond": known.dtype,
        "Tin": [handle.dtype, initial.dtype],
        "Tout": [initial.dtype],
        "then_branch": bodies[0],
        "else_branch": bodies[1],
    }
    inputs, spec = [known, handle, initial], (initial.dtype, shape)
    return graph.create_operation("If", inputs, attributes, "cond", [spec]).outputs[0]


def _body(
    graph: Graph, name: str, type: str, handle: Tensor, initial: Tensor, shape: TensorShape
) -> Subgraph:
    """A branch: both take the handle and the initial value."""
    body = Subgraph(graph, name)
    with body.building():
        taken = body.parameter(handle.dtype, handle.shape, "handle")
        taken.element = handle.element
        other = body.parameter(initial.dtype, shape, "initial")
        chosen, attributes = (other, {"T": initial.dtype})
        if type == "ReadVariableOp":
            chosen, attributes = taken, {"dtype": initial.dtype}
        body.outputs.append(body.create_operation(type, [chosen], attributes).outputs[0])
    return body
