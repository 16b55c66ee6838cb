"""What jax.export wrote: a program with the structures of its arguments and results."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tfc.errors import ModelFileError, UnsupportedError
from tfc.importers.jax.flatbuffer import Table

# Fields of the tables Exported, PyTreeDef and AbstractValue in jax/_src/export/serialization.fbs.
(_NAME, _IN_TREE, _IN_AVALS, _OUT_TREE, _OUT_AVALS) = range(1, 6)
(_PLATFORMS, _ORDERED_EFFECTS, _MODULE, _KEPT) = (9, 10, 13, 15)
(_UNIQUE_AVALS, _IN_NUMBERS, _OUT_NUMBERS) = (19, 22, 23)
(_KIND, _CHILDREN, _KEYS, _CUSTOM_NAME) = range(4)
(_SHAPE, _DTYPE) = (1, 2)
_MODULE_START = b"ML\xefR"
# The kinds of PyTreeDef.
(_LEAF, _NONE, _TUPLE, _LIST, _DICT, _CUSTOM) = range(6)
_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128", "bfloat16", "int4", "uint4",
    "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float0", "float8_e4m3", "float8_e3m4", "float8_e8m0fnu", "float4_e2m1fn",
    "key<fry>", "key<rbg>", "key<unsafe_rbg>",
)  # fmt: skip
_MOST_NESTED = 200


@dataclass(frozen=True)
class Aval:
    """An array as JAX describes it: sizes that are no numbers are expressions of symbols."""

    shape: tuple[int | str, ...]
    dtype: str


@dataclass(frozen=True)
class Tree:
    """A structure of arrays as the file has it, with the two functions of JAX's own.

    A container of a type that JAX was told of by the program's author is a tuple of its children.
    """

    kind: int
    children: tuple["Tree", ...] = ()
    keys: tuple[str, ...] = ()

    @property
    def num_leaves(self) -> int:
        """How many arrays are in it."""
        return 1 if self.kind == _LEAF else sum(child.num_leaves for child in self.children)

    def unflatten(self, leaves: Any) -> Any:
        """Leaves, in containers as the structure has them."""
        return self._unflatten(iter(leaves))

    def _unflatten(self, leaves: Iterator[Any]) -> Any:
        if self.kind == _LEAF:
            return next(leaves)
        if self.kind == _NONE:
            return None
        made = [child._unflatten(leaves) for child in self.children]
        if self.kind == _DICT:
            return dict(zip(self.keys, made))
        return made if self.kind == _LIST else tuple(made)

    def flatten_up_to(self, value: Any) -> list[Any]:
        """The leaves of a value of this structure.

        Raises:
            ValueError: it has another.
        """
        if self.kind == _LEAF:
            return [value]
        found = self._parts(value)
        return [leaf for child, part in zip(self.children, found)
                for leaf in child.flatten_up_to(part)]  # fmt: skip

    def _parts(self, value: Any) -> Sequence[Any]:
        wanted = {_NONE: "None", _TUPLE: "a tuple", _LIST: "a list", _DICT: "a dict"}
        says = f"{wanted.get(self.kind, 'a container')} of {len(self.children)}"
        if self.kind == _NONE and value is None:
            return ()
        if self.kind == _DICT and isinstance(value, dict):
            if set(value) != set(self.keys):
                raise ValueError(f"expected the keys {', '.join(self.keys)}, got {list(value)}")
            return [value[key] for key in self.keys]
        kinds = {_TUPLE: tuple, _LIST: list}.get(self.kind, (tuple, list))
        is_of_kind = self.kind in (_TUPLE, _LIST, _CUSTOM) and isinstance(value, kinds)
        if is_of_kind and len(value) == len(self.children):
            return value
        raise ValueError(f"expected {says}, got {type(value).__name__}")


@dataclass(frozen=True)
class Exported:
    """An exported function, with the attributes of jax.export.Exported that programs need."""

    name: str
    fun_name: str
    in_tree: Tree
    out_tree: Tree
    in_avals: tuple[Aval, ...]
    out_avals: tuple[Aval, ...]
    platforms: tuple[str, ...]
    ordered_effects: tuple[object, ...]
    module_kept_var_idx: tuple[int, ...]
    mlir_module_serialized: bytes
    content: bytes

    def mlir_module(self) -> str:
        """The program's text, by JAX.

        Raises:
            UnsupportedError: JAX is not installed.
        """
        try:
            jax_export: Any = import_module("jax.export")
        except ModuleNotFoundError:
            raise UnsupportedError(
                f"{self.name} holds annotations of the dialect sdy, as programs of linear algebra "
                "do, which only JAX reads: install jax"
            ) from None
        try:
            return jax_export.deserialize(bytearray(self.content)).mlir_module()
        except Exception as error:
            raise ModelFileError(f"{self.name} is damaged: JAX cannot read it") from error


def is_exported(head: bytes) -> bool:
    """Whether a file's beginning looks like what `exported.serialize()` gives."""
    return _MODULE_START in head and not head.startswith(_MODULE_START)


def read(source: Any) -> Exported:
    """The exported function in a file.

    Args:
        source: its path, or its bytes.

    Raises:
        ModelFileError: it is damaged.
        OSError: it cannot be read.
    """
    if isinstance(source, (str, os.PathLike)):
        name, content = str(source), Path(source).read_bytes()
    else:
        name, content = "the exported function", bytes(source)
    table = Table.root(content, name)
    module = table.data(_MODULE)
    if not module.startswith(_MODULE_START):
        raise ModelFileError(f"{name} is no file of jax.export, or damaged: it has no program")
    trees = [_tree(table.table(field), _Budget(len(content), name))
             for field in (_IN_TREE, _OUT_TREE)]  # fmt: skip
    if [part.kind for part in (trees[0], *trees[0].children)] != [_TUPLE, _TUPLE, _DICT]:
        raise ModelFileError(f"{name} is damaged: its arguments are no tuple and dictionary")
    unique = [_aval(t) for t in table.tables(_UNIQUE_AVALS)]
    avals = [_avals(table, fields, unique)
             for fields in ((_IN_AVALS, _IN_NUMBERS), (_OUT_AVALS, _OUT_NUMBERS))]  # fmt: skip
    kept = table.numbers(_KEPT, "H")
    counts = [len(a) for a in avals]
    if counts != [t.num_leaves for t in trees] or any(k >= counts[0] for k in kept):
        raise ModelFileError(f"{name} is damaged: its arguments and their structure differ")
    function = re.sub(r"\W+", "_", table.text_of(table.data(_NAME))) or "function"
    return Exported(
        name, function, trees[0], trees[1], avals[0], avals[1], table.texts(_PLATFORMS),
        table.tables(_ORDERED_EFFECTS), kept, module, content,
    )  # fmt: skip


def _avals(table: Table, fields: tuple[int, int], unique: Sequence[Aval]) -> tuple[Aval, ...]:
    """The arrays of the arguments or results: each described, or the number of a description."""
    described, numbers = fields
    if found := table.tables(described):
        return tuple(_aval(t) for t in found)
    places = table.numbers(numbers, "I")
    if any(p >= len(unique) for p in places):
        raise ModelFileError(f"{table.name} is damaged: an array has no description")
    return tuple(unique[p] for p in places)


def _aval(table: Table) -> Aval:
    kind = table.small(_DTYPE)
    if kind >= len(_DTYPES):
        raise UnsupportedError(f"{table.name} has a type of elements that is newer than tfc")
    sizes = tuple(int(s) if s.isdecimal() and len(s) < 19 else s for s in table.texts(_SHAPE))
    return Aval(sizes, _DTYPES[kind])


class _Budget:
    """How many parts of structures may still be read: a damaged file can share them endlessly."""

    def __init__(self, size: int, name: str):
        self.left, self.name = size, name

    def spend(self) -> None:
        """Count a part.

        Raises:
            ModelFileError: there are more than the file can hold.
        """
        self.left -= 1
        if self.left < 0:
            raise ModelFileError(f"{self.name} is damaged: a structure in it has no end")


def _tree(table: Table | None, budget: _Budget, depth: int = 0) -> Tree:
    budget.spend()
    if table is None or depth > _MOST_NESTED:
        raise ModelFileError(f"{budget.name} is damaged: a structure in it is missing or too deep")
    kind = table.small(_KIND)
    if kind in (_LEAF, _NONE):
        return Tree(kind)
    parts = table.tables(_CHILDREN)
    keys = table.texts(_KEYS) if kind == _DICT else ()
    if kind > _CUSTOM or (kind == _DICT and len(set(keys)) != len(parts)):
        raise ModelFileError(f"{budget.name} is damaged: a structure in it is of no known kind")
    return Tree(kind, tuple(_tree(part, budget, depth + 1) for part in parts), keys)
