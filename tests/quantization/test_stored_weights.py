"""Weights stored in fewer bits ahead of time: the module, and the flag of tfcompile."""

import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import tfc
import tfc.numpy as tnp
from tfc.aot.tfcompile import tfcompile
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


def test_tfcompile_stores_weights_and_says_what_that_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "model_with_weights", raising=False)
    (tmp_path / "model_with_weights.py").write_text(MODEL)
    sizes = []
    for flags in ([], ["--quantize_weights", "f16"], ["--quantize_weights", "int8"]):
        made = CliRunner().invoke(tfcompile, [
            "--graph", "model_with_weights:predict", "--arg", "f32[2,512]", "--cpp_class", "C",
            "--out_object", "m.o", "--out_header", "m.h", *flags])  # fmt: skip
        assert made.exit_code == 0, made.output
        assert ("dot_0: " in made.output) == bool(flags)
        sizes.append((tmp_path / "m.o").stat().st_size)
    weights = 512 * 300 * 4
    assert sizes[0] - sizes[1] > 0.45 * weights
    assert sizes[0] - sizes[2] > 0.7 * weights
