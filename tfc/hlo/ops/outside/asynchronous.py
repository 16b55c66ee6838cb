"""Asynchronous pairs: async-start and -done, all-reduce-start and -done, copy-start and -done …

    s = ((f32[4]), f32[4], s32[]) async-start(x), calls=f      f is run from here
    u = ((f32[4]), f32[4], s32[]) async-update(s)
    y = f32[4] async-done(u)                                   its result is here

What may run meanwhile may as well run before or after, so for the evaluator a start means the
whole operation and a done passes its result on. In a compiled program what is bound to an
async-start of one collective begins it, and what is bound to its async-done waits. A start's shape
is (operands, result, contexts), except that all-reduce-start's is the result's and copy-start's is
(result, operand, context).
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tfc.hlo.ir import Attributes, Computation, Instruction
from tfc.hlo.op import (
    OPS,
    Attribute,
    Bind,
    Call,
    Infer,
    Op,
    Value,
    describe,
    register,
    require,
)
from tfc.hlo.ops.control import require_arguments
from tfc.hlo.ops.outside.collectives import bind_start
from tfc.hlo.ops.outside.family import outside
from tfc.hlo.shape import U32, AnyShape, Shape, TupleShape
from tfc.hlo.specs import spec_of
from tfc.runtime.arrays import empty

Shapes = Sequence[AnyShape]


def packed(values: Sequence[Any], pack: Any) -> Any:
    """What stands for the operands in a start's result: the one, or a tuple of several."""
    return values[0] if len(values) == 1 else pack(tuple(values))


def _elements(op: str, shape: AnyShape) -> tuple[AnyShape, ...]:
    elements = shape.elements if isinstance(shape, TupleShape) else ()
    require(len(elements) > 1, op, "a tuple (operands, result, contexts)", shape)
    return elements


def _require_start(op: str, stated: AnyShape | None, operands: AnyShape, result: AnyShape):
    """A start's shape is (operands, result, contexts of any shape)."""
    require(stated is not None, op, "its result shape to be stated", "none")
    assert stated is not None
    first, second, *_ = _elements(op, stated)
    require(
        first.is_compatible(operands) and second.is_compatible(result),
        op,
        f"a stated result ({operands.without_layout()}, {result.without_layout()}, …)",
        stated,
    )
    return stated


def _infer_async_start(shapes: Shapes, a: Attributes, stated: AnyShape | None) -> AnyShape:
    require_arguments("async-start", a["calls"], shapes)
    return _require_start("async-start", stated, TupleShape(tuple(shapes)), a["calls"].root.shape)


def _evaluate_async_start(x: Instruction, values: Sequence[Value], call: Call) -> Value:
    return _started(x, tuple(values), call(x["calls"], values))


def _started(x: Instruction, operands: Value, result: Value) -> Value:
    return operands, result, *(empty(spec_of(s)) for s in contexts(x))


def contexts(x: Instruction) -> tuple[AnyShape, ...]:
    """The shapes of the context values that a start gives besides operands and result."""
    return x.shape.elements[2:] if isinstance(x.shape, TupleShape) else ()


class _UnderWay(threading.local):
    """What a thread has begun: for each start what waits for its end."""

    def __init__(self) -> None:
        self.ends: dict[Instruction, Callable[[], None]] = {}


_under_way = _UnderWay()


def _bind_async_start(x: Instruction, call: Call) -> Bind:
    """What begins the collective that is all of what a start calls."""
    collective = x["calls"].root

    def bind(given: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> Callable[[], None]:
        start = bind_start(collective, call, given, results)

        def run() -> None:
            _under_way.ends[x] = start()

        return run

    return bind


def _bind_async_done(x: Instruction, _: Call) -> Bind:
    """What waits for the collective that the thread has begun last at the operand."""

    def run() -> None:
        _under_way.ends.pop(x.operands[0])()

    return lambda given, results: run


def _infer_update(shapes: Shapes, _: Attributes, __: AnyShape | None) -> AnyShape:
    _elements("async-update", shapes[0])
    return shapes[0]


def _infer_done(op: str, index: int):
    def infer(shapes: Shapes, _: Attributes, __: AnyShape | None) -> AnyShape:
        return _elements(op, shapes[0])[index]

    return infer


def _infer_collective_start(base: Op) -> Infer:
    def infer(shapes: Shapes, a: Attributes, stated: AnyShape | None) -> AnyShape:
        parts = stated.elements if isinstance(stated, TupleShape) else ()
        result = base.infer(shapes, a, parts[1] if len(parts) > 1 else None)
        return _require_start(f"{base.name}-start", stated, packed(shapes, TupleShape), result)

    return infer


def _evaluate_collective_start(base: Op):
    def evaluate(x: Instruction, values: Sequence[Value], call: Call) -> Value:
        assert isinstance(x.shape, TupleShape)
        result = base.evaluate(sync(x), values, call)
        return _started(x, packed(values, tuple), result)

    return evaluate


def sync(start: Instruction) -> Instruction:
    """The synchronous collective that a -start of it stands for, on the same operands."""
    opcode = start.opcode.removesuffix("-start")
    alone = opcode == "all-reduce"
    shape = start.shape if alone else start.shape.elements[1]  # type: ignore[union-attr]
    return replace(start, opcode=opcode, shape=shape)


def _infer_copy_start(shapes: Shapes, _: Attributes, stated: AnyShape | None) -> AnyShape:
    expected = TupleShape((shapes[0], shapes[0], Shape(U32)))
    require(
        stated is not None and expected.is_compatible(stated),
        "copy-start", f"a stated result {expected.without_layout()}",
        describe([stated] if stated else []),
    )  # fmt: skip
    return stated or expected


def _evaluate_copy_start(_: Instruction, values: Sequence[Value], __: Call) -> Value:
    return values[0], values[0], np.uint32(0)


def _evaluate_same(_: Instruction, values: Sequence[Value], __: Call) -> Value:
    return values[0]


def _evaluate_element(index: int):
    return lambda x, values, call: values[0][index]


THREAD = Attribute("async_execution_thread", "string", required=False, default="main")
# Older text names the computation in all three; the one of the start is what counts.
_KNOWN = Attribute("calls", "known", required=False)
_PREFETCH = Attribute("cross_program_prefetch_index", "int", required=False)

# fmt: off
outside("async-start", None, _infer_async_start, _evaluate_async_start,
        (THREAD, Attribute("calls", "computation")), needs_shape=True, on_host=True,
        bind=_bind_async_start)
outside("async-update", 1, _infer_update, _evaluate_same, (THREAD, _KNOWN))
outside("async-done", 1, _infer_done("async-done", 1), _evaluate_element(1), (THREAD, _KNOWN),
        on_host=True, bind=_bind_async_done)
outside("copy-start", 1, _infer_copy_start, _evaluate_copy_start, (_PREFETCH,),
        needs_shape=True)
outside("copy-done", 1, _infer_done("copy-done", 0), _evaluate_element(0))
register(replace(OPS["all-reduce"], name="all-reduce-start"))
outside("all-reduce-done", 1, lambda shapes, a, stated: shapes[0], _evaluate_same)
for _name in ("all-gather", "collective-permute"):
    _base = OPS[_name]
    register(replace(_base, name=f"{_name}-start", infer=_infer_collective_start(_base),
                     evaluate=_evaluate_collective_start(_base), needs_shape=True))
    outside(f"{_name}-done", 1, _infer_done(f"{_name}-done", 1), _evaluate_element(1))
# fmt: on


def unsugared(opcode: str) -> tuple[Op, Op | None] | None:
    """The op of `negate-start`, `negate-update` or `negate-done`, and for a start what it runs.

    XLA writes an async-start of one instruction so. The op of a start has the attributes of both.
    """
    for suffix in ("-start", "-update", "-done"):
        base = OPS.get(opcode.removesuffix(suffix))
        if opcode.endswith(suffix) and base is not None:
            if suffix != "-start":
                return OPS["async" + suffix], None
            if base.attributes and base.attributes[0].kind == "operand":
                return None
            both = (*base.attributes, THREAD)
            return replace(OPS["async-start"], attributes=both, arity=base.arity), base
    return None


def wrapped(
    base: Op, operands: Sequence[Instruction], stated: AnyShape | None, attributes: dict[str, Any]
) -> Attributes:
    """The attributes of the async-start that runs one instruction of an op.

    Args:
        attributes: those of the op, and of async-start.

    Raises:
        ShapeError: the instruction breaks the op's rule.
    """
    outer = {k: v for k, v in attributes.items() if k == THREAD.name}
    own = Attributes({k: v for k, v in attributes.items() if k != THREAD.name})
    shapes = [o.shape for o in operands]
    result = _elements("async-start", stated)[1] if stated is not None else None
    parameters = tuple(
        Instruction("parameter", (), s, Attributes(number=n), f"param_{n}")
        for n, s in enumerate(shapes)
    )
    inferred = base.infer(shapes, own, result)
    require(
        result is None or inferred.is_compatible(result),
        f"{base.name}-start", f"a result {inferred.without_layout()}", result,
    )  # fmt: skip
    root = Instruction(base.name, parameters, result or inferred, own, base.name)
    called = Computation(f"async_{base.name}", parameters, (*parameters, root), root)
    return Attributes(outer, calls=called)
