"""Places of extremes in two steps: which choices are understood, and that values stay."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.hlo import Module, evaluate, parse, verify
from tfc.passes.layout.arg_extremes import ArgExtremes

# What `to_apply` may say between its parameters and its root, in terms of a, i, b, j.
FIRST_LARGEST = """
  more = pred[] compare(a, b), direction=GT
  nan = pred[] compare(a, a), direction=NE
  number = pred[] compare(b, b), direction=EQ
  better = pred[] and(nan, number)
  wins = pred[] or(more, better)
  equal = pred[] compare(a, b), direction=EQ
  other_nan = pred[] not(number)
  nans = pred[] and(nan, other_nan)
  tie = pred[] or(equal, nans)
  before = pred[] compare(i, j), direction=LT
  first = pred[] and(tie, before)
  left = pred[] or(wins, first)
  value = f32[] select(left, a, b)
  place = s32[] select(left, i, j)"""
PROGRAM = """
choose {{ a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3){choice}
  ROOT pair = (f32[], s32[]) tuple(value, place) }}
ENTRY main {{
  x = f32[{dims}] parameter(0)
  n = s32[{dims}] iota(), iota_dimension={along}
  low = f32[] constant({init})
  zero = s32[] constant(0)
  p = (f32[{rest}], s32[{rest}]) reduce(x, n, low, zero), dimensions={{{along}}}, to_apply=choose
  {root} }}"""
PLACES = "ROOT r = s32[{rest}] get-tuple-element(p), index=1"


def program(
    choice: str = FIRST_LARGEST, *, dims: tuple[int, ...] = (5, 24), along: int = 1,
    init: str = "-inf", root: str = PLACES,
) -> Module:  # fmt: skip
    """A reduction of pairs."""
    rest = ",".join(str(n) for d, n in enumerate(dims) if d != along)
    text = PROGRAM.format(
        choice=choice, dims=",".join(map(str, dims)), along=along, init=init, rest=rest,
        root=root.format(rest=rest),
    )  # fmt: skip
    return parse(text)


def is_split(module: Module) -> bool:
    """True if the pass takes the module, which it gives well-formed."""
    after = ArgExtremes()(module)
    verify(after)
    return after is not module


def special_rows() -> np.ndarray:
    """Rows of all pairs of special values at two places, among others that are less."""
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]
    rows = np.full((len(values) ** 2, 24), -np.inf, np.float32)
    for row, (x, y) in zip(rows, itertools.product(values, values)):
        row[3], row[17] = x, y
    return rows


def test_the_place_of_the_first_largest_is_found_in_two_steps():
    rows = special_rows()
    before = program(dims=rows.shape)
    after = ArgExtremes()(before)
    verify(after)
    assert [i.opcode for i in after.entry.instructions].count("reduce") == 2
    wanted = np.argmax(rows, axis=1)
    np.testing.assert_array_equal(evaluate(before, rows), wanted)
    np.testing.assert_array_equal(evaluate(after, rows), wanted)
    np.testing.assert_array_equal(tfc.compile(before)(rows)[0], wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "float16"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_numpys_functions_are_such_reductions(name: str, dtype: str):
    x = (np.random.default_rng(0).standard_normal((6, 40)) * 20).astype(dtype)
    x[:, 5] = x[:, 31] = x.max() if name == "argmax" else x.min()
    function = tfc.jit(lambda x: getattr(tnp, name)(x, axis=-1))
    np.testing.assert_array_equal(function(x), getattr(np, name)(x, axis=-1))
    assert is_split(function.lower(x).hlo)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_jaxs_functions_are_such_reductions(name: str):
    x = np.random.default_rng(0).integers(-3, 3, (6, 40)).astype(np.float32)
    text = jax.jit(lambda x: getattr(jnp, name)(x, axis=1)).lower(x).as_text()
    imported = tfc.from_stablehlo(text)
    np.testing.assert_array_equal(imported(x), getattr(np, name)(x, axis=1))
    assert "minimum" in str(tfc.compile(imported.hlo).hlo)


CHANGES = {
    "the last of equal values": ("before = pred[] compare(i, j), direction=LT",
                                 "before = pred[] compare(i, j), direction=GT"),
    "any of equal values": ("left = pred[] or(wins, first)", "left = pred[] or(wins, wins)"),
    "numbers before NaN": ("nan = pred[] compare(a, a), direction=NE",
                           "nan = pred[] constant(false)"),
    "a value that is not the extreme": ("value = f32[] select(left, a, b)",
                                        "value = f32[] select(left, b, a)"),
    "a constant": ("value = f32[] select(left, a, b)",
                   "one = f32[] constant(1)\n value = f32[] select(left, one, b)"),
    "places computed": ("place = s32[] select(left, i, j)",
                        "both = s32[] and(i, j)\n place = s32[] select(left, i, both)"),
    "places of the order of values": ("place = s32[] select(left, i, j)",
                                      "place = s32[] select(more, i, j)"),
    "an order of all bits": ("more = pred[] compare(a, b), direction=GT",
                             "more = pred[] compare(a, b), direction=GT, type=TOTALORDER"),
    "magnitudes": ("more = pred[] compare(a, b), direction=GT",
                   "c = f32[] abs(a)\n more = pred[] compare(c, b), direction=GT"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_other_choices_stay(change: str):
    old, new = CHANGES[change]
    assert old in FIRST_LARGEST
    assert not is_split(program(FIRST_LARGEST.replace(old, new)))


@pytest.mark.parametrize(
    "change",
    [
        {"dims": (24, 5), "along": 0},  # columns
        {"dims": (24,), "along": 0},
        {"dims": (5, 8)},  # short rows
        {"dims": (2, 1 << 16)},  # rows that leave the cache
        {"init": "0"},
        {"root": "ROOT r = f32[{rest}] get-tuple-element(p), index=0"},
        {"root": "ROOT r = (f32[{rest}], s32[{rest}]) copy(p)"},
    ],
)
def test_other_reductions_stay(change: dict):
    assert not is_split(program(**change))
