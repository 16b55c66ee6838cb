"""Invariants of a module, each a named check with an id.

    IR-1 order        an instruction comes after its operands, once; the root is among them
    IR-2 parameters   they are numbered 0, 1, 2 … and those of the computation
    IR-3 operands     as many as the op takes
    IR-4 attributes   the required ones are there, and no others than the op's own
    IR-5 values       an attribute's value is of its kind, and one of its choices
    IR-6 shape        what the op's shape rule gives, whatever the layout; the rule cites its own id
    IR-7 layout       not padded, which only arguments outside a module may be (LY-4)
    IR-8 calls        what is called is a computation of the module that does not call back
    IR-9 layouts      values are taken as they are passed on; a check of pipelines (boundaries.py)

`verify` is run after every pass and on everything that is read from outside. Names need not differ:
the printer makes them unique. The header's layouts are those of the entry, from which they print.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np

from tfc.errors import ShapeError, VerificationError
from tfc.hlo.attributes.devices import device_counts
from tfc.hlo.attributes.precision import PRECISIONS
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.op import Attribute, op_named
from tfc.hlo.shape import leaves
from tfc.tracebacks import api_boundary

# Computations found right; they do not change.
_RIGHT: WeakSet[Computation] = WeakSet()


@api_boundary
def verify(module: Module, known: dict[Hashable, object] | None = None) -> None:
    """Check every invariant of a module; computations that have been checked are not again.

    Args:
        known: to check only instructions that differ from those checked with the same dictionary:
            in the opcode, an attribute, the shape or an operand's shape.

    Raises:
        VerificationError: names the check, the instruction, what is required and what was got.
    """
    verify_devices(module)
    computations = module.computations
    verify_calls(computations)
    for computation in computations:
        if computation not in _RIGHT:
            verify_order(computation)
            verify_parameters(computation)
            for instruction in computation.instructions:
                _verify_alone(instruction, known)
            _RIGHT.add(computation)


def _verify_alone(instruction: Instruction, known: dict[Hashable, object] | None) -> None:
    """What does not depend on other instructions than by the shapes of operands."""
    if known is not None:
        shapes = [o.shape for o in instruction.operands]
        parts = (instruction.attributes, instruction.shape, *shapes)
        # Mostly they are the very same objects, which is soon seen.
        same = (instruction.opcode, *map(id, parts))
        if same in known:
            return
        known[same] = parts  # kept, so that no others get their ids
        equal = (instruction.opcode, parts)
        if equal in known:
            return
        known[equal] = None
    verify_attributes(instruction)
    verify_shape(instruction)


def verify_calls(computations: Sequence[Computation]) -> None:
    """Computations, callees first, call only those before them (IR-8)."""
    seen: set[Computation] = set()
    for computation in computations:
        if not seen.issuperset(computation.callees):
            caller, called = next((i, c) for i in computation.instructions
                                  for c in i.called_computations if c not in seen)  # fmt: skip
            requirement = "must call computations that do not call back"
            _refuse("calls", caller, requirement, called.name, "IR-8")
        seen.add(computation)


def verify_devices(module: Module) -> None:
    """The header's numbers of replicas and partitions are numbers.

    Text may leave them out; whether collectives are among the devices is asked when it is run.
    """
    try:
        device_counts(module)
    except ShapeError as error:
        raise VerificationError(f"devices: {error}") from None


def verify_order(computation: Computation) -> None:
    """Operands come before their users, the root is among the instructions, none is there twice."""
    seen: set[Instruction] = set()
    for instruction in computation.instructions:
        if instruction in seen:
            _refuse("order", instruction, "must be there once", "it twice", "IR-1")
        for operand in instruction.operands:
            if operand not in seen:
                requirement = "must come after its operands"
                _refuse("order", instruction, requirement, f"{operand.name} not before it", "IR-1")
        seen.add(instruction)
    if computation.root not in seen:
        requirement = f"must be in the body of {computation.name}, as its root"
        _refuse("order", computation.root, requirement, "it nowhere", "IR-1")


def verify_parameters(computation: Computation) -> None:
    """Parameters are numbered 0, 1, 2 … and listed in that order."""
    for number, parameter in enumerate(computation.parameters):
        if parameter.opcode != "parameter" or parameter["number"] != number:
            got = f"parameter {parameter['number']}" if parameter.opcode == "parameter" else "none"
            requirement = f"must be parameter {number} of {computation.name}"
            _refuse("parameters", parameter, requirement, got, "IR-2")
    listed = set(computation.parameters)
    for instruction in computation.instructions:
        if instruction.opcode == "parameter" and instruction not in listed:
            requirement = f"must be among the parameters of {computation.name}"
            _refuse("parameters", instruction, requirement, f"{len(listed)} others", "IR-2")
    for parameter in listed.difference(computation.instructions):
        requirement = f"must be in the body of {computation.name}, too"
        _refuse("parameters", parameter, requirement, "it nowhere", "IR-2")


def verify_attributes(instruction: Instruction) -> None:
    """The arity is right; required attributes are there, no unknown ones; values are in order."""
    op, attributes = op_named(instruction.opcode), instruction.attributes
    if op.arity is not None and op.arity != len(instruction.operands):
        requirement = f"takes {op.arity} operand{'s' * (op.arity != 1)}"
        _refuse("operands", instruction, requirement, len(instruction.operands), "IR-3")
    known = 0
    for attribute in op.attributes:
        if attribute.name in attributes:
            known += 1
            _verify_value(instruction, attribute, attributes[attribute.name])
        elif attribute.required:
            requirement = f"must have the attribute {attribute.name}"
            _refuse("attributes", instruction, requirement, sorted(attributes), "IR-4")
    if known != len(attributes):
        own = [a.name for a in op.attributes]
        others = [name for name in attributes if name not in own]
        _refuse("attributes", instruction, f"has the attributes {own}", others, "IR-4")


def _verify_value(instruction: Instruction, attribute: Attribute, value: Any) -> None:
    fits = _VALUES.get(attribute.kind)
    if fits is not None and not fits(value):
        requirement = f"must have {attribute.name} of the kind {attribute.kind}"
        _refuse("values", instruction, requirement, repr(value)[:80], "IR-5")
    if attribute.choices and value not in attribute.choices:
        requirement = f"must have {attribute.name} one of {', '.join(attribute.choices)}"
        _refuse("values", instruction, requirement, value, "IR-5")


def verify_shape(instruction: Instruction) -> None:
    """The stated shape is what the op's shape rule gives; layouts of values are not padded."""
    try:
        shapes = [o.shape for o in instruction.operands]
        inferred = op_named(instruction.opcode).infer(
            shapes, instruction.attributes, instruction.shape
        )
    except ShapeError as error:
        raise VerificationError(f"shape: {instruction.name}: {error}") from None
    if not inferred.is_compatible(instruction.shape):
        requirement = f"must be {inferred.without_layout()} by its operands"
        _refuse("shape", instruction, requirement, instruction.shape.without_layout(), "IR-6")
    for leaf in leaves(instruction.shape):
        if leaf.layout.padded_dimensions:
            requirement = "must not be padded: only arguments outside a module may be"
            got = f"{leaf} of widths {list(leaf.layout.padded_dimensions)}"
            _refuse("layout", instruction, requirement, got, "IR-7")


def _refuse(
    check: str, instruction: Instruction, requirement: str, got: object, rule: str
) -> NoReturn:
    raise VerificationError(
        f"{check}: {instruction.name} ({instruction.opcode}) {requirement}, got {got} ({rule})"
    )


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_ints(value: Any) -> bool:
    return isinstance(value, tuple) and all(map(_is_int, value))


def _is_triples(value: Any) -> bool:
    return isinstance(value, tuple) and all(_is_ints(v) and len(v) == 3 for v in value)


def _is_precisions(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(v in PRECISIONS for v in value)


def _is_computations(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(v, Computation) for v in value)


# What a value of each kind is, for the kinds of Python's own types.
_VALUES: dict[str, Callable[[Any], bool]] = {
    "ints": _is_ints,
    "int": _is_int,
    "float": lambda value: isinstance(value, float),
    "bool": lambda value: isinstance(value, bool),
    "name": lambda value: isinstance(value, str),
    "string": lambda value: isinstance(value, str),
    "raw": lambda value: isinstance(value, str),
    "precisions": _is_precisions,
    "slice": _is_triples,
    "padding": _is_triples,
    "computation": lambda value: isinstance(value, Computation),
    "computations": _is_computations,
}
