"""Operations that apply a computation to elements: reductions, windows, map and sort."""

from typing import Any

from tfc.hlo.attributes.window import Window
from tfc.stablehlo.exporter.emission import Emission, matrix, row


@row("reduce")
def _reduce(e: Emission) -> Any:
    return e.create("stablehlo.reduce", regions=[e["to_apply"]], dimensions=e["dimensions"])


def padding(window: Window) -> Any:
    """The attribute of a window's padding: (low, high) for each dimension."""
    return matrix([(d.low, d.high) for d in window.dimensions], 2)


def _window(e: Emission, dilated: bool) -> dict[str, Any]:
    window: Window = e.get("window", Window())
    dimensions = window.dimensions
    found = {
        "window_dimensions": window.size,
        "window_strides": tuple(d.stride for d in dimensions),
        "padding": padding(window),
    }
    if dilated:
        found["base_dilations"] = tuple(d.base_dilation for d in dimensions)
        found["window_dilations"] = tuple(d.window_dilation for d in dimensions)
    return found


@row("reduce-window")
def _reduce_window(e: Emission) -> Any:
    return e.create("stablehlo.reduce_window", regions=[e["to_apply"]], **_window(e, dilated=True))


@row("select-and-scatter")
def _select_and_scatter(e: Emission) -> Any:
    regions = [e["select"], e["scatter"]]
    return e.create("stablehlo.select_and_scatter", regions=regions, **_window(e, dilated=False))


@row("map")
def _map(e: Emission) -> Any:
    rank = e.instruction.array_shape.rank
    dimensions = e.get("dimensions") or tuple(range(rank))
    return e.create("stablehlo.map", regions=[e["to_apply"]], dimensions=dimensions)


@row("sort")
def _sort(e: Emission) -> Any:
    return e.create(
        "stablehlo.sort",
        regions=[e["to_apply"]],
        dimension=e["dimensions"][0],
        is_stable=e.get("is_stable", False),
    )


@row("topk")
def _top_k(e: Emission) -> Any:
    # That of the smallest elements is expanded (module.py).
    return e.create("chlo.top_k", k=e["k"])
