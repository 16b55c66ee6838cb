"""Map and scan: a computation applied to every element of arrays, or to their slices in turn.

Semantics: MAP-1 and MAP-2 of the operation semantics; scan is XLA's. A scan walks along one
dimension of its inputs. Each step is given the inputs' slices there and the carried values, which
begin as the init operands, and gives slices of the outputs and the next carried values:

    outputs…, carries… = scan(inputs…, inits…), dimensions={d}, num_carries=n, to_apply=step
    step: (slice of each input…, carry…) -> (slice of each output…, carry…)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.hlo.evaluation.scalar_computations import apply_to_elements, is_pointwise
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import (
    Attribute,
    Call,
    Op,
    Value,
    describe,
    register,
    require,
    require_array,
    require_computation,
)
from tfc.hlo.ops.contraction import one_or_tuple
from tfc.hlo.ops.movement import require_dimensions
from tfc.hlo.shape import AnyShape, Shape, TupleShape
from tfc.hlo.traits import Accuracy, Category, Cost

Array = np.ndarray


def _infer_map(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    operands, computation = [require_array("map", s) for s in shapes], a["to_apply"]
    require(bool(operands), "map", "at least one operand", 0)
    dims = operands[0].dims
    require(
        all(o.dims == dims for o in operands),
        "map", "operands of the same dimensions", describe(operands), "MAP-1",
    )  # fmt: skip
    require(
        a["dimensions"] == tuple(range(len(dims))),
        "map", f"the dimensions 0..{len(dims) - 1} in order", list(a["dimensions"]),
    )  # fmt: skip
    result = require_array("map", computation.root.shape)
    scalars = [Shape(o.element_type) for o in operands]
    require_computation("map", "to_apply", computation, scalars, Shape(result.element_type))
    return Shape(result.element_type, dims)


def _all_dimensions(operands: Sequence[AnyShape]) -> tuple[int, ...]:
    """What a map without dimensions goes over."""
    rank = operands[0].rank if operands and isinstance(operands[0], Shape) else 0
    return tuple(range(rank))


def _evaluate_map(x: Instruction, values: Sequence[Value], call: Call) -> Array:
    return np.array(apply_to_elements(x["to_apply"], values, call)[0])


def scan_parts(x: Instruction) -> tuple[int, int, int]:
    """(number of inputs, number of outputs, dimension) of a scan."""
    carries, results = x["num_carries"], len(_leaves(x["to_apply"].root.shape))
    return len(x.operands) - carries, results - carries, x["dimensions"][0]


def is_pointwise_scan(x: Instruction) -> bool:
    """True if the step of a scan combines slices of one shape element by element."""
    step, dims = x["to_apply"], without(x.operands[0].array_shape, x["dimensions"][0]).dims
    shapes = [*(p.shape for p in step.parameters), *_leaves(step.root.shape)]
    alike = all(isinstance(s, Shape) and s.dims == dims for s in shapes)
    return alike and all(is_pointwise(i, dims) for i in step.instructions)


def _leaves(shape: AnyShape) -> tuple[AnyShape, ...]:
    return shape.elements if isinstance(shape, TupleShape) else (shape,)


def without(shape: Shape, dimension: int) -> Shape:
    """The shape without a dimension: that of a slice along it."""
    return Shape(shape.element_type, shape.dims[:dimension] + shape.dims[dimension + 1 :])


def _infer_scan(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    arrays, computation = [require_array("scan", s) for s in shapes], a["to_apply"]
    carries = a["num_carries"]
    require(
        0 <= carries < len(arrays),
        "scan", f"at least one input besides its {carries} carries", f"{len(arrays)} operands",
    )  # fmt: skip
    require(len(a["dimensions"]) == 1, "scan", "one dimension", list(a["dimensions"]))
    count, (dimension,) = len(arrays) - carries, a["dimensions"]
    inputs, inits = arrays[:count], arrays[count:]
    for each in inputs:
        require_dimensions("scan", (dimension,), each.rank)
    length = inputs[0].dims[dimension]
    require(
        all(i.dims[dimension] == length for i in inputs),
        "scan", f"inputs of one size along dimension {dimension}", describe(inputs),
    )  # fmt: skip
    given = [require_array("scan", s) for s in _leaves(computation.root.shape)]
    require(
        len(given) >= max(carries, 1),
        "scan", f"to_apply of {carries} carries after its outputs", describe(given),
    )  # fmt: skip
    outputs = given[: len(given) - carries]
    slices = [without(i, dimension) for i in inputs]
    for each in outputs:
        require_dimensions("scan", (dimension,), each.rank + 1)
    require_computation(
        "scan", "to_apply", computation, [*slices, *inits],
        computation.root.shape if not inits else _like(computation.root.shape, [*outputs, *inits]),
    )  # fmt: skip
    stacked = [
        Shape(o.element_type, (*o.dims[:dimension], length, *o.dims[dimension:])) for o in outputs
    ]
    return _like(computation.root.shape, [*stacked, *inits])


def _like(shape: AnyShape, parts: Sequence[Shape]) -> AnyShape:
    return TupleShape(tuple(parts)) if isinstance(shape, TupleShape) else one_or_tuple(parts)


def _evaluate_scan(x: Instruction, values: Sequence[Value], call: Call) -> Value:
    count, outputs, dimension = scan_parts(x)
    rows = [np.moveaxis(v, dimension, 0) for v in values[:count]]
    carried: Sequence[Any] = values[count:]
    shapes = [s for s in _leaves(x["to_apply"].root.shape) if isinstance(s, Shape)][:outputs]
    stacked = [np.zeros((len(rows[0]), *s.dims), s.element_type.dtype) for s in shapes]
    for place in range(len(rows[0]))[:: -1 if x.attributes.get("is_reverse") else 1]:
        made = call(x["to_apply"], [*(r[place] for r in rows), *carried])
        parts = made if isinstance(made, tuple) else (made,)
        carried = parts[outputs:]
        for result, part in zip(stacked, parts):
            result[place] = part
    results = (*(np.moveaxis(s, 0, dimension) for s in stacked), *carried)
    return results if isinstance(x.shape, TupleShape) else results[0]


# fmt: off
register(Op("map", None, _infer_map, _evaluate_map,
            (Attribute("dimensions", "ints", default=_all_dimensions),
             Attribute("to_apply", "computation")),
            category=Category.OTHER, cost=Cost.OWN, accuracy=Accuracy.APPROXIMATE))
register(Op("scan", None, _infer_scan, _evaluate_scan,
            (Attribute("dimensions", "ints"), Attribute("num_carries", "int"),
             Attribute("is_reverse", "bool", required=False, default=False),
             # XLA prints it always; what it allows to reorder runs in order here.
             Attribute("is_associative", "bool", default=False),
             Attribute("to_apply", "computation")),
            category=Category.REDUCTION, cost=Cost.OWN, accuracy=Accuracy.APPROXIMATE))
# fmt: on
