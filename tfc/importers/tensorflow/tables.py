"""Tables that look numbers up: a search among sorted keys, which are known while importing.

A SavedModel fills its tables by nodes LookupTableImportV2, which its initializers run.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.errors import UnsupportedError
from tfc.graph.types.dtypes import DType
from tfc.importers.lookups import Lookup
from tfc.importers.tensorflow.context import context_at
from tfc.importers.tensorflow.nodes import Nodes
from tfc.importers.tensorflow.table import operator
from tfc.importers.walk import Call

MAKING = ("HashTableV2", "MutableHashTableV2")
_FILLING = "LookupTableImportV2"
_MOST_PASSED = 64  # nodes that hand a constant on


@dataclass(frozen=True)
class TableHandle:
    """What names a table."""

    name: str


def filled(nodes: Nodes, constant: Callable[[Any], np.ndarray]) -> dict[str, Lookup]:
    """The tables of numbers that nodes fill, by the names of the nodes that make them.

    Args:
        nodes: without calls of functions.
        constant: tells the array of a node Const.
    """
    found: dict[str, Lookup] = {}
    for node in nodes.by_name.values():
        if node.op != _FILLING:
            continue
        makes, *given = (_origin(nodes, x) for x in nodes.taken(node))
        if makes is None or makes.op not in MAKING or not _of_constants(given):
            continue
        keys, values = (constant(x) for x in given)
        is_numeric = keys.dtype.kind in "iu" and values.dtype.kind not in "OS"
        if is_numeric and keys.ndim == 1 and values.shape[:1] == keys.shape:
            found[makes.name] = Lookup.of(keys, values)
    return found


def _of_constants(nodes: list[Any]) -> bool:
    return len(nodes) == 2 and all(x is not None and x.op == "Const" for x in nodes)


def _origin(nodes: Nodes, taken: tuple[str, int]) -> Any:
    """The node that a value comes from, behind what only hands it on."""
    for _ in range(_MOST_PASSED):
        name, place = taken
        node = nodes.by_name.get(name)
        if node is None or node.op not in ("Identity", "IdentityN"):
            return node
        inputs = nodes.taken(node)
        if place >= len(inputs):
            return None
        taken = inputs[place]
    return None


@operator("HashTableV2", is_pure=False)
@operator("MutableHashTableV2", is_pure=False)
def table(
    *, key_dtype: DType, value_dtype: DType, shared_name: str = "", container: str = "", node: Call
) -> TableHandle:
    """What names a table: its node."""
    return TableHandle(node.name)


@operator("LookupTableFindV2", is_pure=False)
def find(table_handle: TableHandle, keys: Any, default_value: Any, *, node: Call) -> Any:
    """The values of keys.

    Raises:
        UnsupportedError: the file does not say what the table holds.
    """
    tables = context_at(node).tables
    if table_handle.name not in tables:
        raise UnsupportedError(
            f"what the table '{table_handle.name}' holds is not in the file as constants of "
            "numbers: look keys up beforehand, and import what is behind by inputs="
        )
    return tables[table_handle.name].find(keys, default_value)


@operator("LookupTableSizeV2", is_pure=False)
def size(table_handle: TableHandle, *, node: Call) -> Any:
    """How many keys a table has."""
    return np.asarray(len(context_at(node).tables[table_handle.name].keys), np.int64)
