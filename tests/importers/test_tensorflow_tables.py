"""SavedModels that begin with text, look numbers up in tables, or draw from generators."""

import numpy as np
import pytest
from click.testing import CliRunner
from tensorflow_archives import unpacked

import tfc
from tfc.cli import tfc as command
from tfc.errors import ModelFileError, UnsupportedError

# Where words have become numbers, and what is computed of these next.
WORDS = (
    "StatefulPartitionedCall_1/StatefulPartitionedCall/sequential_1/text_vectorization_1/"
    "RaggedToTensor/RaggedTensorToTensor"
)
VECTORS = "StatefulPartitionedCall_1/StatefulPartitionedCall/sequential_1/embedding_1/GatherV2"


def test_text_is_refused_with_the_value_where_it_has_become_numbers(tmp_path):
    path, _, _ = unpacked("text", tmp_path)
    with pytest.raises(UnsupportedError, match=f"'text' is text.*inputs=\\['{WORDS}'\\]"):
        tfc.from_savedmodel(path)


def test_what_is_behind_text_is_imported_by_the_values_that_it_takes(tmp_path):
    path, inputs, outputs = unpacked("text", tmp_path)
    model = tfc.from_savedmodel(path, inputs=[WORDS])
    assert str(model.inputs[0]) == f"{WORDS}: int64[…]"
    np.testing.assert_allclose(model(inputs["words"]), outputs["score"], 2e-6, 2e-6)
    vectors = tfc.from_savedmodel(path, inputs=WORDS, outputs=f"{VECTORS}:0")
    (table,) = (x for x in model.parameters.values() if x.shape == (20, 3))
    np.testing.assert_array_equal(vectors(inputs["words"]), table[inputs["words"]])
    part = tfc.from_savedmodel(path, inputs=[VECTORS], outputs=["output_0"])
    np.testing.assert_allclose(part(table[inputs["words"]]), outputs["score"], 2e-6, 2e-6)


def test_values_that_are_not_there_are_named(tmp_path):
    path, _, _ = unpacked("text", tmp_path)
    for names in ({"inputs": ["wobble"]}, {"inputs": [WORDS], "outputs": ["wobble"]}):
        with pytest.raises(ModelFileError, match="no node 'wobble'"):
            tfc.from_savedmodel(path, **names)


def test_commands_take_the_values_between_which_a_graph_computes(tmp_path):
    path, _, _ = unpacked("text", tmp_path)
    options = [str(path), "--inputs", WORDS]
    run = CliRunner().invoke(command, ["run", *options, "--shape", f"{WORDS}=4,5"])
    assert run.exit_code == 0, run.output
    assert "f32[4,2]" in run.output
    shown = CliRunner().invoke(command, ["inspect", *options, "--outputs", VECTORS])
    assert shown.exit_code == 0, shown.output
    assert "1 GatherV2" in shown.output
    assert "not supported" not in shown.output
    refused = CliRunner().invoke(command, ["run", str(path)])
    assert refused.exit_code == 1
    assert "--inputs" in refused.output


def test_keys_that_are_numbers_are_searched_for(tmp_path):
    path, inputs, outputs = unpacked("tables", tmp_path)
    model = tfc.from_savedmodel(path, "look")
    named = dict(zip([p.name for p in model.outputs], model(inputs["keys"])))
    np.testing.assert_array_equal(named["values"], outputs["values"])
    assert named["size"] == outputs["size"] == 3


def test_bins_whose_number_is_stated_twice_are_so_many(tmp_path):
    path, inputs, outputs = unpacked("tables", tmp_path)
    counts = tfc.from_savedmodel(path, "count")(inputs["numbers"])
    np.testing.assert_array_equal(counts, outputs["counts"])


def test_generators_draw_tensorflows_numbers_one_call_after_the_other(tmp_path):
    path, _, outputs = unpacked("tables", tmp_path)
    model = tfc.from_savedmodel(path, "draw")
    for call in ("first", "second"):
        for port, value in zip(model.outputs, model()):
            np.testing.assert_allclose(value, outputs[f"{call}.{port.name}"], 2e-5, 2e-6)
