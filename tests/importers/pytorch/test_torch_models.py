"""Modules of PyTorch imported, and trained by torch.compile, against torch's own results."""

import io
import os
import zipfile

import ml_dtypes
import numpy as np
import pytest
import torch
from torch import nn

import tfc
import tfc.numpy as tnp
from tfc.aot.formats import read_module, read_program
from tfc.console import Reading
from tfc.errors import ModelFileError, ShapeError, UnsupportedError
from tfc.importers.torch.exchange import array_of, tensor_of

pytestmark = pytest.mark.eager


class Block(nn.Module):
    """A residual block of ResNet."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outputs) for _ in range(2)])
        self.short = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        inner = torch.relu(self.norms[0](self.first(x)))
        return torch.relu(self.norms[1](self.second(inner)) + self.short(x))


def resnet() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip


def near(found, expected) -> None:
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), 1e-4, 1e-4)


IMAGE = torch.linspace(-1, 1, 2 * 3 * 32 * 32).reshape(2, 3, 32, 32).sin()


def test_a_residual_network_is_imported():
    model = resnet().eval()
    f = tfc.from_torch(model, (IMAGE,))
    near(f(IMAGE), model(IMAGE))
    assert isinstance(f(IMAGE.numpy()), np.ndarray)
    names = {name for name, _ in model.named_parameters()}
    assert names <= set(f.parameters)


def test_a_transformer_of_both_parts_is_imported():
    torch.manual_seed(0)
    model = nn.Transformer(16, 2, 1, 1, 32, batch_first=True).eval()
    source, target = torch.randn(2, 5, 16), torch.randn(2, 3, 16)
    near(tfc.from_torch(model, (source, target))(source, target), model(source, target))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_recurrent_layers_are_imported(kind):
    torch.manual_seed(0)
    model, x = kind(4, 6, batch_first=True), torch.randn(2, 5, 4)
    near(tfc.from_torch(model, (x,))(x)[0], model(x)[0])


def test_steps_of_training_by_torch_compile_are_those_of_torch():
    models = [resnet().double(), resnet().double()]  # rounding of float32 grows in these steps
    calls = [models[0], torch.compile(models[1], backend=tfc.compile_torch)]
    optimizers = [torch.optim.SGD(m.parameters(), 0.05, momentum=0.9) for m in models]
    for _ in range(2):
        for call, optimizer in zip(calls, optimizers):
            optimizer.zero_grad()
            (call(IMAGE.double()) ** 2).sum().backward()
            optimizer.step()
    for mine, theirs in zip(models[1].state_dict().values(), models[0].state_dict().values()):
        near(mine, theirs)


def test_dropout_by_torch_compile_is_decided_by_the_seed_of_torch():
    drop = torch.compile(nn.Dropout(0.5), backend=tfc.compile_torch)
    x = torch.ones(1000)
    torch.manual_seed(1)
    first, second = drop(x), drop(x)
    torch.manual_seed(1)
    assert torch.equal(first, drop(x))
    assert not torch.equal(first, second)
    assert set(first.tolist()) == {0.0, 2.0}
    assert 400 < (first == 0).sum() < 600


def test_imported_modules_are_differentiated_by_their_parameters():
    torch.manual_seed(0)
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    f = tfc.from_torch(model, (x,))
    slopes = tfc.jit(tfc.grad(lambda p, v: tnp.sum(f.function(p, v) ** 2)))(
        dict(f.parameters), x.numpy()
    )
    (model(x) ** 2).sum().backward()
    np.testing.assert_allclose(slopes["weight"], model.weight.grad.numpy(), 1e-4, 1e-4)


def test_buffers_that_a_module_writes_to_are_replaced():
    model, x = nn.BatchNorm1d(3).train(), torch.arange(12.0).reshape(4, 3)
    f = tfc.from_torch(model, (x,))
    before = {name: np.copy(value) for name, value in f.parameters.items()}
    _, state = f.step(f.parameters, x)
    f(x)
    model.load_state_dict({name: tensor_of(value) for name, value in before.items()})
    model(x)
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        np.testing.assert_allclose(f.parameters[name], model.state_dict()[name].numpy(), 1e-5)
        np.testing.assert_allclose(state[name], f.parameters[name])


def test_an_open_batch_is_compiled_for_each_size():
    model = nn.Sequential(nn.Linear(3, 2), nn.Flatten())
    f = tfc.from_torch(model, (torch.ones(4, 3),), None, ({0: torch.export.Dim("n")},))
    for size in (2, 7):
        x = torch.ones(size, 3)
        near(f(x), model(x))


def test_files_of_exported_programs_are_read(tmp_path):
    model, x = nn.Linear(3, 2), torch.ones(1, 3)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "model.pt2")
    near(tfc.from_torch(tmp_path / "model.pt2")(x), model(x))
    (tmp_path / "broken.pt2").write_bytes(b"no archive")
    with pytest.raises(ModelFileError, match="is no exported program"):
        tfc.from_torch(tmp_path / "broken.pt2")
    torch.save(model, tmp_path / "pickled.pt")
    with pytest.raises(UnsupportedError, match="load its state_dict"):
        tfc.from_torch(tmp_path / "pickled.pt")
    torch.jit.trace(model, (x,)).save(tmp_path / "script.pt")
    with pytest.raises(UnsupportedError, match="TorchScript"):
        tfc.from_torch(tmp_path / "script.pt")


class Hostile:
    """What runs a function of its maker's choice when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def test_what_a_file_could_run_is_not_looked_at(tmp_path):
    good, bad = tmp_path / "model.pt2", tmp_path / "bad.pt2"
    torch.export.save(torch.export.export(nn.Linear(3, 2), (torch.ones(3),)), good)
    Hostile.folder = str(tmp_path / "made")
    buffer = io.BytesIO()
    torch.save(Hostile(), buffer)
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(bad, "w") as new:
        for name in old.namelist():
            is_sample = name.endswith("sample_inputs/model.pt")
            new.writestr(name, buffer.getvalue() if is_sample else old.read(name))
    near(tfc.from_torch(bad)(torch.ones(3)), tfc.from_torch(good)(torch.ones(3)))
    assert not (tmp_path / "made").exists()


def test_commands_take_files_of_exported_programs(tmp_path):
    size = torch.export.Dim("n")
    model, x = nn.Sequential(nn.Linear(3, 2), nn.ReLU()), torch.ones(4, 3)
    program = torch.export.export(model, (x,), dynamic_shapes=({0: size},))
    path = str(tmp_path / "model.pt2")
    torch.export.save(program, path)
    module = read_module(path, Reading(shapes={"input": (4, 3)}))
    near(torch.from_numpy(tfc.compile(module)(x.numpy())[0]), model(x))
    model = read_program(path)
    assert model.operators()["aten.linear.default"] == 1
    with pytest.raises(ShapeError, match="open sizes"):
        read_module(path)


class Values(nn.Module):
    """A module whose result has a size that depends on values, or whose path does."""

    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


class Places(nn.Module):
    """A module with two operators that have no row."""

    def forward(self, x):
        return torch.nonzero(x), torch.unique(x)


def test_what_cannot_be_imported_is_said_in_one_sentence():
    x = torch.ones(3)
    with pytest.raises(UnsupportedError, match=r"torch\.export refuses Values"):
        tfc.from_torch(Values(), (x,))
    with pytest.raises(
        UnsupportedError, match=r"unique.*\(1 ×, at .*, the size .* on values\).*nonzero"
    ):
        tfc.from_torch(Places(), (x,))
    f = tfc.from_torch(nn.Linear(3, 2), (x,))
    with pytest.raises(ShapeError, match=r"input: float32\[3\] got float32\[4\]"):
        f(torch.ones(4))
    with pytest.raises(ShapeError, match="nested"):
        f(x, x)


def test_arrays_cross_without_copies():
    for tensor in (torch.ones(3), torch.ones(3, dtype=torch.bfloat16)):
        array = array_of(tensor)
        array[0] = 2
        assert tensor[0] == 2
        back = tensor_of(array)
        assert back.dtype == tensor.dtype
        assert back.data_ptr() == tensor.data_ptr()
    assert array_of(torch.ones(1, dtype=torch.bfloat16)).dtype == ml_dtypes.bfloat16


def test_tensors_of_any_strides_are_taken():
    model = nn.Linear(3, 2)
    f = tfc.from_torch(model, (torch.ones(4, 3),))
    grid = torch.arange(24.0).reshape(6, 4)
    for x in (grid.T[:, ::2], grid[:4, :3], torch.ones(3).expand(4, 3), grid[:3, :4].T):
        near(f(x), model(x))
    near(f(grid[:4, :3].clone().requires_grad_()), model(grid[:4, :3]))
    backwards = np.arange(12, dtype=np.float32).reshape(4, 3)[::-1, ::-1]
    wanted = model(torch.from_numpy(backwards.copy())).detach().numpy()
    np.testing.assert_allclose(f(backwards), wanted, 1e-5)
    rotated = torch.ones(3, dtype=torch.complex64) * 1j
    np.testing.assert_array_equal(array_of(rotated.conj()), [-1j] * 3)
    np.testing.assert_array_equal(array_of(rotated.conj().imag), [-1] * 3)
    with pytest.raises(UnsupportedError, match="layout"):
        f(torch.eye(4, 3).to_sparse())
