"""More networks as people write them in PyTorch, whose exports to ONNX are imported."""

import torch
from torch import nn
from torch.nn import functional as F


def convolution(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1,
                act: type[nn.Module] = nn.SiLU) -> nn.Sequential:  # fmt: skip
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs), act(),
    )  # fmt: skip


class Squeeze(nn.Module):
    """Channels scaled by what is in all of them."""

    def __init__(self, channels: int, inner: int, act: nn.Module, gate: nn.Module):
        super().__init__()
        self.narrow, self.wide = nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)
        self.act, self.gate = act, gate

    def forward(self, x):
        scale = self.narrow(F.adaptive_avg_pool2d(x, 1))
        return x * self.gate(self.wide(self.act(scale)))


class Inverted(nn.Module):
    """MBConv: widened, depthwise, squeezed, narrowed, and added if the shapes agree."""

    def __init__(self, inputs: int, outputs: int, size: int, stride: int, act, squeeze: nn.Module):
        super().__init__()
        wide = 4 * inputs
        self.adds = stride == 1 and inputs == outputs
        self.inner = nn.Sequential(
            convolution(inputs, wide, 1, act=act),
            convolution(wide, wide, size, stride, wide, act=act), squeeze,
            convolution(wide, outputs, 1, act=nn.Identity),
        )  # fmt: skip

    def forward(self, x):
        return x + self.inner(x) if self.adds else self.inner(x)


def efficientnet() -> nn.Module:
    def block(inputs: int, outputs: int, size: int, stride: int) -> nn.Module:
        squeeze = Squeeze(4 * inputs, 2, nn.SiLU(), nn.Sigmoid())
        return Inverted(inputs, outputs, size, stride, nn.SiLU, squeeze)

    return nn.Sequential(
        convolution(3, 8, 3, 2), block(8, 8, 3, 1), block(8, 12, 5, 2), convolution(12, 32, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(32, 5),
    )  # fmt: skip


def mobilenet_v3() -> nn.Module:
    def block(inputs: int, outputs: int, size: int, stride: int, act) -> nn.Module:
        squeeze = Squeeze(4 * inputs, 4, nn.ReLU(), nn.Hardsigmoid())
        return Inverted(inputs, outputs, size, stride, act, squeeze)

    return nn.Sequential(
        convolution(3, 8, 3, 2, act=nn.Hardswish), block(8, 8, 3, 2, nn.ReLU),
        block(8, 12, 5, 1, nn.Hardswish), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(12, 16), nn.Hardswish(), nn.Linear(16, 5),
    )  # fmt: skip


class Split(nn.Module):
    """YOLO's C2f: halves that go through bottlenecks, all of them joined."""

    def __init__(self, channels: int):
        super().__init__()
        self.first = convolution(channels, channels, 1)
        half = channels // 2
        self.inner = nn.Sequential(convolution(half, half, 3), convolution(half, half, 3))
        self.last = convolution(3 * half, channels, 1)

    def forward(self, x):
        left, right = self.first(x).chunk(2, 1)
        return self.last(torch.cat([left, right, right + self.inner(right)], 1))


class Detector(nn.Module):
    """A one-stage detector at two scales: boxes by distributions of distances, and scores."""

    def __init__(self, classes: int = 3, bins: int = 4):
        super().__init__()
        self.bins = bins
        self.low = nn.Sequential(convolution(3, 8, 3, 2), convolution(8, 16, 3, 2), Split(16))
        self.high = nn.Sequential(convolution(16, 16, 3, 2), Split(16))
        self.pooled = convolution(32, 16, 1)
        self.merged = nn.Sequential(convolution(32, 16, 1), Split(16))
        self.boxes = nn.ModuleList([nn.Conv2d(16, 4 * bins, 1) for _ in range(2)])
        self.scores = nn.ModuleList([nn.Conv2d(16, classes, 1) for _ in range(2)])

    def forward(self, x):
        low = self.low(x)
        high = self.high(low)
        high = self.pooled(torch.cat([high, F.max_pool2d(high, 5, 1, 2)], 1))
        low = self.merged(torch.cat([low, F.interpolate(high, scale_factor=2.0)], 1))
        found = []
        for level, (box, score, stride) in enumerate(zip(self.boxes, self.scores, (4, 8))):
            given = (low, high)[level]
            rows, columns = given.shape[2:]
            y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
            places = torch.stack([x, y]).flatten(1) + 0.5
            bins = box(given).flatten(2).unflatten(1, (4, self.bins)).softmax(2)
            far = (bins * torch.arange(self.bins).view(1, 1, -1, 1)).sum(2)
            corners = torch.cat([places - far[:, :2], places + far[:, 2:]], 1) * stride
            found.append(torch.cat([corners, score(given).flatten(2).sigmoid()], 1))
        return torch.cat(found, 2).transpose(1, 2)


class Bert(nn.Module):
    """An encoder of words with their places and segments, and a mask of those that count."""

    def __init__(self, words: int = 40, dim: int = 16):
        super().__init__()
        self.words, self.places = nn.Embedding(words, dim, 0), nn.Embedding(16, dim)
        self.segments, self.norm = nn.Embedding(2, dim), nn.LayerNorm(dim, 1e-12)
        layer = nn.TransformerEncoderLayer(dim, 2, 32, 0.0, F.gelu, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.pooler = nn.Linear(dim, dim)

    def forward(self, tokens, segments, mask):
        places = torch.arange(tokens.shape[1]).unsqueeze(0)
        x = self.norm(self.words(tokens) + self.places(places) + self.segments(segments))
        far = (1.0 - mask[:, None, None, :].to(x.dtype)) * -1e4
        far = far.expand(-1, 2, tokens.shape[1], -1).flatten(0, 1)
        x = self.layers(x, mask=far)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Tagger(nn.Module):
    """A label for each word, by LSTMs in both directions."""

    def __init__(self):
        super().__init__()
        self.words, self.out = nn.Embedding(20, 6), nn.Linear(10, 4)
        self.lstm = nn.LSTM(6, 5, 2, batch_first=True, bidirectional=True)

    def forward(self, words):
        return self.out(self.lstm(self.words(words))[0]).log_softmax(-1)
