"""The families of elementwise operations: what makes one of a line, and what they share.

A constructor takes what its ops differ in and gives what they have in common: shape rule,
evaluation, traits. What a definition does not state has no default; the registry asks for it by
name. Narrow floats are evaluated in f64 and rounded once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import (
    UNSTATED,
    Attribute,
    Call,
    Evaluate,
    Infer,
    Op,
    Value,
    describe,
    register,
    require,
    require_array,
)
from tfc.hlo.shape import AnyShape, ElementType, Shape, element_type_of
from tfc.hlo.traits import Accuracy, Algebra, Category, Cost

Array = np.ndarray
INT = frozenset({"signed", "unsigned"})
FLOAT = frozenset({"float"})
COMPLEX = frozenset({"complex"})
WHOLE = INT | {"pred"}
INEXACT = FLOAT | COMPLEX
NUMBER = INT | INEXACT
ORDERED = INT | FLOAT | {"pred"}
ANY = NUMBER | {"pred"}


def unary(
    name: str,
    domain: frozenset[str],
    meaning: Callable[[Array], Array],
    cost: Cost = UNSTATED,
    accuracy: Accuracy = UNSTATED,
    description: str = "",
    result: Callable[[ElementType], ElementType] = lambda t: t,
    **traits: Any,
) -> Op:
    """Define an op of one operand; `result` gives the result's type for the operand's."""

    def infer(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> Shape:
        shape = require_array(name, shapes[0])
        require_kind(name, shape.element_type, domain)
        return shape.with_element_type(result(shape.element_type))

    evaluate = _applied(meaning)
    traits = _of_complex(meaning, traits)
    return own_rule(name, 1, infer, evaluate, domain, cost, accuracy, description, **traits)


def function(
    name: str,
    domain: frozenset[str],
    meaning: Callable[[Array], Array],
    cost: Cost = UNSTATED,
    description: str = "",
    accuracy: Accuracy = Accuracy.APPROXIMATE,
    **traits: Any,
) -> Op:
    """Define an elementary function of floats, such as the sine."""
    return unary(
        name, domain, meaning, cost, accuracy, description, transcendental=True, **traits
    )  # fmt: skip


def binary(
    name: str,
    domain: frozenset[str],
    meaning: Callable[[Array, Array], Array],
    cost: Cost = UNSTATED,
    accuracy: Accuracy = UNSTATED,
    algebra: Algebra = UNSTATED,
    description: str = "",
    **traits: Any,
) -> Op:
    """Define an op of two operands of the same shape, which is the result's."""
    infer, evaluate = partial(infer_alike, name, domain), _applied(meaning)
    traits = _of_complex(meaning, traits | {"algebra": algebra})
    return own_rule(name, 2, infer, evaluate, domain, cost, accuracy, description, **traits)


def own_rule(
    name: str,
    arity: int,
    infer: Infer,
    evaluate: Evaluate,
    domain: frozenset[str],
    cost: Cost = UNSTATED,
    accuracy: Accuracy = UNSTATED,
    description: str = "",
    attributes: tuple[Attribute, ...] = (),
    **traits: Any,
) -> Op:
    """Define an elementwise op with a shape rule of its own; `traits` are other fields of Op."""
    op = Op(
        name, arity, infer, evaluate, attributes, domain=domain, category=Category.ELEMENTWISE,
        cost=cost, accuracy=accuracy, description=description, **traits,
    )  # fmt: skip
    return register(op)


def _applied(meaning: Callable[..., Array]) -> Evaluate:
    """The evaluation of an op that is a function of NumPy's arrays."""

    def evaluate(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
        return apply(meaning, instruction.array_shape.element_type, values)

    return evaluate


def require_kind(op: str, element_type: ElementType, domain: frozenset[str]) -> None:
    """Check that an operand's element type is of an allowed kind.

    Raises:
        ShapeError: it is not.
    """
    if element_type.kind not in domain:
        require(False, op, f"operands of type {' or '.join(sorted(domain))}", element_type)


def infer_alike(
    name: str,
    domain: frozenset[str],
    shapes: Sequence[AnyShape],
    _: Attributes,
    __: AnyShape | None,
) -> Shape:
    """The shape rule of most ops: the operands have one shape, which is the result's.

    Raises:
        ShapeError: the shapes differ, or the element type is of another kind.
    """
    first, *rest = (require_array(name, s) for s in shapes)
    require(
        all(first.is_compatible(other) for other in rest),
        name,
        "operands of the same shape",
        describe(shapes),
        "BIN-1",
    )
    require_kind(name, first.element_type, domain)
    return first


def apply(meaning: Callable[..., Array], result: ElementType, values: Sequence[Array]) -> Array:
    """Apply a NumPy function quietly and round to the result's type; narrow floats compute in f64.

    Types without NumPy arithmetic of their own (bf16, f8 …) are exact in f64, so one rounding is
    all that happens. 4-bit integers compute in 8 bits and wrap.
    """
    with np.errstate(all="ignore"):
        return np.asarray(meaning(*map(widened, values))).astype(result.dtype, copy=False)


def widened(value: Array) -> Array:
    """The values in a type that NumPy computes in: narrow floats in f64, 4-bit integers in 8."""
    element_type = element_type_of(value.dtype)
    if element_type.bits == 4:
        return value.astype(np.int8 if element_type.kind == "signed" else np.uint8)
    return value.astype(np.float64) if element_type.is_float else value


def of_bits(
    name: str,
    arity: int,
    meaning: Callable[..., Array],
    cost: Cost = UNSTATED,
    description: str = "",
    **traits: Any,
) -> Op:
    """Define an op on the bits of integers: `meaning` takes them as u64, and the width."""

    def evaluate(instruction: Instruction, values: Sequence[Value], _: Call) -> Array:
        shape = instruction.array_shape
        patterns = (_pattern(v, shape.element_type) for v in values)
        return _from_pattern(meaning(*patterns, shape.element_type.bits), shape.element_type)

    infer = partial(infer_alike, name, INT)
    return own_rule(
        name, arity, infer, evaluate, INT, cost, Accuracy.BITS, description, **traits
    )  # fmt: skip


def _pattern(x: Array, element_type: ElementType) -> Array:
    """The bits of integers as u64, those beyond the width zero."""
    wide = x.astype(np.int64 if element_type.kind == "signed" else np.uint64).view(np.uint64)
    return wide & np.uint64(2**element_type.bits - 1)


def _from_pattern(bits: Array, element_type: ElementType) -> Array:
    """The integers whose lowest bits are given as u64; the inverse of `_pattern`."""
    unused = np.uint64(64 - element_type.bits)
    raised = np.left_shift(bits, unused, dtype=np.uint64)
    if element_type.kind == "signed":
        return (raised.view(np.int64) >> unused.astype(np.int64)).astype(element_type.dtype)
    return (raised >> unused).astype(element_type.dtype)


@dataclass(frozen=True)
class or_complex:
    """A meaning for real numbers and another, a formula that rounds at each step, for complex."""

    real: Callable[..., Array]
    of_complex: Callable[..., Array]

    def __call__(self, *values: Array) -> Array:
        return (self.of_complex if values[0].dtype.kind == "c" else self.real)(*values)


def _of_complex(meaning: Callable[..., Array], traits: dict[str, Any]) -> dict[str, Any]:
    """The traits, with what the meaning says about complex numbers."""
    if isinstance(meaning, or_complex):
        return {"complex_accuracy": Accuracy.APPROXIMATE} | traits
    return traits
