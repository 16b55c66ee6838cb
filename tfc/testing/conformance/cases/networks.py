"""Convolutions, attention and its gradients, and what goes along rows."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.testing.conformance.cases.case import Argument, Case, Unit, below, normal, whole
from tfc.testing.conformance.cases.products import of_function

_ERRORS = {"f32": 1e-5, "f16": 6e-3, "bf16": 5e-2, "f64": 1e-13}  # of the largest element
# Arrays and kernels of convolutions, strides, padding, groups, dilation.
_CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], int, str, int, int]] = [
    ((2, 8, 8, 32), (3, 3, 32, 64), 1, "SAME", 1, 1),
    ((1, 9, 7, 3), (3, 3, 3, 8), 2, "SAME", 1, 1),
    ((2, 11, 10, 16), (3, 3, 8, 32), 1, "VALID", 2, 1),
    ((1, 8, 8, 24), (3, 3, 1, 24), 1, "SAME", 24, 1),
    ((3, 14, 14, 8), (1, 1, 8, 24), 1, "SAME", 1, 1),
    ((1, 16, 16, 16), (5, 5, 16, 20), 2, "VALID", 1, 1),
    ((2, 12, 12, 8), (3, 3, 8, 8), 1, "SAME", 1, 2),
    ((2, 5, 5, 1), (3, 3, 1, 1), 1, "SAME", 1, 1),
    ((1, 56, 8, 64), (3, 3, 64, 128), 1, "SAME", 1, 1),
    ((2, 15, 18, 64), (3, 3, 64, 72), 2, "SAME", 1, 1),
    ((3, 9, 8, 128), (3, 2, 128, 64), 1, "VALID", 1, 2),
]


def network_units() -> list[Unit]:
    """A unit for each kind."""
    return [
        Unit("convolutions", convolution_cases),
        Unit("attention", attention_cases),
        Unit("attention-gradients", attention_gradient_cases),
        Unit("rows", row_cases),
        Unit("networks", block_cases),
    ]


def case_of(
    name: str, kind: str, function: Callable[..., Any], arguments: Sequence[Argument],
    tolerance: float = 0.0,
) -> Case:  # fmt: skip
    """A case of a function."""
    return Case(name, kind, of_function(function, *arguments), arguments, tolerance)


def _convolve(
    strides: int, padding: str, groups: int, dilation: int, precision: str | None = None
) -> Callable[..., Any]:
    return lambda x, k: nn.conv(
        x, k, strides, padding, data_format="NHWC", kernel_format="HWIO",
        feature_group_count=groups, rhs_dilation=dilation, precision=precision,
    )  # fmt: skip


def _squares(function: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of the squares of a function's values."""
    return lambda *a: tnp.sum(function(*a).astype("float32") ** 2)


def convolution_cases() -> list[Case]:
    """Convolutions of several forms, and both gradients of each."""
    cases = []
    for number, (x_dims, k_dims, strides, padding, groups, dilation) in enumerate(_CONVOLUTIONS):
        function = _convolve(strides, padding, groups, dilation)
        for dtype in ("f16", "bf16", "f32", "f64", "s8"):
            x, k = whole(dtype, *x_dims, seed=number), whole(dtype, *k_dims, seed=number + 50)
            name = f"convolution/{dtype}/{number}"
            sums = "int32" if dtype == "s8" else x.choices.dtype
            plain = lambda x, k, f=function, s=sums: f(x.astype(s), k.astype(s))  # noqa: E731
            cases.append(case_of(name, "convolutions", plain, [x, k]))
            if dtype in ("bf16", "f32") and number != 8:
                gradient = tfc.grad(_squares(function), argnums=(0, 1))
                x, k = normal(dtype, *x_dims, seed=number), normal(dtype, *k_dims, seed=number)
                tolerance = _ERRORS[dtype]
                cases.append(case_of(f"{name}/gradients", "convolution gradients", gradient, [x, k],
                                     tolerance))  # fmt: skip
        function = _convolve(strides, padding, groups, dilation, "tensorfloat32")
        x, k = whole("f32", *x_dims, seed=number), whole("f32", *k_dims, seed=number + 50)
        # Features side by side in the kernel, as warpgroups need them.
        turned = whole("f32", *k_dims[:2], *k_dims[:1:-1], seed=number + 50)
        forms = {"tf32": (function, k), "tf32/turned": (_with_kernel_turned(function), turned)}
        for name, (form, kernel) in forms.items():
            name = f"convolution/{name}/{number}"
            cases.append(case_of(name, "convolution tf32", form, [x, kernel]))
    return cases


def _with_kernel_turned(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, k: function(x, k.swapaxes(2, 3))


def _operands(dtype: str, batch: int, queries: int, keys: int, heads: tuple[int, int], size: int
              ) -> list[Argument]:  # fmt: skip
    of_keys = (batch, keys, heads[1], size)
    return [normal(dtype, batch, queries, heads[0], size, seed=1),
            normal(dtype, *of_keys, seed=2), normal(dtype, *of_keys, seed=3)]  # fmt: skip


_ATTENTION = [
    (1, 64, 128, (1, 1), 64), (1, 9, 71, (2, 1), 16), (1, 130, 130, (2, 2), 40),
    (2, 18, 37, (2, 2), 24), (1, 1, 300, (4, 2), 64), (1, 70, 70, (1, 1), 128),
    (1, 33, 65, (1, 1), 256), (1, 3, 1030, (2, 1), 32),
]  # fmt: skip


def attention_cases() -> list[Case]:
    """Attention of several sizes and masks."""
    cases = []
    for number, form in enumerate(_ATTENTION):
        for dtype in ("bf16", "f16", "f32"):
            for causal in (False, True):
                attend = partial(nn.dot_product_attention, is_causal=causal)
                name = f"attention/{dtype}/{number}/{'causal' if causal else 'full'}"
                given = _operands(dtype, *form)
                cases.append(case_of(name, "attention", attend, given, _ERRORS[dtype]))
    for dtype in ("f16", "f32"):
        given = _operands(dtype, 2, 18, 37, (2, 2), 24)
        bias, mask = normal(dtype, 2, 2, 18, 37, seed=5), whole("pred", 2, 1, 1, 37, seed=6)
        forms: dict[str, tuple[Callable[..., Any], list[Argument]]] = {
            "bias": (lambda q, k, v, b: nn.dot_product_attention(q, k, v, bias=b), [bias]),
            "mask": (lambda q, k, v, m: nn.dot_product_attention(q, k, v, mask=m), [mask]),
            "window": (lambda q, k, v: nn.dot_product_attention(
                q, k, v, is_causal=True, local_window_size=5), []),
        }  # fmt: skip
        for name, (attend, more) in forms.items():
            cases.append(case_of(f"attention/{dtype}/{name}", "attention", attend,
                                 [*given, *more], _ERRORS[dtype]))  # fmt: skip
    return cases


def attention_gradient_cases() -> list[Case]:
    """Gradients of attention."""
    cases = []
    for number, form in enumerate(_ATTENTION[:6]):
        for place, dtype in enumerate(("bf16", "f16", "f32")):
            causal = (number + place) % 2 == 0
            gradient = tfc.grad(partial(_attended, causal), argnums=(0, 1, 2))
            batch, queries, _, heads, size = form
            given = _operands(dtype, *form)
            given.append(normal(dtype, batch, queries, heads[0], size, seed=4))
            name = f"attention/{dtype}/{number}/{'causal' if causal else 'full'}/gradients"
            cases.append(case_of(name, "attention gradients", gradient, given, _ERRORS[dtype]))
    return cases


def _attended(is_causal: bool, q: Any, k: Any, v: Any, d: Any) -> Any:
    made = nn.dot_product_attention(q, k, v, is_causal=is_causal)
    return tnp.sum((made * d).astype("float32"))


def _layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = tnp.mean(x, axis=-1, keepdims=True)
    centred = x - mean
    variance = tnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / tnp.sqrt(variance + 1e-5) * scale + shift


def _cross_entropy(x: Any, labels: Any) -> Any:
    logs = nn.log_softmax(x, axis=-1)
    return -tnp.sum(tnp.take_along_axis(logs, labels[:, None], axis=-1))


def row_cases() -> list[Case]:
    """Softmax, norms, cross entropy and their gradients, by rows of several lengths."""
    cases = []
    for rows, length in ((7, 40), (33, 129), (3, 1000), (2, 4100), (1, 9000), (130, 8)):
        for dtype in ("f32", "bf16", "f16", "f64"):
            x = normal(dtype, rows, length, seed=length)
            scale, labels = normal(dtype, length, seed=8), below(min(length, 40), rows)
            forms: dict[str, tuple[Callable[..., Any], list[Argument]]] = {
                "softmax": (lambda x: nn.softmax(x, axis=-1), [x]),
                "columns": (lambda x: nn.softmax(x, axis=0), [x]),
                "norm": (_layer_norm, [x, scale, scale]),
                "entropy": (tfc.grad(_cross_entropy), [x, labels]),
                "norm/gradients": (
                    tfc.grad(lambda x, s: tnp.sum(_layer_norm(x, s, s).astype("float32") ** 2),
                             argnums=(0, 1)), [x, scale]),
                "argmax": (lambda x: (tnp.argmax(x, axis=1), tnp.max(x, axis=1)), [x]),
            }  # fmt: skip
            for name, (function, given) in forms.items():
                cases.append(case_of(f"rows/{dtype}/{rows}x{length}/{name}", f"rows {name}",
                                     function, given, _ERRORS[dtype]))  # fmt: skip
    return cases


def _block(x: Any, k: Any, h: Any) -> Any:
    convolve = _convolve(1, "SAME", 1, 1)
    return tnp.maximum(convolve(tnp.maximum(convolve(x, k), 0), h) + x, 0)


def _transformer(x: Any, q: Any, k: Any, v: Any, out: Any, up: Any, down: Any) -> Any:
    h = nn.rms_norm(x, tnp.ones(x.shape[-1:], x.dtype))
    heads = (tnp.reshape(h @ w, (*x.shape[:2], 2, -1)) for w in (q, k, v))
    mixed = nn.dot_product_attention(*heads, is_causal=True)
    x = x + tnp.reshape(mixed, x.shape) @ out
    return x + nn.gelu(x @ up) @ down


def _lstm(xs: Any, h: Any, c: Any, w: Any, u: Any) -> Any:
    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, f, g, o = tnp.split(x @ w + h @ u, 4, axis=-1)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * tnp.tanh(g)
        h = nn.sigmoid(o) * tnp.tanh(c)
        return (h, c), h

    return tfc.scan(step, (h, c), xs)


def block_cases() -> list[Case]:
    """Blocks of networks with their gradients, and a recurrent one."""
    cases = []
    for dtype in ("f32", "bf16"):
        blocks = [normal(dtype, 2, 6, 6, 16), normal(dtype, 3, 3, 16, 16, seed=2, scale=0.2)]
        given = [*blocks, normal(dtype, 3, 3, 16, 16, seed=3, scale=0.2)]
        tolerance = 5 * _ERRORS[dtype]
        cases += [
            case_of(f"network/{dtype}/block", "networks", _block, given, tolerance),
            case_of(f"network/{dtype}/block/gradients", "networks",
                    tfc.grad(_squares(_block), argnums=(0, 1, 2)), given, tolerance),
        ]  # fmt: skip
        weights = [normal(dtype, 128, 128, seed=n, scale=0.1) for n in range(4)]
        weights += [normal(dtype, 128, 256, seed=5, scale=0.1),
                    normal(dtype, 256, 128, seed=6, scale=0.1)]  # fmt: skip
        gradient = tfc.grad(_squares(_transformer), argnums=tuple(range(7)))
        cases.append(case_of(f"network/{dtype}/transformer/gradients", "networks", gradient,
                             [normal(dtype, 1, 150, 128), *weights], tolerance))  # fmt: skip
    states = [normal("f32", 2, 16, seed=1), normal("f32", 2, 16, seed=2)]
    weights = [normal("f32", 8, 64, seed=3, scale=0.3), normal("f32", 16, 64, seed=4, scale=0.3)]
    for steps in (1, 20):
        given = [normal("f32", steps, 2, 8, seed=5), *states, *weights]
        cases.append(case_of(f"network/lstm/{steps}", "networks", _lstm, given, 1e-5))
        gradient = tfc.grad(_squares(lambda *a: _lstm(*a)[1]), argnums=(3, 4))
        cases.append(case_of(f"network/lstm/{steps}/gradients", "networks", gradient, given, 1e-4))
    return cases
