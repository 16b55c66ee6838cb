"""Rows: which values of a computation belong to one row, and in which loops a kernel makes them."""

import pytest

from tfc.hlo import builder, parse
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32, S32, Shape
from tfc.passes.analysis.row_plan import own_work, row_plan, vectorises
from tfc.passes.analysis.row_region import Role, RowSpace, row_region, row_space, wants

HELPERS = """
plus { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
most { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b) }
"""
SOFTMAX = """x = f32[6,33] parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[6] reduce(x, low), dimensions={1}, to_apply=most
  r = f32[6,33] broadcast(m), dimensions={0}
  d = f32[6,33] subtract(x, r)
  e = f32[6,33] exponential(d)
  s = f32[6] reduce(e, zero), dimensions={1}, to_apply=plus
  t = f32[6,33] broadcast(s), dimensions={0}
  ROOT y = f32[6,33] divide(e, t)"""


def root_of(lines: str) -> Instruction:
    return parse(f"{HELPERS}\nENTRY main {{\n  {lines}\n}}").entry.root


def reduce(dims: tuple[int, ...], dimensions: tuple[int, ...]) -> Instruction:
    x = builder.parameter(0, Shape(F32, dims))
    plus = builder.scalar_computation("add", F32)
    return builder.reduce(x, builder.constant(0.0, F32), list(dimensions), plus)


@pytest.mark.parametrize(
    ("dims", "dimensions", "space"),
    [
        ((6, 33), (1,), RowSpace(6, 33)),
        ((2, 3, 4, 5), (2, 3), RowSpace(6, 20)),
        ((2, 3, 1), (1,), RowSpace(2, 3)),  # a dimension of one element is nowhere
        ((4, 5), (0, 1), RowSpace(1, 20)),
        ((4, 5), (0,), "it does not remove the last dimensions"),
        ((4, 1), (1,), "its rows have less than two elements"),
        ((0, 5), (1,), "its rows have less than two elements"),
    ],
)
def test_the_rows_of_a_reduction(
    dims: tuple[int, ...], dimensions: tuple[int, ...], space: RowSpace | str
) -> None:
    assert row_space(reduce(dims, dimensions)) == space


def test_roles_are_a_matter_of_size() -> None:
    space = RowSpace(6, 33)
    roles = [space.role(Shape(F32, dims)) for dims in [(6, 33), (198,), (6,), (2, 3), (33,), ()]]
    assert roles == ["full", "full", "row", "row", None, None]


PLACES = [("full", (6, 33)), ("full", (2, 99)), ("row", (6,)), ("row", (2, 3))]


@pytest.mark.parametrize(("role", "dims"), PLACES)
def test_a_place_finds_its_own_elements(role: Role, dims: tuple[int, ...]) -> None:
    """The index of a role leads back to the role, whatever the array's dimensions."""
    place = RowSpace(6, 33).place
    assert place.role(dims, place.index(role, dims)) == role


def wanted(instruction: Instruction) -> list[tuple[str, Role | None]]:
    found = wants(instruction, "full", RowSpace(6, 33))
    assert not isinstance(found, str)
    return [(w.operand.name, w.role) for w in found]


def test_what_elements_are_made_of() -> None:
    y = root_of(SOFTMAX)
    assert wanted(y) == [("e", "full"), ("t", "full")]
    assert wanted(y.operands[1]) == [("s", "row")]
    sort = builder.parameter(0, Shape(S32, (6, 33))).with_(opcode="sort")
    reason = "sort is not computed element by element"
    assert wants(sort, "full", RowSpace(6, 33)) == reason


def test_softmax_is_a_region() -> None:
    region = row_region(root_of(SOFTMAX))
    assert region is not None
    assert region.space == RowSpace(6, 33)
    assert [o.name for o in region.outputs] == ["y"]
    roles = {i.name: role for i, role in region.roles.items()}
    assert {roles[n] for n in "xrdety"} == {"full"}
    assert {roles[n] for n in "ms"} == {"row"}


@pytest.mark.parametrize(
    "lines",
    [
        # A lone reduction, reductions along different rows, and the next element of the row.
        "x = f32[6,33] parameter(0)\n z = f32[] constant(0)\n"
        "ROOT s = f32[6] reduce(x, z), dimensions={1}, to_apply=plus",
        "x = f32[6,33] parameter(0)\n z = f32[] constant(0)\n"
        "s = f32[6] reduce(x, z), dimensions={1}, to_apply=plus\n"
        "t = f32[] reduce(s, z), dimensions={0}, to_apply=plus\n"
        "b = f32[6] broadcast(t), dimensions={}\n ROOT a = f32[6] add(s, b)",
        SOFTMAX.replace("ROOT y", "y") + "\n n = f32[6,33] reverse(e), dimensions={1}\n"
        "  ROOT q = f32[6,33] add(y, n)",
    ],
)
def test_what_is_no_region(lines: str) -> None:
    assert row_region(root_of(lines)) is None


def test_softmax_takes_three_loops_and_keeps_the_exponential_in_the_result() -> None:
    plan = row_plan(root_of(SOFTMAX))
    assert plan is not None
    loops = [(n.level, [r.name for r in n.reduces], [v.name for v in n.stored]) for n in plan.loops]
    assert loops == [(1, ["m"], []), (2, ["s"], ["e"]), (3, [], ["y"])]
    levels = {i.name: level for i, level in plan.levels.items()}
    assert [levels[n] for n in "xmdesy"] == [0, 1, 1, 1, 2, 2]
    (kept,) = plan.kept.items()
    assert [i.name for i in kept if isinstance(i, Instruction)] == ["e", "y"]
    assert plan.scratch == ()
    # The result may lie where the argument does: it is read for the last time as e is stored.
    assert {(p.name, o.name) for p, o in plan.overwritable} == {("x", "y")}


def test_what_has_no_result_to_lie_in_is_kept_in_scratch_memory() -> None:
    lines = SOFTMAX.replace("ROOT y", "y") + (
        "\n  q = f32[6] reduce(y, zero), dimensions={1}, to_apply=plus\n  ROOT a = f32[6] add(q, s)"
    )
    plan = row_plan(root_of(lines))
    assert plan is not None
    assert {i.name: place for i, place in plan.kept.items()} == {"e": 0}
    assert plan.scratch == (Shape(F32, (33,)),)


def test_what_a_plan_estimates() -> None:
    root = root_of(SOFTMAX)
    named = {i.name: i for i in (*root.operands, *root.operands[0].operands)}
    assert own_work(named["d"]) < own_work(named["e"])
    assert own_work(root.operands[1]) == 0  # a broadcast
    assert vectorises(reduce((6, 33), (1,)))
