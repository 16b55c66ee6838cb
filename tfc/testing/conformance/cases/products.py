"""Matrix products in all forms that GPUs have code for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.aot.source import ArgumentSpec, module_of
from tfc.hlo.ir import Module
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.testing.conformance.cases.case import Argument, Case, Unit, normal, whole

KINDS = {
    "f16": "f32", "bf16": "f32", "f32": "f32", "f64": "f64", "s8": "s32", "u8": "u32",
    "s32": "s32", "s64": "s64", "f8e4m3fn": "f32", "f8e5m2": "f32", "c64": "c64",
}  # fmt: skip
_NARROW = ("f16", "bf16", "s8", "u8", "f8e4m3fn", "f8e5m2")
_MOST_STORED = 10_000  # elements of a result that is no whole numbers and hardly compresses
_LONG = 2000  # sums that clusters share, in small tiles
_TRANSPOSED = [(False, False), (False, True), (True, False), (True, True)]
# Tiles with edges; those that fit warpgroups, with edges and without; few rows; long sums.
_SIZES = [
    (37, 70, 45), (1, 1, 1), (66, 72, 36), (128, 256, 128), (200, 136, 80), (300, 264, 320),
    (1, 300, 512), (3, 130, 260), (257, 2, 96), (64, 64, 4096), (100, 80, 2064), (20, 24, 0),
]  # fmt: skip


def product_units(scale: float) -> list[Unit]:
    """A unit for each element type, then those of whole networks' forms."""
    return [
        *(Unit(f"products-{kind}", product_cases, (kind, scale)) for kind in KINDS),
        Unit("products-forms", form_cases, ()),
        Unit("products-large", large_cases, ()),
    ]


def of_function(function: Callable[..., Any], *arguments: Argument) -> Module:
    """The module of a function of arrays such as these."""
    specs = []
    for argument in arguments:
        held = argument if isinstance(argument, np.ndarray) else argument.choices
        dims = argument.shape if isinstance(argument, np.ndarray) else argument.shape.dims
        specs.append(ArgumentSpec(tuple(dims), held.dtype))
    return module_of(function, specs)


def product(
    kind: str, m: int, n: int, k: int, turned: tuple[bool, bool], batch: int, normals: bool
) -> Case:
    """A product whose operands lie in some order, of whole numbers or others."""
    draw = normal if normals else whole
    a = draw(kind, batch, *((k, m) if turned[0] else (m, k)), seed=m + k)
    b = draw(kind, batch, *((n, k) if turned[1] else (k, n)), seed=n + k + 1)
    names = f"b{'ki' if turned[0] else 'ik'},b{'jk' if turned[1] else 'kj'}->bij"
    sums = ELEMENT_TYPES[KINDS[kind]].dtype

    def function(a: Any, b: Any) -> Any:
        return tnp.einsum(names, a.astype(sums), b.astype(sums))

    form = "".join("t" if t else "n" for t in turned)
    name = f"product/{kind}/{batch}x{m}x{n}x{k}/{form}/{'normal' if normals else 'whole'}"
    measured = f"dot {kind}" if normals else ""
    return Case(
        name, f"product {kind}", of_function(function, a, b), [a, b],
        # Tensor cores cut off what a sum in f32 has no place for, product by product.
        tolerance=2e-6 if normals and kind in _NARROW else 0.0, measured=measured, has_sums=True,
    )  # fmt: skip


def product_cases(kind: str, scale: float) -> list[Case]:
    """Products of a type, of many sizes and orders."""
    cases = []
    for number, (m, n, k) in enumerate(_SIZES[: max(2, round(len(_SIZES) * scale))]):
        few = kind in _NARROW or m * n * k < 1 << 19
        for turned in _TRANSPOSED if few else _TRANSPOSED[number % 4 : number % 4 + 1]:
            cases.append(product(kind, m, n, k, turned, 1, False))
        if kind in _NARROW and k >= _LONG:
            small = product(kind, m, n, k, _TRANSPOSED[number % 4], 1, False)
            cases.append(replace(small, name=f"{small.name}/small tiles", prefers=frozenset()))
        if m * n <= _MOST_STORED:
            cases.append(product(kind, m, n, k, _TRANSPOSED[number % 4], 1 + number % 2, True))
    return cases


def large_cases() -> list[Case]:
    """Products of more tiles than a GPU has multiprocessors; sums of their rows and columns."""
    large = [
        _large(kind, KINDS[kind], *((2304, 2688, 256) if kind in _NARROW else (1152, 1280, 128)))
        for kind in ("bf16", "f16", "s8", "f32", "f8e4m3fn")
    ]
    # A block stores its tiles, each of one box of memory, one after another from the same places.
    narrow = [_large(kind, kind, 17152, 64, 64) for kind in ("bf16", "f16")]
    return [*large, *narrow]


def _large(kind: str, sums: str, m: int, n: int, k: int) -> Case:
    """A product of whole numbers, by one of the types in which their sums may be."""
    a, b = whole(kind, m, k, seed=5), whole(kind, k, n, seed=6)
    dtype = ELEMENT_TYPES[sums].dtype

    def wanted(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        return [(a.astype(np.float64) @ b.astype(np.float64)).astype(dtype)]

    return Case(
        f"product/{kind}/large/{m}x{n}x{k}", f"product {kind}",
        of_function(lambda a, b: a.astype(dtype) @ b.astype(dtype), a, b), [a, b], folded=True,
        wanted=wanted,
    )  # fmt: skip


def form_cases() -> list[Case]:
    """Products with what networks do before and after them."""
    x, w, bias = whole("bf16", 72, 64, seed=1), whole("bf16", 64, 136, seed=2), whole("bf16", 136)
    residual, wide = whole("bf16", 72, 136, seed=4), normal("f32", 72, 64, seed=5)
    v, batch = normal("f32", 64, 80, seed=6), normal("bf16", 3, 5, 72, 64, seed=7)
    functions: dict[str, tuple[Callable[..., Any], list[Argument]]] = {
        "bias": (lambda a, b, c: a @ b + c, [x, w, bias]),
        "relu": (lambda a, b, c, r: tnp.maximum(a @ b + c, 0) + r, [x, w, bias, residual]),
        "gelu": (lambda a, b: nn.gelu(a @ b), [wide, v]),
        "tanh": (lambda a, b: tnp.tanh(a) @ (b * 2), [wide, v]),
        "turned": (lambda a, b: (a @ b).T, [wide, v]),
        "several": (lambda a, b: tnp.concatenate([a @ b, (a * 2) @ b], axis=1), [x, w]),
        "batched": (lambda a, b: a @ b.swapaxes(-1, -2), [batch, batch]),
        "outer": (lambda a, b: tnp.outer(a[0], b[0]), [wide, v]),
        "vector": (lambda a, b: a @ b[:, 0], [wide, v]),
        "narrow": (lambda a, b: (a @ b).astype("float16"), [x, w]),
    }
    cases = [
        Case(f"product/form/{name}", "product forms", of_function(f, *given), given, 1e-2)
        for name, (f, given) in functions.items()
    ]
    for m, n, k in ((64, 128, 64), (70, 40, 33), (128, 256, 256)):
        cases += [_tf32(m, n, k, turned) for turned in _TRANSPOSED]
    cases.append(_tf32(1152, 1280, 384, (True, False)))  # worth copies for warpgroups
    return cases


def _tf32(m: int, n: int, k: int, turned: tuple[bool, bool]) -> Case:
    a = whole("f32", *((k, m) if turned[0] else (m, k)), seed=m)
    b = whole("f32", *((n, k) if turned[1] else (k, n)), seed=n)
    names = f"{'ki' if turned[0] else 'ik'},{'jk' if turned[1] else 'kj'}->ij"
    form = "".join("t" if t else "n" for t in turned)

    def wanted(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        return [np.einsum(names, a, b, optimize=True)]

    return Case(
        f"product/tf32/{m}x{n}x{k}/{form}", "product tf32",
        of_function(lambda a, b: tnp.einsum(names, a, b, precision="tensorfloat32"), a, b), [a, b],
        folded=m * n > _MOST_STORED * 10, wanted=wanted,
    )  # fmt: skip
