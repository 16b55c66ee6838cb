"""Runs tests/programs: whole programs, each for a behaviour that its name says, on the CPU.

HLO text (.hlo) and StableHLO (.mlir) are compiled, and called with random and whole numbers;
the values must be the evaluator's.
"""

from pathlib import Path

import numpy as np
import pytest

import tfc
from tfc.hlo import parse, verify
from tfc.hlo.ir import Module
from tfc.testing import arguments_for
from tfc.testing.fuzz import problem

FILES = sorted(p for p in (Path(__file__).parent / "programs").iterdir())


def module_in(path: Path) -> Module:
    text = path.read_text()
    return tfc.from_stablehlo(text).hlo if path.suffix == ".mlir" else parse(text)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_program_computes_what_the_evaluator_says(path: Path):
    module = module_in(path)
    verify(module)
    for kind in ("normal", "whole"):
        assert problem(module, arguments_for(module, np.random.default_rng(0), kind), "cpu") is None
