"""What torch.onnx.export writes of whole networks is imported, and computes what torch does.

torch.onnx needs the package onnxscript.
"""

import numpy as np
import pytest
import torch
from exported_networks import Bert, Detector, Tagger, efficientnet, mobilenet_v3
from torch_networks import GPT2, ResNet18, UNet, ViT, WhisperEncoder, convnext

import tfc

pytestmark = [pytest.mark.eager, pytest.mark.slow]


def image(size: int) -> torch.Tensor:
    return torch.randn(2, 3, size, size)


def words(count: int, *sizes: int) -> torch.Tensor:
    return torch.randint(count, sizes)


NETWORKS = {
    "resnet": (ResNet18, lambda: (image(32),)),
    "mobilenet_v3": (mobilenet_v3, lambda: (image(32),)),
    "efficientnet": (efficientnet, lambda: (image(32),)),
    "convnext": (convnext, lambda: (image(32),)),
    "detector": (Detector, lambda: (image(32),)),
    "unet": (UNet, lambda: (image(16),)),
    "vit": (ViT, lambda: (image(32),)),
    "whisper": (WhisperEncoder, lambda: (torch.randn(1, 8, 24),)),
    "bert": (Bert, lambda: (words(40, 2, 6), words(2, 2, 6), torch.ones(2, 6).int())),
    "tagger": (Tagger, lambda: (words(20, 2, 7),)),
    "gpt2": (GPT2, lambda: (words(30, 1, 3), [(torch.randn(1, 2, 4, 8), torch.randn(1, 2, 4, 8))
                                              for _ in range(2)])),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_exported_networks_compute_what_torch_does(name: str, tmp_path):
    torch.manual_seed(0)
    make, arguments = NETWORKS[name]
    network, args = make().eval(), arguments()
    path = tmp_path / f"{name}.onnx"
    torch.onnx.export(network, args, path, dynamo=True, verbose=False)
    given = [leaf.numpy() for leaf in torch.utils._pytree.tree_leaves(args)]
    found = tfc.from_onnx(path)(*given)
    expected = torch.utils._pytree.tree_leaves(network(*args))
    for got, wanted in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        np.testing.assert_allclose(got, wanted.detach().numpy(), 2e-4, 2e-5)
