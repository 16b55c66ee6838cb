"""Programs of eager execution and of gradients: their stated numbers."""

import importlib

import numpy as np
import pytest
from document_programs import close, run

import tfc.graph as tf
from tfc.graph.contrib import eager as tfe
from tfc.graph.eager.execution import EagerGraph


@pytest.fixture
def eager():
    """A graph that computes at once."""
    with EagerGraph().as_default() as graph:
        graph.seed = 0
        yield graph


@pytest.mark.usefixtures("eager")
def test_e37_fizzbuzz():
    words, count = importlib.import_module("eager_execution").fizzbuzz(16)
    expected = ["FizzBuzz", "1", "2", "Fizz", "4", "Buzz", "Fizz", "7", "8", "Fizz", "Buzz"]
    assert words == [*expected, "11", "Fizz", "13", "14", "FizzBuzz"]
    assert count == 16


@pytest.mark.usefixtures("eager")
def test_e37_tape():
    assert importlib.import_module("eager_execution").derivative_of_square().tolist() == [[2]]


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    "way", ["fit_by_hand", pytest.param("fit_by_optimizer", marks=pytest.mark.slow)]
)
def test_e37_regression(way):
    module = importlib.import_module("eager_execution")
    first, last, slope, offset = getattr(module, way)()
    close(first, 69, atol=3)
    close(last, 1, atol=0.1)
    close([slope, offset], [3, 2], atol=0.15)


@pytest.mark.usefixtures("eager")
def test_e38_functions_of_gradients():
    square = lambda x: tf.multiply(x, x)  # noqa: E731
    first = tfe.gradients_function(square)
    second = tfe.gradients_function(lambda x: first(x)[0])
    third = tfe.gradients_function(lambda x: second(x)[0])
    assert [square(3.0).numpy(), first(3.0)[0].numpy(), second(3.0)[0].numpy()] == [9, 6, 2]
    assert third(3.0) == [None]


@pytest.mark.usefixtures("eager")
def test_e39_mean_of_values():
    assert importlib.import_module("mean_of_values").run() == [2.5, 5.5]


def test_e41_python_product(config):
    assert run("python_product", config).tolist() == [[4]]


@pytest.mark.usefixtures("eager")
def test_e41_eager_checkpoint():
    assert importlib.import_module("eager_checkpoint").run() == (11, 2)


@pytest.mark.usefixtures("eager")
def test_checkpoints_of_eager_variables_are_files_of_tensorflow(tmp_path):
    w, b = tfe.Variable([[1.0, 2.0]]), tfe.Variable(3, dtype=tf.int64)
    checkpoint = tfe.Checkpoint(w=w, b=b)
    paths = [checkpoint.save(tmp_path / "new" / "model") for _ in range(2)]
    assert [path.rpartition("/")[2] for path in paths] == ["model-1", "model-2"]
    assert tf.train.latest_checkpoint(tmp_path / "new") == paths[1]
    reader = tf.train.NewCheckpointReader(paths[0])
    assert reader.get_tensor("w/.ATTRIBUTES/VARIABLE_VALUE").tolist() == [[1, 2]]
    new_w, new_b = tfe.Variable([[0.0, 0.0]]), tfe.Variable(0, dtype=tf.int64)
    tfe.Checkpoint(w=new_w, b=new_b).restore(paths[1])
    assert (new_w.numpy().tolist(), new_b.numpy()) == ([[1, 2]], 3)
    misfit, kept = tfe.Variable([1.0]), tfe.Variable(7, dtype=tf.int64)
    with pytest.raises(ValueError, match=r"w is float32\[1, 2\] in the checkpoint"):
        tfe.Checkpoint(b=kept, w=misfit).restore(paths[0])
    assert kept.numpy() == 7
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        checkpoint.restore(tmp_path / "none")
    with pytest.raises(tf.errors.NotFoundError, match=r"other/\.ATTRIBUTES"):
        tfe.Checkpoint(other=kept).restore(paths[0])
    with pytest.raises(TypeError, match="keeps variables"):
        tfe.Checkpoint(x=np.float32(1))
