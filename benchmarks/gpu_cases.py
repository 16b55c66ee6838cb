"""What is measured on GPUs: each case for tfc and JAX, whose names are the same, and in PyTorch.

A case names its arguments by dtype and dimensions; values are drawn when it runs. `small` are sizes
for tests. Cases stand in the order in which they are run: what says most comes first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import prod
from typing import Any

Spec = tuple[str, tuple[int, ...]]  # dtype and dimensions; integers are drawn below the first one
Function = Callable[..., Any]


@dataclass(frozen=True)
class GpuCase:
    """A row.

    function: of a library (tfc, or jax) and the arrays.
    torch: of PyTorch and the arrays; None where it has no counterpart.
    flops, bytes: what one run has to do at least; either may be 0.
    network: a network of models.py with its sizes instead of a function, and its sizes for tests.
    """

    group: str
    name: str
    specs: tuple[Spec, ...]
    small: tuple[Spec, ...]
    function: Function
    torch: Function | None = None
    flops: float = 0.0
    bytes: float = 0.0
    tolerance: float = 1e-5
    network: tuple[str, dict[str, Any], dict[str, Any]] | None = None

    @property
    def key(self) -> str:
        """The name of its bundle."""
        return f"{self.group} {self.name}".replace(" ", "_").replace(",", "").replace("×", "x")


SIZES = {"float32": 4, "bfloat16": 2, "float16": 2, "int32": 4}


def traffic(*specs: Spec) -> float:
    """The bytes of some arrays."""
    return float(sum(prod(dims) * SIZES[dtype] for dtype, dims in specs))


def _product(dtype: str, m: int, k: int, n: int, batch: int = 0) -> GpuCase:
    lead, few = ((batch,), (2,)) if batch else ((), ())
    specs = (dtype, (*lead, m, k)), (dtype, (*lead, k, n))
    name = f"{dtype} {f'{batch} of ' if batch else ''}{m}×{k}×{n}"
    return GpuCase(
        "gemm", name, specs, ((dtype, (*few, 40, 24)), (dtype, (*few, 24, 48))),
        lambda lib, a, b: a @ b, lambda torch, a, b: a @ b,
        flops=2.0 * max(batch, 1) * m * k * n, bytes=traffic(*specs, (dtype, (*lead, m, n))),
        tolerance=1e-5 if dtype == "float32" else 2e-2,
    )  # fmt: skip


def _moving(name: str, specs: Sequence[Spec], small: Sequence[Spec], result: Spec,
            function: Function, torch: Function, group: str = "rows", tolerance: float = 1e-5,
            ) -> GpuCase:  # fmt: skip
    """A case whose limit is memory."""
    size = traffic(*specs, result)
    return GpuCase(group, name, tuple(specs), tuple(small), function, torch, 0.0, size, tolerance)


def _softmax(lib: Any, x: Any) -> Any:
    return lib.nn.softmax(x, axis=-1)


def _layer_norm(lib: Any, x: Any, scale: Any, offset: Any) -> Any:
    mean = lib.numpy.mean(x, axis=-1, keepdims=True)
    centred = x - mean
    variance = lib.numpy.mean(centred * centred, axis=-1, keepdims=True)
    return centred / lib.numpy.sqrt(variance + 1e-5) * scale + offset


def _gelu(lib: Any, x: Any) -> Any:
    return 0.5 * x * (1 + lib.numpy.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _attention(causal: bool) -> Function:
    return lambda lib, q, k, v: lib.nn.dot_product_attention(q, k, v, is_causal=causal)


def _attention_gradient(causal: bool) -> Function:
    def gradient(lib: Any, q: Any, k: Any, v: Any) -> Any:
        def loss(q: Any, k: Any, v: Any) -> Any:
            made = lib.nn.dot_product_attention(q, k, v, is_causal=causal)
            return lib.numpy.sum(made.astype("float32"))

        return lib.grad(loss, argnums=(0, 1, 2))(q, k, v)

    return gradient


def _torch_attention(causal: bool) -> Function:
    def attention(torch: Any, *tensors: Any) -> Any:
        q, k, v = (t.transpose(1, 2) for t in tensors)
        made = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return made.transpose(1, 2)

    return attention


def _torch_attention_gradient(causal: bool) -> Function:
    forward = _torch_attention(causal)

    def gradient(torch: Any, *tensors: Any) -> Any:
        own = [t.detach().requires_grad_() for t in tensors]
        return torch.autograd.grad(forward(torch, *own).float().sum(), own)

    return gradient


def _attentions(length: int, batch: int, causal: bool) -> list[GpuCase]:
    spec: Spec = ("bfloat16", (batch, length, 16, 128))
    small: Spec = ("bfloat16", (1, 24, 2, 16))
    work = 4.0 * batch * 16 * length * length * 128 / (2 if causal else 1)
    kind = f"{'causal' if causal else 'full'} {batch}×{length}×16×128"
    return [
        GpuCase(
            "attention", f"forward {kind}", (spec,) * 3, (small,) * 3, _attention(causal),
            _torch_attention(causal), work, traffic(*[spec] * 4), 3e-2,
        ),
        GpuCase(
            "attention", f"gradient {kind}", (spec,) * 3, (small,) * 3,
            _attention_gradient(causal), _torch_attention_gradient(causal), 3.5 * work,
            traffic(*[spec] * 8), 5e-2,
        ),
    ]  # fmt: skip


def _network(title: str, name: str, small: dict[str, Any], **sizes: Any) -> GpuCase:
    def function(lib: Any, *arguments: Any) -> Any:
        model = import_module("benchmarks.models").MODELS[name](**sizes)
        return model.function(*arguments)

    return GpuCase("networks", title, (), (), function, None, network=(name, sizes, small),
                   tolerance=2e-2)  # fmt: skip


_M = 1 << 20
_LONG: Spec = ("float32", (64 * _M,))
_ROWS: Spec = ("float32", (16384, 4096))
_FEW: Spec = ("float32", (7, 40))
_SHORT: Spec = ("float32", (300,))

CASES: list[GpuCase] = [
    GpuCase("call", "one number", (("float32", ()),), (("float32", ()),), lambda lib, x: x + 1,
            lambda torch, x: x + 1),
    *(_product("bfloat16", n, n, n) for n in (4096, 8192)),
    _moving("f32 add 64 M", [_LONG, _LONG], [_SHORT, _SHORT], _LONG, lambda lib, x, y: x + y,
            lambda torch, x, y: x + y, "elementwise"),
    _moving("softmax 16384×4096", [_ROWS], [_FEW], _ROWS, _softmax,
            lambda torch, x: torch.softmax(x, -1)),
    *_attentions(4096, 4, True),
    _moving("layer norm 16384×4096", [_ROWS, ("float32", (4096,)), ("float32", (4096,))],
            [_FEW, ("float32", (40,)), ("float32", (40,))], _ROWS, _layer_norm,
            lambda torch, x, s, o: torch.nn.functional.layer_norm(x, x.shape[-1:], s, o)),
    _network("ResNet-50, batch 1", "resnet50", {"size": 32, "classes": 10}),
    _network("BERT-base, length 128", "bert", {"layers": 1, "length": 8, "width": 128}),
    _product("float32", 4096, 4096, 4096),
    _product("float16", 4096, 4096, 4096),
    _moving("sum of rows 16384×4096", [_ROWS], [_FEW], ("float32", (16384,)),
            lambda lib, x: lib.numpy.sum(x, axis=1), lambda torch, x: x.sum(1)),
    _moving("sum of columns 16384×4096", [_ROWS], [_FEW], ("float32", (4096,)),
            lambda lib, x: lib.numpy.sum(x, axis=0), lambda torch, x: x.sum(0)),
    _moving("sum of all 64 M", [_LONG], [_SHORT], ("float32", ()),
            lambda lib, x: lib.numpy.sum(x), lambda torch, x: x.sum(), tolerance=1e-3),
    _moving("transpose 8192×8192", [("float32", (8192, 8192))], [_FEW], ("float32", (8192, 8192)),
            lambda lib, x: lib.numpy.transpose(x), lambda torch, x: x.t().contiguous()),
    _moving("f32 gelu 64 M", [_LONG], [_SHORT], _LONG, _gelu,
            lambda torch, x: torch.nn.functional.gelu(x, approximate="tanh"), "elementwise"),
    _moving("bf16 multiply and add 64 M", [("bfloat16", (64 * _M,))] * 2,
            [("bfloat16", (300,))] * 2, ("bfloat16", (64 * _M,)), lambda lib, x, y: x * y + x,
            lambda torch, x, y: x * y + x, "elementwise", 2e-2),
    *_attentions(4096, 4, False),
    *_attentions(16384, 1, True),
    _network("GPT-2 decode, cache 512", "gpt2_decode",
             {"layers": 1, "cache": 8, "width": 128, "vocabulary": 11}),
    _network("LSTM, 100 steps", "lstm", {"steps": 3, "width": 8}),
    *(_product("bfloat16", n, n, n) for n in (1024, 2048)),
    _product("bfloat16", 16, 8192, 8192),
    _product("bfloat16", 512, 512, 512, batch=64),
    *(_product("float16", n, n, n) for n in (1024, 2048, 8192)),
    *(_product("float32", n, n, n) for n in (1024, 2048, 8192)),
    _moving("sort 4 M", [("float32", (4 * _M,))], [_SHORT], ("float32", (4 * _M,)),
            lambda lib, x: lib.numpy.sort(x), lambda torch, x: torch.sort(x)[0], "ordered"),
    _moving("sort rows 4096×1024", [("float32", (4096, 1024))], [_FEW], ("float32", (4096, 1024)),
            lambda lib, x: lib.numpy.sort(x), lambda torch, x: torch.sort(x)[0], "ordered"),
    _moving("running sums of rows 4096×4096", [("float32", (4096, 4096))], [_FEW],
            ("float32", (4096, 4096)), lambda lib, x: lib.numpy.cumsum(x, axis=1),
            lambda torch, x: x.cumsum(1), "ordered", 1e-3),
    _moving("scatter add 4 M into 1 M", [("float32", (_M,)), ("int32", (4 * _M,)),
                                          ("float32", (4 * _M,))],
            [("float32", (10,)), ("int32", (30,)), ("float32", (30,))], ("float32", (_M,)),
            lambda lib, t, i, u: t.at[i].add(u),
            lambda torch, t, i, u: t.index_add(0, i, u), "ordered", 1e-3),
]  # fmt: skip
