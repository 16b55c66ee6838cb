"""Random JAX programs: of all the functions named, the same for a seed, found wrong, made small."""

import random
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from click.testing import CliRunner

from tfc.backends.mlir.arithmetic import elemental
from tfc.cli import tfc as command
from tfc.testing.apart import Apart
from tfc.testing.jax_programs.drawing import DTYPE_SETS, JaxProgram, draw
from tfc.testing.jax_programs.program import Function, Ref, Step, Type, functions_in, source
from tfc.testing.jax_programs.running import fuzz_jax, run_program
from tfc.testing.jax_programs.shrinking import shrink
from tfc.testing.jax_programs.writer import FUNCTIONS, RefusedByJax, Writer

MATRIX = Type((3, 3), "float32")


def step(function: str, *numbers: int, type_: Type = MATRIX, **keywords: object) -> Step:
    return Step(function, tuple(map(Ref, numbers)), tuple(keywords.items()), None, type_)


def program(*steps: Step) -> JaxProgram:
    return JaxProgram(Function((MATRIX,), steps, (len(steps),), True), 1)


def nothing(stage: str) -> None:
    """Nobody asks at which stage it is."""


def test_a_seed_gives_the_same_programs():
    first, again = (
        [source(draw(rng).function) for _ in range(12)]
        for rng in (random.Random(4), random.Random(4))
    )
    assert first == again
    assert len(set(first)) == 12


def test_more_than_two_hundred_functions_are_drawn():
    """Each can be: where one dtype has no call of it another has."""
    assert len(FUNCTIONS) > 200

    def is_drawn(name: str) -> bool:
        for number in range(60):
            rng = random.Random(number)
            dtypes = DTYPE_SETS[number % len(DTYPE_SETS)]
            parameters = [MATRIX, Type((3,), "int32"), Type((2, 3), dtypes[0]), Type((), "int32")]
            with jax.enable_x64("float64" in dtypes):
                writer = Writer(rng, dtypes, (3, 2), parameters)
                try:
                    FUNCTIONS[name](writer, name)
                except RefusedByJax:
                    continue
                return True
        return False

    assert [name for name in FUNCTIONS if not is_drawn(name)] == []


def test_programs_have_transposes_of_temporaries_control_and_transformations():
    rng, seen = random.Random(1), set()
    for _ in range(40):
        function = draw(rng).function
        seen.update(functions_in(function))
        count = len(function.parameters)
        for made in function.steps:
            operands = [a.number for a in made.arguments if isinstance(a, Ref)]
            if made.function == "jnp.transpose" and operands[0] >= count:
                seen.add("transpose of a temporary")
    wanted = {"transpose of a temporary", "lax.cond", "lax.scan", "lax.fori_loop", "lax.sort",
              "helpers.mapped", "helpers.gradient", "helpers.at", "jnp.argsort"}  # fmt: skip
    assert not wanted - seen


def test_what_is_right_is_not_found_and_what_is_wrong_is(monkeypatch):
    right = program(step("jnp.add", 0, 0), step("jnp.transpose", 1))
    assert run_program(right, nothing).wrong == ""
    monkeypatch.setitem(elemental.EMISSION, "add", elemental.EMISSION["subtract"])
    assert "instead of" in run_program(right, nothing).wrong


def test_rounding_is_not_found():
    inexact = program(step("jnp.exp", 0), step("jnp.cumsum", 1, axis=1), step("jnp.tanh", 2))
    assert run_program(inexact, nothing).wrong == ""


def test_what_xla_simplifies_wrongly_is_not_found():
    place, wide = Type((1,), "int64"), Type((1,), "float64")
    steps = (
        Step("jnp.nonzero", (Ref(0),), (("size", 1), ("fill_value", 0)), 0, place),
        Step("helpers.fitted", (Ref(1), (1,), "float64"), (), None, wide),
        step("jnp.arctan2", 2, 2, type_=wide),
    )
    function = Function((Type((1, 1), "int32"),), steps, (3,), True)
    outcome = run_program(JaxProgram(function, 1, wide=True), nothing)
    assert outcome.wrong == ""
    assert "simplifies it" in outcome.oracle


def test_a_failing_program_is_made_small():
    rng = random.Random(2)
    large = next(
        p for _ in range(500)
        if "jnp.argsort" in functions_in((p := draw(rng)).function) and len(p.function.steps) > 5
    )  # fmt: skip

    def fails(function: Function) -> bool:
        return "jnp.argsort" in functions_in(function)

    small = shrink(large.function, fails)
    assert len(small.steps) <= 1
    assert fails(small)


def test_the_python_that_is_written_runs_the_program(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(Apart, "ask", lambda self, request, seconds: run_program(request, nothing))
    right = elemental.EMISSION["add"]
    monkeypatch.setitem(elemental.EMISSION, "add", elemental.EMISSION["subtract"])
    monkeypatch.setattr("tfc.testing.jax_programs.running.draw", lambda rng, size: program(
        step("jnp.cos", 0), step("jnp.add", 0, 1), step("jnp.sin", 2)))  # fmt: skip
    failure, *_ = fuzz_jax(0.5, 1, tmp_path).failures
    monkeypatch.setitem(elemental.EMISSION, "add", right)
    assert failure.path.read_text().startswith(f"// {failure.reason}\n// tfc run FILE")
    script = failure.path.with_suffix(".py")
    assert "jnp.add(x, y)" in script.read_text() or "jnp.add(x, x)" in script.read_text()
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("True")


def test_without_jax_one_sentence_says_what_to_install(monkeypatch):
    for name in [n for n in sys.modules if n.startswith("tfc.testing.jax_programs")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jax", None)
    made = CliRunner().invoke(command, ["fuzz", "--source", "jax", "--seconds", "1"])
    assert made.exit_code == 1
    assert "run `pip install jax`" in made.output
    assert "Traceback" not in made.output


@pytest.mark.parametrize("kind", ["normal", "whole"])
def test_arguments_are_of_the_types_of_the_parameters(kind: str):
    types = tuple(Type((2, 3), d) for dtypes in DTYPE_SETS for d in dtypes)
    with jax.enable_x64(True):
        arrays = JaxProgram(Function(types, (), (0,)), 1, kind, True).arguments
    assert [(a.shape, a.dtype.name) for a in arrays] == [(t.dims, t.dtype) for t in types]
    assert all(np.asarray(a).size == 6 for a in arrays)
