"""The Op record: what one operation is, and the registry of all of them.

Everything that is not a gradient or an emission derives from this record: the printer, the parser,
the verifier, the evaluator, CSE keys, Tensor operators and random testing. An op is made by one
call in the table of its family (elementwise.py, movement.py, contraction.py, control.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.errors import ShapeError, UnsupportedError
from tfc.hlo.absent import ABSENT
from tfc.hlo.index_maps import Index, Piece
from tfc.hlo.ir import SIDE_EFFECTS, Attributes, Computation, Instruction
from tfc.hlo.shape import AnyShape, Shape, TokenShape, TupleShape

Value = Any  # an np.ndarray, or a tuple of Values; a token is the empty tuple
Call = Callable[[Computation, Sequence[Value]], Value]
Infer = Callable[[Sequence[AnyShape], Attributes, AnyShape | None], AnyShape]
Evaluate = Callable[[Instruction, Sequence[Value], Call], Value]
IndexMap = Callable[[Instruction, Sequence[Index]], Sequence[Piece]]
Trait = Callable[[Attributes], bool]


def never(_: Attributes) -> bool:
    """The trait that no occurrence of an op has."""
    return False


def always(_: Attributes) -> bool:
    """The trait that every occurrence of an op has."""
    return True


@dataclass(frozen=True)
class Attribute:
    """One attribute of an op.

    `kind` names its text form, a row of value_text.FORMS: "ints", "int", "float", "bool", "name",
    "string", "raw", "precisions", "slice", "padding", "window", "labels", "computation",
    "computations", "known", "shape", "shapes", "literal", "groups", "pairs"; or "operand", what
    stands between the parentheses. `default` is what text that leaves the attribute out means, or a
    function from the operands' shapes to that.
    Instructions always have a required attribute; another that equals its default is not printed.
    `choices` are the values of an attribute that is one word.
    """

    name: str
    kind: str
    required: bool = True
    default: Any = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Op:
    """One operation.

    name: the opcode, as in HLO text.
    arity: the number of operands; None if any number is allowed.
    infer: (operand shapes, attributes, stated shape or None) -> result shape; raises ShapeError.
    evaluate: (instruction, operand values, call) -> value, in plain NumPy; the reference meaning.
    attributes: in the order in which they are printed.
    elementwise: result element i depends on element i of each operand (scalar operands excepted).
    index_map: for data movement, which operand element each result element is.
    needs_shape: the text form must state the result shape, since nothing else gives it.
    domain: the kinds of element type allowed for the operands; empty for ops that take any.
    side_effect: whether an occurrence with these attributes does more than compute its value: it is
        kept, and runs once, in the order of the text (ir.Computation.effects).
    on_host: its meaning is in what surrounds the program (queues, other replicas), so backends
        call `evaluate` for it, while the program runs.
    """

    name: str
    arity: int | None
    infer: Infer
    evaluate: Evaluate
    attributes: tuple[Attribute, ...] = ()
    elementwise: bool = False
    index_map: IndexMap | None = None
    needs_shape: bool = False
    domain: frozenset[str] = frozenset()
    side_effect: Trait = never
    on_host: bool = False

    @property
    def is_movement(self) -> bool:
        """True if each result element is a copy of an operand element."""
        return self.index_map is not None

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name, or None."""
        return next((a for a in self.attributes if a.name == name), None)


OPS: dict[str, Op] = {}


def register(op: Op) -> Op:
    """Add an op to the registry; each name is defined once."""
    assert op.name not in OPS, f"op {op.name} is defined twice"
    OPS[op.name] = op
    if op.side_effect is not never:
        SIDE_EFFECTS[op.name] = op.side_effect
    return op


def op_named(name: str) -> Op:
    """The op of that opcode.

    Raises:
        UnsupportedError: tfc has no such op.
    """
    op = OPS.get(name)
    if op is not None:
        return op
    if name in ABSENT:
        raise UnsupportedError(f"tfc does not have '{name}': {ABSENT[name]}")
    raise UnsupportedError(f"unknown operation '{name}'")


def require(condition: bool, op: str, requirement: str, got: object, rule: str = "") -> None:
    """Check one constraint of a shape rule.

    Raises:
        ShapeError: "op requires requirement, got …", with the rule's id.
    """
    if not condition:
        cited = f" ({rule})" if rule else ""
        shown = got.without_layout() if isinstance(got, (Shape, TupleShape, TokenShape)) else got
        raise ShapeError(f"{op} requires {requirement}, got {shown}{cited}")


def require_array(op: str, shape: AnyShape) -> Shape:
    """The shape, known to be an array.

    Raises:
        ShapeError: it is a tuple or a token.
    """
    if not isinstance(shape, Shape):
        kind = "tuple" if isinstance(shape, TupleShape) else "token"
        raise ShapeError(f"{op} requires an array operand, got the {kind} {shape.without_layout()}")
    return shape


def require_stated(op: str, stated: AnyShape | None) -> Shape:
    """The shape that the instruction states, for ops whose operands do not give it.

    Raises:
        ShapeError: none is stated, or it is a tuple.
    """
    if stated is None:
        raise ShapeError(f"{op} requires its result shape to be stated")
    return require_array(op, stated)


def require_computation(
    op: str, name: str, computation: Computation, operands: Sequence[Shape], result: AnyShape
) -> None:
    """Check that the computation of an attribute takes operands of these shapes and gives `result`.

    Raises:
        ShapeError: it does not.
    """
    got = [p.shape for p in computation.parameters]
    require(
        len(got) == len(operands) and all(a.is_compatible(b) for a, b in zip(got, operands)),
        op, f"{name} of parameters {describe(operands)}", describe(got),
    )  # fmt: skip
    require(
        computation.root.shape.is_compatible(result),
        op, f"{name} of result {result.without_layout()}", computation.root.shape,
    )  # fmt: skip


@dataclass(frozen=True)
class describe:
    """Shapes as an error message lists them, put into words only when shown: checks are many."""

    shapes: Sequence[AnyShape]

    def __str__(self) -> str:
        return " and ".join(s.without_layout() for s in self.shapes) or "none"
