"""What is measured on GPUs: each case for tfc and JAX, whose names are the same, and in PyTorch.

A case names its arguments by dtype and dimensions; values are drawn when it runs. `small` are sizes
for tests. Cases stand in the order in which they are run: what says most comes first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
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
    triton: the function of gpu_triton.py that does the same; "" for none.
    tf32: whether products of f32 may be those of tf32, for all libraries.
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
    triton: str = ""
    tf32: bool = False

    @property
    def key(self) -> str:
        """The name of its bundle."""
        name = f"{self.group} {self.name}".replace(",", "").replace("×", "x")
        return name.replace("→", "to").replace(" ", "_")


SIZES = {"float32": 4, "bfloat16": 2, "float16": 2, "int32": 4, "float8_e4m3fn": 1}


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
        tolerance=1e-5 if dtype == "float32" else 2e-2, triton="product",
    )  # fmt: skip


def _with_tf32(case: GpuCase, tolerance: float = 2e-3) -> GpuCase:
    """A case of f32 where tf32 is permitted: by default in JAX, and in PyTorch for convolutions."""
    name = f"{case.name}, tf32".replace("float32 ", "")
    return replace(case, name=name, tf32=True, tolerance=tolerance, triton="")


def _f8_product(m: int, k: int, n: int) -> GpuCase:
    """A product of 8-bit floats to bf16, whose operands both lie along the sums."""
    dtype = "float8_e4m3fn"
    specs = (dtype, (m, k)), (dtype, (n, k))

    def function(lib: Any, a: Any, b: Any) -> Any:
        made = lib.numpy.einsum(
            "ik,jk->ij", a, b, precision="default", preferred_element_type="float32"
        )
        return made.astype("bfloat16")

    return GpuCase(
        "gemm", f"float8 e4m3 {m}×{k}×{n}", specs, ((dtype, (48, 32)), (dtype, (64, 32))),
        function, _torch_f8_product, flops=2.0 * m * k * n,
        bytes=traffic(*specs, ("bfloat16", (m, n))), tolerance=2e-2,
    )  # fmt: skip


def _torch_f8_product(torch: Any, a: Any, b: Any) -> Any:
    one = _one(torch)
    return torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)


@cache
def _one(torch: Any) -> Any:
    return torch.ones((), device="cuda")


def _convolution(size: int, inputs: int, outputs: int, kernel: int, stride: int = 1) -> GpuCase:
    """A layer of ResNet-50 for 64 images, NHWC and HWIO, in bf16."""
    batch, out = 64, -(-size // stride)
    pads = ((kernel // 2, kernel // 2),) * 2

    def specs(batch: int, size: int, inputs: int, outputs: int) -> tuple[Spec, ...]:
        image, window = (batch, size, size, inputs), (kernel, kernel, inputs, outputs)
        return ("bfloat16", image), ("bfloat16", window)

    def function(lib: Any, x: Any, w: Any) -> Any:
        if hasattr(lib, "lax"):
            names = "NHWC", "HWIO", "NHWC"
            return lib.lax.conv_general_dilated(
                x, w, (stride, stride), pads, dimension_numbers=names
            )
        return lib.nn.conv(x, w, stride, pads)

    def torch_function(torch: Any, x: Any, w: Any) -> Any:
        # The same bytes of images; kernels are turned once, as a network would have them.
        images = x.permute(0, 3, 1, 2)
        made = torch.nn.functional.conv2d(images, _turned(torch, w), None, stride, kernel // 2)
        return made.permute(0, 2, 3, 1)

    full = specs(batch, size, inputs, outputs)
    return GpuCase(
        "convolution", f"bf16 {size}×{size}, {inputs} → {outputs}, {kernel}×{kernel} by {stride}",
        full, specs(1, 6, 8, 16), function, torch_function,
        flops=2.0 * batch * out * out * outputs * kernel * kernel * inputs,
        bytes=traffic(*full, ("bfloat16", (batch, out, out, outputs))), tolerance=2e-2,
    )  # fmt: skip


_TURNED: list[tuple[Any, Any]] = []  # the last kernel of PyTorch's, as given and turned


def _turned(torch: Any, kernel: Any) -> Any:
    if not _TURNED or _TURNED[0][0] is not kernel:
        made = kernel.permute(3, 2, 0, 1).to(memory_format=torch.channels_last)
        _TURNED[:] = [(kernel, made)]
    return _TURNED[0][1]


def _moving(name: str, specs: Sequence[Spec], small: Sequence[Spec], result: Spec,
            function: Function, torch: Function, group: str = "rows", tolerance: float = 1e-5,
            triton: str = "") -> GpuCase:  # fmt: skip
    """A case whose limit is memory."""
    size = traffic(*specs, result)
    return GpuCase(group, name, tuple(specs), tuple(small), function, torch, 0.0, size, tolerance,
                   triton=triton)  # fmt: skip


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
    """Those of q, k and v where `d` is that of the result, as what follows gives it."""

    def gradient(lib: Any, q: Any, k: Any, v: Any, d: Any) -> Any:
        def attend(q: Any, k: Any, v: Any) -> Any:
            return lib.nn.dot_product_attention(q, k, v, is_causal=causal)

        return lib.vjp(attend, q, k, v)[1](d)

    return gradient


def _torch_attention(causal: bool) -> Function:
    def attention(torch: Any, *tensors: Any) -> Any:
        q, k, v = (t.transpose(1, 2) for t in tensors)
        made = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return made.transpose(1, 2)

    return attention


def _torch_attention_gradient(causal: bool) -> Function:
    forward = _torch_attention(causal)

    def gradient(torch: Any, q: Any, k: Any, v: Any, d: Any) -> Any:
        own = [t.detach().requires_grad_() for t in (q, k, v)]
        return torch.autograd.grad(forward(torch, *own), own, d)

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
            triton="causal_attention" if causal else "full_attention",
        ),
        GpuCase(
            "attention", f"gradient {kind}", (spec,) * 4, (small,) * 4,
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

_LARGE_NETWORKS = [
    _network("ResNet-50, batch 1", "resnet50", {"size": 32, "classes": 10}),
    _network("BERT-base, length 128", "bert", {"layers": 1, "length": 8, "width": 128}),
]

CASES: list[GpuCase] = [
    GpuCase("call", "one number", (("float32", ()),), (("float32", ()),), lambda lib, x: x + 1,
            lambda torch, x: x + 1),
    *(_product("bfloat16", n, n, n) for n in (4096, 8192)),
    _moving("f32 add 64 M", [_LONG, _LONG], [_SHORT, _SHORT], _LONG, lambda lib, x, y: x + y,
            lambda torch, x, y: x + y, "elementwise", triton="add"),
    _moving("softmax 16384×4096", [_ROWS], [_FEW], _ROWS, _softmax,
            lambda torch, x: torch.softmax(x, -1), triton="softmax"),
    *_attentions(4096, 4, True),
    _moving("layer norm 16384×4096", [_ROWS, ("float32", (4096,)), ("float32", (4096,))],
            [_FEW, ("float32", (40,)), ("float32", (40,))], _ROWS, _layer_norm,
            lambda torch, x, s, o: torch.nn.functional.layer_norm(x, x.shape[-1:], s, o),
            triton="layer_norm"),
    *_LARGE_NETWORKS,
    *(_with_tf32(network, 5e-2) for network in _LARGE_NETWORKS),
    _product("float32", 4096, 4096, 4096),
    _with_tf32(_product("float32", 4096, 4096, 4096)),
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
            lambda torch, x: torch.nn.functional.gelu(x, approximate="tanh"), "elementwise",
            triton="gelu"),
    _moving("bf16 multiply and add 64 M", [("bfloat16", (64 * _M,))] * 2,
            [("bfloat16", (300,))] * 2, ("bfloat16", (64 * _M,)), lambda lib, x, y: x * y + x,
            lambda torch, x, y: x * y + x, "elementwise", 2e-2, "multiply_and_add"),
    *_attentions(4096, 4, False),
    *(_f8_product(n, n, n) for n in (4096, 8192)),
    _convolution(56, 64, 64, 3),
    _convolution(14, 256, 256, 3),
    *_attentions(16384, 1, True),
    _network("GPT-2 decode, cache 512", "gpt2_decode",
             {"layers": 1, "cache": 8, "width": 128, "vocabulary": 11}),
    _network("LSTM, 100 steps", "lstm", {"steps": 3, "width": 8}),
    *(_product("bfloat16", n, n, n) for n in (512, 1024, 2048)),
    _product("bfloat16", 16, 8192, 8192),
    _product("bfloat16", 8192, 8192, 16),
    _product("bfloat16", 8192, 64, 8192),
    _product("bfloat16", 256, 16384, 256),
    _product("bfloat16", 1664, 4096, 2560),
    _product("bfloat16", 512, 512, 512, batch=64),
    _convolution(56, 256, 64, 1),
    _convolution(28, 128, 128, 3),
    _convolution(56, 128, 128, 3, 2),
    _convolution(7, 512, 512, 3),
    _convolution(224, 3, 64, 7, 2),
    *_attentions(2048, 8, True),
    *_attentions(8192, 2, True),
    *_attentions(2048, 8, False),
    *_attentions(8192, 2, False),
    *_attentions(16384, 1, False),
    *(_f8_product(n, n, n) for n in (512, 1024, 2048)),
    _f8_product(64, 8192, 8192),
    *(_product("float16", n, n, n) for n in (1024, 2048, 8192)),
    *(_product("float32", n, n, n) for n in (512, 1024, 2048, 8192)),
    *(_with_tf32(_product("float32", n, n, n)) for n in (1024, 8192)),
    _product("float32", 16, 8192, 8192),
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
