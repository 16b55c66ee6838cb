"""What is known of an op beside its meaning: the words in which its definition says it.

Every definition states its category, what an element costs and how exact its values are; what else
holds of it is stated where it does. Whoever wants to know asks the op: there are no lists of
opcodes elsewhere.
"""

import sys
from enum import Enum, Flag, IntEnum, auto

EVERY = sys.maxsize  # of the operands, however many there are


class Category(Enum):
    """What kind of thing an op is, as reports and pictures tell it."""

    ELEMENTWISE = "elementwise"
    MOVEMENT = "movement"
    COPY = "copy"
    REDUCTION = "reduction"
    PRODUCT = "product"
    CONTROL = "control"
    PARAMETER = "parameter"
    CONSTANT = "constant"
    OTHER = "other"


class Cost(IntEnum):
    """What one element takes, from nothing on.

    FREE: no code at all: the value is in memory before.
    MOVE: a load and a store.
    CHEAP: a few machine instructions.
    MODERATE: one slow instruction, or about twenty.
    EXPENSIVE: many, such as an exponential.
    LONG: a hundred and more, such as a sine.
    OWN: depends on more than the size of the result, or is that of what is called.
    """

    FREE = auto()
    MOVE = auto()
    CHEAP = auto()
    MODERATE = auto()
    EXPENSIVE = auto()
    LONG = auto()
    OWN = auto()


class Accuracy(IntEnum):
    """How far two correct computations of the op on the same operands may differ.

    BITS: not at all: bits are moved, or those of the sign changed, NaN's too; or other
        computations say, which are called.
    EXACT: only in which NaN a NaN is.
    ROUNDED: likewise; the result is rounded, once, to nearest.
    APPROXIMATE: by some units in the last place.
    SUMMED: by the order in which terms are taken.
    """

    BITS = auto()
    EXACT = auto()
    ROUNDED = auto()
    APPROXIMATE = auto()
    SUMMED = auto()


class Algebra(Flag):
    """The laws of an op of two operands; that of grouping holds up to rounding.

    COMMUTATIVE: op(x, y) = op(y, x). ASSOCIATIVE: op(op(x, y), z) = op(x, op(y, z)).
    IDEMPOTENT: op(x, x) = x.
    """

    NONE = 0
    COMMUTATIVE = auto()
    ASSOCIATIVE = auto()
    IDEMPOTENT = auto()
    FOLD = COMMUTATIVE | ASSOCIATIVE  # what a reduction may take in any order
    CHOICE = FOLD | IDEMPOTENT
