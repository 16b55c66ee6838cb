"""while_loop: a body is repeated while a condition holds."""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.frontend import tree
from tfc.graph.building import result
from tfc.graph.constants import constant
from tfc.graph.control.bodies import (
    Body,
    Parameter,
    body_of,
    call_structured,
    callable_of,
    flatten,
    leaf_like,
    tensor_of,
)
from tfc.graph.control.facts import facts
from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.subgraph import Subgraph, agree
from tfc.graph.types.dtypes import int32
from tfc.graph.types.shapes import TensorShape


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """loop_vars = body(*loop_vars) while cond(*loop_vars), when the graph is run.

    Args:
        cond: (*loop_vars) -> a boolean scalar tensor.
        body: (*loop_vars) -> the next ones, of the same structure, dtypes and shapes.
        loop_vars: a list or tuple of nested structures of tensors.
        shape_invariants: TensorShapes in the structure of loop_vars: what stays true of each. A
            loop whose shapes they let change runs on the host, as compiled code cannot.
        parallel_iterations, swap_memory: say nothing here; iterations come one after the other.
        back_prop: False for a loop without gradient.
        maximum_iterations: a scalar: how many iterations there are at most.
        return_same_structure: give back a list of one as such; it is taken apart otherwise.

    Raises:
        TypeError: a function is none, or an element changes its dtype. ValueError: there are no
            loop_vars, the body gives another structure, or a shape is not invariant.
    """
    cond, body = callable_of("cond", cond), callable_of("body", body)
    if not isinstance(loop_vars, (list, tuple)):
        loop_vars = [loop_vars]
    if not loop_vars:
        raise ShapeError("No loop variables provided")
    graph = get_default_graph()
    with graph.name_scope(name or "while") as scope:
        if maximum_iterations is not None:
            cond, body, loop_vars, shape_invariants = _counted(
                cond, body, loop_vars, shape_invariants, maximum_iterations
            )
        made = _Loop(graph, scope, loop_vars, shape_invariants).built(cond, body, back_prop)
    if maximum_iterations is not None:
        made = made[1]
    return made[0] if len(made) == 1 and not return_same_structure else made


def _counted(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, invariants: Any, most: Any
) -> tuple[Any, Any, Any, Any]:
    """The loop with a number of iterations before its variables, and a condition on it."""
    limit = tensor_of(most, int32)
    if not limit.shape.is_compatible_with(()):
        raise ShapeError(f"maximum_iterations must be a scalar, saw shape: {limit.shape}")

    def holds(number: Tensor, values: Any) -> Tensor:
        return result("LogicalAnd", result("Less", number, limit), cond(*values))

    def step(number: Tensor, values: Any) -> Any:
        made = body(*values)
        if not isinstance(made, (list, tuple)) or hasattr(made, "_fields"):
            made = [made]
        return result("AddV2", number, constant(1, limit.dtype)), type(loop_vars)(made)

    within = None if invariants is None else (TensorShape(()), invariants)
    return holds, step, (constant(0, limit.dtype), loop_vars), within


class _Loop:
    """A loop that is being built: its variables as leaves, what is known of each."""

    def __init__(self, graph: Graph, scope: str, loop_vars: Any, invariants: Any):
        self._graph, self._scope = graph, scope
        self._templates, self._structure = flatten(loop_vars)
        self._begun = [tensor_of(leaf) for leaf in self._templates]
        shapes = [x.shape for x in self._begun]
        if invariants is not None:
            shapes = _invariants(loop_vars, invariants)
            _check_invariants(self._begun, shapes)
        self._parameters = [Parameter.like(x, shape) for x, shape in zip(self._begun, shapes)]
        # Dimensions that may change in spite of what they begin with: host code only.
        self._may_change = any(s != x.shape and x.dtype.numpy is not None
                               for x, s in zip(self._begun, shapes))  # fmt: skip

    def built(self, cond: Callable[..., Any], body: Callable[..., Any], back_prop: bool) -> Any:
        """The operation, and the variables after it in their structure."""
        called = call_structured(self._structure, self._templates)
        test = body_of(f"{self._scope}cond", cond, self._parameters, called)
        dtypes = [x.dtype for x in self._begun]
        step = body_of(f"{self._scope}body", body, self._parameters, called, dtypes)
        _check_condition(test)
        self._check_body(step)
        graphs = [test.graph, step.graph]
        captured, controls = agree(graphs)
        step.graph.outputs += step.graph.inputs[len(self._begun) :]
        inputs = [*self._begun, *captured]
        attributes = {
            "T": [x.dtype for x in inputs],
            "cond": test.graph,
            "body": step.graph,
            "_back_prop": back_prop,
        }
        if self._may_change:
            attributes["_on_host"] = True
        return self._made(inputs, attributes, controls, graphs)

    def _made(
        self,
        inputs: Sequence[Tensor],
        attributes: dict[str, Any],
        controls: Any,
        graphs: Sequence[Subgraph],
    ) -> Any:
        shapes = [(p.dtype, p.shape) for p in graphs[1].inputs]
        type = "While" if any(facts(g).effect for g in graphs) else "StatelessWhile"
        with self._graph.control_dependencies(controls):
            made = self._graph.create_operation(type, inputs, attributes, "While", shapes).outputs
        for x, inside in zip(made, graphs[1].inputs):
            x.element = inside.element
        leaves = [leaf_like(t, x) for t, x in zip(self._templates, made)]
        return tree.unflatten(self._structure, leaves)

    def _check_body(self, body: Body) -> None:
        """Check that a body gives what it takes.

        Raises:
            ValueError: another structure, or a shape that is not invariant. TypeError: a dtype.
        """
        structure = body.structure
        if len(self._begun) == 1 == len(body.leaves):
            structure = self._structure  # a body of one variable may return it alone
        if len(body.leaves) != len(self._begun):
            raise ShapeError(
                "The number of inputs and outputs of body must match loop_vars: "
                f"{len(self._begun)}, got {len(body.leaves)}"
            )
        if not _is_alike(structure, self._structure):
            raise ShapeError(
                f"body must return the structure of loop_vars {self._structure}, got {structure}"
            )
        for parameter, begun, after in zip(self._parameters, self._begun, body.graph.outputs):
            if after.dtype != parameter.dtype:
                raise TraceError(
                    f"{begun.name} enters the loop with type {parameter.dtype.name}, but has type "
                    f"{after.dtype.name} after one iteration"
                )
            if after.dtype.numpy is not None and not _is_within(after.shape, parameter.shape):
                raise ShapeError(
                    f"The shape for {begun.name} is not an invariant for the loop. It enters the "
                    f"loop with shape {parameter.shape}, but has shape {after.shape} after one "
                    "iteration. Provide shape invariants using either the `shape_invariants` "
                    "argument of tf.while_loop or set_shape() on the loop variables."
                )


def _is_alike(one: tree.Structure, other: tree.Structure) -> bool:
    """Whether structures are the same, lists and tuples being alike at the top."""
    return one.children == other.children and (one.is_leaf == other.is_leaf)


def _is_within(shape: TensorShape, wider: TensorShape) -> bool:
    """Whether whatever has the one shape has the other."""
    if wider.dims is None:
        return True
    if shape.dims is None or len(shape.dims) != len(wider.dims):
        return False
    return all(w is None or n == w for n, w in zip(shape.dims, wider.dims))


def _check_condition(test: Body) -> None:
    """Check that a condition is one boolean scalar.

    Raises:
        TypeError: it is not.
    """
    if len(test.leaves) != 1 or not test.graph.outputs[0].dtype.is_bool:
        found = ", ".join(str(x) for x in test.graph.outputs) or "nothing"
        raise TraceError(f"cond must return a boolean scalar tensor, got {found}")
    if not test.graph.outputs[0].shape.is_compatible_with(()):
        raise ShapeError(f"cond must return a scalar, got shape {test.graph.outputs[0].shape}")


def _invariants(loop_vars: Any, invariants: Any) -> list[TensorShape]:
    """The shapes that are stated, one for each leaf."""
    if isinstance(loop_vars, dict):
        listed = [(loop_vars[key], invariants[key]) for key in sorted(loop_vars)]
    elif isinstance(loop_vars, (list, tuple)):
        if not isinstance(invariants, (list, tuple)) or len(invariants) != len(loop_vars):
            raise ShapeError("shape_invariants must have the structure of loop_vars")
        listed = list(zip(loop_vars, invariants))
    else:
        return [TensorShape(invariants)]
    return [shape for var, stated in listed for shape in _invariants(var, stated)]


def _check_invariants(begun: Sequence[Tensor], shapes: Sequence[TensorShape]) -> None:
    """Check that loop variables begin with shapes that their invariants allow.

    Raises:
        ValueError: one does not.
    """
    for x, shape in zip(begun, shapes):
        if x.dtype.numpy is not None and not _is_within(x.shape, shape):
            raise ShapeError(
                f"The shape invariant specified for {x.name} is not compatible with the initial "
                f"shape of the loop variable. It enters the loop with shape {x.shape}, but the "
                f"specified shape invariant is {shape}."
            )
