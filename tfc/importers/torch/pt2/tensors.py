"""Numbers of torch's schema for dtypes, and arrays in storages."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import as_strided

from tfc.errors import ModelFileError, UnsupportedError

_STRIDED = 7  # torch's number for the layout of plain arrays
_SYMBOL = re.compile(r"(?:Symbol\('(\w+)'(?:, \w+=\w+)*\)|([A-Za-z_]\w*))")

DTYPES: dict[int, np.dtype[Any]] = {
    number: np.dtype(dtype)
    for number, dtype in {
        1: np.uint8, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.float16,
        7: np.float32, 8: np.float64, 10: np.complex64, 11: np.complex128, 12: np.bool_,
        13: ml_dtypes.bfloat16, 28: np.uint16, 29: ml_dtypes.float8_e4m3fn,
        30: ml_dtypes.float8_e5m2, 31: ml_dtypes.float8_e4m3fnuz, 32: ml_dtypes.float8_e5m2fnuz,
        33: ml_dtypes.float8_e8m0fnu, 34: np.uint32, 35: np.uint64,
    }.items()
}  # fmt: skip


@dataclass(frozen=True)
class Meta:
    """What a file states of an array.

    dtype: None for one without a counterpart.
    dims: sizes; names of those that are open, None where they are computed.
    sizes, strides: those of the example that the program was made with, which decide what is a
        view of what; None where that has none.
    """

    dtype: "np.dtype[Any] | None"
    dims: tuple[int | str | None, ...]
    sizes: tuple[int | None, ...] = ()
    strides: tuple[int | None, ...] = ()

    def can_view(self, sizes: tuple[int | None, ...]) -> bool | None:
        """Whether other sizes are a view of the same memory; None where that is not known.

        The places of each run of dimensions that lie at one distance can be parted anew.
        """
        if None in (*self.sizes, *self.strides, *sizes):
            return None
        own = [(n, s) for n, s in zip(self.sizes, self.strides) if n != 1 and n and s is not None]
        wanted = [n for n in sizes if n is not None and n != 1]
        if not prod(n for n, _ in own) or 0 in self.sizes:
            return True
        runs: list[int] = []
        for number, (n, step) in enumerate(own):
            goes_on = number and own[number - 1][1] == n * step
            runs[len(runs) - 1 :] = [runs[-1] * n] if goes_on else [*runs[-1:], n]
        for run in runs:
            count = 1
            while wanted and count < run:
                count *= wanted.pop(0)
            if count != run:
                return False
        return not wanted

    @property
    def is_contiguous(self) -> bool | None:
        """Whether the elements lie in order; None where that is not known."""
        expected = 1
        if None in (*self.sizes, *self.strides):
            return None
        for n, step in reversed(list(zip(self.sizes, self.strides))):
            if n is not None and n != 1:
                if step != expected:
                    return False
                expected *= n
        return True


def meta_of(stated: Mapping[str, Any]) -> Meta:
    """The dtype, sizes and strides that a file states."""
    sizes = stated["sizes"]
    return Meta(
        DTYPES.get(stated["dtype"]), tuple(map(_size, sizes)), tuple(map(_example, sizes)),
        tuple(map(_example, stated["strides"])),
    )  # fmt: skip


def _size(stated: Mapping[str, Any]) -> int | str | None:
    """A size, or the name of one."""
    if "as_int" in stated:
        return int(stated["as_int"])
    found = _SYMBOL.fullmatch(stated["as_expr"]["expr_str"])
    return found and (found[1] or found[2])


def _example(stated: Mapping[str, Any]) -> int | None:
    """The number that a size or a stride was for the example."""
    if "as_int" in stated:
        return int(stated["as_int"])
    hint = (stated["as_expr"].get("hint") or {}).get("as_int")
    return None if hint is None else int(hint)


def array_in(content: bytes, stated: Mapping[str, Any], own: str, file: str) -> np.ndarray:
    """The array that lies in a storage by strides.

    Args:
        own: the array's name, for errors.

    Raises:
        ModelFileError: it does not lie within the storage.
        UnsupportedError: it is sparse, or of a dtype without a counterpart.
    """
    dtype = DTYPES.get(stated["dtype"])
    if dtype is None or stated.get("layout", _STRIDED) != _STRIDED:
        raise UnsupportedError(f"{file}: the array {own} is sparse or of a dtype that tfc lacks")
    flat = np.frombuffer(content, dtype)
    sizes, strides = ([int(n["as_int"]) for n in stated[key]] for key in ("sizes", "strides"))
    return strided(flat, int(stated["storage_offset"]["as_int"]), sizes, strides, own, file)


def strided(
    flat: np.ndarray, offset: int, sizes: list[int], strides: list[int], own: str, file: str
) -> np.ndarray:
    """The elements of a storage from an offset on, by strides.

    Raises:
        ModelFileError: they do not lie within it.
    """
    last = offset + sum((n - 1) * s for n, s in zip(sizes, strides))
    is_within = len(sizes) == len(strides) and min([offset, *sizes, *strides]) >= 0
    if not is_within or (prod(sizes) and last >= flat.size) or offset > flat.size:
        raise ModelFileError(f"{file} is damaged: the array {own} is larger than its storage")
    if not prod(sizes):
        return np.zeros(sizes, flat.dtype)
    if prod(sizes) > flat.size:  # repeated along a dimension: torch saves these, but they can blow
        raise ModelFileError(f"{file} is damaged: the array {own} is larger than its storage")
    steps = [s * flat.itemsize for s in strides]
    return as_strided(flat[offset:], sizes, steps, writeable=False)
