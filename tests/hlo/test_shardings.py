"""The notations of shardings: which part each device has, by what XLA says each of them means."""

import numpy as np
import pytest

from tfc.errors import ShapeError
from tfc.hlo.attributes.sharding import Sharding, parse_sharding

# Text, tiles, and for each part in row-major order the devices that hold it.
NOTATIONS = {
    "{devices=[2,1]<=[2]}": ((2, 1), [[0], [1]]),
    "{devices=[2,2]0,2,1,3}": ((2, 2), [[0], [2], [1], [3]]),
    "{devices=[2,2]<=[2,2]T(1,0)}": ((2, 2), [[0], [2], [1], [3]]),
    "{devices=[2,1,2]<=[4] last_tile_dim_replicate}": ((2, 1), [[0, 1], [2, 3]]),
    "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dims={replicated}}": ((2, 1), [[0, 2], [1, 3]]),
    "{devices=[1,1,4]<=[4] last_tile_dim_replicate}": ((1, 1), [[0, 1, 2, 3]]),
    "{mesh['x'=2,'y'=2], [{'y'}, {}]}": ((2, 1), [[0, 2], [1, 3]]),
    "{mesh['x'=2,'y'=2], [{'x','y'}]}": ((4,), [[0], [1], [2], [3]]),
}


@pytest.mark.parametrize("text", NOTATIONS)
def test_each_notation_says_which_part_a_device_has(text: str):
    tiles, holders = NOTATIONS[text]
    sharding = parse_sharding(text)
    assert isinstance(sharding, Sharding)
    assert sharding.tiles == tiles
    for part, devices in enumerate(holders):
        place = tuple(int(n) for n in np.unravel_index(part, tiles))
        assert [sharding.place(d) for d in devices] == [place] * len(devices)
    assert parse_sharding(str(sharding)) == sharding


@pytest.mark.parametrize("text", ["{replicated}", "{manual}", "{maximal device=3}"])
def test_what_is_not_tiled_is_printed_as_it_was(text: str):
    assert str(parse_sharding(text)) == text


def test_tuples_have_a_sharding_for_each_element():
    found = parse_sharding("{{replicated}, {devices=[2]<=[2]}, {manual}}")
    assert [str(s) for s in found] == ["{replicated}", "{devices=[2]<=[2]}", "{manual}"]


@pytest.mark.parametrize("text", [
    "{devices=[2]0,0}", "{devices=[2]0,2}", "{devices=[3]<=[2]}", "{devices=[2,2]<=[2,2]T(0,0)}",
    "{devices=[2]<=[9999999]}", "{mesh['x'=2], [{'x'}, {'x'}]}", "{mesh['x'=2], [{'z'}]}",
])  # fmt: skip
def test_devices_that_make_no_sharding_are_refused(text: str):
    with pytest.raises(ShapeError):
        parse_sharding(text)


def test_parts_of_axes_have_no_meaning_here():
    assert parse_sharding("{devices=[2,2]<=[4] last_tile_dims={manual}}").kind == "unknown"
