"""Whether results are those that a pack says, as far as rounding may move them.

An element may be off by `relative` of its value and `absolute` besides; where its allowance is no
_NONE, by two to that power instead, or by anything where it is _ANY.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.testing.conformance.runner.packs import PackGroup, widened

ALLOWED_NONE, ALLOWED_ANY = -(1 << 15), (1 << 15) - 1
_SHOWN = 4  # elements of a result that is wrong


def check_result(group: PackGroup, program: dict, number: int, raw: bytes) -> "dict | None":
    """What is wrong with a result, given as its bytes; None if nothing is."""
    about = program["results"][number]
    got = widened(raw, about["dtype"], about["dims"], group.pack.tables)
    if about.get("folded"):
        return _check_sums(group, program, number, got)
    want = _of_pack(group, program, number, "result")
    allowed = np.full(want.shape, ALLOWED_NONE, np.int16)
    if about.get("allowed"):
        raw_allowed = group.expected(program, number, "allowed")
        allowed = np.frombuffer(raw_allowed, np.int16).reshape(want.shape)
    wrong, error = _wrong(got, want, allowed, about)
    if not wrong.any():
        return None
    places = np.argwhere(wrong)[:_SHOWN]
    return {
        "result": number,
        "wrong": int(wrong.sum()),
        "of": int(wrong.size),
        "largest": float(np.max(error[wrong], initial=0.0)),
        "first": [
            {"at": p.tolist(), "got": str(got[tuple(p)]), "wanted": str(want[tuple(p)])}
            for p in places
        ],
    }


def _of_pack(group: PackGroup, program: dict, number: int, what: str) -> np.ndarray:
    about = program["results"][number]
    raw = group.expected(program, number, what)
    return widened(raw, about["dtype"], about["dims"], group.pack.tables)


def _wrong(
    got: np.ndarray, want: np.ndarray, allowed: np.ndarray, about: dict
) -> "tuple[np.ndarray, np.ndarray]":
    """Which elements are wrong, and how far each is off."""
    with np.errstate(all="ignore"):
        if want.dtype.kind not in "fc":
            error = np.abs(got.astype(np.float64) - want.astype(np.float64))
            return (got != want) & (allowed != ALLOWED_ANY), error
        error = np.abs(got - want)
        near = error <= about["relative"] * np.abs(want) + about["absolute"]
        exponent = np.clip(allowed.astype(np.int32), -1100, 1100)
        near |= (allowed != ALLOWED_NONE) & (error <= np.ldexp(1.0, exponent))
        right = (got == want) | near | (np.isnan(got) & np.isnan(want)) | (allowed == ALLOWED_ANY)
        return ~right, np.where(np.isnan(error), np.inf, error)


def sums_of(array: np.ndarray) -> "dict[str, np.ndarray]":
    """An array of two dimensions or more as the sums of its rows and columns, in f64."""
    wide = array.astype(np.float64).reshape(-1, array.shape[-1])
    weights = 1.0 + np.arange(wide.shape[1]) % 7, 1.0 + np.arange(wide.shape[0]) % 7
    return {"rows": wide @ weights[0], "columns": weights[1] @ wide}


def _check_sums(group: PackGroup, program: dict, number: int, got: np.ndarray) -> "dict | None":
    """What is wrong with a result of which a pack has sums only, which are exact."""
    bad = {}
    for what, found in sums_of(got).items():
        want = np.frombuffer(group.expected(program, number, what))
        bad[what] = np.flatnonzero(found != want)
    if not any(len(b) for b in bad.values()):
        return None
    first = {what: b[:_SHOWN].tolist() for what, b in bad.items()}
    return {
        "result": number, "wrong": max(len(b) for b in bad.values()), "of": int(got.size),
        "largest": None, "first": [{"at": first, "got": "other sums", "wanted": "those stored"}],
    }  # fmt: skip


def units_off(
    group: PackGroup, program: dict, number: int, raw: bytes, architecture: str
) -> "dict[str, Any]":
    """By how many units in the last place a result is off at most, where it is finite.

    Units are those of each element, or for sums those of the largest one.

    Returns:
        "expected": from what the reference says, and "interpreted": from what the interpreter gave
        for the same code, where the pack has that; "at" is where the former is largest.
    """
    about = program["results"][number]
    got = widened(raw, about["dtype"], about["dims"], group.pack.tables).reshape(-1)
    found: dict[str, Any] = {}
    is_same_code = about.get("interpreted") == architecture
    for what in ("result", "interpreted") if is_same_code else ("result",):
        want = _of_pack(group, program, number, what).reshape(-1)
        units = np.zeros(want.shape)
        if want.size and want.dtype.kind == "f":
            units = _units(got, want, about, bool(program.get("sums")))
        at = int(np.argmax(units)) if units.size else 0
        name = "expected" if what == "result" else what
        found[name] = float(units[at]) if units.size else 0.0
        if what == "result" and found[name]:
            found["at"] = at
    return found


def _units(got: np.ndarray, want: np.ndarray, about: dict, of_largest: bool) -> np.ndarray:
    with np.errstate(all="ignore"):
        finite = np.isfinite(got) & np.isfinite(want)
        sizes = np.where(finite, np.abs(want), 0.0)
        _, exponent = np.frexp(np.max(sizes) if of_largest else sizes)
        unit = np.maximum(np.ldexp(about["unit"], exponent - 1), about["least"])
        return np.where(finite, np.abs(got - want) / unit, 0.0)


def first_difference(runs: "list[list[bytes]]", named: "Callable[[int], str]") -> str:
    """Which run gave other bits than the first one, as a sentence; "" if none did."""
    for number, results in enumerate(runs[1:], 1):
        for place, (first, other) in enumerate(zip(runs[0], results)):
            if first != other:
                bits = np.frombuffer(first, np.uint8) != np.frombuffer(other, np.uint8)
                at, count = int(np.flatnonzero(bits)[0]), int(bits.sum())
                return f"{named(number)}: {count} bytes of result {place} differ, from {at} on"
    return ""
