"""Functions of `nn` that look rows of tables up."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import result
from tfc.graph.constants import constant, convert_to_tensor
from tfc.graph.functions.arrays import concat
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """The rows of a table that ids name.

    Args:
        params: the table, or its parts in a list.
        partition_strategy: mod: a row's number modulo the number of parts says which part it is
            in; div: the first rows are in the first part.
        max_norm: rows that are longer are made so long.

    Raises:
        ValueError: there are no parts, or parts of unknown size.
    """
    with get_default_graph().name_scope(name or "embedding_lookup") as scope:
        parts = list(params) if isinstance(params, (list, tuple)) else [params]
        if not parts:
            raise ShapeError("embedding_lookup takes one table at least")
        ids = convert_to_tensor(ids, name="ids")
        tables = [convert_to_tensor(x) for x in parts]
        table = tables[0]
        if len(tables) > 1:
            table, ids = _joined(tables, ids, partition_strategy)
        if max_norm is None:
            return result("GatherV2", table, ids, 0, name=scope)
        rows = result("GatherV2", table, ids, 0)
        axes = list(range(ids.shape.ndims or 0, rows.shape.ndims or 0))
        total = result("Sum", result("Square", rows), np.asarray(axes, np.int32), keep_dims=True)
        limit = convert_to_tensor(max_norm, rows.dtype)
        length = result("Maximum", result("Sqrt", total), limit)
        return result("RealDiv", result("Mul", rows, limit), length, name=scope)


def _joined(tables: list[Tensor], ids: Tensor, strategy: str) -> tuple[Tensor, Tensor]:
    """One table of several, and where in it the rows are."""
    whole = concat(tables, 0)
    if strategy == "div":
        return whole, ids
    if strategy != "mod":
        raise ShapeError(f"partition_strategy is 'mod' or 'div', got {strategy!r}")
    sizes = [table.shape[0].value for table in tables]
    if None in sizes:
        raise ShapeError("the parts of a table must have known sizes")
    begins = np.cumsum([0, *sizes[:-1]]).astype(ids.dtype.dtype)
    count = constant(len(tables), ids.dtype)
    first = result("GatherV2", begins, result("FloorMod", ids, count), 0)
    return whole, result("Add", first, result("FloorDiv", ids, count))
