"""Keras's models: those that Keras saved compute what it does, old ones what their formulas say."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from keras_files import chain, old_file
from keras_results import compare

import tfc
from tfc.errors import ModelFileError, ShapeError, UnsupportedError

FILES = sorted((Path(__file__).parent / "keras_models").glob("*.[kh]*"))
RNG = np.random.default_rng(3)


def values(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def run(content: bytes, *inputs: np.ndarray) -> Any:
    return tfc.from_keras(content, backend="interpreter")(*inputs)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_model_that_keras_saved_computes_what_keras_does(file: Path):
    compare(file)


def test_parameters_have_the_names_of_layers_and_can_be_differentiated():
    model = tfc.from_keras(FILES[0].with_name("named.keras"), backend="interpreter")
    assert sorted(model.parameters) == ["dense/bias", "dense/kernel"]
    assert {port.name for port in model.inputs} == {"alpha", "beta"}
    x = {"alpha": values(2, 4), "beta": values(2, 4)}
    order = [x[port.name] for port in model.inputs]
    slopes = tfc.grad(lambda p: tfc.numpy.sum(model.function(p, *order)[0]))(model.parameters)
    np.testing.assert_allclose(slopes["dense/bias"], [2, 2])
    np.testing.assert_allclose(slopes["dense/kernel"][:, 0], x["alpha"].sum(0), rtol=1e-5)


def test_open_sizes_are_given_by_name():
    file = FILES[0].with_name("named.keras")
    assert tfc.from_keras(file, shapes={"batch": 3}).inputs[0].dims == (3, 4)
    with pytest.raises(ShapeError, match="no input and no open size 'rows'"):
        tfc.from_keras(file, shapes={"rows": 3})


# What layers meant before Keras 3.


def test_the_hard_sigmoid_of_keras_2_has_a_slope_of_a_fifth():
    config = chain(("Activation", {"activation": "hard_sigmoid", "batch_input_shape": [None, 5]}))
    x = np.array([[-3, -1, 0, 1, 3]], np.float32)
    np.testing.assert_allclose(run(old_file(config, {}), x), np.clip(0.2 * x + 0.5, 0, 1))
    new = old_file(config, {}, version="3.5.0")
    np.testing.assert_allclose(run(new, x), np.clip(x / 6 + 0.5, 0, 1), atol=1e-6)


@pytest.mark.parametrize(("name", "gates"), [("LSTM", 4), ("GRU", 3)])
def test_layers_for_cudnn_compute_what_others_do_with_their_weights_in_another_order(
    name: str, gates: int
):
    def stored(of: Any, matrix: np.ndarray) -> np.ndarray:
        return np.hstack([of(part) for part in np.hsplit(matrix, gates)])

    kernel, inner, bias = values(3, 4 * gates), values(4, 4 * gates), values(2, 4 * gates)
    x = values(2, 5, 3)
    common = {"units": 4, "return_sequences": True, "batch_input_shape": [None, 5, 3]}
    plain = {**common, "recurrent_activation": "sigmoid", "reset_after": True}
    whole = bias if name == "GRU" else bias.sum(0)
    expected = run(old_file(chain((name, plain)), {f"{name.lower()}_0": [
        ("kernel", kernel), ("recurrent_kernel", inner), ("bias", whole)]}), x)  # fmt: skip
    weights = [("kernel", stored(lambda k: k.T.reshape(k.shape), kernel)),
               ("recurrent_kernel", stored(lambda k: k.T, inner)),
               ("bias", bias.reshape(-1))]  # fmt: skip
    got = run(old_file(chain((f"CuDNN{name}", common)), {f"cudnn{name.lower()}_0": weights}), x)
    np.testing.assert_allclose(got, expected, atol=1e-5)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_gru_of_keras_2_resets_before_the_product(backwards: bool):
    config = chain(("GRU", {
        "units": 2, "activation": "tanh", "recurrent_activation": "hard_sigmoid",
        "return_sequences": True, "go_backwards": backwards, "implementation": 1,
        "batch_input_shape": [None, 4, 3], "dtype": "float32",
    }))  # fmt: skip
    kernel, inner, bias, x = values(3, 6), values(2, 6), values(6), values(2, 4, 3)
    state, expected = np.zeros((2, 2), np.float32), []
    for step in range(4)[::-1] if backwards else range(4):
        z, r, n = np.split(x[:, step] @ kernel + bias, 3, 1)
        z = np.clip(0.2 * (z + state @ inner[:, :2]) + 0.5, 0, 1)
        r = np.clip(0.2 * (r + state @ inner[:, 2:4]) + 0.5, 0, 1)
        state = z * state + (1 - z) * np.tanh(n + (r * state) @ inner[:, 4:])
        expected.append(state)
    weights = {"gru_0": [("kernel", kernel), ("recurrent_kernel", inner), ("bias", bias)]}
    np.testing.assert_allclose(run(old_file(config, weights), x), np.stack(expected, 1), atol=1e-5)


def test_a_bidirectional_layer_of_keras_2_masks_steps_in_both_directions():
    inner = {"class_name": "SimpleRNN", "config": {
        "name": "rnn", "units": 2, "activation": "tanh", "return_sequences": True}}  # fmt: skip
    config = chain(
        ("Embedding", {"input_dim": 4, "output_dim": 3, "mask_zero": True, "input_length": 5,
                       "batch_input_shape": [None, 5]}),
        ("Bidirectional", {"layer": inner, "merge_mode": "concat"}),
    )  # fmt: skip
    table = values(4, 3)
    parts = {way: (values(3, 2), values(2, 2), values(2)) for way in ("forward", "backward")}
    tokens = np.array([[1, 2, 0, 3, 0]], np.int32)
    sides = []
    for way, (kernel, recurrent, bias) in parts.items():
        state, found = np.zeros((1, 2), np.float32), np.zeros((1, 5, 2), np.float32)
        for step in range(5) if way == "forward" else range(4, -1, -1):
            if tokens[0, step]:
                state = np.tanh(table[tokens[:, step]] @ kernel + state @ recurrent + bias)
                found[:, step] = state
        sides.append(found)
    names = ("kernel", "recurrent_kernel", "bias")
    weights = {"embedding_0": [("embeddings", table)], "bidirectional_1": [
        (f"{way}_rnn/{name}", array) for way, found in parts.items()
        for name, array in zip(names, found)]}  # fmt: skip
    got = run(old_file(config, weights), tokens)
    np.testing.assert_allclose(got, np.concatenate(sides, -1), atol=1e-5)


def test_options_and_layers_of_keras_1_are_those_of_today():
    config = {"class_name": "Sequential", "config": [
        {"class_name": "Convolution2D", "config": {
            "name": "conv", "nb_filter": 2, "nb_row": 3, "nb_col": 1, "border_mode": "valid",
            "subsample": [1, 1], "dim_ordering": "tf", "activation": "relu", "bias": True,
            "init": "glorot_uniform", "W_regularizer": None, "batch_input_shape": [None, 4, 3, 1]}},
        {"class_name": "Flatten", "config": {"name": "flat"}},
        {"class_name": "Dropout", "config": {"name": "drop", "p": 0.5}},
        {"class_name": "Dense", "config": {"name": "dense", "output_dim": 2, "bias": True,
                                           "activation": "linear"}}]}  # fmt: skip
    kernel, bias, matrix, shift = values(3, 1, 1, 2), values(2), values(12, 2), values(2)
    x = values(1, 4, 3, 1)
    rows = np.stack([sum(x[0, i + k, :, 0, None] * kernel[k, 0, 0] for k in range(3))
                     for i in range(2)])  # fmt: skip
    expected = np.maximum(rows + bias, 0).reshape(1, -1) @ matrix + shift
    weights = {"conv": [("conv_W", kernel), ("conv_b", bias)], "flat": [], "drop": [],
               "dense": [("dense_W", matrix), ("dense_b", shift)]}  # fmt: skip
    np.testing.assert_allclose(run(old_file(config, weights, "1.2.2"), x), expected, atol=1e-5)


def network(*entries: dict[str, Any], outputs: list[Any]) -> dict[str, Any]:
    """The config of a functional model as Keras 2 wrote it, with an input x of 4 numbers."""
    first = {"class_name": "InputLayer", "name": "x", "inbound_nodes": [], "config": {
        "name": "x", "batch_input_shape": [None, 4], "dtype": "float32"}}  # fmt: skip
    return {"class_name": "Model", "config": {
        "name": "net", "layers": [first, *entries], "input_layers": [["x", 0, 0]],
        "output_layers": outputs}}  # fmt: skip


def test_functions_of_tensorflow_in_a_model_of_keras_2():
    def call(name: str, function: str, *nodes: Any) -> dict[str, Any]:
        return {"class_name": "TFOpLambda", "name": name, "inbound_nodes": list(nodes),
                "config": {"name": name, "trainable": True, "function": function}}  # fmt: skip

    part = call("part", "__operators__.getitem", ["x", 0, 0, {
        "slice_spec": [{"start": None, "stop": None, "step": None},
                       {"start": 1, "stop": 3, "step": None}]}])  # fmt: skip
    part["class_name"] = "SlicingOpLambda"
    config = network(
        call("twice", "math.multiply", ["x", 0, 0, {"y": 2.0, "name": None}]),
        call("sum", "__operators__.add", ["twice", 0, 0, {"y": ["x", 0, 0], "name": None}]),
        call("mean", "math.reduce_mean", ["sum", 0, 0, {"axis": -1, "keepdims": True}]),
        call("constant", "math.subtract", ["_CONSTANT_VALUE", -1, 1.0, {"y": ["mean", 0, 0]}]),
        part, outputs=[["constant", 0, 0], ["part", 0, 0]],
    )  # fmt: skip
    x = values(3, 4)
    first, second = run(old_file(config, {}, "2.9.0"), x)
    np.testing.assert_allclose(first, 1 - (3 * x).mean(-1, keepdims=True), atol=1e-6)
    np.testing.assert_array_equal(second, x[:, 1:3])


def test_calls_of_a_model_within_one_are_counted_from_1_in_keras_2():
    inner = chain(("Dense", {"units": 4, "use_bias": False, "batch_input_shape": [None, 4]}))
    entry = {**inner, "name": "inner", "inbound_nodes": [[["x", 0, 0, {}]], [["inner", 1, 0, {}]]]}
    kernel, x = values(4, 4), values(2, 4)
    content = old_file(network(entry, outputs=[["inner", 2, 0]]), {"inner": [("kernel", kernel)]})
    np.testing.assert_allclose(run(content, x), x @ kernel @ kernel, atol=1e-5)


def test_layers_share_one_name_of_a_weight_but_not_the_weight():
    config = chain(("BatchNormalization", {"axis": [1], "epsilon": 0.5, "batch_input_shape": [2, 3],
                                           "momentum": 0.9, "fused": None}))  # fmt: skip
    names = ("gamma", "beta", "moving_mean", "moving_variance")
    gamma, beta, mean, variance = found = [values(3), values(3), values(3), values(3) ** 2]
    x = values(2, 3)
    got = run(old_file(config, {"batchnormalization_0": list(zip(names, found))}), x)
    expected = (x - mean) / np.sqrt(variance + 0.5) * gamma + beta
    np.testing.assert_allclose(got, expected, atol=1e-5)


# What is refused.


def test_layers_without_a_counterpart_are_named_all_at_once():
    config = chain(("Lambda", {"function": ["4wEAAAA=", None, None], "batch_input_shape": [1, 4]}),
                   ("StringLookup", {}), ("MyLayer", {}))  # fmt: skip
    with pytest.raises(UnsupportedError, match=r"Lambda \(1 ×.*MyLayer.*StringLookup"):
        run(old_file(config, {}), values(1, 4))


def test_functions_of_the_users_are_named():
    config = chain(("Dense", {"units": 2, "activation": "my_function", "use_bias": False,
                              "batch_input_shape": [None, 4]}))  # fmt: skip
    content = old_file(config, {"dense_0": [("kernel", values(4, 2))]})
    with pytest.raises(UnsupportedError, match="'my_function' of the layer 'dense_0'"):
        run(content, values(1, 4))


def test_an_option_that_no_row_knows_is_named():
    config = chain(("Dense", {"units": 2, "wobble": 3, "batch_input_shape": [None, 4]}))
    content = old_file(config, {"dense_0": [("kernel", values(4, 2)), ("bias", values(2))]})
    with pytest.raises(UnsupportedError, match="the option 'wobble' of Dense"):
        run(content, values(1, 4))


def test_a_model_that_is_a_class_of_its_own_is_refused():
    content = old_file({"class_name": "MyModel", "config": {"name": "m"}}, {})
    with pytest.raises(UnsupportedError, match="a model of the class MyModel, whose code is not"):
        tfc.from_keras(content)


def test_weights_that_are_missing_or_too_many_are_named():
    config = chain(("Dense", {"units": 2, "batch_input_shape": [None, 4]}))
    content = old_file(config, {"dense_0": [("kernel", values(4, 2))]})
    with pytest.raises(ModelFileError, match="1 weights of the layer 'dense_0'"):
        tfc.from_keras(content)


def test_without_h5py_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tfc.importers.keras.weights.find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=r"pip install 'tfc\[keras\]'"):
        tfc.from_keras(FILES[0])


def test_integers_of_layers_that_are_not_said_to_be_quantized_are_refused():
    config = chain(("Dense", {"units": 2, "batch_input_shape": [None, 3]}))
    arrays = [("kernel", np.ones((3, 2), np.int8)), ("bias", values(2))]
    with pytest.raises(UnsupportedError, match="'dense_0' has the weight 'kernel' in integers"):
        tfc.from_keras(old_file(config, {"dense_0": arrays}))
