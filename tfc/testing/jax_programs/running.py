"""Random JAX programs by the clock: exported as StableHLO, compiled, and compared with jaxlib.

Where the two differ by more than rounding explains, the reference evaluator says which is wrong;
what it moves by when inexact operations are disturbed is what rounding explains.
"""

import random
import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tfc.files import write_files
from tfc.hlo.literal import Literal
from tfc.hlo.text.literal_text import print_literal
from tfc.imported import ImportedFunction, read_stablehlo
from tfc.testing.apart import Apart, Gone, Say
from tfc.testing.compare import flat, is_close, mismatch
from tfc.testing.fuzz import results_of
from tfc.testing.jax_programs.drawing import JaxProgram, draw
from tfc.testing.jax_programs.program import functions_in, source
from tfc.testing.jax_programs.shrinking import shrink
from tfc.testing.report import Failure, Outcome, Report, outcome_of, reason_of

STAGE = 60.0  # seconds for each stage, on a machine that does much else


def fuzz_jax(
    seconds: float,
    number: int,
    out_dir: Path,
    *,
    backend: str = "cpu",
    size: int = 8,
    progress: Callable[[Report], None] = lambda report: None,
) -> Report:
    """Run random JAX programs until the time is over, and write those that go wrong, made small.

    Args:
        number: with equal numbers the same programs come in the same order.
        out_dir: where a failing program is written as .mlir, with the JAX program beside it as .py.
        size: about how many calls a program has.
    """
    report, end = Report(), time.monotonic() + seconds
    out_dir.mkdir(parents=True, exist_ok=True)
    rng, process = random.Random(number), Apart(run_program)
    try:
        while time.monotonic() < end:
            program = replace(draw(rng, size), backend=backend)
            outcome = ask(process, program)
            report.programs += 1
            report.drawn.update(set(functions_in(program.function)))
            if outcome.refused:
                report.refused[reason_of(outcome.refused)] += 1
            if outcome.oracle:
                report.oracle[reason_of(outcome.oracle)] += 1
            if outcome.wrong:
                path = out_dir / f"jax-{len(report.failures) + 1}.mlir"
                report.failures.append(_written(path, process, program, outcome.wrong))
            progress(report)
    finally:
        process.end()
    return report


def ask(process: Apart, program: JaxProgram) -> Outcome:
    """What becomes of a program in another process."""
    try:
        return process.ask(program, STAGE)
    except Gone as gone:
        if gone.stage in ("jax", "evaluating"):
            return Outcome(oracle=f"{gone.stage} {gone.how}")
        return Outcome(wrong=f"{gone.stage} {gone.how}")


def lowered(program: JaxProgram) -> Any:
    """JAX's lowering of a program, with all of its parameters."""
    with jax.enable_x64(program.wide):
        specs = [t.spec for t in program.function.parameters]
        return jax.jit(program.function, keep_unused=True).lower(*specs)


def run_program(program: JaxProgram, say: Say) -> Outcome:
    """What becomes of a program in this process."""
    say("jax")
    arguments = program.arguments
    try:
        with jax.enable_x64(program.wide):
            made = lowered(program)
            text = made.as_text()
            wanted = [np.asarray(r) for r in made.compile()(*arguments)]
    except Exception as error:  # whatever it is, it is JAX's
        return Outcome(oracle=f"{type(error).__name__}: {error}".partition("\n")[0])
    say("reading")
    try:
        module = read_stablehlo(text)
        say("compiling")
        executable = ImportedFunction(module, program.backend).compile()
        say("running")
        got = results_of(executable, program.backend, [a.copy() for a in arguments])
    except Exception as error:  # whatever it is, it is of the program at hand
        return outcome_of(error)
    say("comparing")
    kinds = [(v.dtype, v.shape) for v in got]
    if kinds != [(v.dtype, v.shape) for v in wanted]:
        return Outcome(wrong=f"the results are {kinds}")
    if all(is_close(a, b) for a, b in zip(got, wanted)):
        return Outcome()
    say("evaluating")
    try:
        wrong = mismatch(module, arguments, got)
        if wrong:
            return Outcome(wrong=wrong)
        other = mismatch(module, arguments, wanted)
        if other and not mismatch(module, arguments, _unsimplified(program, made)):
            return Outcome(oracle="XLA simplifies it to other values than its code computes")
    except Exception as error:
        return Outcome(wrong=f"the evaluator: {type(error).__name__}: {error}".partition("\n")[0])
    return Outcome(wrong=f"tfc and its evaluator differ from JAX: {other}" if other else "")


def _unsimplified(program: JaxProgram, made: Any) -> list[np.ndarray]:
    """What JAX computes where XLA folds no constants and simplifies nothing.

    It folds atan2(0, 0) to NaN, and takes a product with a truth value for a choice of zero, which
    the product with infinity is not.
    """
    passes = {"xla_disable_hlo_passes": "constant_folding,algsimp"}
    with jax.enable_x64(program.wide):
        compiled = made.compile(compiler_options=passes)
        return [np.asarray(r) for r in compiled(*program.arguments)]


def _written(path: Path, process: Apart, program: JaxProgram, reason: str) -> Failure:
    """Make a program that went wrong small, and write it as StableHLO and as Python."""

    def fails(function: Any) -> bool:
        return bool(ask(process, replace(program, function=function)).wrong)

    program = replace(program, function=shrink(program.function, fails))
    reason = ask(process, program).wrong or reason
    literals = [print_literal(Literal(a)) for a in flat(tuple(program.arguments))]
    command = shlex.join(["tfc", "run", "FILE", *(f"--arg={text}" for text in literals)])
    text = f"// {reason}\n// {command}\n{lowered(program).as_text()}"
    script = path.with_suffix(".py")
    write_files((path, text.encode()), (script, _script(program, reason).encode()))
    return Failure(reason, path)


def _script(program: JaxProgram, reason: str) -> str:
    """Python that runs a program by JAX and by tfc, and prints what both give."""
    arrays = [f"    np.array({a.tolist()!r}, {a.dtype.name!r})," for a in program.arguments]
    wide = ['jax.config.update("jax_enable_x64", True)'] if program.wide else []
    return "\n".join([
        f'"""{reason}"""', "",
        "import jax", "import jax.numpy as jnp", "import ml_dtypes", "import numpy as np",
        "from jax import lax", "", "import tfc", "from tfc.testing.jax_programs import helpers", "",
        *wide, "", source(program.function), "", "", "arguments = [", *arrays, "]",
        "lowered = jax.jit(program, keep_unused=True).lower(*arguments)",
        "wanted = lowered.compile()(*arguments)",
        "got = tfc.from_stablehlo(lowered.as_text())(*arguments)",
        "for a, b in zip(got if isinstance(got, tuple) else (got,), wanted):",
        "    print(np.array_equal(a, b), a, b, sep='\\n')", "",
    ])  # fmt: skip
