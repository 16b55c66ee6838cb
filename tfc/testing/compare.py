"""Comparing what a program gave with what the reference says it is.

Two correct implementations of one program differ in the last bits of inexact functions and in the
order of sums, and a program may amplify that without limit: 1/(x - y), or x < y. So where values
differ by more than a few units in the last place, the reference is evaluated again, several times,
with each inexact operation disturbed at random by a few units. Elements that move then are allowed
to differ by as much as they moved.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tfc.hlo.evaluation.evaluator import evaluate, walk
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.op import Call, Value, op_named
from tfc.hlo.ops.sum_types import BITS_KEPT
from tfc.hlo.shape import F32, F64, Shape
from tfc.hlo.traits import Accuracy

TRIALS = 12
UNITS = 4  # units in the last place by which an inexact result may be off
MARGIN = 8  # how much farther than the disturbed references a result may lie


def flat(value: Value) -> Iterator[np.ndarray]:
    """The arrays in nested tuples, depth first."""
    if isinstance(value, tuple):
        for element in value:
            yield from flat(element)
    elif value is not None:
        yield np.asarray(value)


def mismatch(module: Module, arguments: Sequence[Value], results: Sequence[Any]) -> str | None:
    """None if `results` are the module's values for these arguments, else what differs.

    Args:
        results: the arrays of the module's result, depth first.
    """
    expected = list(flat(evaluate(module, *arguments)))
    if len(expected) != len(results):
        return f"{len(results)} results instead of {len(expected)}"
    wrong: list[np.ndarray] = []
    for number, (got, want) in enumerate(zip(results, expected)):
        got = np.asarray(got)
        if (got.dtype, got.shape) != (want.dtype, want.shape):
            return (
                f"result {number} is {got.dtype}{list(got.shape)} "
                f"instead of {want.dtype}{list(want.shape)}"
            )
        wrong.append(~_close(got, want))
    if not any(w.any() for w in wrong):
        return None
    runs = [list(flat(disturbed(module, arguments, seed))) for seed in range(TRIALS)]
    for number, (got, want, where) in enumerate(zip(results, expected, wrong)):
        where = where & ~_excused(np.asarray(got), want, [run[number] for run in runs])
        if where.any():
            at = tuple(int(i) for i in np.argwhere(where)[0])
            return f"result {number} at {list(at)} is {got[at]!s} instead of {want[at]!s}"
    return None


def is_close(got: np.ndarray, want: np.ndarray) -> bool:
    """Whether all values are equal, up to a few units in the last place."""
    return bool(np.all(_close(got, want)))


def is_inexact(array: np.ndarray) -> bool:
    """Whether an array's numbers are rounded: floats and complex ones."""
    return array.dtype.kind in "fcV" and array.dtype.name not in ("int4", "uint4")


def wide(array: np.ndarray) -> np.ndarray:
    """An array's values in a type with arithmetic of its own, f64 or c128."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def unit_of(array: np.ndarray) -> float:
    """The distance from 1 to the next value of an array's type."""
    if array.dtype.kind == "c":
        return float(np.finfo(array.dtype).eps)
    one = np.ones((), array.dtype)
    unit = 1.0
    while np.asarray(float(one) + unit / 2).astype(array.dtype) != one:
        unit /= 2
    return unit


def _close(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    if not is_inexact(want):
        return got == want
    with np.errstate(all="ignore"):
        x, y = wide(got), wide(want)
        near = np.abs(x - y) <= UNITS * unit_of(want) * np.abs(y) + tiny(want)
        return (x == y) | near | (np.isnan(x) & np.isnan(y))


def tiny(array: np.ndarray) -> float:
    """A few steps between subnormal numbers of an array's type, or of f32."""
    dtype = {"float64": np.float64, "complex128": np.float64}.get(array.dtype.name, np.float32)
    return UNITS * float(np.finfo(dtype).smallest_subnormal)


def _excused(got: np.ndarray, want: np.ndarray, runs: Sequence[np.ndarray]) -> np.ndarray:
    """Where the reference itself moves by about as much as the result is off."""
    if not is_inexact(want):
        moved = [run != want for run in runs]
        return np.any(moved, axis=0)
    with np.errstate(all="ignore"):
        x, y = wide(got), wide(want)
        spread = np.max([np.abs(wide(run) - y) for run in runs], axis=0)
        # A value that turns infinite or NaN under disturbance may be either.
        return (
            (np.abs(x - y) <= MARGIN * spread)
            | (np.isfinite(y) & ~np.isfinite(spread))
            | (~np.isfinite(y) & np.any([~same_values(run, want) for run in runs], axis=0))
        )


def same_values(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where two arrays have equal values, NaN being equal to NaN."""
    x, y = wide(x), wide(y)
    return (x == y) | (np.isnan(x) & np.isnan(y))


def disturbed(module: Module, arguments: Sequence[Value], seed: int) -> Value:
    """The module's value with each inexact operation off by a few units."""
    rng = np.random.default_rng(seed)

    def disturb(value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(disturb(v) for v in value)
        if value is None or not is_inexact(np.asarray(value)):
            return value
        array = np.asarray(value)
        off = 1 + UNITS * unit_of(array) * rng.uniform(-1, 1, array.shape)
        with np.errstate(all="ignore"):
            moved = wide(array) * off
            if array.dtype.kind == "c":  # the parts are off each by itself
                other = UNITS * unit_of(array) * rng.uniform(-1, 1, array.shape) * np.abs(moved)
                moved = moved + 1j * other
            elif array.dtype.kind == "f":  # the sign of a NaN is arbitrary, and sorts see it
                turned = np.isnan(moved) & (rng.random(array.shape) < 0.5)
                moved = np.where(turned, -moved, moved)
            return moved.astype(array.dtype)

    def step(instruction: Instruction, operands: Sequence[Value], call: Call) -> Value:
        op = op_named(instruction.opcode)
        accuracy = op.complex_accuracy if _is_of_complex(instruction) else op.accuracy
        if accuracy <= Accuracy.ROUNDED:
            return op.evaluate(instruction, operands, call)
        # Sums and products may be taken in another order: that is as if the terms were off.
        terms = operands if op.elementwise else [disturb(o) for o in operands]
        if kept := bits_kept(instruction):
            terms = [_with_bits(np.asarray(t), kept, rng) for t in terms]
        value = disturb(op.evaluate(instruction, terms, call))
        if accuracy is Accuracy.SUMMED:
            value = _with_zeros_of_any_sign(value, rng)
        return _overflowed(instruction, operands, value, call, rng)

    return walk(module.entry, list(arguments), step)


def bits_kept(instruction: Instruction) -> int | None:
    """The bits of its factors that a product of f32 keeps at least, as its algorithm permits; None
    if it takes them as they are."""
    name = instruction.attributes.get("algorithm", "")
    shapes = [instruction.shape, *(o.shape for o in instruction.operands)]
    if any(not isinstance(s, Shape) or s.element_type != F32 for s in shapes):
        return None
    return BITS_KEPT.get(name)


def _with_bits(factors: np.ndarray, bits: int, rng: np.random.Generator) -> np.ndarray:
    """Factors of f32 that are off by up to half a unit of so many bits.

    Numbers below the normal ones may be taken for zeros, and so may the parts of those above.
    """
    smallest = float(np.finfo(np.float32).smallest_normal)
    with np.errstate(all="ignore"):
        exact = wide(factors)
        off = 2.0**-bits * np.abs(exact) + np.minimum(np.abs(exact), smallest)
        moved = np.where(np.isfinite(exact), exact + off * rng.uniform(-1, 1, exact.shape), exact)
        lost = (np.abs(exact) < smallest) & (rng.random(exact.shape) < 0.5)
        return np.where(lost, 0, moved).astype(factors.dtype)


def _with_zeros_of_any_sign(value: Value, rng: np.random.Generator) -> Value:
    """Sums whose zeros have either sign, since a sum may begin with +0 or with a term."""
    array = np.asarray(value)
    if isinstance(value, tuple) or array.dtype.kind != "f":
        return value
    turned = (array == 0) & (rng.random(array.shape) < 0.5)
    return np.where(turned, -array, array)


def _overflowed(
    instruction: Instruction,
    operands: Sequence[Value],
    value: Value,
    call: Call,
    rng: np.random.Generator,
) -> Value:
    """A result of sums, but by chance another where a partial sum in some order is too large.

    That is where the sum of the terms' magnitudes is. An infinite term of a Fourier transform may
    besides become NaN in any element, since it is multiplied by zeros or is not. Some elements stay
    as they are, as what comes after may see which of them are NaN.
    """
    op, is_fft = op_named(instruction.opcode), instruction.opcode == "fft"
    if instruction.opcode == "triangular-solve":
        return _with_overflowed_unknowns(instruction, operands, np.asarray(value), call, rng)
    if op.accuracy is not Accuracy.SUMMED or isinstance(value, tuple):
        return value
    value = np.asarray(value)
    if not is_inexact(value):
        return value
    with np.errstate(all="ignore"):
        terms = [_magnitudes(np.asarray(o), keep_infinite=is_fft) for o in operands]
        if is_fft:
            # Each element is a sum of all, before the inverse transforms divide it by their count.
            # Of a transform to real numbers half is given; the rest has the same magnitudes.
            axes = tuple(range(-len(instruction["fft_length"]), 0))
            times = 2 if instruction["fft_type"] == "IRFFT" else 1
            largest = times * np.sum(np.abs(wide(terms[0])), axes, keepdims=True)
            bound = np.broadcast_to(largest, value.shape).astype(value.dtype)
        else:
            bound = np.asarray(op.evaluate(instruction, terms, call))
        exact = wide(np.asarray(op.evaluate(instruction, operands, call)))
        changed = np.where(np.isnan(exact), np.inf, np.nan)
        kept = np.isfinite(wide(bound)) | (rng.random(value.shape) < 0.5)
        return np.where(kept, value, changed).astype(value.dtype)


def _with_overflowed_unknowns(
    instruction: Instruction,
    operands: Sequence[Value],
    value: np.ndarray,
    call: Call,
    rng: np.random.Generator,
) -> np.ndarray:
    """Solutions of a system of which by chance some unknowns are others, if a sum is too large.

    The reference has the sums in f64 and goes on with numbers where the element type has
    infinities already. All terms are taken to add up, which the same system of magnitudes with the
    other sign beside its diagonal says.
    """
    solve = op_named(instruction.opcode).evaluate
    in_f64 = instruction.with_(shape=Shape(F64, value.shape))
    a, b = (_magnitudes(np.asarray(o), keep_infinite=False).astype(np.float64) for o in operands)
    diagonal = np.eye(a.shape[-1], dtype=bool)
    # What is divided by zero is infinite or NaN in all types.
    a = np.where(diagonal, np.where(a == 0, 1, a), -a)
    with np.errstate(all="ignore"):
        sizes = np.abs(np.asarray(solve(in_f64, [a, b], call)))
        # A sum is divided by what is on the diagonal only when it is complete.
        sizes = sizes * np.max(np.where(diagonal, a, 1), (-2, -1), initial=1, keepdims=True)
        of_system = -2 if instruction.attributes.get("left_side", False) else -1
        touched = np.any(~(sizes <= _largest(value)), of_system, keepdims=True)
        exact = wide(np.asarray(solve(instruction, operands, call)))
        changed = np.where(np.isnan(exact), np.inf, np.nan)
        kept = ~touched | (rng.random(value.shape) < 0.5)
        return np.where(kept, value, changed).astype(value.dtype)


def _largest(array: np.ndarray) -> float:
    """The largest number of an array's type, or of the parts of its complex numbers."""
    of_parts = {"complex64": np.float32, "complex128": np.float64}
    return float(ml_dtypes.finfo(of_parts.get(array.dtype.name, array.dtype)).max)


def _magnitudes(array: np.ndarray, keep_infinite: bool) -> np.ndarray:
    sizes = np.abs(array).astype(array.dtype)
    if keep_infinite or not is_inexact(array):
        return sizes
    return np.where(np.isfinite(wide(array)), sizes, np.zeros((), array.dtype))


def _is_of_complex(instruction: Instruction) -> bool:
    shapes = (o.shape for o in instruction.operands)
    return any(isinstance(s, Shape) and s.element_type.is_complex for s in shapes)
