"""Whole networks imported, and trained through torch.compile, against torch itself."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch_networks import GPT2, ResNet18, UNet, Unrolled, ViT, WhisperEncoder, convnext

import tfc

pytestmark = pytest.mark.eager


def image(size: int) -> torch.Tensor:
    return torch.randn(2, 3, size, size)


NETWORKS = {
    "resnet18": (ResNet18, lambda: (image(32),)),
    "convnext": (convnext, lambda: (image(32),)),
    "unet": (UNet, lambda: (image(16),)),
    "vit": (ViT, lambda: (image(32),)),
    "whisper": (WhisperEncoder, lambda: (torch.randn(1, 8, 24),)),
    "lstm": (lambda: nn.LSTM(3, 4, 2, bidirectional=True), lambda: (torch.randn(5, 2, 3),)),
    "transformer": (lambda: nn.Transformer(16, 2, 1, 1, 32, batch_first=True),
                    lambda: (torch.randn(2, 5, 16), torch.randn(2, 3, 16))),
}  # fmt: skip


def assert_near(found, expected, near: float = 1e-4) -> None:
    """Compare nested results."""
    mine, structure = torch.utils._pytree.tree_flatten(found)
    theirs, wanted = torch.utils._pytree.tree_flatten(expected)
    assert structure == wanted
    for f, e in zip(mine, theirs):
        np.testing.assert_allclose(f.detach().numpy(), e.detach().numpy(), near, near)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_compute_what_torch_does(name):
    torch.manual_seed(0)
    make, arguments = NETWORKS[name]
    model, args = make().eval(), arguments()
    assert_near(tfc.from_torch(model, args)(*args), model(*args))


def test_a_language_model_goes_on_from_its_keys_and_values():
    torch.manual_seed(0)
    model, tokens = GPT2().eval(), torch.randint(30, (1, 4))
    past = [(torch.zeros(1, 2, 0, 8), torch.zeros(1, 2, 0, 8)) for _ in range(2)]
    first = tfc.from_torch(model, (tokens, past))
    found, kept = first(tokens, past)
    assert_near((found, kept), model(tokens, past))
    following = tfc.from_torch(model, (tokens[:, :1], kept))
    assert_near(following(tokens[:, :1], kept), model(tokens[:, :1], kept))


@pytest.mark.slow
def test_an_unrolled_network_of_a_thousand_nodes_is_imported():
    torch.manual_seed(0)
    model, x = Unrolled(), torch.randn(2, 250, 3)
    f = tfc.from_torch(model, (x,))
    assert sum(f.operators().values()) >= 1_000
    assert_near(f(x), model(x))


# A batch normalization must have more than two numbers for each mean: two are ±1 behind it whatever
# they were, and steps of torch in float32 are then far from its own in float64.
TRAINED = {
    "resnet18": lambda: (torch.randn(4, 3, 64, 64),), "vit": NETWORKS["vit"][1],
    "unet": NETWORKS["unet"][1],
}  # fmt: skip
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, 0.01, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p, 1e-3),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("name", TRAINED)
def test_two_steps_of_training_are_those_of_torch(name, kind):
    torch.manual_seed(0)
    mine, args = NETWORKS[name][0]().train(), TRAINED[name]()
    theirs = copy.deepcopy(mine)
    for model, call in ((mine, torch.compile(mine, backend=tfc.compile_torch)), (theirs, theirs)):
        optimizer = OPTIMIZERS[kind](model.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            (call(*args) ** 2).mean().backward()
            optimizer.step()
    assert_near(dict(mine.state_dict()), dict(theirs.state_dict()))
