"""Functions that simplify: every one by example, before and after, and both compute the same.

Exact ones give the same bits on special values; those that combine elements in another order, or
are inexact, the same numbers where all sums are exact, and else about the same.
"""

import inspect
import pkgutil
from importlib import import_module

import examples_control
import examples_dots
import examples_elementwise
import examples_indexed
import examples_movement
import examples_reductions
import examples_sinking
import examples_slices
import numpy as np
import pytest
from comparing import same

from tfc.hlo import Module, evaluate, parse, verify
from tfc.hlo.attributes.window import Window, print_window
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import OPS
from tfc.passes import simplify as room
from tfc.passes.rewriting.patterns import Function
from tfc.passes.simplify.simplify import INEXACT, REORDERED, functions_of
from tfc.passes.simplify.sinking import MOVES
from tfc.testing import arguments_for
from tfc.testing.compare import flat, mismatch

HELPERS = """
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }
from { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] subtract(y, x) }
max { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] maximum(x, y) }
total { x = s32[] parameter(0)
  y = s32[] parameter(1)
  ROOT s = s32[] add(x, y) }
over { x = f32[] parameter(0)
  ROOT y = f32[] parameter(1) }
less { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = pred[] compare(x, y), direction=LT }
twice { x = f32[3] parameter(0)
  ROOT s = f32[3] add(x, x) }
double { x = f32[3] parameter(0)
  ROOT s = f32[3] add(x, x) }
back { x = f32[3] parameter(0)
  ROOT s = f32[3] negate(x) }
long { x = f32[300] parameter(0)
  ROOT s = f32[300] negate(x) }
longer { x = f32[300] parameter(0)
  ROOT s = f32[300] add(x, x) }
never { x = f32[3] parameter(0)
  ROOT s = pred[] constant(false) }
"""
EXAMPLES = [
    *examples_movement.EXAMPLES,
    *examples_slices.EXAMPLES,
    *examples_elementwise.EXAMPLES,
    *examples_reductions.EXAMPLES,
    *examples_dots.EXAMPLES,
    *examples_indexed.EXAMPLES,
    *examples_control.EXAMPLES,
    *examples_sinking.EXAMPLES,
]
MOVES_BY_NAME = {move.__name__: move for move in MOVES}
TABLED = {f.__name__: f for op in OPS.values() for f in functions_of(op)} | MOVES_BY_NAME
LOOSE = {f.__name__ for f in REORDERED | INEXACT} | {"raise_slice"}  # a part of a sum, by itself


def module_of(lines: str) -> Module:
    """The lines of a computation in which A, S and I are given."""
    body = "\n  ".join(line.strip() for line in lines.split(";"))
    given = "A = f32[2,6] parameter(0)\n  S = f32[] parameter(1)\n  I = s32[] parameter(2)"
    return parse(f"{HELPERS}\nENTRY main {{\n  {given}\n  {body}\n}}")


def show(x: Instruction) -> str:
    """An instruction and what it is made of, without shapes and names."""
    if x.opcode == "parameter":
        return x.name
    if x.opcode == "constant":
        return str(x["literal"].array)
    stated = [f"{k}={shown(v)}" for k, v in x.attributes.items()]
    return f"{x.opcode}({', '.join([*map(show, x.operands), *stated])})"


def shown(value: object) -> str:
    """An attribute: computations by name, windows as text."""
    if isinstance(value, Computation):
        return value.name
    return print_window(value) if isinstance(value, Window) else repr(value)


def function_named(name: str, module: Module) -> Function:
    """A function by its name, and one that asks so told whether the root alone uses something."""
    entry = module.entry
    if name in MOVES_BY_NAME:
        return lambda x: MOVES_BY_NAME[name](x, lambda operand: len(entry.users[operand]) == 1)
    return next(f for f in functions_of(OPS[entry.root.opcode]) if f.__name__ == name)


@pytest.mark.parametrize(("name", "before", "after"), EXAMPLES)
def test_example(name: str, before: str, after: str | None) -> None:
    module = module_of(before)
    old = module.entry.root
    new = function_named(name, module)(old)
    assert (show(new) if new else None) == after
    if new is None:
        return
    assert new.shape == old.shape
    changed = Module("m", Computation.make("main", module.entry.parameters, new))
    verify(changed)
    for kind in ("whole", "normal", "special"):
        arguments = arguments_for(module, np.random.default_rng(3), kind)
        expected, got = (list(flat(evaluate(m, *arguments))) for m in (module, changed))
        if name not in LOOSE:
            assert all(same(a, b).all() for a, b in zip(expected, got, strict=True))
        elif kind == "whole":
            assert all(np.array_equal(a, b) for a, b in zip(expected, got, strict=True))
        elif TABLED[name] not in INEXACT:
            assert mismatch(module, arguments, got) is None


@pytest.mark.parametrize("name", sorted(TABLED))
def test_function_has_an_example(name: str) -> None:
    assert name in {n for n, _, after in EXAMPLES if after is not None}, f"no example of {name}"


def test_every_function_that_states_a_rewrite_is_in_a_table() -> None:
    modules = [
        import_module(m.name) for m in pkgutil.iter_modules(room.__path__, f"{room.__name__}.")
    ]
    stated = {
        name for m in modules for name, f in inspect.getmembers(m, inspect.isfunction)
        if f.__module__ == m.__name__ and " --> " in (f.__doc__ or "") and name[0] != "_"
    }  # fmt: skip
    assert stated == set(TABLED)


def test_every_function_states_itself() -> None:
    for name, function in TABLED.items():
        assert " --> " in (function.__doc__ or ""), name


def test_inexact_functions_differ_somewhere() -> None:
    for name, before, after in EXAMPLES:
        module = module_of(before)
        if TABLED[name] not in INEXACT or after is None:
            continue
        new = function_named(name, module)(module.entry.root)
        assert new is not None
        changed = Module("m", Computation.make("main", module.entry.parameters, new))
        differs = False
        for seed in range(50):
            arguments = arguments_for(module, np.random.default_rng(seed), "special")
            values = (np.asarray(evaluate(m, *arguments)) for m in (module, changed))
            differs = differs or not same(*values).all()
        assert differs, f"{name} is exact: mark it so"
