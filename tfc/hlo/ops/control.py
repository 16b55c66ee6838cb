"""Structure and control: parameter, constant, tuples, call, fusion, conditional, while.

Semantics: CND-1…4, WH-1…4 and sections 1.6, 1.24, 1.42 of the operation semantics. These ops name
other computations as attributes; `call` in `evaluate` runs one.
"""

from collections.abc import Sequence

from tfc.hlo.ir import Attributes, Computation, Instruction
from tfc.hlo.op import (
    Attribute,
    Call,
    Op,
    Value,
    describe,
    register,
    require,
    require_array,
    require_stated,
)
from tfc.hlo.shape import PRED, S32, AnyShape, TokenShape, TupleShape
from tfc.hlo.traits import Accuracy, Category, Cost


def _infer_parameter(_: Sequence[AnyShape], __: Attributes, stated: AnyShape | None) -> AnyShape:
    if isinstance(stated, (TupleShape, TokenShape)):
        return stated
    return require_stated("parameter", stated)


def _evaluate_parameter(x: Instruction, _: Sequence[Value], __: Call) -> Value:
    raise AssertionError(f"parameter {x.name} is bound by its caller, never evaluated")


def _infer_constant(_: Sequence[AnyShape], a: Attributes, stated: AnyShape | None) -> AnyShape:
    shape = a["literal"].shape
    if stated is None:
        return shape
    require(
        shape.is_compatible(stated),
        "constant",
        "a literal of the stated shape",
        describe([stated, shape]),
    )
    return stated


def _evaluate_constant(x: Instruction, _: Sequence[Value], __: Call) -> Value:
    return x["literal"].array


def _infer_tuple(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> AnyShape:
    return TupleShape(tuple(shapes))


def _evaluate_tuple(_: Instruction, values: Sequence[Value], __: Call) -> Value:
    return tuple(values)


def _infer_element(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    shape = shapes[0]
    name = "get-tuple-element"
    require(isinstance(shape, TupleShape), name, "a tuple operand", describe(shapes))
    assert isinstance(shape, TupleShape)
    require(
        0 <= a["index"] < len(shape.elements),
        name,
        f"an index within 0..{len(shape.elements) - 1}",
        a["index"],
    )
    return shape.elements[a["index"]]


def _evaluate_element(x: Instruction, values: Sequence[Value], _: Call) -> Value:
    return values[0][x["index"]]


def require_arguments(op: str, computation: Computation, shapes: Sequence[AnyShape]) -> None:
    """Check that a computation's parameters take values of the given shapes.

    Raises:
        ShapeError: their number or shapes differ.
    """
    expected = [p.shape for p in computation.parameters]
    require(
        len(shapes) == len(expected) and all(a.is_compatible(b) for a, b in zip(shapes, expected)),
        op,
        f"arguments {describe(expected)} for {computation.name}",
        describe(shapes),
    )


def _infer_call(key: str, name: str):
    def infer(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
        require_arguments(name, a[key], shapes)
        return a[key].root.shape

    return infer


def _evaluate_call(key: str):
    return lambda x, values, call: call(x[key], values)


def _infer_while(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    condition, body, state = a["condition"], a["body"], shapes[0]
    require_arguments("while", condition, shapes)
    require_arguments("while", body, shapes)
    test = require_array("while", condition.root.shape)
    require(
        test.element_type == PRED and test.rank == 0,
        "while",
        "a condition with a scalar pred as its result",
        test,
        "WH-1",
    )
    require(
        body.root.shape.is_compatible(state),
        "while",
        f"a body whose result has the state's shape {state.without_layout()}",
        body.root.shape.without_layout(),
        "WH-2",
    )
    return state


def _evaluate_while(x: Instruction, values: Sequence[Value], call: Call) -> Value:
    state = values[0]
    while call(x["condition"], [state]):
        state = call(x["body"], [state])
    return state


def branches(instruction: Instruction) -> tuple[Computation, ...]:
    """A conditional's branches: for a pred (true, false), for an s32 in the order of the index."""
    attributes = instruction.attributes
    if "branch_computations" in attributes:
        return attributes["branch_computations"]
    return attributes["true_computation"], attributes["false_computation"]


def _infer_conditional(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    requirement = "a scalar to choose the branch, and an operand for each"
    require(bool(shapes), "conditional", requirement, describe(shapes))
    selector = require_array("conditional", shapes[0])
    by_index = "branch_computations" in a
    require(
        selector.rank == 0 and selector.element_type == (S32 if by_index else PRED),
        "conditional",
        f"a scalar {'s32' if by_index else 'pred'} to choose the branch",
        selector,
        "CND-1",
    )
    require(
        by_index or ("true_computation" in a and "false_computation" in a),
        "conditional",
        "true_computation and false_computation, or branch_computations",
        sorted(a),
    )
    called = (
        a["branch_computations"] if by_index else (a["true_computation"], a["false_computation"])
    )
    require(
        len(called) == len(shapes) - 1 and len(called) > 0,
        "conditional",
        "one operand for each branch",
        f"{len(called)} branches, {len(shapes) - 1} operands",
        "CND-2",
    )
    for computation, shape in zip(called, shapes[1:]):
        require_arguments("conditional", computation, [shape])
        require(
            computation.root.shape.is_compatible(called[0].root.shape),
            "conditional",
            "branches with results of one shape",
            describe([c.root.shape for c in called]),
            "CND-3",
        )
    return called[0].root.shape


def _evaluate_conditional(x: Instruction, values: Sequence[Value], call: Call) -> Value:
    called = branches(x)
    if "branch_computations" in x.attributes:
        # An index out of range takes the last branch, as in XLA.
        chosen = int(values[0]) if 0 <= values[0] < len(called) else len(called) - 1
    else:
        chosen = 0 if values[0] else 1
    return call(called[chosen], [values[1 + chosen]])


# fmt: off
register(Op("parameter", 0, _infer_parameter, _evaluate_parameter,
            (Attribute("number", "operand"),), needs_shape=True,
            category=Category.PARAMETER, cost=Cost.FREE, accuracy=Accuracy.BITS))
register(Op("constant", 0, _infer_constant, _evaluate_constant,
            (Attribute("literal", "operand"),), needs_shape=True,
            category=Category.CONSTANT, cost=Cost.FREE, accuracy=Accuracy.BITS, any_order=True))
register(Op("tuple", None, _infer_tuple, _evaluate_tuple,
            category=Category.CONTROL, cost=Cost.FREE, accuracy=Accuracy.BITS))
register(Op("get-tuple-element", 1, _infer_element, _evaluate_element,
            (Attribute("index", "int"),),
            category=Category.CONTROL, cost=Cost.FREE, accuracy=Accuracy.BITS))
register(Op("call", None, _infer_call("to_apply", "call"), _evaluate_call("to_apply"),
            (Attribute("to_apply", "computation"),
             Attribute("is_composite", "bool", required=False)),
            category=Category.CONTROL, cost=Cost.OWN, accuracy=Accuracy.BITS))
register(Op("fusion", None, _infer_call("calls", "fusion"), _evaluate_call("calls"),
            (Attribute("kind", "name", choices=("kLoop", "kInput", "kOutput", "kCustom")),
             Attribute("output_to_operand_aliasing", "raw", required=False),
             Attribute("calls", "computation")), needs_shape=True,
            category=Category.CONTROL, cost=Cost.OWN, accuracy=Accuracy.BITS))
register(Op("while", 1, _infer_while, _evaluate_while,
            (Attribute("condition", "computation"), Attribute("body", "computation")),
            category=Category.CONTROL, cost=Cost.OWN, accuracy=Accuracy.BITS))
register(Op("conditional", None, _infer_conditional, _evaluate_conditional,
            (Attribute("true_computation", "computation", required=False),
             Attribute("false_computation", "computation", required=False),
             Attribute("branch_computations", "computations", required=False)),
            category=Category.CONTROL, cost=Cost.OWN, accuracy=Accuracy.BITS))
# fmt: on
