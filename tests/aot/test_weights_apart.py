"""Weights in a file of their own, or in another object: programs load, share, refuse and run."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from cpp_programs import SANITIZED, Cpp

import tfc.aot
import tfc.numpy as tnp
from tfc.aot.tfcompile import tfcompile
from tfc.errors import TfcError

WEIGHTS = np.random.default_rng(8).random(size=(40, 30)).astype(np.float32)


def layer(x: Any) -> Any:
    return tnp.maximum(x @ WEIGHTS, 0)


WANTED = float(WEIGHTS.sum(0, np.float64)[7])

MAIN = """
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>
#include "layer.h"

static bool Says(const demo::Layer& layer, const char* text) {
  return std::strstr(layer.error_msg(), text) != nullptr;
}
static float Computed(demo::Layer& layer) {
  for (std::size_t i = 0; i < 40; ++i) layer.arg0(0, i) = 1;
  return layer.Run() ? layer.result0(0, 7) : -1;
}

int main() {
  demo::Layer layer, other;
  CHECK(!layer.Run() && Says(layer, "there are no weights"));
  CHECK(!layer.LoadWeights("missing") && Says(layer, "cannot be opened"));
  CHECK(!layer.LoadWeights("short.weights") && Says(layer, "not of the size"));
  CHECK(!layer.LoadWeights("damaged.weights") && Says(layer, "damaged"));
  CHECK(!layer.Run() && layer.weights() == nullptr);
  CHECK(layer.LoadWeights("layer.weights") && layer.error_msg()[0] == 0);
  CHECK(std::fabs(Computed(layer) - %(wanted).9gf) < 1e-5f);
  CHECK(!layer.LoadWeights("damaged.weights"));  // and those before stay
  CHECK(std::fabs(Computed(layer) - %(wanted).9gf) < 1e-5f);

  const char* const data = static_cast<const char*>(layer.weights());
  CHECK(!other.set_weights(data, other.weights_size() - 64) && Says(other, "not of the size"));
  CHECK(!other.set_weights(data + 8, other.weights_size()) && Says(other, "multiple of 64"));
  CHECK(!other.set_weights(nullptr, other.weights_size()));
  CHECK(other.set_weights(data, other.weights_size()) && other.weights() == data);
  float results[2];
  std::thread first([&]() { results[0] = Computed(layer); });
  std::thread second([&]() { results[1] = Computed(other); });
  first.join();
  second.join();
  CHECK(results[0] == results[1]);

  demo::Layer moved(std::move(layer));
  CHECK(moved.weights() == data && layer.weights() == nullptr && !layer.Run());
  CHECK(moved.LoadWeights("layer.weights", false) && Computed(moved) == results[0]);
  return failures;
}
"""


@pytest.fixture
def made(cpp: Cpp) -> Any:
    """A class with its weights in a file, beside damaged ones."""
    made = tfc.aot.compile(
        layer, "f32[1,40]", cpp_class="demo::Layer", out_dir=cpp.folder, weights="file"
    )
    assert made.weights == cpp.folder / "layer.weights"
    content = (cpp.folder / "layer.weights").read_bytes()
    (cpp.folder / "short.weights").write_bytes(content[:-1])
    damaged = bytearray(content)
    damaged[1000] ^= 1
    (cpp.folder / "damaged.weights").write_bytes(damaged)
    return made


def check(cpp: Cpp, made: Any, *flags: str) -> None:
    main = MAIN % {"wanted": WANTED}
    path = str(cpp.folder)
    for name in ("layer", "short", "damaged"):
        main = main.replace(f'"{name}.weights"', f'"{path}/{name}.weights"')
    cpp.run([main], [made.object], "-pthread", *flags)


def test_the_class_maps_compares_and_shares_weights(cpp: Cpp, made: Any):
    check(cpp, made, *SANITIZED)
    assert made.weights.read_bytes()[: WEIGHTS.nbytes] == WEIGHTS.tobytes()
    assert WEIGHTS.tobytes()[:64] not in made.object.read_bytes()


@pytest.mark.slow
def test_objects_that_share_weights_are_clean_under_the_sanitizer_of_threads(cpp: Cpp, made: Any):
    check(cpp, made, "-g", "-O1", "-fsanitize=thread")


C_MAIN = """
#include <stdio.h>
#include "layer.h"
int main(int count, char** arguments) {
  demo_Layer_object layer;
  size_t i;
  if (count != 2 || !demo_Layer_init(&layer, true) || demo_Layer_run(&layer)) return 1;
  if (demo_Layer_load_weights(&layer, "missing")) return 2;
  if (!demo_Layer_load_weights(&layer, arguments[1])) return 3;
  for (i = 0; i < 40; ++i) demo_Layer_arg_x_data(&layer)[i] = 1;
  if (!demo_Layer_set_weights(&layer, layer.weights.data, demo_Layer_entry_weights_size)) return 4;
  if (!demo_Layer_run(&layer)) return 5;
  printf("%.9g", (double)demo_Layer_result0_data(&layer)[7]);
  demo_Layer_free(&layer);
  return 0;
}
"""


def test_functions_in_c_load_weights(cpp: Cpp, made: Any):
    program, source = cpp.folder / "program", cpp.folder / "main.c"
    source.write_text(C_MAIN.replace("demo_Layer_entry_weights_size", str(WEIGHTS.nbytes)))
    strict = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{cpp.folder}")
    for define in ((), ("-U__unix__",)):  # the second reads the file, as where nothing is mapped
        command = ["cc", *strict, *define, str(source), str(made.object), "-lm", "-o", str(program)]
        subprocess.run(command, check=True)
        done = subprocess.run(
            [str(program), str(made.weights)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0
        assert np.float32(done.stdout) == pytest.approx(WANTED, rel=1e-5)


def test_constants_lie_in_an_object_of_their_own(cpp: Cpp):
    made = tfc.aot.compile(
        layer, "f32[1,40]", cpp_class="Layer", out_dir=cpp.folder, weights="separate"
    )
    assert made.weights == cpp.folder / "layer_constants.o"
    assert made.weights is not None
    assert made.object_size < WEIGHTS.nbytes + 12_000 < made.weights.stat().st_size + 12_000
    main = """
#include <cmath>
#include "layer.h"
int main() {
  Layer layer;
  for (std::size_t i = 0; i < 40; ++i) layer.arg0(0, i) = 1;
  CHECK(layer.Run() && std::fabs(layer.result0(0, 7) - %.9gf) < 1e-5f);
  return failures;
}
"""
    cpp.run([main % WANTED], [made.object, made.weights])
    assert WEIGHTS.tobytes()[:64] not in made.object.read_bytes()


def test_a_program_without_weights_has_no_file_of_them(tmp_path: Path):
    places: list[Any] = ["file", "separate"]
    for place in places:
        with pytest.raises(TfcError, match="the program has no weights"):
            tfc.aot.compile(
                lambda x: x * x, "f32[2]", cpp_class="P", out_dir=tmp_path, weights=place
            )
    unknown: Any = "outside"
    with pytest.raises(TfcError, match="weights must be one of inside, file, separate"):
        tfc.aot.compile(layer, "f32[1,40]", cpp_class="P", out_dir=tmp_path, weights=unknown)
    assert not list(tmp_path.iterdir())


def test_tfcompile_puts_constants_where_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    text = "HloModule m\nENTRY e {\n c = f32[4] constant({1, 2, 3, 4})\n"
    (tmp_path / "m.hlo").write_text(
        text + " p = f32[4] parameter(0)\n ROOT r = f32[4] add(p, c)\n}\n"
    )
    flags = ["--graph", "m.hlo", "--cpp_class", "C"]
    done = CliRunner().invoke(tfcompile, [*flags, "--out_weights", "c.weights"])
    assert (done.exit_code, done.output) == (0, "")
    stored = np.frombuffer((tmp_path / "c.weights").read_bytes(), np.float32)
    np.testing.assert_array_equal(stored[:4], [1, 2, 3, 4])
    assert "LoadWeights" in (tmp_path / "out.h").read_text()
    done = CliRunner().invoke(tfcompile, [*flags, "--out_constant_buffers_object", "c.o"])
    assert (done.exit_code, done.output) == (0, "")
    assert b"C_entry_constants" in (tmp_path / "c.o").read_bytes()
    done = CliRunner().invoke(
        tfcompile, [*flags, "--out_constant_buffers_object", "c.o", "--out_weights", "w"]
    )
    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    assert not (tmp_path / "w").exists()
