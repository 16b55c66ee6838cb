"""What the graphs of real programs have beside arithmetic: checks, numbers, state, control flow."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import tfc
from tfc.errors import ShapeError, UnsupportedError

pytestmark = pytest.mark.eager


def near(found, expected) -> None:
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), 1e-4, 1e-4)


def agrees(model: nn.Module, *args, **named) -> None:
    """Compare a module imported with itself."""
    near(tfc.from_torch(model, args, named)(*args, **named), model(*args, **named))


class Rolled(nn.Module):
    """A module that is shaped by the value of a buffer, as some exports are."""

    def __init__(self):
        super().__init__()
        self.register_buffer("amount", torch.tensor(0.7))

    def forward(self, x):
        torch._assert(x.shape[0] > 2, "too short")
        torch._assert_async(torch.isfinite(x).all())
        return torch.roll(x, round(self.amount.item() * 3))


class Count(nn.Module):
    """A module with states that it assigns to and writes to."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        self.calls += 1
        before = self.last
        self.last = x * 2
        return x + before + self.calls


class Choice(nn.Module):
    """A module with a branch."""

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v * 2, (x,))


class Repeated(nn.Module):
    """A module with a loop of unknown length."""

    def forward(self, x):
        def test(n, v):
            return n < 5

        def step(n, v):
            return n + 1, v * 2

        return torch.while_loop(test, step, (torch.zeros((), dtype=torch.int64), x))[1]


class Scanned(nn.Module):
    """A module that scans."""

    def forward(self, x):
        def step(total, row):
            return total + row, total * row

        last, all_rows = torch._higher_order_ops.scan(step, torch.ones(x.shape[1]), x)
        return all_rows + last


class Mapped(nn.Module):
    """A module that maps over rows."""

    def forward(self, x):
        return torch._higher_order_ops.map(lambda row, y: row.sin() + y, x, x.sum(0))


class Square(torch.autograd.Function):
    """A function with a derivative of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


class Squared(nn.Module):
    def forward(self, x):
        return Square.apply(x) + 1


class Spectrum(nn.Module):
    """Magnitudes of a short-time Fourier transform, and a filter by complex numbers."""

    def forward(self, x):
        window = torch.hann_window(16)
        stft = torch.stft(x, 16, 4, window=window, return_complex=True)
        rotated = torch.view_as_complex(torch.view_as_real(stft)) * torch.exp(stft.angle() * -1j)
        back = torch.fft.irfft(torch.fft.rfft(x) * 2)
        return rotated.abs().sum() + stft.abs().pow(2).mean(-1).sum() + back.sum()


class Unshaped(nn.Module):
    """A module that adds a number of an array."""

    def forward(self, x):
        return x * x.max().item()


@pytest.mark.parametrize("module", [Rolled, Choice, Repeated, Scanned, Mapped, Squared, Unshaped])
def test_graphs_with_more_than_arithmetic_are_imported(module):
    torch.manual_seed(0)
    for x in (torch.rand(4, 3), -torch.rand(4, 3)):
        agrees(module(), x)


def test_transforms_of_signals_are_imported():
    torch.manual_seed(0)
    agrees(Spectrum(), torch.randn(2, 64))


def test_states_that_a_module_assigns_are_those_of_the_next_call():
    model, x = Count(), torch.arange(3.0)
    f = tfc.from_torch(model, (x,))
    for _ in range(3):
        near(f(x), model(x))
    assert f.parameters["calls"] == 3
    _, state = f.step({"calls": np.int64(9)}, x)
    assert state["calls"] == 10
    np.testing.assert_array_equal(state["last"], [0, 2, 4])


@pytest.mark.parametrize("form", ["plain", "causal", "mask", "bias", "scale", "grouped"])
def test_forms_of_attention_are_imported(form):
    torch.manual_seed(0)
    named = {
        "plain": {}, "causal": {"is_causal": True}, "scale": {"scale": 0.3},
        "mask": {"attn_mask": torch.ones(5, 5, dtype=torch.bool).tril()},
        "bias": {"attn_mask": torch.randn(2, 1, 5, 5)}, "grouped": {"enable_gqa": True},
    }[form]  # fmt: skip

    class Attention(nn.Module):
        def forward(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, **named)

    heads = 2 if form == "grouped" else 4
    agrees(Attention(), torch.randn(2, 4, 5, 8), *[torch.randn(2, heads, 5, 8)] * 2)


def test_arguments_that_are_no_arrays_are_those_of_the_example():
    class Scaled(nn.Module):
        def forward(self, x, parts, factor=2, shift=None):
            y = x * factor + parts["a"]
            return {"y": y, "n": factor, "none": None}

    x, parts = torch.ones(2), {"a": torch.arange(2.0)}
    f = tfc.from_torch(Scaled(), (x, parts), {"factor": 3})
    found = f(x, parts, factor=3)
    near(found["y"], x * 3 + parts["a"])
    assert found["n"] == 3
    assert found["none"] is None
    with pytest.raises(ShapeError, match="exported for the argument 3"):
        f(x, parts, factor=4)


def test_quantized_operators_are_refused_by_name():
    model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(3, 2)), {nn.Linear})
    with pytest.raises(UnsupportedError, match=r"quantize|torch\.export refuses"):
        tfc.from_torch(model, (torch.ones(1, 3),))


def test_sizes_that_are_computed_of_an_open_batch_are_those_of_each_call():
    class Flattened(nn.Module):
        def forward(self, x):
            n = x.shape[0]
            y = x.reshape(n * 2, -1) + torch.arange(n * 2)[:, None]
            return y[:n], F.interpolate(x[:, None], scale_factor=2)

    model = Flattened()
    batch = torch.export.Dim("batch", min=2, max=64)
    f = tfc.from_torch(model, (torch.ones(4, 6, 2),), dynamic_shapes=({0: batch},))
    for size in (3, 8):
        x = torch.rand(size, 6, 2)
        for mine, theirs in zip(f(x), model(x)):
            near(mine, theirs)


class Written(nn.Module):
    """A module that writes in place: where nothing else sees it, and where something does."""

    def __init__(self, way):
        super().__init__()
        self.way = way

    def forward(self, x):
        y = x * 2
        if self.way == "alone":
            return torch.relu_(y).add_(x)
        if self.way == "seen before":
            z = y + 1
            y.relu_()
            return z * y
        if self.way == "seen after":
            torch.relu_(y)
            return y + x
        z = y[1:]
        torch.relu_(y)
        return z


@pytest.mark.parametrize("way", ["alone", "seen before", "seen after", "view"])
def test_writes_in_place_are_seen_by_all_that_share_the_memory(way):
    torch.manual_seed(0)
    agrees(Written(way).eval(), torch.randn(4, 3))


LAYERS = {
    "linear": (nn.Linear(3, 4), (5, 3)), "conv1d": (nn.Conv1d(4, 6, 3, 2, 1, 2, 2), (2, 4, 9)),
    "conv2d": (nn.Conv2d(2, 4, 3, (2, 1), (1, 0)), (2, 2, 7, 8)),
    "conv3d": (nn.Conv3d(1, 2, 2), (1, 1, 3, 4, 3)),
    "transposed": (nn.ConvTranspose2d(2, 3, 3, 2, 1, 1), (1, 2, 4, 4)),
    "layer_norm": (nn.LayerNorm((3, 4)), (2, 3, 4)), "group_norm": (nn.GroupNorm(2, 4), (2, 4, 3)),
    "batch_norm": (nn.BatchNorm1d(3), (4, 3)), "gelu": (nn.GELU(), (9,)),
    "tanh_gelu": (nn.GELU("tanh"), (9,)), "silu": (nn.SiLU(), (9,)), "elu": (nn.ELU(0.7), (9,)),
    "leaky_relu": (nn.LeakyReLU(0.2), (9,)), "hardtanh": (nn.Hardtanh(-0.3, 0.6), (9,)),
    "hardswish": (nn.Hardswish(), (9,)), "hardsigmoid": (nn.Hardsigmoid(), (9,)),
    "relu6": (nn.ReLU6(), (9,)), "mish": (nn.Mish(), (9,)), "softmax": (nn.Softmax(0), (3, 4)),
    "log_softmax": (nn.LogSoftmax(-1), (3, 4)), "max_pool": (nn.MaxPool2d(3, 2, 1), (1, 2, 7, 7)),
    "adaptive": (nn.AdaptiveAvgPool2d((2, 3)), (1, 2, 5, 7)),
    "flatten": (nn.Flatten(1, 2), (2, 3, 4, 5)), "unflatten": (nn.Unflatten(1, (2, -1)), (3, 6)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_read_as_torch_exports_them(name):
    torch.manual_seed(0)
    layer, sizes = LAYERS[name]
    layer, x = layer.eval(), torch.randn(sizes)
    f = tfc.from_torch(layer, (x,), backend="interpreter")
    assert len(f.operators()) == 1
    near(f(x), layer(x))
