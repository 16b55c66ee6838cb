"""Makes the files of torch here, with what torch computes for them.

    python tests/importers/torch_models/make_models.py

`<name>.pt2` is what torch.export.save writes, packed anew, as it is mostly text; `<name>.npz` has
arguments, results and the buffers after the call. `old.pt2` is as torch 2.7 wrote it. Made with
torch 2.13.
"""

import io
import json
import sys
import zipfile
from collections import OrderedDict, namedtuple
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch._export.serde.serialize import serialize
from torch.nn import functional as F

HERE = Path(__file__).parent
Pair = namedtuple("Pair", ["total", "parts"])
torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="models.Pair")


class Convolutions(nn.Module):
    """A residual network whose activations and sums are in place, as people write them."""

    def __init__(self, dropped: float = 0.5):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding="same")
        self.norms = nn.ModuleList([nn.BatchNorm2d(4), nn.BatchNorm2d(4)])
        self.relu, self.drop, self.last = nn.ReLU(True), nn.Dropout(dropped), nn.Linear(4, 3)

    def forward(self, x):
        x = self.relu(self.norms[0](self.first(x)))
        y = self.norms[1](self.second(x))
        y += x
        y = F.max_pool2d(self.relu(y), 2)
        return self.last(self.drop(F.adaptive_avg_pool2d(y, 1).flatten(1)))


class Written(nn.Module):
    """Writes through views of every kind, to arrays that are looked at before and after."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x, scale: int = 2):
        self.count += 1
        y = x * 1
        row, corner = y[0], y[1:, ::2]
        turned = y.t().unsqueeze(0)
        row.mul_(scale)
        corner[0] = 7
        turned[0, 3].add_(row[1])
        first, second = y.chunk(2, 1)
        second -= first
        y.view(-1)[2:5].zero_()
        y.diagonal().fill_(0.5)
        y.masked_fill_(y > 6, 6.0)
        y[:, 1] = y[:, 0].clone()
        with torch.no_grad():
            self.seen.copy_(y.mean(0))
            self.seen[1:].sub_(1)
        flat = y.permute(1, 0).reshape(-1)  # a copy
        flat[0] = 100
        return {"y": y, "others": [row, corner, flat, first + 0], "scale": scale}, self.seen * 2


class Nested(nn.Module):
    """Arguments and results in dictionaries, lists and named tuples, with constants among them."""

    def __init__(self):
        super().__init__()
        self.tied = nn.Embedding(5, 4)
        self.out = nn.Linear(4, 5, bias=False)
        self.out.weight = self.tied.weight
        self.table = torch.arange(8.0).reshape(2, 4).t()[1:3]

    def forward(self, tokens, extra, *, mask=None):
        x = self.tied(tokens["ids"]) + extra[0] * extra[1]
        if mask is not None:
            x = torch.where(mask[..., None], x, torch.tensor([1.0, -1.0, 0.0, 2.0]))
        made = self.out(x)
        return Pair(made.sum(), OrderedDict(logits=made, table=self.table @ x[:2, :2].sum(-1)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)
        self.gru, self.rnn = nn.GRU(8, 3, batch_first=True), nn.RNN(3, 2, batch_first=True)

    def forward(self, x):
        x, (_, cells) = self.lstm(x)
        return self.rnn(self.gru(x)[0])[0], cells


class Branches(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: v.sin(), lambda v: v.cos() * 2, (x,))


def encoder():
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.1, "gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)


class Sized(nn.Module):
    """A program of an open batch, whose sizes it computes with."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(6, 3)

    def forward(self, x):
        count, length = x.shape[:2]
        flat = self.line(x.reshape(count * length, 6))
        places = torch.arange(length, dtype=x.dtype)[None, :, None]
        return flat.view(count, length, 3) * places / (count + 1), count * 2


def models():
    """Each model by its name: (module, arguments, keywords, dynamic shapes, is rewritten)."""
    generator = torch.Generator().manual_seed(0)

    def random(*sizes):
        return torch.randn(*sizes, generator=generator)

    batch = torch.export.Dim("batch", min=1, max=64)
    ids = torch.randint(5, (2, 3), generator=generator)
    mask = torch.tensor([[True, False, True], [False, True, True]])
    nested = ({"ids": ids}, [random(4), 2.0]), {"mask": mask}
    return {
        "convolutions": (Convolutions().eval(), (random(2, 1, 8, 8),), {}, None, False),
        "trained": (Convolutions(0.0).train(), (random(3, 1, 8, 8),), {}, None, True),
        "running": (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).train(), (random(5, 3),), {},
                    None, False),
        "encoder": (encoder().eval(), (random(2, 5, 8),), {}, None, False),
        "rewritten": (encoder().eval(), (random(2, 5, 8),), {}, None, True),
        "recurrent": (Recurrent().eval(), (random(2, 5, 3),), {}, None, False),
        "written": (Written(), (random(4, 4),), {"scale": 3}, None, False),
        "nested": (Nested().eval(), *nested, None, False),
        "branches": (Branches(), (random(3),), {}, None, False),
        "sized": (Sized(), (random(2, 4, 6),), {}, {"x": {0: batch}}, False),
    }  # fmt: skip


def leaves(value):
    """The arrays and numbers in a nested value, without what is neither."""
    found = torch.utils._pytree.tree_leaves(value)
    return [np.asarray(v.detach() if isinstance(v, torch.Tensor) else v) for v in found]


def packed(content: bytes) -> bytes:
    """A zip file with its entries packed, and text without where the program came from."""
    made = io.BytesIO()
    old = zipfile.ZipFile(io.BytesIO(content))
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.namelist():
            text = old.read(entry)
            if entry.endswith("models/model.json"):
                text = json.dumps(without_traces(json.loads(text))).encode()
            if "sample_inputs" not in entry:
                new.writestr(zipfile.ZipInfo(entry), text, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def without_traces(value):
    """JSON whose nodes have no metadata."""
    if isinstance(value, dict):
        return {k: {} if k == "metadata" else without_traces(v) for k, v in value.items()}
    return [without_traces(v) for v in value] if isinstance(value, list) else value


def old_file(program) -> bytes:
    """A file as torch 2.7 wrote it: pickled weights, and arguments without their kinds."""
    artifact = serialize(program)
    text = json.loads(artifact.exported_program)
    pending = [text]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            value.pop("kind", None)
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("version", "8.5")
        new.writestr("serialized_exported_program.json", json.dumps(without_traces(text)))
        new.writestr("serialized_state_dict.pt", artifact.state_dict)
        new.writestr("serialized_constants.pt", artifact.constants)
        new.writestr("serialized_example_inputs.pt", b"")
    return made.getvalue()


def main() -> None:
    torch.manual_seed(0)
    for name, (module, args, named, sizes, is_rewritten) in models().items():
        program = torch.export.export(module, args, named, dynamic_shapes=sizes)
        if is_rewritten:
            program = program.run_decompositions()
        made = io.BytesIO()
        torch.export.save(program, made)
        is_plain = name == "branches"  # the smallest one is as torch writes it
        (HERE / f"{name}.pt2").write_bytes(made.getvalue() if is_plain else packed(made.getvalue()))
        if name == "encoder":
            (HERE / "old.pt2").write_bytes(old_file(program))
        results = leaves(module(*args, **named))
        state = {f"after {key}": value.numpy() for key, value in module.named_buffers()}
        given = {f"in {n}": v for n, v in enumerate(leaves((args, named)))}
        wanted = {f"out {n}": v for n, v in enumerate(results)}
        np.savez_compressed(HERE / f"{name}.npz", **given, **wanted, **state)


if __name__ == "__main__":
    sys.exit(main())
