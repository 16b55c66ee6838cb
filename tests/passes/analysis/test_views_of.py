"""Which slices are parts of an array that is there anyway, and where in it they begin."""

import pytest

from tfc.hlo import parse
from tfc.passes.analysis.views import views_of


def views(lines: str, alignment: int = 1) -> dict[str, int]:
    module = parse(f"""twice {{ a = f32[1,5] parameter(0)
  ROOT b = f32[1,5] add(a, a) }}
ENTRY main {{
  x = f32[4,5] parameter(0)
  c = f32[4,5] tanh(x)
  s = f32[1,5] slice(c), slice={{[2:3], [0:5]}}
  {lines} }}""")
    return {view.name: begin for view, begin in views_of(module.entry, {}, alignment).items()}


FUSION = "f = f32[1,5] fusion(s), kind=kLoop, calls=twice"


@pytest.mark.parametrize(("lines", "found"), [
    # The array is a result, so it is there while the part is read.
    (f"{FUSION}\n ROOT t = (f32[1,5], f32[4,5]) tuple(f, c)", {"s": 40}),
    # It would be kept for the part alone.
    (f"ROOT {FUSION}", {}),
    # An operation that is no kernel yet may not read there.
    ("f = f32[1,5] negate(s)\n ROOT t = (f32[1,5], f32[4,5]) tuple(f, c)", {}),
    # A result wants memory of its own.
    ("ROOT t = (f32[1,5], f32[4,5]) tuple(s, c)", {}),
    # Something overwrites the array before the part is read.
    (f"z = s32[] constant(0)\n o = f32[1,5] slice(x), slice={{[0:1], [0:5]}}\n"
     f"u = f32[4,5] dynamic-update-slice(c, o, z, z)\n {FUSION}\n"
     "ROOT t = (f32[1,5], f32[4,5]) tuple(f, u)", {}),
])  # fmt: skip
def test_a_part_is_read_where_it_lies_if_that_costs_nothing(lines: str, found: dict[str, int]):
    assert views(lines) == found


def test_a_part_that_begins_between_the_places_that_kernels_read_is_copied():
    lines = f"{FUSION}\n ROOT t = (f32[1,5], f32[4,5]) tuple(f, c)"
    assert views(lines, 8) == {"s": 40}
    assert views(lines, 16) == {}
