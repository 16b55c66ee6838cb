"""Bundles: archives whose manifest is sound."""

import hashlib
import importlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

FORMAT = 3  # of manifests
_MOST_MANIFEST = 256 << 20  # bytes
_MOST_NESTED = 64  # loops in loops
_SPACES = ("parameter", "result", "arena", "constant")


class BundleError(Exception):
    """A bundle is damaged, or not for this machine."""


class Bundle:
    """A bundle whose manifest is sound: what steps refer to is there.

    Attributes:
        manifest: the contents of manifest.json.
    """

    def __init__(self, path: "str | Path | BinaryIO"):
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                self._sizes = {i.filename: i.file_size for i in archive.infolist()}
                self.manifest = json.loads(self._read(archive, "manifest.json", _MOST_MANIFEST))
        except OSError as error:
            raise BundleError(f"cannot read {path}: {error.strerror or error}") from None
        except _UNSOUND as error:
            raise BundleError(f"{path} is no bundle, or a damaged one: {error}") from None
        try:
            self._check()
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise BundleError(f"the manifest of {path} is damaged: {_said(error)}") from None

    def member(self, described: dict) -> bytes:
        """The bytes of a member, which must be those that the manifest means."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                found = self._read(archive, described["member"], described["bytes"])
        except (OSError, *_UNSOUND) as error:
            raise BundleError(f"{self.path} is damaged: {error}") from None
        if len(found) != described["bytes"]:
            raise BundleError(f"{self.path} is damaged: {described['member']} has another length")
        if hashlib.sha256(found).hexdigest() != described["sha256"]:
            raise BundleError(f"{self.path} is damaged: {described['member']} was changed")
        return found

    def _read(self, archive: zipfile.ZipFile, name: str, most: int) -> bytes:
        with archive.open(name) as member:
            found = member.read(most + 1)
        if len(found) > most:
            raise ValueError(f"{name} is longer than {most} bytes")
        return found

    def _check(self) -> None:
        manifest = self.manifest
        if manifest["format"] != FORMAT:
            raise ValueError(f"its format is {manifest['format']}, this loader reads {FORMAT}")
        _check_text(manifest["signature"])
        for leaf in (*manifest["parameters"], *manifest["results"]):
            _check_text(leaf["name"])
            size = prod(_natural(d) for d in leaf["dims"]) * dtype_of(leaf["dtype"]).itemsize
            if size != _natural(leaf["bytes"]):
                raise ValueError(f"{leaf['name']} has {leaf['bytes']} bytes, which is not its size")
        counts = len(manifest["parameters"]), len(manifest["results"])
        for result, argument in manifest["aliases"]:
            sizes = manifest["results"][result]["bytes"], manifest["parameters"][argument]["bytes"]
            if sizes[0] != sizes[1] or min(result, argument) < 0:
                raise ValueError("a result lies in an argument of another size")
        if any(_natural(n) >= counts[0] for n in manifest["donated"]):
            raise ValueError("an argument is donated that there is not")
        for program in manifest["programs"]:
            for code in program["code"]:
                _check_code(code)
            for described in (program["constants"], *program["code"]):
                _check_text(described["member"])
                _check_text(described["sha256"])
                _natural(described["bytes"])
            sizes = {("arena", 0): _natural(program["arena"])}
            sizes["constant", 0] = _natural(program["constants"]["bytes"])
            sizes |= {
                ("parameter", n): manifest["parameters"][n]["bytes"] for n in range(counts[0])
            }
            sizes |= {("result", n): manifest["results"][n]["bytes"] for n in range(counts[1])}
            _check_steps(program["steps"], sizes, _MOST_NESTED)


def _check_code(code: dict) -> None:
    if code["kind"] not in ("cubin", "ptx"):
        raise ValueError(f"this loader knows no code of kind '{code['kind']}'")
    if not re.fullmatch(r"sm_[1-9][0-9]{1,2}[a-z]?", code["architecture"]):
        raise ValueError(f"there is no architecture '{code['architecture']}'")


_UNSOUND = (
    zlib.error,
    zipfile.BadZipFile,
    KeyError,
    ValueError,
    EOFError,
    NotImplementedError,
    RuntimeError,
)


def _said(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


def _natural(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ValueError(f"expected a size, got {value!r}")
    return value


def _check_text(value: Any) -> None:
    if not isinstance(value, str):
        raise ValueError(f"expected a text, got {value!r}")


def _check_steps(steps: Iterable[dict], sizes: "dict[tuple[str, int], int]", depth: int) -> None:
    """Check that steps stay inside of the memory that there is."""
    if depth == 0:
        raise ValueError(f"steps are nested more than {_MOST_NESTED} deep")
    for step in steps:
        kind = step["kind"]
        if kind == "launch":
            for place in step["buffers"]:
                _check_place(place, sizes)
            sized = [*step["blocks"], *step["threads"]]
            if len(sized) != 6 or any(not 0 < _natural(n) < 1 << 31 for n in sized):
                raise ValueError(f"{step['function']} is run by {sized[:3]} blocks of {sized[3:]}")
            if any(not isinstance(n, int) or not 0 <= n < 1 << 64 for n in step["numbers"]):
                raise ValueError(f"{step['function']} takes numbers that are none")
            if not isinstance(step["function"], str) or _natural(step["shared"]) >= 1 << 31:
                raise ValueError(f"there is no such launch as {step['function']!r}")
            for number, boxes in step["boxes"]:
                _check_boxes(boxes, step["buffers"][_natural(number)][3])
        elif kind == "copy":
            for place in (step["source"], step["target"]):
                if _check_place(place, sizes) < _natural(step["size"]):
                    raise ValueError("a copy is longer than what is copied")
        elif kind == "loop":
            _check_selector(step["selector"], sizes, 1)
            _check_steps(step["condition"], sizes, depth - 1)
            _check_steps(step["body"], sizes, depth - 1)
        elif kind == "repeat":
            _natural(step["count"])
            _check_steps(step["body"], sizes, depth - 1)
        elif kind == "branch":
            _check_selector(step["selector"], sizes, 4 if step["by_index"] else 1)
            if len(step["branches"]) < (1 if step["by_index"] else 2):
                raise ValueError("there is nothing to choose from")
            for branch in step["branches"]:
                _check_steps(branch, sizes, depth - 1)
        else:
            raise ValueError(f"this loader knows no step '{kind}'")


def _check_place(place: Sequence[Any], sizes: "dict[tuple[str, int], int]") -> int:
    """The size of a place, which must be inside of its space."""
    space, index, offset, size = place
    if space not in _SPACES or _natural(offset) + _natural(size) > sizes[space, index]:
        raise ValueError(f"{place} is outside of the memory that there is")
    return size


def _check_boxes(boxes: dict, size: int) -> None:
    """Check that boxes are of an array inside of a buffer of so many bytes."""
    dims, strides, box = ([_natural(n) for n in boxes[k]] for k in ("dims", "strides", "box"))
    rank, itemsize, pixels = len(dims), boxes["itemsize"], boxes["pixels"]
    images = pixels is not None
    if not (
        (3 if images else 1) <= rank <= 5
        and (len(strides), len(box)) == (rank - 1, 2 if images else rank)
        and (pixels is None or _are_pixels(pixels, rank - 2))
        and itemsize in (1, 2, 4, 8)
        and boxes["swizzle"] in (0, 32, 64, 128)
        and all(1 <= n <= 1 << 32 for n in dims)
        and all(n % 16 == 0 and 0 < n < 1 << 40 for n in strides)
        and all(1 <= n <= 256 for n in box)
    ):
        raise ValueError(f"there are no such boxes as {boxes}")
    if dims[0] * itemsize + sum((d - 1) * s for d, s in zip(dims[1:], strides)) > size:
        raise ValueError(f"the boxes {boxes} are outside of their buffer")


def _are_pixels(pixels: Sequence[Sequence[Any]], rank: int) -> bool:
    """Whether these are two corners of a window of images, and the steps in it."""
    lower, upper, steps = pixels
    return (
        len(lower) == len(upper) == len(steps) == rank
        and all(isinstance(n, int) and abs(n) < 1 << 15 for n in (*lower, *upper))
        and all(1 <= _natural(n) <= 8 for n in steps)
    )


def _check_selector(place: Sequence[Any], sizes: "dict[tuple[str, int], int]", least: int) -> None:
    if _check_place(place, sizes) < least:
        raise ValueError(f"a choice is made by {place}, which is too short")


def dtype_of(name: str) -> np.dtype:
    """The dtype of a name; that of types which NumPy does not have is of ml_dtypes, or of bits."""
    if not isinstance(name, str):
        raise ValueError(f"expected the name of a dtype, got {name!r}")
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    except (ImportError, AttributeError, TypeError):
        return np.dtype(np.uint16 if name == "bfloat16" else np.uint8)
