"""Whole networks from ONNX give what ONNX Runtime gives, for each of several sizes, and train."""

from typing import Any

import numpy as np
import onnx_networks as networks
import pytest
from onnx_models import runtime_results

import tfc
import tfc.numpy as tnp

RNG = np.random.default_rng(7)


def images(count: int, size: int) -> dict[str, Any]:
    return {"image": RNG.standard_normal((count, 3, size, size)).astype(np.float32)}


def words(batch: int, time: int, known: int) -> np.ndarray:
    return RNG.integers(0, known, (batch, time))


def cache(batch: int, past: int) -> np.ndarray:
    return RNG.standard_normal((batch, 3, past, 8)).astype(np.float32)


CASES = {
    "resnet": (images(1, 32), images(3, 32)),
    "mobilenet": (images(2, 24),),
    "tagger": ({"words": words(2, 6, 50), "lengths": np.array([6, 4], np.int32)},),
    "encoder": tuple(
        {"input_ids": words(2, time, 60), "mask": np.tri(2, time, time - 2, dtype=np.int64)}
        for time in (5, 7)
    ),
    "decoder": tuple(
        {"input_ids": words(1, time, 40), "past_key": cache(1, past), "past_value": cache(1, past)}
        for time, past in ((4, 0), (1, 4))
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_network_gives_what_onnx_runtime_gives(name: str):
    made = getattr(networks, name)()
    model = tfc.from_onnx(made)
    for inputs in CASES[name]:
        got = model(inputs)
        got = got if isinstance(got, tuple) else (got,)
        for g, w in zip(got, runtime_results(made, inputs)):
            assert (g.dtype, g.shape) == (w.dtype, w.shape)
            np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-5)


def test_no_shape_is_computed_when_a_model_runs():
    """All of an encoder's arithmetic on shapes is gone from the module."""
    model = tfc.from_onnx(networks.encoder(), shapes={"batch": 2, "time": 5})
    integers = [
        i for i in model.hlo.entry.instructions
        if i.opcode not in ("parameter", "tuple") and i.array_shape.element_type.dtype == np.int64
        and i.array_shape.size < 2
    ]  # fmt: skip
    # Constants with which the ids of words are compared and clamped are left.
    assert all(i.opcode == "constant" for i in integers)


def test_the_last_layer_of_a_network_is_trained():
    model = tfc.from_onnx(networks.resnet())
    x = CASES["resnet"][1]["image"]
    labels = np.array([1, 2, 3])
    last = [n for n, v in model.parameters.items() if v.shape in ((10, 32), (10,))]
    assert len(last) == 2

    def loss(chosen):
        scores = model.function({**model.parameters, **chosen}, x)
        return tnp.mean(tfc.nn.softmax_cross_entropy_with_integer_labels(scores, labels))

    step = tfc.jit(tfc.value_and_grad(loss))
    chosen = {name: model.parameters[name] for name in last}
    losses = []
    for _ in range(5):
        value, gradients = step(chosen)
        losses.append(float(value))
        chosen = {name: chosen[name] - 0.02 * gradients[name] for name in last}
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.8 * losses[0]
