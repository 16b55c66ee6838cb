"""Packs: programs for GPUs with their arguments and what they should give, in one archive.

index.json      the programs, what their arguments and results are, in which group each is
NNN.xz          a group: an archive of bundles, arrays and texts, compressed as a whole

Numbers of types that NumPy has not are bits; `tables` of the index says what they mean.
"""

import io
import json
import lzma
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfc.aot.gpu.loader.bundles import Bundle, dtype_of

PACK_FORMAT = 1
PACK_NAME = "programs.zip"
_MOST_INDEX = 256 << 20  # bytes


class PackError(Exception):
    """A pack cannot be read, or is damaged."""


def drawn_bytes(seed: int, choices: bytes, itemsize: int, count: int) -> bytes:
    """`count` elements, each one of the choices; the same on every machine."""
    with np.errstate(over="ignore"):
        x = np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)
        x = x * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        x ^= x >> np.uint64(31)
    several = np.frombuffer(choices, np.uint8).reshape(-1, itemsize)
    return several[x % np.uint64(len(several))].tobytes()


class Pack:
    """A pack whose index was read.

    Attributes:
        programs: what the index says of each program, in the order in which they are run.
        tables: of dtypes that NumPy has not, the value of each pattern of bits.
    """

    def __init__(self, folder: "str | Path"):
        self.path = Path(folder) / PACK_NAME
        try:
            with zipfile.ZipFile(self.path) as archive:
                if archive.getinfo("index.json").file_size > _MOST_INDEX:
                    raise ValueError("its index is too long")
                index = json.loads(archive.read("index.json"))
            if index["format"] != PACK_FORMAT:
                raise ValueError(f"its format is {index['format']}, this reads {PACK_FORMAT}")
            self.programs: list[dict] = index["programs"]
            self.about: dict = index["about"]
            self.tables = {
                name: np.array([float(v) for v in values])
                for name, values in index["tables"].items()
            }
        except OSError as error:
            raise PackError(f"cannot read {self.path}: {error.strerror or error}") from None
        except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError) as error:
            raise PackError(f"{self.path} is no pack, or a damaged one: {error}") from None

    def group(self, number: int) -> "PackGroup":
        """A group, decompressed."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                found = lzma.decompress(archive.read(f"{number:03}.xz"))
            return PackGroup(self, zipfile.ZipFile(io.BytesIO(found)))
        except (OSError, zipfile.BadZipFile, KeyError, lzma.LZMAError) as error:
            raise PackError(f"{self.path} is damaged: {error}") from None


class PackGroup:
    """The programs of a group."""

    def __init__(self, pack: Pack, archive: zipfile.ZipFile):
        self.pack, self._archive = pack, archive

    def _member(self, program: dict, name: str) -> bytes:
        try:
            return self._archive.read(f"{program['number']}/{name}")
        except (zipfile.BadZipFile, KeyError) as error:
            raise PackError(f"{self.pack.path} is damaged: {error}") from None

    def bundle(self, program: dict, variant: str) -> Bundle:
        """A program's code for one architecture."""
        return Bundle(io.BytesIO(self._member(program, variant)))

    def text(self, program: dict) -> str:
        """A program as HLO, or PTX where that is what it was made of."""
        return self._member(program, "text").decode()

    def arguments(self, program: dict) -> "list[np.ndarray]":
        """A program's arguments, as its loader takes them."""
        made = []
        for number, about in enumerate(program["arguments"]):
            dtype, dims = dtype_of(about["dtype"]), tuple(about["dims"])
            if "choices" in about:
                count, choices = int(np.prod(dims, dtype=np.int64)), bytes.fromhex(about["choices"])
                raw = drawn_bytes(about["seed"], choices, dtype.itemsize, count)
            else:
                raw = self._member(program, f"argument{number}")
            made.append(np.frombuffer(raw, dtype).reshape(dims))
        return made

    def expected(self, program: dict, result: int, what: str = "result") -> bytes:
        """The bytes of a result (or of its "allowed", "interpreted", "rows", "columns")."""
        return self._member(program, f"{what}{result}")


def widened(raw: bytes, dtype: str, dims: Sequence[int], tables: "dict[str, Any]") -> np.ndarray:
    """The numbers of an array in a type of NumPy's own with arithmetic."""
    if dtype == "bfloat16":
        bits = np.frombuffer(raw, np.uint16).astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32).astype(np.float64).reshape(tuple(dims))
    if dtype in tables:
        return tables[dtype][np.frombuffer(raw, np.uint8)].reshape(tuple(dims))
    array = np.frombuffer(raw, dtype).reshape(tuple(dims))
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return array.astype(np.complex128) if array.dtype.kind == "c" else array
