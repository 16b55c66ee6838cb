"""Signatures of SavedModels as classes, by the names that saved_model_cli gives."""

import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from cpp_programs import Cpp

from tfc.aot.tfcompile import tfcompile
from tfc.graph.files.checkpoints import CheckpointReader, write_checkpoint

MODELS = Path(__file__).parents[1] / "importers" / "tensorflow_models"
# Of the model "stateful": y is x * [3, 4] + 5, and calls how often it was called.
PROGRAM = """
#include "frozen.h"
#include "kept.h"
#include "power.h"
template <class Model>
static void Fill(Model* model) {
  model->arg_feed_x(0) = 1;
  model->arg_feed_x(1) = 2;
}
int main() {
  Frozen frozen;
  Kept kept;
  Power power;
  Fill(&frozen);
  Fill(&kept);
  Fill(&power);
  kept.var_param_calls() = 10;
  const float scale[2] = {3, 4}, shift = 5;
  kept.set_var_param_v_1_data(scale);
  kept.set_var_param_v_data(&shift);
  for (int call = 1; call < 3; ++call) {
    CHECK(frozen.Run() && frozen.result_fetch_y(0) == 8 && frozen.result_fetch_y(1) == 13);
    CHECK(frozen.result_fetch_calls() == 1);
    CHECK(kept.Run() && kept.result_fetch_y(0) == 8 && kept.result_fetch_y(1) == 13);
    CHECK(kept.result_fetch_calls() == static_cast<float>(10 + call));
  }
  power.arg_feed_n() = 2;
  CHECK(power.Run() && power.result_fetch_small(1) == 27 && power.result_fetch_case(1) == 37);
  return failures;
}
"""


def run(folder: Path, model: str, name: str, *arguments: str) -> str:
    if not (folder / model).exists():
        with zipfile.ZipFile(MODELS / f"{model}.zip") as archive:
            archive.extractall(folder / model)
    done = CliRunner().invoke(
        tfcompile,
        ["--graph", str(folder / model), "--cpp_class", name.capitalize(),
         "--out_header", str(folder / f"{name}.h"), "--out_object", str(folder / f"{name}.o"),
         *arguments],
    )  # fmt: skip
    return done.output


def test_signatures_have_their_variables_as_constants_or_as_state(cpp: Cpp):
    folder = cpp.folder
    assert run(folder, "stateful", "frozen") == ""
    assert run(folder, "stateful", "kept", "--variables_to_feed", "all") == ""
    header = (folder / "kept.h").read_text()
    assert "param_v: f32[1], param_v_1: f32[2]" in header
    assert "const float& var_param_v(" in header
    chosen = ["--tag_set", "serve", "--signature_def_key", "power"]
    assert run(folder, "stateful", "power", *chosen) == ""
    names = ("frozen", "kept", "power")
    cpp.run([PROGRAM], [folder / f"{name}.o" for name in names])


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        ("keras_convolutions", [], "has open sizes: give them by --shape keras_tensor="),
        (
            "keras_convolutions",
            ["--shape", "keras_tensor=2,9,8,3"],
            "in the file, not (2, 9, 8, 3)",
        ),
        ("keras_convolutions", ["--shape", "image=2"], "has no input 'image'; it takes keras_ten"),
        ("stateful", ["--signature_def_key", "none"], "has no signature 'none'"),
        ("stateful", ["--tag_set", "train"], "train"),
        ("stateful", ["--variables_to_feed", "w"], "has no variable 'w'; it has"),
        ("stateful", ["--initial_values"], "give --variables_to_feed"),
        ("stateful", ["--checkpoint_path", "nowhere"], "nowhere"),
        ("stateful", ["--arg", "f32[2]"], "--arg is for Python functions"),
    ],
)
def test_what_a_saved_model_has_not_is_refused(tmp_path, model, arguments, message):
    said = run(tmp_path, model, "none", *arguments)
    assert said.startswith("error: ")
    assert message in said
    assert not (tmp_path / "none.h").exists()


BEGUN = """
#include "begun.h"
#include "net.h"
template <class Model>
static float First(Model* model) {
  model->arg_feed_x(0) = 1;
  return model->Run() ? model->result_fetch_y(0) : -1;
}
int main() {
  Begun begun, other(Begun::AllocMode::RESULTS_AND_TEMPS_ONLY);
  CHECK(begun.var_param_calls() == 0 && begun.var_param_v(0) == 5);
  CHECK(begun.var_param_v_1(0) == 3 && begun.var_param_v_1(1) == 4);
  CHECK(Begun::var_param_v_1_initial()[1] == 4 && First(&begun) == 8);
  const float twice[2] = {2, 2};
  begun.set_var_param_v_1_data(twice);
  CHECK(First(&begun) == 7 && begun.result_fetch_calls() == 2);
  CHECK(!other.Run() && other.var_param_v_data() == nullptr);
  Net zeros;
  CHECK(zeros.var_param_v(0) == 0 && First(&zeros) == 0);
  return failures;
}
"""


def test_state_begins_as_the_checkpoint_holds_it_if_asked(cpp: Cpp):
    kept = ["--variables_to_feed", "all"]
    assert run(cpp.folder, "stateful", "begun", *kept, "--initial_values") == ""
    assert run(cpp.folder, "stateful", "net", *kept) == ""
    cpp.run([BEGUN], [cpp.folder / f"{name}.o" for name in ("begun", "net")])


def test_another_checkpoint_may_be_read(cpp: Cpp):
    run(cpp.folder, "stateful", "begun")
    prefix = cpp.folder / "other"
    source = cpp.folder / "stateful" / "variables" / "variables"
    held = CheckpointReader(source)
    names = held.get_variable_to_shape_map()
    arrays = {name: held.get_tensor(name) for name in names if "OBJECT_GRAPH" not in name}
    write_checkpoint(prefix, {name: x * 2 for name, x in arrays.items()})
    options = ["--checkpoint_path", str(prefix), "--output_prefix", str(cpp.folder / "made")]
    done = CliRunner().invoke(
        tfcompile, ["--dir", str(cpp.folder / "stateful"), "--cpp_class", "Made", *options,
                    "--multithreading", "--out_header", str(cpp.folder / "another.h")],
    )  # fmt: skip
    assert done.output == ""
    assert (cpp.folder / "made_metadata.o").exists()
    assert not (cpp.folder / "made.h").exists()
    program = """
    #include "another.h"
    int main() {
      Made made;
      made.arg_feed_x(0) = 1;
      CHECK(Made::kThreads == 8 && made.Run() && made.result_fetch_y(0) == 16);
      return failures;
    }
    """
    cpp.run([program], [cpp.folder / "made.o"])


def test_flags_of_saved_models_are_for_saved_models(tmp_path, matmul_text):
    (tmp_path / "m.hlo").write_text(matmul_text)
    done = CliRunner().invoke(
        tfcompile, ["--graph", str(tmp_path / "m.hlo"), "--cpp_class", "C", "--tag_set", "serve"]
    )
    assert "are for the folder of a SavedModel" in done.output


def test_sizes_that_are_open_are_stated(tmp_path):
    assert run(tmp_path, "keras_convolutions", "net", "--shape", "keras_tensor=2,8,8,3") == ""
    assert "(feed_keras_tensor: f32[2,8,8,3]) -> f32[2,4]" in (tmp_path / "net.h").read_text()


def test_the_batch_of_a_signature_stays_open_where_other_sizes_are_given(tmp_path: Path):
    sizes = ("--shape", "words=-1,6", "--batch_sizes", "1,4")
    assert run(tmp_path, "keras_encoder", "sized", *sizes) == ""
    assert "set_batch_size(std::size_t rows)" in (tmp_path / "sized.h").read_text()
    said = run(tmp_path, "keras_encoder", "open", "--shape", "words=-1,6")
    assert said.startswith("error: the input 'words' has open sizes")
