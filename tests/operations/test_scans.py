"""Scan: as text, what it means, and as the loop that it is expanded to; map likewise."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spec_helpers import floats, gives, refused
from test_differential import assert_same
from xla_bridge import run_hlo_text, xla_parse, xla_print

from tfc.hlo import Module, builder, evaluate, parse
from tfc.hlo.builder import binary, instruction, parameter
from tfc.hlo.ir import Computation
from tfc.hlo.shape import F32, S32, U8, Shape
from tfc.passes import PASSES
from tfc.testing import arguments_for, instructions_of

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


SCAN = """
step { a = f32[] parameter(0)
  c = f32[] parameter(1)
  s = f32[] add(a, c)
  p = f32[] multiply(s, a)
  ROOT r = (f32[], f32[]) tuple(p, s) }
ENTRY e { x = f32[4] parameter(0)
  i = f32[] constant(10)
  ROOT y = scan(x, i), dimensions={0}, num_carries=1, to_apply=step }"""


def test_scan_prints_as_xla_prints_it():
    for more in ("", "is_reverse=true, ", "is_reverse=true, is_associative=true, "):
        text = str(parse(SCAN.replace("to_apply", more + "to_apply")))
        assert str(parse(text)) == text
        line = next(each for each in text.splitlines() if " scan(" in each).split(" scan(")[1]
        assert line.split("scan(")[-1] in xla_print(xla_parse(text))


def test_scan_carries_from_step_to_step():
    stacked, last = evaluate(parse(SCAN), np.array([1, 2, 3, 4], np.float32))
    np.testing.assert_array_equal(stacked, [11, 26, 48, 80])
    assert last == 20
    reverse = parse(SCAN.replace("num_carries=1", "num_carries=1, is_reverse=true"))
    stacked, last = evaluate(reverse, np.array([1, 2, 3, 4], np.float32))
    np.testing.assert_array_equal(stacked, [20, 38, 51, 56])
    assert last == 20


def expanded(module: Module) -> Module:
    return PASSES["expand"]()(module)


@pytest.mark.parametrize("opcode", ["map", "scan"])
@QUICK
@given(data=st.data())
def test_expansions_evaluate_to_the_same(opcode: str, data: st.DataObject):
    module = data.draw(instructions_of(opcode, (F32, S32, U8)))
    plain = expanded(module)
    assert not any(i.opcode == "map" for i in plain.entry.instructions)
    values = arguments_for(module, np.random.default_rng(0))
    np.testing.assert_array_equal(evaluate(plain, *values), evaluate(module, *values))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_a_scan_of_any_step_is_a_loop(length: int, reverse: bool):
    """Rows of several sizes, a carry that is a matrix, an output that is a sum, a carry alone."""
    x, y, c = (parameter(n, Shape(F32, d)) for n, d in enumerate([(3,), (2,), (3, 2)]))
    outer = instruction("dot", [x, y], lhs_contracting_dims=(), rhs_contracting_dims=())
    total = binary("add", c, outer)
    add = builder.scalar_computation("add", F32)
    reduced = builder.reduce(total, builder.constant(0, F32), (0, 1), add)
    root = instruction("tuple", [reduced, binary("multiply", y, y), total])
    step = Computation.make("step", [x, y, c], root)
    # The scanned dimension is the last of a matrix and the only one of what is stacked.
    given = [parameter(0, Shape(F32, (length, 3))), parameter(1, Shape(F32, (length, 2))),
             parameter(2, Shape(F32, (3, 2)))]  # fmt: skip
    made = instruction(
        "scan", given, dimensions=(0,), num_carries=1, is_reverse=reverse, is_associative=False,
        to_apply=step,
    )  # fmt: skip
    module = Module("m", Computation.make("e", given, made))
    values = arguments_for(module, np.random.default_rng(1))
    loops = [i for i in expanded(module).entry.instructions if i.opcode == "while"]
    assert len(loops) == (1 if length else 0)
    assert_same(module, 1, "normal")
    if length:
        for got, want in zip(run_hlo_text(str(module), *values), evaluate(module, *values)):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_a_scan_of_one_result_is_no_tuple():
    step = builder.scalar_computation("add", F32)
    for length in (0, 3):
        made = instruction(
            "scan", [floats(np.ones(length)), floats(2)], dimensions=(0,), num_carries=1,
            is_associative=False, to_apply=step,
        )  # fmt: skip
        gives(made, 2.0 + length)
        assert_same(Module("m", Computation.make("e", [], made)), 0, "normal")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_carries": 2}, "at least one input besides its 2 carries, got 2 operands"),
        ({"num_carries": -1}, "at least one input besides its -1 carries"),
        ({"num_carries": 0}, r"distinct dimensions within 0..-1, got \[0\]"),
        ({"dimensions": (1,)}, r"distinct dimensions within 0..0, got \[1\]"),
        ({"dimensions": (0, 1)}, r"one dimension, got \[0, 1\]"),
    ],
)
def test_scans_that_do_not_fit_are_refused(change: dict[str, Any], message: str):
    attributes = {"dimensions": (0,), "num_carries": 1, "is_associative": False, **change}
    with refused(f"scan requires {message}"):
        instruction(
            "scan", [floats([1.0, 2]), floats(0)],
            to_apply=builder.scalar_computation("add", F32), **attributes,
        )  # fmt: skip


def test_scans_of_other_steps_are_refused():
    with refused(r"to_apply of parameters f32\[2\] and f32\[\]"):
        instruction(
            "scan", [floats([[1.0, 2]]), floats(0)], dimensions=(0,), num_carries=1,
            is_associative=False, to_apply=builder.scalar_computation("add", F32),
        )  # fmt: skip
    with refused("inputs of one size along dimension 0"):
        instruction(
            "scan", [floats([1.0, 2]), floats([1.0])], dimensions=(0,), num_carries=0,
            is_associative=False, to_apply=builder.scalar_computation("add", F32),
        )  # fmt: skip
