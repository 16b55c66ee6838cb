"""Classes for several sizes of batch: C++ and C programs run them, NumPy says what they give."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from cpp_programs import SANITIZED, Cpp
from tf_graphs import feed, fetch, write_files

import tfc
import tfc.aot
import tfc.numpy as tnp
from tfc.aot.batches.programs import Asked, programs
from tfc.aot.batches.sources import batched_source
from tfc.aot.interface import Batch
from tfc.aot.tfcompile import tfcompile
from tfc.cli import tfc as command
from tfc.errors import ShapeError, TfcError, UnsupportedError
from tfc.hlo import parse
from tfc.hlo.evaluation.evaluator import evaluate

GENERATOR = np.random.default_rng(5)
WEIGHTS = GENERATOR.normal(size=(8, 4)).astype(np.float32)
BIAS = GENERATOR.normal(size=4).astype(np.float32)


def layer(x: Any, scale: Any) -> Any:
    """One result with rows, and one without; a part of it is a call."""
    return tnp.tanh(shifted(x)) * scale, scale + 1


@tfc.jit
def shifted(x: Any) -> Any:
    return x @ WEIGHTS + BIAS


def expected(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.tanh(x @ WEIGHTS + BIAS) * scale


# Computes each number of rows from memory that ends with them, to memory that stays behind them.
MAIN = """
#include <sys/mman.h>
#include <vector>
#include "layer.h"

int main() {
  demo::Layer layer(demo::Layer::AllocMode::RESULTS_AND_TEMPS_ONLY);
  CHECK(layer.batch_size() == 8 && layer.max_batch_size() == 8);
  CHECK(!layer.set_batch_size(%(least)d - 1) && !layer.set_batch_size(9));
  CHECK(layer.batch_size() == 8 && layer.error_msg()[0] != 0);
  float scale[4] = {1, 2, 3, 4};
  alignas(32) float y[9 * 4];
  layer.set_arg_scale_data(scale);
  char* const pages = static_cast<char*>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(mprotect(pages + 4096, 4096, PROT_NONE) == 0);
  for (std::size_t n = %(least)d; n <= 8; ++n) {
    CHECK(layer.set_batch_size(n) && layer.batch_size() == n);
    float* const x = static_cast<float*>(static_cast<void*>(pages + 4096)) - n * 8;
    for (std::size_t i = 0; i < n * 8; ++i) {
      x[i] = static_cast<float>(static_cast<int>(i * 7 %% 11) - 5) / 8;
    }
    y[n * 4] = -7;
    layer.set_arg0_data(x);
    layer.results()[0] = y;
    CHECK(layer.Run() && layer.error_msg()[0] == 0);
    CHECK(y[n * 4] == -7 && layer.result1(3) == 5);
    for (std::size_t i = 0; i < n * 4; ++i) {
      std::printf("%%.9g ", static_cast<double>(y[i]));
    }
    std::printf("\\n");
  }
  return failures;
}
"""


def rows_of(n: int) -> np.ndarray:
    return ((np.arange(n * 8) * 7 % 11 - 5) / 8).astype(np.float32).reshape(n, 8)


def check_rows(printed: str, rows: range) -> None:
    """Compare lines of numbers with NumPy's for the same rows."""
    scale = np.array([1, 2, 3, 4], np.float32)
    lines = [np.array(line.split(), np.float32) for line in printed.splitlines()]
    assert len(lines) == len(rows)
    for n, line in zip(rows, lines):
        wanted = expected(rows_of(n), scale)
        np.testing.assert_allclose(line.reshape(n, 4), wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("asked", [{"batch_sizes": [8, 1, 3]}, {"dynamic_batch": 8}], ids=str)
def test_any_number_of_rows_is_computed_within_buffers_of_so_many(cpp: Cpp, asked: Any):
    made = tfc.aot.compile(
        layer, "f32[?,8]", "f32[4]", cpp_class="demo::Layer", out_dir=cpp.folder, **asked
    )
    check_rows(cpp.run([MAIN % {"least": 1}], [made.object], *SANITIZED), range(1, 9))


def test_sizes_without_one_serve_what_is_not_less_than_the_least(cpp: Cpp):
    made = tfc.aot.compile(
        layer, "f32[?,8]", "f32[4]", cpp_class="demo::Layer", out_dir=cpp.folder,
        batch_sizes=[3, 8], threads=2,
    )  # fmt: skip
    check_rows(cpp.run([MAIN % {"least": 3}], [made.object], *SANITIZED), range(3, 9))


C_MAIN = """
#include <stdio.h>
#include "layer.h"

int main(void) {
  demo_Layer_object layer;
  size_t n, i;
  if (!demo_Layer_init(&layer, true) || demo_Layer_set_batch_size(&layer, 9)) return 1;
  for (i = 0; i < 4; ++i) demo_Layer_arg_scale_data(&layer)[i] = (float)(i + 1);
  for (n = 1; n <= 8; ++n) {
    for (i = 0; i < n * 8; ++i) {
      demo_Layer_arg_x_data(&layer)[i] = (float)((int)(i * 7 % 11) - 5) / 8;
    }
    if (!demo_Layer_set_batch_size(&layer, n) || !demo_Layer_run(&layer)) return 1;
    for (i = 0; i < n * 4; ++i) printf("%.9g ", (double)demo_Layer_result0_data(&layer)[i]);
    printf("\\n");
  }
  demo_Layer_free(&layer);
  return 0;
}
"""


def test_c_functions_take_the_size_of_the_batch(cpp: Cpp):
    made = tfc.aot.compile(
        layer, "f32[?,8]", "f32[4]", cpp_class="demo::Layer", out_dir=cpp.folder, dynamic_batch=8
    )
    program, source = cpp.folder / "program", cpp.folder / "main.c"
    source.write_text(C_MAIN)
    strict = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{cpp.folder}")
    command = ["cc", *strict, str(source), str(made.object), "-lm", "-o", str(program)]
    subprocess.run(command, check=True)
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    check_rows(printed, range(1, 9))


def test_programs_share_what_is_stored_and_equal_code(tmp_path: Path):
    weights = GENERATOR.normal(size=(300, 200)).astype(np.float32)

    def product(x: Any) -> Any:
        return tnp.tanh(x @ weights)

    asked: list[dict[str, Any]] = [
        {"batch_sizes": [16]}, {"batch_sizes": [1, 4, 16]}, {"dynamic_batch": 16}
    ]  # fmt: skip
    sizes = [
        tfc.aot.compile(
            product,
            "f32[?,300]",
            cpp_class="P",
            out_dir=tmp_path,
            describe=True,
            target="x86_64-linux-gnu,x86-64-v3",
            **a,
        )
        for a in asked
    ]
    assert {made.signature.constant_size for made in sizes} == {weights.nbytes}
    assert all(made.object_size < weights.nbytes + 40_000 for made in sizes)
    said = json.loads((tmp_path / "p.json").read_text())
    assert said["batch"] == {
        "sizes": [1, 2, 4, 8, 16], "takes_any": True, "arguments": [0], "results": [0]
    }  # fmt: skip


def centered(x: Any) -> Any:
    return x - x.mean(0)


def normalized(x: Any) -> Any:
    return x / x.shape[0]


def numbered(x: Any) -> Any:
    return x + tnp.arange(x.shape[0])[:, None]


def reversed_rows(x: Any) -> Any:
    return x[::-1]


def repeated(x: Any) -> Any:
    """Runs until all rows are done: how often depends on all of them."""
    return tfc.while_loop(lambda y: tnp.any(y < 1), lambda y: y * 2, tnp.abs(x) + 0.1)


def related(x: Any) -> Any:
    return tfc.nn.softmax(x @ x.T) @ x


def chosen(x: Any) -> Any:
    """Something else for a size that is between those at the ends."""
    return x * 2 if x.shape[0] == 2 else x


COMBINING = [chosen, centered, normalized, numbered, reversed_rows, repeated, related]


@pytest.mark.parametrize("function", COMBINING, ids=lambda f: f.__name__)
def test_a_dynamic_batch_is_refused_where_rows_are_combined(function: Any, tmp_path: Path):
    with pytest.raises(UnsupportedError, match="rows of the batch are not independent"):
        tfc.aot.compile(function, "f32[?,4]", cpp_class="F", out_dir=tmp_path, dynamic_batch=8)
    assert not list(tmp_path.iterdir())


def test_combined_rows_have_exact_programs_for_the_sizes_listed_and_no_others(cpp: Cpp):
    made = tfc.aot.compile(
        centered, "f32[?,2]", cpp_class="Centered", out_dir=cpp.folder, batch_sizes=[2, 3]
    )
    main = """
#include "centered.h"
int main() {
  Centered centered;
  for (int i = 0; i < 6; ++i) centered.arg0_data()[i] = static_cast<float>(i * i);
  CHECK(centered.Run() && centered.result0(0, 0) == -20.0f / 3);
  CHECK(centered.set_batch_size(2) && centered.Run());
  CHECK(centered.result0(0, 0) == -2 && centered.result0(1, 1) == 4);
  CHECK(!centered.set_batch_size(1) && centered.batch_size() == 2);
  std::printf("%s", centered.error_msg());
  return failures;
}
"""
    assert cpp.run([main], [made.object]) == "the sizes of batch of this class are 2, 3"


def attention(x: Any) -> Any:
    """Heads within a row, sums of rows of weights, and a loop whose state gets rows."""
    heads = x.reshape(x.shape[0], 3, 2)
    scores = tfc.nn.softmax(heads @ tnp.swapaxes(heads, 1, 2))

    def step(state: Any, now: Any) -> Any:
        state = tnp.tanh(state @ WEIGHTS[:4] + now @ WEIGHTS[:2])
        return state, state

    last, _ = tfc.scan(
        step, tnp.zeros((x.shape[0], 4), x.dtype), tnp.swapaxes(scores @ heads, 0, 1)
    )
    return tnp.concatenate([last, tnp.pad(x[:, 1:3], ((0, 0), (1, 0)))], axis=1)


def looked_up(x: Any) -> Any:
    places = tnp.clip(x.astype(np.int32), 0, 5)
    return tnp.sort(tnp.take(WEIGHTS, places, axis=0).max(1), axis=-1)


@pytest.mark.parametrize("function", [attention, looked_up], ids=lambda f: f.__name__)
def test_a_program_for_another_size_gives_the_same_rows(function: Any):
    """The evaluator runs the programs; a row's values do not depend on the size of its batch."""
    x = (GENERATOR.normal(size=(9, 6)) * 3).astype(np.float32)
    made = programs(batched_source(function, ["f32[?,6]"]), Asked((1, 2, 8, 9), is_any=True))
    (whole,) = evaluate(made.programs[-1].module, x)
    for size, program in zip(made.batch.sizes, made.programs):
        (found,) = evaluate(program.module, x[9 - size :])
        np.testing.assert_allclose(found, whole[9 - size :], rtol=1e-5, atol=1e-6)


HLO = """HloModule m
ENTRY e {
  x = f32[4,6] parameter(0)
  w = f32[6,2] parameter(1)
  ROOT y = f32[4,2] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""


def test_hlo_text_is_made_for_other_sizes_of_the_arguments_that_are_open(tmp_path: Path):
    made = tfc.aot.compile(
        parse(HLO), "f32[?,6]", "f32[6,2]", cpp_class="M", out_dir=tmp_path, batch_sizes=[1, 16]
    )
    assert made.signature.arguments[0].shape.dims == (16, 6)
    assert made.signature.batch == Batch((1, 16), True, (1, 0), (1,))


@pytest.mark.parametrize(
    ("change", "named", "error", "message"),
    [
        ({}, {"batch_sizes": [4]}, ShapeError, "which arguments have the batch"),
        ({"x": "f32[?,6]"}, {"batch_sizes": [0]}, TfcError, "must be 1 to"),
        ({"x": "f32[?,6]"}, {"batch_sizes": [2], "dynamic_batch": 3}, TfcError, "not both"),
        ({"x": "f32[6,?]"}, {"dynamic_batch": 3}, TfcError, "which arguments have the batch"),
        ({"text": HLO.replace("4", "1"), "x": "f32[?,6]"}, {"dynamic_batch": 3}, ShapeError,
         "for a batch of one size of 2 or more"),
        ({"text": HLO.replace("[4,6] p", "[6,6] p").replace("[4,2]", "[6,2]"), "x": "f32[?,6]",
          "w": "f32[?,2]"}, {"dynamic_batch": 3}, UnsupportedError,
         "y, a dot, combines rows of the batch"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_batch_is_an_error(
    change: Any, named: Any, error: Any, message: str, tmp_path: Path
):
    args = [change.get("x", "f32[4,6]"), change.get("w", "f32[6,2]")]
    module = parse(change.get("text", HLO))
    with pytest.raises(error, match=re.escape(message)):
        tfc.aot.compile(module, *args, cpp_class="M", out_dir=tmp_path, **named)
    assert not list(tmp_path.iterdir())


def test_state_is_kept_for_the_sizes_listed(cpp: Cpp):
    def step(total: Any, x: Any) -> Any:
        return total + x.sum(0), x * 2

    made = tfc.aot.compile(
        step, "f32[2]", "f32[?,2]", cpp_class="Step", out_dir=cpp.folder, state=1,
        batch_sizes=[1, 3],
    )  # fmt: skip
    main = """
#include "step.h"
int main() {
  Step step;
  for (int i = 0; i < 6; ++i) step.arg0_data()[i] = static_cast<float>(i);
  CHECK(step.Run() && step.set_batch_size(1) && step.Run());
  CHECK(step.var_total(0) == 6 && step.var_total(1) == 10 && step.result0(2, 1) == 10);
  return failures;
}
"""
    cpp.run([main], [made.object])


MODEL = """
import numpy as np
import tfc.numpy as tnp

WEIGHTS = np.arange(12, dtype=np.float32).reshape(3, 4)

def layer(x="f32[?,3]"):
    return x @ WEIGHTS

def centered(x="f32[?,3]"):
    return x - x.mean(0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a Python module and a graph whose batch is open."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "rows_of_test", raising=False)
    (tmp_path / "rows_of_test.py").write_text(MODEL)
    write_files("tfmatmul_with_constant", tmp_path)
    config = feed("x_hold", -1, 3) + fetch("x_y_prod")
    (tmp_path / "open.config.pbtxt").write_text(config)
    return tmp_path


GRAPH = ["test_graph_tfmatmul_with_constant.pb", "--config", "open.config.pbtxt"]


@pytest.mark.parametrize("source", [["rows_of_test:layer"], GRAPH], ids=["function", "graph"])
def test_tfcompile_takes_sizes_of_batch(folder: Path, source: list[str]):
    flags = ["--cpp_class", "C", "--out_json", "c.json", "--batch_sizes", "1,8"]
    done = CliRunner().invoke(tfcompile, ["--graph", *source, *flags])
    assert (done.exit_code, done.output) == (0, "")
    said = json.loads((folder / "c.json").read_text())
    assert said["batch"]["sizes"] == [1, 8]
    assert said["batch"]["takes_any"] is True
    assert said["arguments"][0]["dims"] == [8, 3]


def test_commands_say_which_sizes_are_served_alone_and_refuse_others(folder: Path):
    both = ["compile", "rows_of_test:centered", "--cpp-class", "C"]
    done = CliRunner().invoke(command, [*both, "--batch-sizes", "2,4"])
    assert done.exit_code == 0
    assert "for batches of 2, 4 rows and no others: " in done.output
    for option, value in (("--dynamic-batch", "4"), ("--batch-sizes", "1;2")):
        done = CliRunner().invoke(command, [*both, "--out-dir", "other", option, value])
        assert done.exit_code == 1
        assert done.output.startswith("error: ")
    assert not (folder / "other").exists()
