"""How often loops run: against counting, over all numbers of small types, and for written loops."""

import itertools

import numpy as np
import pytest

from tfc.hlo import evaluate, parse
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.loops.loop_config import proved_trip_count, stated_trip_count
from tfc.hlo.loops.trip_counts import (
    counter,
    first_failure,
    trips_of,
)
from tfc.hlo.shape import S4, S8, S32, U4, ElementType
from tfc.passes import default_pipeline
from tfc.passes.analysis.cost import cost_analysis
from tfc.passes.loops.known_trip_counts import TripCounts

COMPARE = {
    "LT": int.__lt__, "LE": int.__le__, "GT": int.__gt__,
    "GE": int.__ge__, "EQ": int.__eq__, "NE": int.__ne__,
}  # fmt: skip


def counted(start: int, step: int, limit: int, direction: str, kind: ElementType):
    """(the iterations by running, whether the counter wrapped around); None if it never ends."""
    value, has_wrapped = start, False
    for count in range(2**kind.bits + 1):
        if not COMPARE[direction](value, limit):
            return count, has_wrapped
        has_wrapped |= kind.wrapped(value + step) != value + step
        value = kind.wrapped(value + step)
    return None


@pytest.mark.parametrize("direction", COMPARE)
@pytest.mark.parametrize("kind", [S4, U4], ids=str)
def test_all_loops_over_four_bits(kind: ElementType, direction: str):
    low, high = kind.limits
    for start, step, limit in itertools.product(range(low, high + 1), repeat=3):
        value = counter(start, step, kind)
        got = first_failure(value, direction, limit)
        truth = counted(start, value.step, limit, direction, kind)
        if truth is None:
            assert got is None
        elif got is None:  # it may be given up only where the counter wraps around
            assert truth[1]
            assert direction not in ("EQ", "NE")
        else:
            assert got == truth[0]


LOOP = """
condition {{ s = ({types}) parameter(0)
  {condition} }}
body {{ s = ({types}) parameter(0)
  {body} }}
ENTRY main {{
  n = s32[] parameter(0)
  {init}
  ROOT w = ({types}) while(t), condition=condition, body=body{config}
}}
"""


def loop(start: str, step: str, test: str, kind: str = "s32", limit: str = "10", config: str = "",
         after: str = "j, m", more: str = ""):  # fmt: skip
    """A loop over (i, m), which begin at numbers or `n`; j = i + step; (i, m) becomes `after`."""

    def value(name: str, text: str) -> str:
        number = f"{kind}[] constant({text})"
        return f"{name} = {f'{kind}[] copy(n)' if text == 'n' else number}\n"

    element = "{} = {}[] get-tuple-element(s), index={}\n"
    state = element.format("i", kind, 0) + element.format("m", kind, 1)
    body = f"{state}d = {kind}[] constant({step})\nj = {kind}[] add(i, d)\n{more}\n"
    return LOOP.format(
        types=f"{kind}[], {kind}[]", condition=state + test, config=config,
        body=body + f"ROOT r = ({kind}[], {kind}[]) tuple({after})",
        init=value("a", start) + value("b", limit) + f"t = ({kind}[], {kind}[]) tuple(a, b)",
    )  # fmt: skip


def the_while(module: Module) -> Instruction:
    return next(i for i in module.entry.instructions if i.opcode == "while")


LESS = "ROOT c = pred[] compare(i, m), direction=LT"
# fmt: off
WRITTEN = [
    ("to a limit in the state", loop("0", "1", LESS), 10),
    ("none", loop("10", "1", LESS), 0),
    ("one", loop("9", "1", LESS), 1),
    ("huge", loop("0", "1", LESS, "s64", "1000000000000"), 10**12),
    ("with a rest", loop("0", "3", LESS), 4),
    ("negative step", loop("10", "-4", "ROOT c = pred[] compare(i, m), direction=GT", limit="-3"),
     4),
    ("downwards, unsigned", loop("10", "4294967295",
     "ROOT c = pred[] compare(i, m), direction=NE", "u32", "0"), 10),
    ("unsigned, by wrapping around", loop("4294967290", "1",
     "ROOT c = pred[] compare(i, m), direction=NE", "u32", "2"), 8),
    ("the limit on the left", loop("0", "1", "ROOT c = pred[] compare(m, i), direction=GE"), 11),
    ("the next value compared",
     loop("0", "1", f"d = s32[] constant(1)\nk = s32[] add(i, d)\n{LESS.replace('(i', '(k')}"), 9),
    ("several comparisons",
     loop("0", "1", f"five = s32[] constant(5)\na = pred[] compare(i, five), direction=NE\n"
          f"{LESS.replace('ROOT c', 'b')}\nROOT c = pred[] and(b, a)"), 5),
    ("a condition that is tried out",
     loop("1", "1", "k = s32[] multiply(i, i)\nROOT c = pred[] compare(k, m), direction=LT"), 3),
    ("a limit from an argument", loop("0", "1", LESS, limit="n"), None),
    ("a start from an argument", loop("n", "1", LESS), None),
    ("no end", loop("0", "0", LESS), None),
    ("past the greatest value",
     loop("0", "3", LESS, "s8", "127"), None),
    ("always", loop("0", "1", "ROOT c = pred[] constant(true)"), None),
    ("never", loop("0", "1", "ROOT c = pred[] constant(false)"), 0),
    ("a limit that doubles until it wraps",
     loop("0", "1", LESS, after="j, k", more="k = s32[] add(m, m)"), 28),
    ("a limit that grows", loop("0", "2", LESS, after="j, k", more="o = s32[] constant(1)\n"
                                "k = s32[] add(m, o)"), 10),
    ("a limit from an argument that grows",
     loop("0", "2", LESS, limit="n", after="j, j"), None),
    ("elements that change places", loop("0", "1", LESS, after="m, j"), 1),
]
# fmt: on


@pytest.mark.parametrize(("text", "count"), [w[1:] for w in WRITTEN], ids=[w[0] for w in WRITTEN])
def test_written_loops(text: str, count: int | None):
    module = parse(text)
    assert trips_of(the_while(module)).exact == count
    marked = TripCounts()(module)
    assert (marked is module) == (count is None)
    assert stated_trip_count(the_while(marked)) == count
    assert str(parse(str(marked))) == str(marked)
    if count is not None and count < 100:
        expected = evaluate(module, np.int32(7))
        got = evaluate(default_pipeline().run(module), np.int32(7))
        np.testing.assert_array_equal(got, expected)


def test_the_text_is_read_and_what_else_it_says_is_kept():
    config = ', backend_config={"known_trip_count":{"n":"7"},"other":{"x":1}}'
    stated = the_while(parse(loop("n", "1", LESS, config=config)))
    assert stated_trip_count(stated) == 7
    assert trips_of(stated).exact is None  # which is what passes go by
    wrong = TripCounts()(parse(loop("0", "1", LESS, config=config)))
    assert '{"known_trip_count":{"n":"10"},"other":{"x":1},"trip_count_is_proved":true}' in str(
        wrong
    )
    unknown = parse(loop("0", "1", LESS, config=', backend_config="words"'))
    assert TripCounts()(unknown) is unknown
    claimed = config.replace('"other":{"x":1}', '"trip_count_is_proved":true')
    claimed = the_while(TripCounts()(parse(loop("n", "1", LESS, config=claimed))))
    assert (stated_trip_count(claimed), proved_trip_count(claimed)) == (7, None)
    quoted = ', backend_config="{\\"known_trip_count\\":{\\"n\\":\\"3\\"}}"'
    assert stated_trip_count(the_while(parse(loop("n", "1", LESS, config=quoted)))) == 3


def test_cost_counts_every_iteration():
    cost = cost_analysis(parse(loop("0", "1", LESS)))
    assert cost.flops == 10 + 11  # ten additions, eleven comparisons
    config = ', backend_config={"known_trip_count":{"n":"100"}}'
    assert cost_analysis(parse(loop("n", "1", LESS, config=config))).flops == 100 + 101
    assert cost_analysis(parse(loop("n", "1", LESS))).flops == 1 + 1


@pytest.mark.parametrize(
    ("operation", "count"), [("multiply(s, two)", 7), ("exponential(s)", None)]
)
def test_float_conditions_count_where_every_machine_rounds_alike(operation: str, count: int | None):
    state = "t = (f32[]) parameter(0)\n s = f32[] get-tuple-element(t), index=0\n"
    test = "n = f32[] constant(100)\n ROOT c = pred[] compare(s, n), direction=LT"
    body = f"two = f32[] constant(2)\n r = f32[] {operation}\n ROOT u = (f32[]) tuple(r)"
    module = parse(f"""c {{ {state} {test} }}\nb {{ {state} {body} }}
        ENTRY main {{ x = f32[] constant(1)
          t = (f32[]) tuple(x)
          ROOT w = (f32[]) while(t), condition=c, body=b }}""")
    assert trips_of(the_while(module)).exact == count


def test_a_counter_has_the_step_of_least_magnitude():
    assert counter(250, 250, S8).step == -6
    assert counter(0, 2**31, S32).step == -(2**31)
