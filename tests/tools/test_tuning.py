"""Tuning: which schedules are tried, what is kept of them, and who gets it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tfc
from tfc.backends.choices import Question, Trial, asking, source_in_use
from tfc.backends.gpu.driver import using
from tfc.backends.interfaces import Executable
from tfc.cli import tfc as command
from tfc.errors import TfcError, UnsupportedError
from tfc.hlo.shape import leaves
from tfc.hlo.text.fill import random_array
from tfc.hlo.text.parser import parse
from tfc.options import Options
from tfc.testing.ptx.driver import InterpretedDriver
from tfc.tools.tuning import Settings, clocked, kernel_names, tune

SUM = "ENTRY e { x = f32[8] parameter(0)\n ROOT y = f32[8] add(x, x) }"
PRODUCT = """ENTRY main {
  a = f32[24,8] parameter(0)
  b = f32[8,96] parameter(1)
  ROOT d = f32[24,96] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
HALVES = """ENTRY main {
  a = f16[2048,512] parameter(0)
  b = f16[512,2048] parameter(1)
  ROOT d = f16[2048,2048] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
PROGRAMS = {
    "product": """ENTRY main {
  a = f32[70,52] parameter(0)
  b = f32[52,100] parameter(1)
  d = f32[70,100] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = f32[70,100] tanh(d)
}""",
    "transposed batch": """ENTRY main {
  a = f64[6,70,33] parameter(0)
  b = f64[6,40,33] parameter(1)
  ROOT d = f64[6,70,40] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0},
    lhs_contracting_dims={2}, rhs_contracting_dims={2}
}""",
    "few vectors": """ENTRY main {
  a = f32[3,352] parameter(0)
  b = f32[352,100] parameter(1)
  ROOT d = f32[3,100] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}""",
    "convolution": """ENTRY main {
  a = f32[2,14,14,16] parameter(0)
  b = f32[3,3,16,40] parameter(1)
  ROOT d = f32[2,14,14,40] convolution(a, b), window={size=3x3 pad=1_1x1_1},
    dim_labels=b01f_01io->b01f
}""",
    "weight gradient": """ENTRY main {
  a = f32[16,14,14,8] parameter(0)
  b = f32[14,14,8,24] parameter(1)
  ROOT d = f32[16,3,3,24] convolution(a, b), window={size=14x14 pad=1_1x1_1},
    dim_labels=b01f_01io->b01f
}""",
    "small channels": """ENTRY main {
  a = f32[1,20,20,32] parameter(0)
  b = f32[3,3,32,3] parameter(1)
  ROOT d = f32[1,20,20,3] convolution(a, b), window={size=3x3 pad=1_1x1_1},
    dim_labels=b01f_01io->b01f
}""",
    "tap by tap": """ENTRY main {
  a = f32[1,4,4,64] parameter(0)
  b = f32[3,3,64,128] parameter(1)
  c = f32[1,4,4,128] convolution(a, b), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT t = f32[1,4,4,128] tanh(c)
}""",
}  # fmt: skip
WEIGHTS = ", ".join(
    "{" + ", ".join(str((i * j) % 7 - 3) for j in range(96)) + "}" for i in range(20)
)
PROGRAMS["constant weights"] = f"""ENTRY main {{
  a = f32[70,20] parameter(0)
  b = f32[20,96] constant({{ {WEIGHTS} }})
  ROOT d = f32[70,96] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}"""


def arguments(module: tfc.hlo.Module) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    shapes = [s for p in module.entry.parameters for s in leaves(p.shape)]
    return [random_array(shape, generator) for shape in shapes]


def questions(executable: Executable) -> list[Question]:
    asked = executable.questions(executable.hlo.entry.instructions)
    return [question for found in asked.values() for question in found]


def clock_that_likes(word: str, tried: list[str] | None = None) -> Any:
    """Kernels take 50 ns by a schedule with that word, and 100 by others."""

    def clock(executable: Executable, _: Sequence[np.ndarray]) -> Callable[[], Mapping[str, float]]:
        source = source_in_use()
        assert isinstance(source, Trial)
        texts = list(source.answers.values())
        if tried is not None:
            tried.extend(texts)
        takes = 50.0 if any(word in text for text in texts) else 100.0
        names = [n for i, n in kernel_names(executable).items() if i.opcode != "parameter"]
        return lambda: dict.fromkeys(names, takes)

    return clock


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(cache_dir=str(tmp_path / "cache"))


def tuned(options: Options, word: str = "tiles", text: str = PRODUCT) -> Any:
    """What tuning with one trial gives; the first one that is tried is of other tiles."""
    module, settings = parse(text), Settings(trials=1, runs=1)
    return tune(module, arguments(module), "cpu", options, settings, clock_that_likes(word))


def check_alternatives(name: str, step: int) -> None:
    module = parse(PROGRAMS[name])
    model = tfc.compile(module, options=Options())
    (question,) = questions(model)
    others = question.texts[1:]
    assert len(set(question.texts)) == len(question.texts) > 1
    values = arguments(module)
    (expected,) = model(*values)
    for text in others[::step]:
        with asking(Trial({question.about: text})):
            made = tfc.compile(module, options=Options())
        np.testing.assert_allclose(made(*values)[0], expected, 1e-4, 1e-4, err_msg=text)


def test_alternatives_give_the_results_of_the_model() -> None:
    check_alternatives("product", 21)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_alternative_gives_the_results_of_the_model(name: str) -> None:
    check_alternatives(name, 1)


def mlir(options: Options, text: str = PRODUCT) -> str:
    return tfc.compile(parse(text), options=options).as_text("mlir")


def test_later_compilations_get_what_was_best(options: Options) -> None:
    before = mlir(options)
    (kernel,) = tuned(options).kernels
    assert kernel.best != kernel.model
    assert kernel.best.startswith("tiles of ")
    assert kernel.gain == 2.0
    assert kernel.tried == 1 < kernel.alternatives
    module = parse(PRODUCT)
    after = tfc.compile(module, options=options)
    assert after.as_text("mlir") != before
    values = arguments(module)
    np.testing.assert_allclose(after(*values)[0], values[0] @ values[1], 1e-5, 1e-5)
    for others in (Options(), Options(cache_dir=options.cache_dir, tuned=False)):
        assert mlir(others) == before


def test_another_program_with_the_same_kernel_gets_it_too(options: Options) -> None:
    more = (
        "more { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n"
    )
    after = (
        "  z = f32[] constant(0)\n  ROOT s = f32[24] reduce(d, z), dimensions={1}, to_apply=more\n}"
    )
    text = PRODUCT.replace("ROOT d", "d").removesuffix("}") + after
    before = mlir(options, more + text)
    tuned(options)
    assert mlir(options, more + text) != before


def test_a_gain_that_does_not_come_again_is_none(options: Options) -> None:
    seen: list[str] = []

    def clock(executable: Executable, values: Sequence[np.ndarray]) -> Any:
        chance = "tiles" if len(seen) < 1 else "what there is none of"
        return clock_that_likes(chance, seen)(executable, values)

    module = parse(PRODUCT)
    settings = Settings(trials=1, runs=1)
    (kernel,) = tune(module, arguments(module), "cpu", options, settings, clock).kernels
    assert len(seen) == 2  # it was tried, and then once more
    assert seen[0] == seen[1]
    assert (kernel.best, kernel.gain) == (kernel.model, 1.0)


def test_tuning_again_replaces_what_was_kept(options: Options) -> None:
    before = mlir(options)
    tuned(options)
    (kernel,) = tuned(options, "what there is none of").kernels
    assert (kernel.best, kernel.gain) == (kernel.model, 1.0)
    assert mlir(options) == before


def test_a_damaged_choice_is_as_good_as_none(options: Options) -> None:
    before = mlir(Options())
    tuned(options)
    (path,) = Path(options.cache_dir).iterdir()
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:-1] + b"?"):
        path.write_bytes(damaged)
        assert mlir(options) == before


def test_what_names_no_alternative_is_left_to_the_model() -> None:
    module = parse(PRODUCT)
    model = tfc.compile(module, options=Options())
    (question,) = questions(model)
    with asking(Trial({question.about: "tiles of 1000 x 1000 vectors"})):
        made = tfc.compile(module, options=Options())
    assert made.as_text("mlir") == model.as_text("mlir")


def test_the_same_seed_tries_the_same_alternatives(options: Options) -> None:
    def tried(seed: int) -> list[str]:
        found: list[str] = []
        module = parse(PRODUCT)
        settings = Settings(trials=3, runs=1, seed=seed)
        tune(module, arguments(module), "cpu", options, settings, clock_that_likes("-", found))
        return found

    found = tried(1)
    assert found == tried(1)
    assert len(set(found)) == 3
    assert set(found) != set(tried(2))


def test_kernels_without_alternatives_are_named(options: Options) -> None:
    text = PRODUCT.replace("ROOT d", "d").replace("\n}", "\n  ROOT r = f32[24,96] reverse(d), "
                                                  "dimensions={0}\n}")  # fmt: skip
    found = tuned(options, text=text)
    assert [kernel.names for kernel in found.kernels] == [("d",)]
    assert found.others == ("r",)


def test_a_clock_of_the_machine_measures_every_kernel(options: Options) -> None:
    module = parse(PRODUCT)
    executable = tfc.compile(module, options=Options())
    times = clocked(executable, arguments(module))()
    assert set(times) <= set(kernel_names(executable).values())
    assert min(times.values()) > 0


def test_without_a_folder_nothing_is_measured() -> None:
    with pytest.raises(TfcError, match="set TFC_CACHE"):
        tuned(Options(), "-")


def test_backends_without_alternatives_are_refused(options: Options) -> None:
    module = parse(PRODUCT)
    with pytest.raises(UnsupportedError, match="'interpreter' have no alternatives"):
        tune(module, arguments(module), "interpreter", options)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_schedules_of_gpus_are_kept_by_the_gpu(options: Options, architecture: str) -> None:
    module = parse(HALVES)
    with using(InterpretedDriver(architecture)):
        before = tfc.compile(module, "gpu", options).as_text("mlir")
        settings, clock = Settings(trials=1, runs=1), clock_that_likes("tiles of")
        found = tune(module, arguments(module), "gpu", options, settings, clock)
        assert any(kernel.gain == 2.0 for kernel in found.kernels)
        assert tfc.compile(module, "gpu", options).as_text("mlir") != before
    with using(InterpretedDriver("sm_86")):  # another one, which nothing was measured on
        model = tfc.compile(module, "gpu", Options()).as_text("mlir")
        assert tfc.compile(module, "gpu", options).as_text("mlir") == model


def run(*words: str, **environment: str) -> Any:
    return CliRunner().invoke(command, words, env={"TFC_CACHE": None, **environment})


def test_the_command_says_what_it_found_by_kernel(tmp_path: Path) -> None:
    file = tmp_path / "product.hlo"
    file.write_text(PRODUCT)
    made = run("tune", str(file), "--trials", "1", "-n", "1", TFC_CACHE=str(tmp_path / "cache"))
    assert made.exit_code == 0, made.output
    first, model, best = made.output.splitlines()
    assert first.startswith("d: 1 of ")
    assert model.startswith("  model: tiles of ")
    assert best.startswith("  best:  ")
    assert best.endswith(" x as fast")


def test_the_command_refuses_in_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "sum.hlo"
    file.write_text(SUM)
    made = run("tune", str(file))
    assert made.exit_code == 1
    assert made.output.startswith("error: ")
    assert "set TFC_CACHE to a folder" in made.output
    cache = str(tmp_path / "cache")
    with using(InterpretedDriver()):
        made = run("tune", str(file), "--backend", "gpu", TFC_CACHE=cache)
    assert made.exit_code == 1
    assert made.output.startswith("error: ")
    assert "only counts" in made.output
    assert run("tune", str(file), "--trials", "0", TFC_CACHE=cache).exit_code == 2
    made = run("tune", str(file), TFC_CACHE=cache)
    assert made.output == "without alternatives: y\n"
