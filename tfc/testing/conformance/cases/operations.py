"""Programs of each operation on each element type, and programs grown at random."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from zlib import crc32

import numpy as np
from hypothesis import given, seed
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from tfc.errors import TfcError
from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.op import OPS
from tfc.hlo.shape import ELEMENT_TYPES, F16, F32, F64, PRED, ElementType, Shape
from tfc.hlo.traits import Accuracy
from tfc.hlo.verification.verifier import verify
from tfc.testing.conformance.cases.case import Case, Unit
from tfc.testing.fuzz import TYPE_SETS, drawing
from tfc.testing.generators.grower import GENERATORS
from tfc.testing.generators.layouts import with_layouts
from tfc.testing.generators.modules import ELEMENT_TYPES as DRAWN_TYPES
from tfc.testing.generators.modules import OPCODES, available, instructions_of, modules
from tfc.testing.generators.values import Draw, arguments_for, random_array

KINDS = ("normal", "whole", "special")
_DIMS = (37, 9)  # of elementwise operations: neither a multiple of a warp nor of 16 bytes
_GRID = 2048  # values of a function of one number
_RANDOM = 20  # programs of a unit
_ATTEMPTS = 3  # draws of an operation for each set of types
# Operations that pass a value on, of which a few programs say all.
_PASSING = frozenset(o for o in OPCODES if o.endswith(("-done", "-start", "-update"))) | {
    "after-all", "add-dependency", "opt-barrier", "domain", "partition-id", "replica-id", "tuple",
    "get-dimension-size", "constant",
}  # fmt: skip
# A range for each function of one number in which its values tell most.
_RANGES = {
    "acos": (-1, 1), "asin": (-1, 1), "atanh": (-1, 1), "acosh": (1, 50), "log": (1e-6, 1e6),
    "log-plus-one": (-0.99, 9), "exponential": (-80, 80), "exponential-minus-one": (-3, 3),
    "rsqrt": (1e-4, 1e4), "sqrt": (1e-4, 1e4), "erf": (-4, 4), "logistic": (-20, 20),
    "tanh": (-9, 9), "sine": (-100, 100), "cosine": (-100, 100), "tan": (-100, 100),
    "sinh": (-9, 9), "cosh": (-9, 9), "asinh": (-50, 50), "cbrt": (-1e3, 1e3),
}  # fmt: skip


def operation_units(scale: float) -> list[Unit]:
    """A unit for each operation."""
    return [Unit(f"op-{opcode}", operation_cases, (opcode, scale)) for opcode in OPCODES]


def random_units(scale: float) -> list[Unit]:
    """Units of programs grown at random, each of one set of element types."""
    count = max(1, round(24 * scale))
    return [Unit(f"random-{n}", random_cases, (n,)) for n in range(count)]


def operation_cases(opcode: str, scale: float) -> list[Case]:
    """One operation: elementwise ones on every type, others drawn over sets of types."""
    cases = []
    if OPS[opcode].elementwise and opcode not in GENERATORS:
        cases += [_elementwise(opcode, t) for t in DRAWN_TYPES if _has_meaning(opcode, t)]
        if opcode in _RANGES:
            cases += [_on_grid(opcode, t) for t in (F32, F64, F16)]
    attempts = max(1, round(_ATTEMPTS * scale))
    sets = TYPE_SETS[:1] if opcode in _PASSING else TYPE_SETS
    for number, names in enumerate(sets):
        types = [ELEMENT_TYPES[n] for n in names]
        if opcode not in available([opcode], types):
            continue
        with suppress(InvalidArgument):  # there is no such operation on any of these types
            found = _drawn(
                instructions_of(opcode, types), attempts, crc32(opcode.encode()) + number
            )
            cases += [_with_arguments(f"{opcode}/{number}", opcode, m, n) for n, m in found]
    return _numbered(cases)


def random_cases(number: int) -> list[Case]:
    """Programs grown at random, with layouts of what lies between at random."""
    types = [ELEMENT_TYPES[n] for n in TYPE_SETS[number % len(TYPE_SETS)]]
    found = _drawn(_laid_out(types), _RANDOM, 7919 + number)
    return _numbered([_with_arguments(f"random/{number}", "random", m, n) for n, m in found])


@st.composite
def _laid_out(draw: Draw, types: Sequence[ElementType]) -> Module:
    module = draw(modules(12, types, OPCODES, turned=draw(st.booleans())))
    return with_layouts(draw, module) if draw(st.booleans()) else module


def _drawn(
    strategy: st.SearchStrategy[Module], count: int, number: int
) -> list[tuple[int, Module]]:
    """Different modules, each with a number for its arguments."""
    found: dict[str, tuple[int, Module]] = {}

    @seed(number)
    @drawing(count)
    @given(strategy)
    def one(module: Module) -> None:
        with suppress(TfcError):
            verify(module)
            found.setdefault(str(module), (len(found), module))

    one()
    return list(found.values())


def _with_arguments(name: str, kind: str, module: Module, number: int) -> Case:
    rng = np.random.default_rng(number)
    values = arguments_for(module, rng, KINDS[number % len(KINDS)])
    return Case(name, kind, module, list(_flat(values)))


def _flat(values: object) -> list[np.ndarray]:
    if isinstance(values, (tuple, list)):
        return [array for value in values for array in _flat(value)]
    return [np.asarray(values)]


def _numbered(cases: list[Case]) -> list[Case]:
    return [replace(c, name=f"{c.name}/{n}") for n, c in enumerate(cases)]


def _has_meaning(opcode: str, element: ElementType) -> bool:
    return not OPS[opcode].domain or element.kind in OPS[opcode].domain


def _elementwise(opcode: str, element: ElementType) -> Case:
    """An operation on arrays of a type, with special numbers among their elements."""
    shape, rng = Shape(element, _DIMS), np.random.default_rng(crc32(opcode.encode()))
    parameters = [builder.parameter(n, shape) for n in range(OPS[opcode].arity or 1)]
    arrays = [random_array(shape, rng, "special") for _ in parameters]
    return Case(f"{opcode}/{element.name}", opcode, _of(opcode, parameters), arrays)


def _on_grid(opcode: str, element: ElementType) -> Case:
    """A function of one number all over the range in which its values tell most."""
    low, high = _RANGES[opcode]
    x = np.geomspace(low, high, _GRID) if low > 0 else np.linspace(low, high, _GRID)
    parameter = builder.parameter(0, Shape(element, (_GRID,)))
    module = _of(opcode, [parameter])
    with np.errstate(over="ignore"):  # beyond the largest f16
        x = x.astype(element.dtype)
    name = f"{opcode}/{element.name}/grid"
    measured = f"{opcode} {element.name}" if OPS[opcode].accuracy > Accuracy.EXACT else ""
    return Case(name, opcode, module, [x], measured=measured)


def _of(opcode: str, parameters: list[Instruction]) -> Module:
    root = builder.instruction(opcode, parameters)
    assert root.array_shape.element_type is not PRED or opcode not in _RANGES
    return Module("single", Computation.make("main", parameters, root))
