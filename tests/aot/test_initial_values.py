"""Variables of configured graphs whose values a checkpoint holds: constants, or state's begin."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from cpp_programs import STRICT, Cpp
from tf_graphs import feed, fetch

import tfc.graph as tf
from tfc.aot.tfcompile import tfcompile
from tfc.graph.files.checkpoints import write_checkpoint
from tfc.graph.files.messages import write

CONFIG = feed("x", 2, name="x") + fetch("y", name="y")
COUNT = 'variable { node_name: "count" }\n'
VALUES = {
    "scale": np.array([3, 4], np.float32),
    "count/.ATTRIBUTES/VARIABLE_VALUE": np.array(40, np.int32),
}
PROGRAM = """
#include "c.h"
int main() {
  C c;
  CHECK(c.var_count() == 40 && *C::var_count_initial() == 40);
  for (int run = 1; run < 3; ++run) {
    c.arg_x(1) = 2;
    CHECK(c.Run() && c.var_count() == 40 + run);
    CHECK(c.result_y(1) == static_cast<float>(8 + 40 + run));
  }
  return failures;
}
"""
IN_C = """
#include "c.h"
int main(void) {
  C_object c;
  if (!C_init(&c, true) || *C_var_count_data(&c) != 40 || !C_run(&c)) return 1;
  return *C_var_count_data(&c) == 41 ? 0 : 2;
}
"""


def graph_in(folder: Path) -> Path:
    """y = x * scale + count, which each run adds one to before."""
    with tf.Graph().as_default() as made:
        x = tf.placeholder(tf.float32, [2], name="x")
        scale = tf.get_variable("scale", [2], tf.float32)
        count = tf.get_variable("count", [], tf.int32)
        now = tf.assign_add(count, 1)
        tf.add(x * scale, tf.cast(now, tf.float32), name="y")
    write(made.as_graph_def(), folder / "graph.pb", as_text=False)
    return folder / "graph.pb"


def run(folder: Path, config: str, *arguments: str) -> str:
    (folder / "c.config.pbtxt").write_text(config)
    return CliRunner().invoke(
        tfcompile,
        ["--graph", str(graph_in(folder)), "--config", str(folder / "c.config.pbtxt"),
         "--cpp_class", "C", "--out_header", str(folder / "c.h"),
         "--out_object", str(folder / "c.o"), *arguments],
    ).output  # fmt: skip


def test_state_begins_with_a_checkpoints_values_and_other_variables_are_constants(cpp: Cpp):
    folder = cpp.folder
    write_checkpoint(folder / "held", VALUES)
    options = ["--checkpoint_path", str(folder / "held"), "--initial_values"]
    assert run(folder, CONFIG + COUNT, *options) == ""
    cpp.run([PROGRAM], [folder / "c.o"])
    (folder / "main.c").write_text(IN_C)
    command = ["gcc", "-std=c99", *STRICT, str(folder / "main.c"), str(folder / "c.o"), "-lm"]
    done = subprocess.run([*command, "-o", str(folder / "in_c")], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([folder / "in_c"], check=False).returncode == 0


def test_state_is_zero_at_first_unless_it_is_asked_for(tmp_path: Path):
    write_checkpoint(tmp_path / "held", VALUES)
    assert run(tmp_path, CONFIG + COUNT, "--checkpoint_path", str(tmp_path / "held")) == ""
    header = (tmp_path / "c.h").read_text()
    assert "_initial" not in header
    assert "are zero until they are written.\n" in header


@pytest.mark.parametrize(
    ("values", "arguments", "message"),
    [
        (VALUES, ["--initial_values"], "give --checkpoint_path"),
        ({"scale": VALUES["scale"]}, ["--initial_values", "PATH"], "'count' of .* has no value"),
        ({**VALUES, "count": np.zeros(3, np.int32)}, ["--initial_values", "PATH"],
         r"'count' of .* is s32\[\], but int32\[3\] in the checkpoint"),
        ({"count": np.array(1, np.int32)}, ["PATH"], "need the variable 'scale'"),
        (VALUES, ["--checkpoint_path", "nowhere"], "nowhere"),
    ],
)  # fmt: skip
def test_checkpoints_that_do_not_fit_are_refused(tmp_path: Path, values, arguments, message):
    write_checkpoint(tmp_path / "held", values)
    path = ["--checkpoint_path", str(tmp_path / "held")]
    given = [x for a in arguments for x in (path if a == "PATH" else [a])]
    said = run(tmp_path, CONFIG + COUNT, *given)
    assert said.startswith("error: ")
    assert not (tmp_path / "c.h").exists()
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(said)
