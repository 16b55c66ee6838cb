"""Random programs on the GPU beside the reference."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, seed
from hypothesis import strategies as st

from tfc.hlo import parse
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.testing.fuzz import drawing, outcome_of_program, programs
from tfc.testing.generators.values import arguments_for


def wrong_programs(
    types: Sequence[str],
    opcodes: Sequence[str],
    count: int,
    size: int,
    kinds: Sequence[str] = ("normal",),
) -> list[str]:
    """What is wrong with random programs, each beside its text.

    Args:
        count, size: how many programs, and about how many instructions each has.
        kinds: of the arguments' values.
    """
    found: list[str] = []
    strategy = programs(size, [ELEMENT_TYPES[t] for t in types], opcodes)

    @seed(count)
    @drawing(count)
    @given(strategy, st.integers(0, 1000), st.sampled_from(kinds))
    def one(text: str, number: int, kind: str) -> None:
        module = parse(text)
        arguments = arguments_for(module, np.random.default_rng(number), kind)
        outcome = outcome_of_program(module, arguments, "gpu")
        if outcome.wrong or outcome.refused:
            found.append(f"{outcome.wrong or outcome.refused}\n{text}")

    one()
    return found
