"""Networks as people write them in PyTorch, small, with random weights."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class BasicBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += identity
        return self.relu(out)


class ResNet18(nn.Module):
    """torchvision's, of narrower layers."""

    def __init__(self, width: int = 8, classes: int = 10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1, self.pool = nn.BatchNorm2d(width), nn.MaxPool2d(3, 2, 1)
        layers, last = [], width
        for number in range(4):
            outputs = width << number
            layers.append(BasicBlock(last, outputs, 1 if number == 0 else 2))
            layers.append(BasicBlock(outputs, outputs, 1))
            last = outputs
        self.layers, self.fc = nn.Sequential(*layers), nn.Linear(last, classes)

    def forward(self, x):
        x = self.layers(self.pool(torch.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class ChannelNorm(nn.LayerNorm):
    """Layer normalization of channels that are the second dimension."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(dim, dim, 7, padding=3, groups=dim), nn.LayerNorm(dim)
        self.wide, self.narrow = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.scale = nn.Parameter(torch.full((dim,), 0.1))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.narrow(F.gelu(self.wide(y)))
        return x + y.permute(0, 3, 1, 2)


def convnext() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 4, 4), ChannelNorm(8), ConvNeXtBlock(8), ChannelNorm(8),
        nn.Conv2d(8, 16, 2, 2), ConvNeXtBlock(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(1),
        nn.LayerNorm(16), nn.Linear(16, 5),
    )  # fmt: skip


def double(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(2, outputs), nn.SiLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1), nn.LeakyReLU(0.1),
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.middle = double(3, 4), double(4, 8), double(8, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.up2, self.up1, self.last = double(16, 8), double(12, 4), nn.Conv2d(4, 2, 1)

    def forward(self, x):
        first = self.down1(x)
        second = self.down2(F.max_pool2d(first, 2))
        y = self.middle(F.avg_pool2d(second, 2))
        y = self.up2(torch.cat([second, self.up(y)], 1))
        y = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.last(self.up1(torch.cat([first, y], 1))))


class ViT(nn.Module):
    def __init__(self, dim: int = 16):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, dim))
        self.places = nn.Parameter(torch.randn(1, 17, dim) * 0.1)
        layer = nn.TransformerEncoderLayer(
            dim, 4, 32, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(dim), False)
        self.head = nn.Linear(dim, 7)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


class Attention(nn.Module):
    """GPT-2's, over keys and values of before, too."""

    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads, self.together, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, past):
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.together(x).chunk(3, -1)
        )
        key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
        count, total = query.shape[2], key.shape[2]
        mask = torch.ones(count, total, dtype=torch.bool).tril(total - count)
        y = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out(y.transpose(1, 2).flatten(2)), (key, value)


class GPT2(nn.Module):
    def __init__(self, dim: int = 16, heads: int = 2, layers: int = 2, words: int = 30):
        super().__init__()
        self.words, self.places = nn.Embedding(words, dim), nn.Embedding(32, dim)
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(2 * layers + 1)])
        self.attention = nn.ModuleList([Attention(dim, heads) for _ in range(layers)])
        self.wide = nn.ModuleList([nn.Linear(dim, 4 * dim) for _ in range(layers)])
        self.narrow = nn.ModuleList([nn.Linear(4 * dim, dim) for _ in range(layers)])

    def forward(self, tokens, past):
        before = past[0][0].shape[2]
        x = self.words(tokens) + self.places(torch.arange(before, before + tokens.shape[1]))
        kept = []
        for n, attention in enumerate(self.attention):
            y, state = attention(self.norms[2 * n](x), past[n])
            kept.append(state)
            x = x + y
            y = F.gelu(self.wide[n](self.norms[2 * n + 1](x)), approximate="tanh")
            x = x + self.narrow[n](y)
        return self.norms[-1](x) @ self.words.weight.T, kept


class WhisperEncoder(nn.Module):
    """Of spectrograms: two convolutions, sinusoids for places, transformer layers."""

    def __init__(self, channels: int = 8, dim: int = 16, frames: int = 12):
        super().__init__()
        self.first = nn.Conv1d(channels, dim, 3, padding=1)
        self.second = nn.Conv1d(dim, dim, 3, 2, 1)
        scales = torch.exp(-math.log(10000) / (dim // 2 - 1) * torch.arange(dim // 2))
        angles = torch.arange(frames)[:, None] * scales[None, :]
        self.register_buffer("places", torch.cat([angles.sin(), angles.cos()], 1))
        layer = nn.TransformerEncoderLayer(
            dim, 2, 32, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 2, nn.LayerNorm(dim), False)

    def forward(self, x):
        x = F.gelu(self.second(F.gelu(self.first(x)))).permute(0, 2, 1)
        return self.layers((x + self.places).to(x.dtype))


class Unrolled(nn.Module):
    """An LSTM cell called step by step."""

    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.LSTMCell(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        hidden = cell = torch.zeros(x.shape[0], 4)
        for step in x.unbind(1):
            hidden, cell = self.cell(step, (hidden, cell))
        return self.out(hidden)
