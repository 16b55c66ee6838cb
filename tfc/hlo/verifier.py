"""Invariants of a module, each a named check.

`verify` is run after every pass and on everything that is read from outside; shape rules are the
ops' own (op.infer), the checks here are about structure.
"""

from tfc.errors import ShapeError, VerificationError
from tfc.hlo.devices import device_counts
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.op import op_named
from tfc.hlo.shape import leaves


def verify(module: Module) -> None:
    """Check every invariant of a module.

    Raises:
        VerificationError: names the check, the instruction, what is required and what was got.
    """
    verify_devices(module)
    for computation in module.computations:
        verify_order(computation)
        verify_parameters(computation)
        for instruction in computation.instructions:
            verify_attributes(instruction)
            verify_shape(instruction)


def verify_devices(module: Module) -> None:
    """The header's numbers of replicas and partitions are numbers.

    Text may leave them out; whether collectives are among the devices is asked when it is run.
    """
    try:
        device_counts(module)
    except ShapeError as error:
        raise VerificationError(f"devices: {error}") from None


def verify_order(computation: Computation) -> None:
    """Operands come before their users, the root is among the instructions, none appears twice."""
    seen: set[Instruction] = set()
    for instruction in computation.instructions:
        _check(instruction not in seen, "order", instruction, "appears twice")
        for operand in instruction.operands:
            _check(operand in seen, "order", instruction, f"uses {operand.name} before it is made")
        seen.add(instruction)
    _check(computation.root in seen, "order", computation.root, "is the root but not in the body")


def verify_parameters(computation: Computation) -> None:
    """Parameters are numbered 0, 1, 2 … and listed in that order."""
    for number, parameter in enumerate(computation.parameters):
        _check(
            parameter.opcode == "parameter" and parameter["number"] == number,
            "parameters",
            parameter,
            f"must be parameter {number} of {computation.name}",
        )
    for instruction in computation.instructions:
        if instruction.opcode == "parameter":
            _check(
                instruction in computation.parameters,
                "parameters",
                instruction,
                f"is not a declared parameter of {computation.name}",
            )


def verify_attributes(instruction: Instruction) -> None:
    """Required attributes are there, and no others than the op's own; the arity is right."""
    op = op_named(instruction.opcode)
    _check(
        op.arity is None or op.arity == len(instruction.operands),
        "arity",
        instruction,
        f"takes {op.arity} operands, got {len(instruction.operands)}",
    )
    for attribute in op.attributes:
        _check(
            not attribute.required or attribute.name in instruction.attributes,
            "attributes",
            instruction,
            f"lacks the attribute {attribute.name}",
        )
    for name in instruction.attributes:
        _check(
            op.attribute(name) is not None,
            "attributes",
            instruction,
            f"has an attribute {name} that {instruction.opcode} does not know",
        )


def verify_shape(instruction: Instruction) -> None:
    """The stated shape is what the op's shape rule gives; layouts of values are not padded."""
    try:
        shapes = [o.shape for o in instruction.operands]
        inferred = op_named(instruction.opcode).infer(
            shapes, instruction.attributes, instruction.shape
        )
    except ShapeError as error:
        raise VerificationError(f"shape: {instruction.name}: {error}") from None
    _check(
        inferred.is_compatible(instruction.shape),
        "shape",
        instruction,
        f"is {instruction.shape.without_layout()} but its operands give "
        f"{inferred.without_layout()}",
    )
    for leaf in leaves(instruction.shape):
        # Padding (LY-4) describes a buffer outside; the text form has no notation for it.
        _check(
            not leaf.layout.padded_dimensions,
            "layout",
            instruction,
            "has a padded layout, which only arguments outside a module may have",
        )


def _check(condition: bool, check: str, instruction: Instruction, message: str) -> None:
    if not condition:
        raise VerificationError(f"{check}: {instruction.name} ({instruction.opcode}) {message}")
