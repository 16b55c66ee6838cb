"""The networks of models.py, calls on little data, and what takes long to compile."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from benchmarks.case import Arguments, Case, Statement, Torch, Work, flops, normal, shared, traffic
from benchmarks.cases.elementwise import CASES as ELEMENTWISE
from benchmarks.cases.elementwise import add

Sizes = Mapping[str, Any]

_INFERENCE = {"best": 1.0, "JAX": 1.3}
_SMALL: dict[str, Sizes] = {
    "mlp": {"batch": 2, "sizes": (8, 16, 4)},
    "mlp_gradient": {"batch": 4, "width": 8, "layers": 2},
    "logistic_regression_step": {"batch": 4, "features": 8, "classes": 3},
    "resnet18": {"size": 32, "classes": 10},
    "resnet50": {"size": 32, "classes": 10},
    "cnn_training_step": {"batch": 2, "size": 8},
    "bert": {"layers": 1, "length": 8, "width": 128},
    "gpt2_decode": {"layers": 1, "cache": 8, "width": 128, "vocabulary": 11},
    "lstm": {"steps": 3, "width": 8},
}


def _model(name: str, sizes: Sizes) -> Any:
    """A network of models.py, which loads JAX."""
    return import_module("benchmarks.models").MODELS[name](**sizes)


def _jax(name: str) -> Statement:
    return lambda jax, *arguments: _model(name, _SMALL[name]).function(*arguments)


def _arguments(name: str, sizes: Sizes) -> Arguments:
    return lambda: _model(name, sizes).arguments


def _torch(name: str) -> Torch:
    """The network of torch_networks.py, which loads PyTorch."""

    def of(part: str) -> Any:
        return lambda torch, *values: getattr(
            import_module("benchmarks.torch_networks").NETWORKS[name], part
        )(*values)

    training = name in ("cnn_training_step", "logistic_regression_step", "mlp_gradient")
    return Torch(of("function"), of("prepare"), of("finish"), weights=1, exported=not training)


def _network(title: str, name: str, work: Work | None, **sizes: Any) -> Case:
    return Case(
        "networks", title, _jax(name), _arguments(name, sizes), _arguments(name, _SMALL[name]),
        torch=_torch(name), work=work, tolerance=1e-3, aims=_INFERENCE,
    )  # fmt: skip


def _bert(layers: int, length: int = 128, width: int = 768) -> Case:
    # Per layer 12 products with width² weights for each token, and the two of attention.
    count = layers * (2 * length * 12 * width**2 + 4 * length**2 * width)
    return _network(f"BERT-base, {layers} of 12 layers, 128 tokens", "bert", flops(count),
                    layers=layers, length=length, width=width)  # fmt: skip


def _total(xp: Any, *arrays: Any) -> Any:
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return total


def _call(name: str, function: Any, count: int) -> Case:
    draw = normal(*[(8,)] * count)
    return Case(
        "calls", name, shared(function), draw, draw, numpy=function, torch=Torch(function),
        aims={"JAX": 3.0}, host=True,
    )  # fmt: skip


def _perceptron(batch: int) -> Case:
    return _network(f"MLP 784-512-512-10, batch {batch}", "mlp",
                    flops(2 * batch * (784 * 512 + 512 * 512 + 512 * 10)), batch=batch)  # fmt: skip


# Weights of a decoding step that every token reads: 12 layers, and the embedding as a matrix.
_GPT2_BYTES = 4 * (12 * 12 * 768**2 + 50257 * 768)
_CACHE_BYTES = 4 * 12 * 2 * 512 * 768

_RESNET50 = _network("ResNet-50, batch 1", "resnet50", flops(2 * 4.09e9))
_BERT = _bert(12)
# Forward 2 × (28² · 9 · 32 + 14² · 9 · 32 · 64 + 3136 · 128 + 1280) an image, and twice that back.
_CNN_FLOPS = 3 * 64 * 2 * (28**2 * 288 + 14**2 * 288 * 64 + 3136 * 128 + 1280)

NETWORKS = [
    _perceptron(1),
    _perceptron(64),
    _network("ResNet-18, batch 1", "resnet18", flops(2 * 1.81e9)),
    _RESNET50,
    _bert(1),
    _BERT,
    _network(
        "GPT-2 small, one token, 512 cached", "gpt2_decode",
        traffic(_GPT2_BYTES + 2 * _CACHE_BYTES, "read"),
    ),
    _network("LSTM, 100 steps, width 256", "lstm", flops(2 * 100 * 2 * 256 * 1024)),
    _network("CNN training step, batch 64", "cnn_training_step", flops(_CNN_FLOPS)),
    _network("logistic regression step, batch 256", "logistic_regression_step",
             flops(4 * 256 * 784 * 10)),
]  # fmt: skip

CALLS = [_call("2 × 8 floats", add, 2), _call("20 × 8 floats", _total, 20)]


def _compilations(case: Case, title: str) -> list[Case]:
    """The same program; what is measured is how long it takes to compile."""
    same = replace(case, name=title, numpy=None, torch=None, work=None, aims={"JAX": 1 / 0.7})
    return [replace(same, family="cold compilation", compiling="cold"),
            replace(same, family="compilation in a new process", compiling="new"),
            replace(same, family="compilation again", compiling="again")]  # fmt: skip


_CHAIN = next(case for case in ELEMENTWISE if case.name == "chain, 64 K")
_DEEP = _network("", "mlp_gradient", None)

_FORWARD = replace(
    _DEEP, jax=_jax("mlp"), arguments=_arguments("mlp", {"sizes": (512,) * 9}),
    small=_arguments("mlp", _SMALL["mlp"]),
)  # fmt: skip
_COMPILED = {"chain": _CHAIN, "8-layer MLP": _FORWARD, "8-layer MLP, gradient": _DEEP,
             "ResNet-50": _RESNET50, "BERT-base, 12 layers": _BERT}  # fmt: skip
COMPILATION = sorted(
    (row for title, case in _COMPILED.items() for row in _compilations(case, title)),
    key=lambda row: ("cold", "new", "again").index(row.compiling),
)

CASES = [*NETWORKS, *CALLS, *COMPILATION]
