"""Models that TensorFlow made: SavedModels and frozen graphs, against the values it computes."""

import numpy as np
import pytest
from tensorflow_archives import NAMES, unpacked

import tfc
from tfc.errors import ShapeError, TfcError, UnsupportedError
from tfc.importers.tensorflow.sources import graph_def


def model_at(path, **options):
    """The model of a file or folder."""
    load = tfc.from_savedmodel if path.is_dir() else tfc.from_graphdef
    return load(path, **options)


def assert_gives(model, inputs, outputs, tolerance=2e-5):
    """Check a model's outputs, those of one name apart."""
    given = {port.name: inputs[port.name] for port in model.inputs}
    got = model(given)
    named = dict(zip([p.name for p in model.outputs], got if isinstance(got, tuple) else (got,)))
    for name, value in named.items():
        np.testing.assert_allclose(value, outputs[name], tolerance, tolerance, err_msg=name)


SLOW = ("frozen_while", "keras_encoder")  # others are much like them
KERAS = [n if n not in SLOW else pytest.param(n, marks=pytest.mark.slow)
         for n in NAMES if n.startswith(("keras", "frozen"))]  # fmt: skip


@pytest.mark.parametrize("name", KERAS)
def test_models_of_keras_give_what_tensorflow_computes(name, tmp_path):
    path, inputs, outputs = unpacked(name, tmp_path)
    model = model_at(path)
    (x,), (y,) = inputs.values(), outputs.values()
    np.testing.assert_allclose(model(x), y, 2e-5, 2e-5)


@pytest.mark.parametrize("name", ["partitioned", "v1_branches", "v1_loops"])
def test_graphs_of_tensorflow_1_give_what_it_computes(name, tmp_path):
    path, inputs, outputs = unpacked(name, tmp_path)
    options = {} if path.is_dir() else {"outputs": [*outputs]}
    assert_gives(model_at(path, **options), inputs, outputs)


def test_signatures_are_chosen_by_name_and_their_loops_and_branches_run(tmp_path):
    path, inputs, outputs = unpacked("stateful", tmp_path)
    assert_gives(tfc.from_savedmodel(path), inputs, outputs)
    power = tfc.from_savedmodel(path, "power")
    assert [p.name for p in power.inputs] == ["n", "x"]
    assert_gives(power, inputs, outputs)
    assert_gives(tfc.from_savedmodel(path, "power", fixed={"n": 2}), inputs, outputs)
    with pytest.raises(TfcError, match="no signature 'train'; it has power, serving_default"):
        tfc.from_savedmodel(path, "train")


@pytest.mark.parametrize("signature", ["growing", "changing"])
def test_lists_grow_and_loops_whose_shapes_change_are_unrolled(tmp_path, signature):
    path, inputs, outputs = unpacked("lists", tmp_path)
    model = tfc.from_savedmodel(path, signature)
    assert_gives(model, inputs, outputs)
    assert len(model.outputs) == {"growing": 3, "changing": 8}[signature]


def test_variables_that_a_call_changes_are_changed_for_the_next(tmp_path):
    path, inputs, outputs = unpacked("stateful", tmp_path)
    model = tfc.from_savedmodel(path)
    for count in (1, 2, 3):
        named = dict(zip([p.name for p in model.outputs], model(inputs["x"])))
        assert named["calls"] == model.parameters["calls"] == count
        np.testing.assert_array_equal(named["y"], outputs["y"])
    # A pure function, and what is traced, change nothing.
    assert model.function({"calls": np.float32(7)}, inputs["x"])[0] == 8
    assert tfc.jit(model)(inputs["x"])[0] == 4
    assert model.parameters["calls"] == 3


def test_parameters_are_the_variables_by_their_names(tmp_path):
    path, inputs, _ = unpacked("partitioned", tmp_path)
    model = tfc.from_savedmodel(path)
    assert {k: v.shape for k, v in model.parameters.items() if v.size > 100} == {
        "part/part_0": (2, 300), "part/part_1": (2, 300), "bias": (300,),
    }  # fmt: skip
    zeros = {k: np.zeros_like(v) for k, v in model.parameters.items()}
    np.testing.assert_array_equal(model.function(zeros, inputs["x"]), np.zeros((2, 3)))


def test_tags_choose_the_graph(tmp_path):
    path, _, _ = unpacked("stateful", tmp_path)
    assert tfc.from_savedmodel(path, tags="serve").inputs
    with pytest.raises(TfcError, match="no graph of the tags train; it has serve"):
        tfc.from_savedmodel(path, tags=["train"])


def test_a_known_predicate_leaves_the_branch_taken(tmp_path):
    path, inputs, outputs = unpacked("v1_branches", tmp_path)
    model = tfc.from_graphdef(path, "chosen")
    text = str(model.hlo)
    assert "conditional" not in text
    assert "rng" not in text
    np.testing.assert_allclose(model(inputs["x"]), outputs["chosen"])
    chosen = tfc.from_graphdef(path, "first").hlo
    assert "conditional" in str(chosen)


def test_sizes_that_shapes_decide_are_known_for_each_call(tmp_path):
    path, _, _ = unpacked("keras_encoder", tmp_path)
    model = tfc.from_savedmodel(path)
    for shape in ((1, 3), (3, 6)):
        assert model(np.ones(shape, np.int32)).shape == (*shape, 8)
    with pytest.raises(ShapeError, match="open sizes"):
        _ = model.hlo
    dims = tfc.from_savedmodel(path, shapes={"words": (2, 4)}).hlo.entry.root.operands[0]
    assert dims.array_shape.dims == (2, 4, 8)


def test_folders_without_a_model_are_refused(tmp_path):
    with pytest.raises(TfcError, match="is no SavedModel: it has no saved_model"):
        tfc.from_savedmodel(tmp_path)


def test_variables_whose_checkpoint_is_missing_are_named(tmp_path):
    path, _, _ = unpacked("stateful", tmp_path)
    (path / "variables" / "variables.index").unlink()
    with pytest.raises(TfcError, match=r"variables\.index"):
        tfc.from_savedmodel(path)


def test_loops_that_change_variables_in_frames_are_refused(tmp_path):
    path, _, _ = unpacked("v1_loops", tmp_path)
    made = graph_def(path)[1]
    for node in made.node:
        if node.op == "NextIteration" and "while_1" not in node.name:
            change = made.node.add(name=f"{node.name}/change", op="AssignAdd")
            change.input.extend([node.input[0], node.input[0]])
            node.input[0] = change.name
    with pytest.raises(UnsupportedError, match="changes a variable"):
        tfc.from_graphdef(made, "last")
