"""The ring of stages in shared memory through which boxes go, and who acts in it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.arithmetic.value import Scalar, constant, select
from tfc.backends.mlir.provider import ir, scf
from tfc.hlo.shape import U32


@dataclass(frozen=True)
class Place:
    """Where in the ring a thread is, and the parity of the phases that it waits for there."""

    stage: Scalar
    parity: Scalar

    @staticmethod
    def first() -> list[Any]:
        """What loops carry for the first place."""
        return [constant(U32, 0).value] * 2

    @staticmethod
    def of(values: Sequence[Any]) -> "Place":
        """The place that a loop carries."""
        stage, parity = (Scalar(v, U32) for v in values)
        return Place(stage, parity)

    @property
    def values(self) -> list[Any]:
        """What loops carry."""
        return [self.stage.value, self.parity.value]

    def next(self, stages: int) -> "Place":
        """The stage after it; once around, the parity of phases is the other one."""
        is_last = self.stage.eq(stages - 1)
        turned = select(is_last, self.parity ^ 1, self.parity)
        return Place(select(is_last, 0, self.stage + 1), turned)


@contextmanager
def where(condition: Scalar) -> Iterator[None]:
    """A context in which code is emitted that runs where a condition holds."""
    with ir.InsertionPoint(scf.IfOp(condition.value).then_block):
        yield
        scf.yield_([])
