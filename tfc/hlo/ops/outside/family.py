"""The family of operations whose meaning is not in their operands' elements."""

from typing import Any

from tfc.hlo.op import Op, register
from tfc.hlo.traits import Accuracy, Category, Cost


def outside(*given: Any, accuracy: Accuracy = Accuracy.BITS, **traits: Any) -> Op:
    """Define an op that talks to the host, or is begun and ended: bits arrive as they were sent."""
    op = Op(*given, category=Category.OTHER, cost=Cost.OWN, accuracy=accuracy, **traits)
    return register(op)


def passing(*given: Any, **traits: Any) -> Op:
    """Define an op that gives an operand as it is, for the sake of order or of what it says."""
    op = Op(*given, category=Category.OTHER, cost=Cost.FREE, accuracy=Accuracy.BITS, **traits)
    return register(op)
