"""The Op record: what one operation is, and the registry of all of them.

Everything that is not a gradient or an emission derives from this record: the printer, the parser,
the verifier, the evaluator, CSE keys, Tensor operators, StableHLO's names of elementwise ops and
random testing; passes ask it what they have to know (traits.py). An op is made by one call in the
table of its family (ops/elementwise/arithmetic.py, ops/movement.py, ops/control.py …).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tfc.errors import InternalError, ShapeError, UnsupportedError
from tfc.hlo.absent import ABSENT
from tfc.hlo.index_maps import Index, Piece
from tfc.hlo.ir import SIDE_EFFECTS, Attributes, Computation, Instruction
from tfc.hlo.shape import AnyShape, ElementType, Shape, TokenShape, TupleShape
from tfc.hlo.traits import EVERY, Accuracy, Algebra, Category, Cost

Value = Any  # an np.ndarray, or a tuple of Values; a token is the empty tuple
Call = Callable[[Computation, Sequence[Value]], Value]
Infer = Callable[[Sequence[AnyShape], Attributes, AnyShape | None], AnyShape]
Evaluate = Callable[[Instruction, Sequence[Value], Call], Value]
# (operands, results), as arrays where they lie -> what runs the instruction on them
Bind = Callable[[Sequence[Any], Sequence[Any]], Callable[[], None]]
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


UNSTATED: Any = None  # a trait that the definition has to state; see `register`


@dataclass(frozen=True)
class Op:
    """One operation.

    name: the opcode, as in HLO text.
    arity: the number of operands; None if any number is allowed.
    infer: (operand shapes, attributes, stated shape or None) -> result shape; raises ShapeError.
    evaluate: (instruction, operand values, call) -> value, in plain NumPy; the reference meaning.
    attributes: in the order in which they are printed.
    index_map: for data movement, which operand element each result element is.
    needs_shape: the text form must state the result shape, since nothing else gives it.
    domain: the kinds of element type allowed for the operands; empty for ops that take any.
    side_effect: whether an occurrence with these attributes does more than compute its value: it is
        kept, and runs once, in the order of the text (ir.Computation.effects).
    on_host: its meaning is in what surrounds the program (queues, other replicas), so backends
        call `evaluate` for it, while the program runs.
    bind: (instruction, call) -> a function that, given operands and results as arrays where they
        lie, gives what runs the instruction on them as often as it is called; for ops on_host that
        need no copies of their operands.
    category, cost, accuracy: required of every op; see traits.py.
    complex_accuracy: of complex numbers, where it is another.
    moved: required of data movement: how many of the operands are moved; those after them say
        where to, at run time.
    algebra: required of elementwise ops of two operands.
    neutral: the value of an element type that leaves every other as it is, for ops that fold.
    transcendental: an elementary function, of which XLA counts the results.
    monotone: monotonous in each operand while its sign is the same, so that what it gives for the
        least, for one and for the greatest numbers shows where all that it gives lies.
    aligned: how many of the operands, the first ones, have the result's dimensions, so that they
        best lie in memory as it does.
    any_order: its kernel walks over operands and result in whatever order they lie. Elementwise
        ops and movement do.
    description: what elementwise ops mean, in words; for the others reference.toml says it.
    numpy: the names of its function in tfc.numpy, if there is one made from the definition.
    stablehlo: the name of its operation in StableHLO or CHLO: that of the op in stablehlo when left
        out, None if there is no such operation.
    """

    name: str
    arity: int | None
    infer: Infer
    evaluate: Evaluate
    attributes: tuple[Attribute, ...] = ()
    index_map: IndexMap | None = None
    needs_shape: bool = False
    domain: frozenset[str] = frozenset()
    side_effect: Trait = never
    on_host: bool = False
    bind: "Callable[[Instruction, Call], Bind] | None" = None
    category: Category = UNSTATED
    cost: Cost = UNSTATED
    accuracy: Accuracy = UNSTATED
    complex_accuracy: Accuracy = UNSTATED
    moved: int = UNSTATED
    algebra: Algebra = UNSTATED
    neutral: Callable[[ElementType], Any] | None = None
    transcendental: bool = False
    monotone: bool = False
    aligned: int = 0
    any_order: bool = False
    description: str = ""
    numpy: tuple[str, ...] = ()
    stablehlo: str | None = ""
    elementwise: bool = field(init=False)  # result element i is made from the operands' elements i
    commutative: bool = field(init=False)
    folds: bool = field(init=False)  # a reduction by it may take its elements in any order

    def __post_init__(self) -> None:
        elementwise = self.category is Category.ELEMENTWISE
        algebra = self.algebra or Algebra.NONE
        derived: dict[str, Any] = {
            "elementwise": elementwise,
            "commutative": Algebra.COMMUTATIVE in algebra,
            "folds": Algebra.FOLD in algebra and self.neutral is not None,
            "any_order": self.any_order or elementwise or self.is_movement,
            "aligned": EVERY if elementwise else self.aligned,
        }
        if self.complex_accuracy is UNSTATED:
            derived["complex_accuracy"] = self.accuracy
        if not (elementwise and self.arity == 2):
            derived["algebra"] = algebra
        if self.stablehlo == "" and elementwise:
            derived["stablehlo"] = "stablehlo." + self.name.replace("-", "_")
        vars(self).update(derived)

    @property
    def is_movement(self) -> bool:
        """True if each result element is a copy of an operand element."""
        return self.index_map is not None

    @property
    def is_fixed_movement(self) -> bool:
        """True for movement of which every place is known before the program runs."""
        return self.is_movement and self.moved in (self.arity, EVERY)

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name, or None."""
        return next((a for a in self.attributes if a.name == name), None)

    def missing_traits(self) -> list[str]:
        """The names of the traits that the definition does not state, though it has to."""
        required: dict[str, type] = {
            "category": Category, "cost": Cost, "accuracy": Accuracy, "algebra": Algebra,
        }  # fmt: skip
        if self.is_movement:
            required["moved"] = int
        missing = [name for name, kind in required.items() if type(getattr(self, name)) is not kind]
        return missing + (["description"] if self.elementwise and not self.description else [])


OPS: dict[str, Op] = {}


def register(op: Op) -> Op:
    """Add an op to the registry; each name is defined once.

    Raises:
        InternalError: there is one of that name, or the definition lacks a trait.
    """
    if op.name in OPS:
        raise InternalError(f"op {op.name} is defined twice")
    missing = op.missing_traits()
    if missing:
        raise InternalError(f"op {op.name} does not state its {', '.join(missing)}")
    OPS[op.name] = op
    if op.side_effect is not never:
        SIDE_EFFECTS[op.name] = op.side_effect
    return op


def movement(
    name: str,
    arity: int | None,
    infer: Infer,
    evaluate: Evaluate,
    index_map: IndexMap,
    attributes: tuple[Attribute, ...] = (),
    category: Category = Category.MOVEMENT,
    **traits: Any,
) -> Op:
    """Define an op whose elements are copies of its operands'; `traits` are other fields of Op."""
    op = Op(
        name, arity, infer, evaluate, attributes, index_map, category=category,
        cost=Cost.MOVE, accuracy=Accuracy.BITS, **traits,
    )  # fmt: skip
    return register(op)


@contextmanager
def provisional() -> Iterator[None]:
    """What is registered within is forgotten at the end."""
    before, effects = dict(OPS), dict(SIDE_EFFECTS)
    try:
        yield
    finally:
        OPS.clear()
        OPS.update(before)
        SIDE_EFFECTS.clear()
        SIDE_EFFECTS.update(effects)


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
