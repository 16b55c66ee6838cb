"""Data movement, by fixed positions and by indices."""

from typing import Any

from tfc.backends.mlir import provider
from tfc.hlo.ops.indexed import GATHER, SCATTER
from tfc.hlo.shape import Shape
from tfc.stablehlo.exporter.emission import Emission, row


@row("copy")
def _copy(e: Emission) -> Any:
    return e.operands[0]


@row("broadcast")
def _broadcast(e: Emission) -> Any:
    return e.create("stablehlo.broadcast_in_dim", broadcast_dimensions=e.get("dimensions", ()))


@row("reshape")
def _reshape(e: Emission) -> Any:
    return e.create("stablehlo.reshape")


@row("iota")
def _iota(e: Emission) -> Any:
    return e.create("stablehlo.iota", iota_dimension=e["iota_dimension"])


@row("transpose")
def _transpose(e: Emission) -> Any:
    return e.create("stablehlo.transpose", permutation=e["dimensions"])


@row("reverse")
def _reverse(e: Emission) -> Any:
    return e.create("stablehlo.reverse", dimensions=e["dimensions"])


@row("concatenate")
def _concatenate(e: Emission) -> Any:
    return e.create("stablehlo.concatenate", dimension=e["dimensions"][0])


@row("slice")
def _slice(e: Emission) -> Any:
    names = ("start_indices", "limit_indices", "strides")
    return e.create("stablehlo.slice", **_columns(names, e["slice"]))


@row("pad")
def _pad(e: Emission) -> Any:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return e.create("stablehlo.pad", **_columns(names, e["padding"]))


def _columns(names: tuple[str, ...], rows: Any) -> dict[str, Any]:
    """One attribute for each column of the numbers, which are listed by dimension."""
    return {name: tuple(r[n] for r in rows) for n, name in enumerate(names)}


def _starts(e: Emission, first: int, rank: int) -> list[Any]:
    """Start indices as scalars, which HLO may have in a vector."""
    starts = e.operands[first:]
    shapes = [o.array_shape for o in e.instruction.operands[first:]]
    if len(starts) != 1 or not shapes[0].rank:
        return list(starts)
    element_type, scalars = shapes[0].element_type, []
    for d in range(rank):
        part = e.create(
            "stablehlo.slice", starts, Shape(element_type, (1,)),
            start_indices=(d,), limit_indices=(d + 1,), strides=(1,),
        )  # fmt: skip
        scalars.append(e.create("stablehlo.reshape", [part], Shape(element_type)))
    return scalars


@row("dynamic-slice")
def _dynamic_slice(e: Emission) -> Any:
    sizes = e["dynamic_slice_sizes"]
    starts = _starts(e, 1, len(sizes))
    return e.create("stablehlo.dynamic_slice", [e.operands[0], starts], slice_sizes=sizes)


@row("dynamic-update-slice")
def _dynamic_update_slice(e: Emission) -> Any:
    starts = _starts(e, 2, e.instruction.array_shape.rank)
    return e.create("stablehlo.dynamic_update_slice", [*e.operands[:2], starts])


@row("gather")
def _gather(e: Emission) -> Any:
    numbers = {name: list(e.get(name, ())) for name in GATHER}
    return e.create(
        "stablehlo.gather",
        dimension_numbers=provider.stablehlo().GatherDimensionNumbers.get(
            **numbers, index_vector_dim=e["index_vector_dim"]
        ),
        slice_sizes=e["slice_sizes"],
        indices_are_sorted=e.get("indices_are_sorted", False),
    )


@row("scatter")
def _scatter(e: Emission) -> Any:
    # One of the names differs from HLO's.
    numbers = {n.replace("scatter_dims", "scattered_dims"): list(e.get(n, ())) for n in SCATTER}
    return e.create(
        "stablehlo.scatter",
        regions=[e["to_apply"]],
        scatter_dimension_numbers=provider.stablehlo().ScatterDimensionNumbers.get(
            **numbers, index_vector_dim=e["index_vector_dim"]
        ),
        indices_are_sorted=e.get("indices_are_sorted", False),
        unique_indices=e.get("unique_indices", False),
    )
