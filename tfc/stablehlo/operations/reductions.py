"""Operations that apply a computation to elements: reductions, windows, map and sort."""

from typing import Any

from tfc.stablehlo.operations.emission import Emission
from tfc.stablehlo.operations.fields import flag, ints, regions, single, window
from tfc.stablehlo.operations.row import Values, row


def _create_map(e: Emission, name: str, said: Values) -> Any:
    every = tuple(range(e.instruction.array_shape.rank))
    return e.create(name, **{**said, "dimensions": said["dimensions"] or every})


_PLACES = {"size": "window_dimensions", "stride": "window_strides"}
_DILATIONS = {"base_dilation": "base_dilations", "window_dilation": "window_dilations"}

ROWS = (
    row("reduce", ints("dimensions"), regions(to_apply="reducer")),
    row("reduce-window", window(**_PLACES, **_DILATIONS), regions(to_apply="reducer")),
    row("select-and-scatter", window(**_PLACES), regions(select="select", scatter="scatter")),
    row("map", ints("dimensions"), regions(to_apply="mapped"), create=_create_map),
    row(
        "sort",
        single("dimensions", "dimension", default=-1),
        flag("is_stable"),
        regions(to_apply="comparator"),
    ),
)
