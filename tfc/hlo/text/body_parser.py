"""The parser of a computation's body: instructions, their operands and attributes.

    body        ::= instruction+
    instruction ::= 'ROOT'? name '=' shape? opcode '(' operand,* ')' (',' attribute)*
    operand     ::= shape? name ('#' int)* | shape? opcode '(' operand,* ')'
    attribute   ::= name '=' value
    called      ::= name | '{' body '}'

Without ROOT the last instruction is the root. Attributes may come in any order; those that mean
nothing to the compiler are kept as text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from tfc.errors import ShapeError, did_you_mean
from tfc.hlo.absent import ABSENT
from tfc.hlo.attributes.annotations import ANNOTATIONS, MetadataReader, Notes, carry, check_place
from tfc.hlo.ir import NO_ATTRIBUTES, Attributes, Computation, Instruction
from tfc.hlo.lexer import TYPE_NAMES, Lexer
from tfc.hlo.op import OPS, Attribute, Op
from tfc.hlo.ops.outside.asynchronous import unsugared, wrapped
from tfc.hlo.shape import ELEMENT_TYPES, AnyShape, Shape, TupleShape
from tfc.hlo.text.constant_parser import ConstantParser
from tfc.hlo.text.fill import Fill
from tfc.hlo.text.value_text import FORMS, parse_list, parse_shape

# What XLA of late writes for what other attributes say, or leaves out: the attributes by word.
NEWER: dict[tuple[str, str], dict[str, dict[str, str]]] = {
    ("compare", "order"): {"TOTAL": {"type": "TOTALORDER"}, "PARTIAL": {}},
    ("collective-broadcast", "has_dynamic_root"): {"false": {}},
}


@dataclass
class _Scope:
    """What the body being read has defined so far."""

    named: dict[str, Instruction] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    parameters: dict[int, Instruction] = field(default_factory=dict)
    elements: dict[tuple[Instruction, int], Instruction] = field(default_factory=dict)

    def add(self, instruction: Instruction) -> Instruction:
        self.instructions.append(instruction)
        return instruction

    def element(self, value: Instruction, index: int) -> Instruction:
        """`value#index`, made once."""
        found = self.elements.get((value, index))
        if found is None:
            assert isinstance(value.shape, TupleShape)
            found = Instruction("get-tuple-element", (value,), value.shape.elements[index],
                                Attributes(index=index), f"{value.name}.{index}")  # fmt: skip
            self.elements[value, index] = self.add(found)
        return found


class BodyParser:
    """Reads bodies; `computations` are those that they may call, `unfinished` those being read."""

    def __init__(self, lexer: Lexer, fill: Fill | None = None):
        self.lexer = lexer
        self.constants = ConstantParser(lexer, fill)
        self.computations: dict[str, Computation] = {}
        self.unfinished: list[str] = []
        self.scope = _Scope()
        self.metadata = MetadataReader(lexer)

    def body(self, name: str) -> Computation:
        """The instructions up to a closing brace or the end of the text."""
        lexer, outer, self.scope = self.lexer, self.scope, _Scope()
        scope, root = self.scope, None
        while not lexer.is_symbol("}") and lexer.kind != "end":
            start, marked = lexer.start, lexer.accept_word("ROOT")
            if marked and root is not None:
                lexer.error("the computation has a second ROOT", start)
            instruction = self.instruction()
            root = instruction if marked else root
        if not scope.instructions:
            lexer.expected("an instruction")
        for number in range(len(scope.parameters)):
            if number not in scope.parameters:
                lexer.error(f"the computation {name} has no parameter {number}")
        self.scope = outer
        parameters = tuple(scope.parameters[n] for n in range(len(scope.parameters)))
        instructions = tuple(scope.instructions)
        return Computation(name, parameters, instructions, root or instructions[-1])

    def called(self) -> Computation:
        """A computation named, or written in place."""
        lexer, start = self.lexer, self.lexer.start
        if lexer.accept("{"):
            with lexer.nested("computations"):
                made = self.body("computation")
            lexer.expect("}")
            return made
        name = lexer.name("a computation's name or body")
        if name in self.unfinished:
            lexer.error(f"the computation {name} calls itself", start)
        if name not in self.computations:
            later = re.search(
                rf"^[ \t]*%?{re.escape(name)}\b[^=\n]*\{{", lexer.source[start:], re.M
            )
            hint = "; it must come before its use" if later else ""
            hint = hint or did_you_mean(name, self.computations)
            lexer.error(f"undefined computation '{name}'{hint}", start)
        return self.computations[name]

    # Instructions

    def instruction(self) -> Instruction:
        """`name = shape? application`."""
        lexer, start = self.lexer, self.lexer.start
        name = lexer.name("an instruction")
        if name in self.scope.named:
            lexer.error(f"the name '{name}' is defined twice", start)
        lexer.expect("=")
        shape = None
        if lexer.kind == "shape" or lexer.is_symbol("("):
            shape = parse_shape(lexer)
            if lexer.is_symbol("{"):
                lexer.error("expected an operation, or a layout such as {1,0}")
        made = self.application(shape, name)
        self.scope.named[name] = made
        return made

    def application(self, shape: AnyShape | None, name: str, nested: bool = False) -> Instruction:
        """`opcode(operands), attributes`; a nested one has no attributes."""
        lexer, start = self.lexer, self.lexer.start
        opcode = lexer.name("an operation")
        op, inner = OPS.get(opcode), None
        if op is None:
            found = unsugared(opcode)
            if found is None:
                self.refuse_operation(opcode, start)
            (op, inner), opcode = found, found[0].name
        if op.needs_shape and shape is None:
            lexer.error(f"{opcode} requires its result shape to be stated", start)
        attributes: dict[str, Any] = {}
        operands: tuple[Instruction, ...] = ()
        if op.attributes and op.attributes[0].kind == "operand":
            if opcode == "constant" and isinstance(shape, TupleShape):
                return self.constant_tuple(shape, name)
            attributes[op.attributes[0].name] = self.immediate(opcode, shape, name)
        else:
            operands = self.operands()
        count = len(operands)
        if op.arity is not None and op.arity != count:
            lexer.error(f"{opcode} takes {op.arity} operand{'s' * (op.arity != 1)}, got {count}",
                        start)  # fmt: skip
        notes = Notes() if nested else self.attributes(op, shape, attributes)
        attributes = self.complete(op, attributes, operands, start)
        try:
            made = wrapped(inner, operands, shape, attributes) if inner else Attributes(attributes)
        except ShapeError as error:
            lexer.error(str(error), start)
        shape = self.check_shape(op, operands, shape, made, start)
        return self.define(notes.make(opcode, operands, shape, made, name), start)

    def refuse_operation(self, opcode: str, start: int) -> NoReturn:
        """Raise the error that says what may have been meant."""
        lexer = self.lexer
        if lexer.is_symbol("["):
            hint = did_you_mean(opcode, ELEMENT_TYPES)
            unfinished = opcode in TYPE_NAMES
            lexer.error("this shape has no ']'" if unfinished else
                        f"unknown element type '{opcode}'{hint}", start)  # fmt: skip
        if opcode == "b" and lexer.is_symbol("("):
            lexer.error("buffers, b(…), are not supported: use the array itself", start)
        if opcode in ABSENT:
            lexer.error(f"tfc does not have '{opcode}': {ABSENT[opcode]}", start)
        lexer.error(f"unknown operation '{opcode}'{did_you_mean(opcode, OPS)}", start)

    def define(self, made: Instruction, start: int) -> Instruction:
        """Enter an instruction into the body; a parameter also by its number."""
        if made.opcode == "parameter":
            known = self.scope.parameters.setdefault(made["number"], made)
            if known is not made:
                self.lexer.error(f"parameter {made['number']} is defined twice", start)
        return self.scope.add(made)

    def check_shape(
        self,
        op: Op,
        operands: tuple[Instruction, ...],
        stated: AnyShape | None,
        attributes: Attributes,
        start: int,
    ) -> AnyShape:
        """The shape of the result: what is stated, which must fit the op's rule."""
        try:
            shape = op.infer([o.shape for o in operands], attributes, stated)
        except ShapeError as error:
            self.lexer.error(str(error), start)
        if stated is not None and not shape.is_compatible(stated):
            self.lexer.error(
                f"{op.name} is stated to be {stated.without_layout()}, "
                f"but its operands give {shape.without_layout()}",
                start,
            )
        return stated or shape

    def immediate(self, opcode: str, shape: AnyShape | None, name: str) -> Any:
        """What stands in the parentheses of a parameter or constant."""
        lexer = self.lexer
        lexer.expect("(")
        if opcode == "parameter":
            start, value = lexer.start, lexer.integer("the parameter's number")
            if value < 0:
                lexer.error(f"parameters are numbered from 0, got {value}", start)
        elif isinstance(shape, Shape):
            value = self.constants.literal(shape, name)
        else:
            lexer.error("there is no constant token: make one with after-all()")
        lexer.expect(")")
        return value

    def constant_tuple(self, shape: TupleShape, name: str) -> Instruction:
        """`constant((1, {2, 3}))`: a tuple of constants, since a Literal is one array."""
        self.lexer.expect("(")
        parts = self.constants.parts(shape, name, self.scope.add)
        self.lexer.expect(")")
        notes = self.attributes(OPS["tuple"], shape, {})
        return self.scope.add(notes.make("tuple", parts, shape, NO_ATTRIBUTES, name))

    # Operands

    def operands(self) -> tuple[Instruction, ...]:
        """`(operand, …)`."""
        lexer, start = self.lexer, self.lexer.start
        named = self.scope.named
        names = lexer.names()  # by far the most common form, read at once
        if names is not None and all(name in named for name in names):
            return tuple(named[name] for name in names)
        lexer.seek(start)
        return parse_list(lexer, "(", ")", self.operand)

    def operand(self) -> Instruction:
        """A name, an element of a tuple, or an anonymous instruction."""
        lexer, shape = self.lexer, None
        if lexer.kind == "shape" or lexer.is_symbol("("):
            shape = parse_shape(lexer)
        start, name = lexer.start, lexer.name("an operand")
        if lexer.is_symbol("("):
            lexer.seek(start)
            with lexer.nested("operands"):
                return self.application(shape, name, nested=True)
        value = self.named(name, start)
        while lexer.accept("#"):
            index_start, index = lexer.start, lexer.integer()
            elements = value.shape.elements if isinstance(value.shape, TupleShape) else ()
            if not 0 <= index < len(elements):
                shown = value.shape.without_layout()
                lexer.error(f"{value.name} of shape {shown} has no element {index}", index_start)
            value = self.scope.element(value, index)
        if shape is not None and not shape.is_compatible(value.shape):
            lexer.error(
                f"the operand is written {shape.without_layout()}, "
                f"but {name} is {value.shape.without_layout()}",
                start,
            )
        return value

    def named(self, name: str, start: int) -> Instruction:
        """The instruction of that name."""
        found = self.scope.named.get(name)
        if found is None:
            body, _, _ = self.lexer.source[start:].partition("\n}")
            later = re.search(rf"^[ \t]*(?:ROOT[ \t]+)?%?{re.escape(name)}[ \t]*=", body, re.M)
            hint = "; it is defined only later" if later else did_you_mean(name, self.scope.named)
            self.lexer.error(f"undefined name '{name}'{hint}", start)
        return found

    # Attributes

    def attributes(self, op: Op, shape: AnyShape | None, attributes: dict[str, Any]) -> Notes:
        """Read `, name=value` as often as it comes, in any order."""
        lexer, notes, seen = self.lexer, Notes(), set()
        while lexer.accept(","):
            start, name = lexer.start, lexer.name("an attribute")
            attribute = op.attribute(name)
            if name in seen:
                lexer.error(f"the attribute {name} is repeated", start)
            seen.add(name)
            lexer.expect("=")
            if attribute is not None and attribute.kind != "operand":
                attributes[name] = self.value(attribute)
            elif (op.name, name) in NEWER:
                self.newer(op, name, attributes, start)
            elif name == "metadata":
                notes.metadata = self.metadata.read()
            elif name == "control-predecessors":
                notes.predecessors = parse_list(lexer, "{", "}", self.predecessor)
            elif name in ANNOTATIONS:
                carry(lexer, name, ANNOTATIONS, notes.texts)
                check_place(lexer, name, notes.texts.get(name, ""), op, shape, start)
            else:
                self.refuse_attribute(op, name, start)
        return notes

    def value(self, attribute: Attribute) -> Any:
        """An attribute's value, which must be one of its choices if it has any."""
        start = self.lexer.start
        value = FORMS[attribute.kind].parse(self.lexer, self.called)
        if attribute.choices and value not in attribute.choices:
            listed = ", ".join(attribute.choices)
            self.lexer.error(f"{attribute.name} must be one of {listed}, got {value}", start)
        return value

    def newer(self, op: Op, name: str, attributes: dict[str, Any], start: int) -> None:
        """An attribute that newer XLA writes for what another one says."""
        meanings, word = NEWER[op.name, name], self.lexer.name("a word")
        if word not in meanings:
            self.lexer.error(f"{name} must be {' or '.join(meanings)}, got {word}", start)
        attributes.update(meanings[word])

    def predecessor(self) -> Instruction:
        """An instruction that is named as a control predecessor."""
        start = self.lexer.start
        return self.named(self.lexer.name("an instruction"), start)

    def refuse_attribute(self, op: Op, name: str, start: int) -> NoReturn:
        """Raise the error that lists what the op knows."""
        own = [a.name for a in op.attributes if a.kind != "operand"]
        hint = did_you_mean(name, [*own, *ANNOTATIONS, "metadata", "control-predecessors"])
        listed = ", ".join(own) or "none"
        self.lexer.error(
            f"{op.name} has no attribute '{name}'{hint or f'; its attributes: {listed}'}", start
        )

    def complete(
        self,
        op: Op,
        found: Mapping[str, Any],
        operands: Sequence[Instruction],
        start: int,
    ) -> dict[str, Any]:
        """The attributes in the order of the op's definition.

        What is required is there, and what says no more than the default is not.
        """
        complete: dict[str, Any] = {}
        for attribute in op.attributes:
            name, default = attribute.name, attribute.default
            if name in found:
                if attribute.required or found[name] != default:
                    complete[name] = found[name]
            elif attribute.required:
                if default is None:
                    if self.lexer.is_word(name):
                        self.lexer.expected("','")
                    self.lexer.error(f"{op.name} lacks the attribute {name}", start)
                complete[name] = (
                    default([o.shape for o in operands]) if callable(default) else default
                )
        return complete
