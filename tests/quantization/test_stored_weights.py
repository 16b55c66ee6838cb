"""Weights stored in fewer bits ahead of time: the module, and the flags of the commands."""

import sys
from pathlib import Path

import numpy as np
import pytest
from click import Command
from click.testing import CliRunner

import tfc
import tfc.numpy as tnp
from tfc.aot.tfcompile import tfcompile
from tfc.cli import tfc as tfc_command
from tfc.hlo import evaluate
from tfc.quantization.modules import store_weights

MODEL = """
import numpy as np
import tfc.numpy as tnp

w = np.random.default_rng(1).normal(size=(512, 300)).astype(np.float32)

def predict(x):
    return tnp.tanh(x @ w)

def add(x):
    return x + x
"""
RNG = np.random.default_rng(2)


@pytest.mark.parametrize(("storage", "most"), [("int8", 0.1), ("f16", 0.01)])
def test_a_module_keeps_its_weights_in_fewer_bits(storage, most):
    w, x = RNG.normal(size=(64, 32)).astype(np.float32), RNG.normal(size=(3, 64)).astype(np.float32)
    module = tfc.jit(lambda x: (tnp.tanh(x @ w), x @ x.T)).lower(x).hlo
    made, report = store_weights(module, storage)
    wanted, exact = evaluate(module, x)
    got, same = tfc.compile(made)(x)
    np.testing.assert_allclose(got, wanted, atol=most)
    np.testing.assert_allclose(same, exact, rtol=1e-5)
    assert report.in_float == (("dot_1", "it has no weight"),)
    assert report.bytes_after < (0.3 if storage == "int8" else 0.51) * report.bytes_before


@pytest.mark.parametrize(("command", "option", "flags"), [
    (tfcompile, "--quantize_weights", [
        "--graph", "model_with_weights:predict", "--cpp_class", "C", "--out_object", "c.o",
        "--out_header", "c.h"]),
    (tfc_command, "--quantize-weights",
     ["compile", "model_with_weights:predict", "--cpp-class", "C"]),
])  # fmt: skip
def test_commands_store_weights_and_say_what_that_changes(
    command: Command, option: str, flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "model_with_weights", raising=False)
    (tmp_path / "model_with_weights.py").write_text(MODEL)
    sizes = []
    for storage in ([], [option, "f16"], [option, "int8"]):
        made = CliRunner().invoke(command, [*flags, "--arg", "f32[2,512]", *storage])
        assert made.exit_code == 0, made.output
        assert ("dot_0: " in made.output) == bool(storage)
        sizes.append((tmp_path / "c.o").stat().st_size)
    weights = 512 * 300 * 4
    assert sizes[0] - sizes[1] > 0.45 * weights
    assert sizes[0] - sizes[2] > 0.7 * weights
