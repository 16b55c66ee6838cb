"""Tokens, barriers and what a program asks about itself: after-all, opt-barrier, partition-id …

A token is a value without bytes. XLA orders what talks to the world by passing tokens along; here
the order of the text already is the order of effects, so tokens need only have the right shapes.
"""

from collections.abc import Sequence

import numpy as np

from tfc.errors import UnsupportedError
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import Attribute, Call, Value, describe, require, require_array
from tfc.hlo.ops.outside.family import outside, passing
from tfc.hlo.shape import S32, TOKEN, U32, AnyShape, Shape, TokenShape
from tfc.runtime.replicas import current


def require_token(op: str, shape: AnyShape) -> None:
    """Check that an operand is a token.

    Raises:
        ShapeError: it is something else.
    """
    require(isinstance(shape, TokenShape), op, "a token operand", shape)


def _infer_after_all(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> AnyShape:
    for shape in shapes:
        require_token("after-all", shape)
    return TOKEN


def _infer_dependency(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> AnyShape:
    require_token("add-dependency", shapes[1])
    return shapes[0]


def _infer_same(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> AnyShape:
    return shapes[0]


def _evaluate_first(_: Instruction, values: Sequence[Value], __: Call) -> Value:
    return values[0]


def _infer_id(_: Sequence[AnyShape], __: Attributes, ___: AnyShape | None) -> AnyShape:
    return Shape(U32)


def _dimension(op: str, shapes: Sequence[AnyShape], attributes: Attributes) -> Shape:
    shape, dimensions = require_array(op, shapes[0]), attributes["dimensions"]
    require(
        len(dimensions) == 1 and 0 <= dimensions[0] < shape.rank,
        op,
        f"one dimension of {shape.without_layout()}",
        list(dimensions),
    )
    return shape


def _infer_get_size(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    _dimension("get-dimension-size", shapes, a)
    return Shape(S32)


def _infer_set_size(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    shape = _dimension("set-dimension-size", shapes, a)
    require(
        shapes[1].is_compatible(Shape(S32)),
        "set-dimension-size",
        "a scalar s32 for the size",
        describe(shapes[1:]),
    )
    return shape


def _evaluate_set_size(x: Instruction, values: Sequence[Value], _: Call) -> Value:
    require_full_size(x, int(values[1]))
    return values[0]


def require_full_size(x: Instruction, size: int | None) -> None:
    """Check that a set-dimension-size sets the size that the dimension has; None is unknown.

    Raises:
        UnsupportedError: it makes the dimension dynamic.
    """
    full = x.array_shape.dims[x["dimensions"][0]]
    if size != full:
        got = "one known only when it runs" if size is None else size
        raise UnsupportedError(
            f"{x.name} would make a dimension dynamic, which is not supported: "
            f"the size must be the constant {full}, got {got}"
        )


# fmt: off
passing("after-all", None, _infer_after_all, lambda x, values, call: ())
passing("opt-barrier", 1, _infer_same, _evaluate_first)
passing("add-dependency", 2, _infer_dependency, _evaluate_first)
passing("domain", 1, _infer_same, _evaluate_first, (Attribute("domain", "raw"),))
outside("partition-id", 0, _infer_id, lambda x, values, call: np.uint32(current().partition),
        on_host=True)
outside("replica-id", 0, _infer_id, lambda x, values, call: np.uint32(current().replica),
        on_host=True)
passing("get-dimension-size", 1, _infer_get_size,
        lambda x, values, call: np.int32(values[0].shape[x["dimensions"][0]]),
        (Attribute("dimensions", "ints"),))
passing("set-dimension-size", 2, _infer_set_size, _evaluate_set_size,
        (Attribute("dimensions", "ints"),))
# fmt: on
