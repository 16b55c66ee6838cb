"""Conversions between widths and formats: against XLA, and every pattern of the narrow floats."""

import ml_dtypes
import numpy as np
import pytest
from kernel_harness import compile_kernel
from xla_bridge import run_hlo_text

import tfc
from tfc.backends.mlir.arithmetic.value import convert
from tfc.hlo import evaluate, parse
from tfc.hlo.shape import ELEMENT_TYPES, F32, F64, S64, ElementType

NARROW = [t for t in ELEMENT_TYPES.values() if t.is_float and t.bits <= 16]
BITS = [t for t in ELEMENT_TYPES.values() if t.kind not in ("pred", "complex")]
RNG = np.random.default_rng(0)


def patterns(element_type: ElementType) -> np.ndarray:
    """Every number of a narrow float type."""
    return np.arange(1 << element_type.bits, dtype=f"u{element_type.bytes}").view(
        element_type.dtype
    )


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """True where bits agree, or both are NaN."""
    raw = f"u{a.dtype.itemsize}"
    with np.errstate(invalid="ignore"):
        nan = np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))
    return (a.view(raw) == b.view(raw)) | nan


@pytest.mark.parametrize("element_type", NARROW, ids=str)
def test_every_narrow_float_converts_to_f32_exactly(element_type: ElementType):
    x = patterns(element_type)
    kernel = compile_kernel(lambda v: convert(v, F32), element_type, result=F32)
    assert same(kernel(x), x.astype(np.float32)).all()


@pytest.mark.parametrize("element_type", NARROW, ids=str)
def test_f32_rounds_to_narrow_floats_as_ml_dtypes_rounds(element_type: ElementType):
    """Random patterns, the format's numbers, the middles between them, and their neighbours."""
    numbers = patterns(element_type).astype(np.float32)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    middles = ((numbers[1:].astype(np.float64) + numbers[:-1]) / 2).astype(np.float32)
    above, below = (np.nextafter(middles, np.float32(side)) for side in (np.inf, -np.inf))
    random = RNG.integers(0, 1 << 32, 100_000, dtype=np.uint32).view(np.float32)
    x = np.concatenate([numbers, numbers[abs(numbers) < 1e30] * 2, middles, above, below, random])
    kernel = compile_kernel(lambda v: convert(v, element_type), F32, result=element_type)
    with np.errstate(all="ignore"):
        assert same(kernel(x), x.astype(element_type.dtype)).all()


@pytest.mark.parametrize("element_type", [t for t in NARROW if t.name != "bf16"], ids=str)
def test_f64_and_s64_round_once(element_type: ElementType):
    numbers = patterns(element_type).astype(np.float64)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    middles = (numbers[1:] + numbers[:-1]) / 2
    for side, nearest in ((np.inf, numbers[1:]), (-np.inf, numbers[:-1])):
        x = np.nextafter(middles, side)
        n = len(x)
        text = f"ENTRY e {{ x = f64[{n}] parameter(0) ROOT r = {element_type}[{n}] convert(x) }}"
        (got,) = tfc.compile(parse(text))(x)
        for rounded in (got, evaluate(parse(text), x)):
            np.testing.assert_array_equal(rounded.astype(np.float64), nearest)
    whole = RNG.integers(-70_000, 70_000, 5_000)
    kernel = compile_kernel(lambda v: convert(v, element_type), S64, result=element_type)
    with np.errstate(over="ignore"):
        assert same(kernel(whole), whole.astype(F64.dtype).astype(element_type.dtype)).all()


@pytest.mark.parametrize(
    "target",
    [pytest.param(t, marks=[] if t.name in ("u4", "f32") else [pytest.mark.slow]) for t in BITS],
    ids=str,
)
def test_bitcasts_between_widths_agree_with_xla(target: ElementType):
    """From and to every other type: the narrower one has the parts in a last dimension (BCT-1)."""
    for source in BITS:
        wide, narrow = (max(source.bits, target.bits), min(source.bits, target.bits))
        parts = f",{wide // narrow}" if wide > narrow else ""
        dims = {True: "3", False: f"3{parts}"}
        given, made = dims[source.bits == wide], dims[target.bits == wide]
        shape = tuple(map(int, given.split(",")))
        x = RNG.integers(0, 256, (*shape, source.bytes), dtype=np.uint8)
        x = x.view(source.dtype)[..., 0] if source.bits > 4 else (x[..., 0] & 15).view(source.dtype)
        lines = ["ENTRY e {", f"  x = {source}[{given}] parameter(0)",
                 f"  ROOT r = {target}[{made}] bitcast-convert(x)", "}"]  # fmt: skip
        text = "\n".join(lines)
        expected, xla = evaluate(parse(text), x), run_hlo_text(text, x)
        (got,) = tfc.compile(parse(text))(x)
        for other in (xla, got):
            assert other.shape == expected.shape
            assert same_bits(other, expected), (source, target)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.name in ("int4", "uint4"):
        a, b = a.astype(np.int8), b.astype(np.int8)
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


def test_four_bits_are_the_number_in_a_byte():
    """ml_dtypes reads them so, and C++ as an int8_t; ml_dtypes itself writes zeros before them."""
    x = np.arange(-8, 8).astype(ml_dtypes.int4)
    text = "ENTRY e { x = s4[16] parameter(0) ROOT r = s4[16] negate(x) }"
    (got,) = tfc.compile(parse(text))(x)
    np.testing.assert_array_equal(got, (-np.arange(-8, 8)).astype(ml_dtypes.int4))
    assert got.view(np.int8).tolist() == [-8, *range(7, -8, -1)]


@pytest.mark.parametrize(
    "kinds", ["s4 s4 s32", "u4 s8 s32", "f8e5m2 f8e4m3fn f32", "f8e4m3fnuz f8e4m3fnuz bf16"]
)
def test_dots_of_narrow_numbers(kinds: str):
    left, right, result = (ELEMENT_TYPES[n] for n in kinds.split())
    x, y = (RNG.integers(0, 8, (3, 5)).astype(t.dtype) for t in (left, right))
    text = (
        f"ENTRY e {{ x = {left}[3,5] parameter(0) y = {right}[3,5] parameter(1) ROOT r = "
        f"{result}[3,3] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}} }}"
    )
    expected = x.astype(np.float64) @ y.astype(np.float64).T
    (got,) = tfc.compile(parse(text))(x, y)
    for value in (got, evaluate(parse(text), x, y)):
        assert value.dtype == result.dtype
        np.testing.assert_array_equal(
            value.astype(np.float64), expected.astype(result.dtype).astype(np.float64)
        )
