"""All that is measured, in the order of the table; a file for each family."""

from benchmarks.case import Case
from benchmarks.cases import (
    convolution,
    elementwise,
    gemm,
    indexed,
    loops,
    networks,
    reductions,
)

CASES: tuple[Case, ...] = tuple(
    case
    for family in (gemm, elementwise, reductions, indexed, loops, convolution, networks)
    for case in family.CASES
)


def find(key: str) -> Case:
    """The case of this key."""
    return next(case for case in CASES if case.key == key)
