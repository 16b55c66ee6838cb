"""The parser of a computation's body: instructions, their operands and attributes.

    body        ::= instruction+
    instruction ::= 'ROOT'? name '=' shape? opcode '(' operand,* ')' (',' attribute)*
    operand     ::= shape? name ('#' int)* | shape? opcode '(' operand,* ')'
    attribute   ::= name '=' value
    called      ::= name | '{' body '}'

Without ROOT the last instruction is the root. Attributes may come in any order; those that mean
nothing to the compiler are kept as text.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from tfc.errors import ShapeError
from tfc.hlo.asynchronous import unsugared, wrapped
from tfc.hlo.ir import Attributes, Computation, Instruction, Metadata
from tfc.hlo.lexer import Lexer
from tfc.hlo.literal_text import parse_literal
from tfc.hlo.op import OPS, Op
from tfc.hlo.printer import ANNOTATIONS
from tfc.hlo.shape import AnyShape, Shape, TokenShape, TupleShape
from tfc.hlo.value_text import FORMS, MAX_NESTING, parse_list, parse_shape


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
    """Reads bodies; `computations` are those that they may call."""

    def __init__(self, lexer: Lexer):
        self.lexer = lexer
        self.computations: dict[str, Computation] = {}
        self.scope = _Scope()
        self.nesting = 0
        self.known_metadata: dict[str, Metadata] = {}

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
            self.enter("computations")
            made = self.body("computation")
            lexer.expect("}")
            self.nesting -= 1
            return made
        name = lexer.name("a computation's name or body")
        if name not in self.computations:
            lexer.error(f"undefined computation '{name}'; it must come before its use", start)
        return self.computations[name]

    def enter(self, what: str) -> None:
        """Go one level deeper; hostile text must not overflow the stack."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.lexer.error(f"{what} nest deeper than {MAX_NESTING}")

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
                lexer.error(f"unknown operation '{opcode}'", start)
            (op, inner), opcode = found, found[0].name
        if op.needs_shape and shape is None:
            lexer.error(f"{opcode} requires its result shape to be stated", start)
        attributes: dict[str, Any] = {}
        operands: tuple[Instruction, ...] = ()
        if op.attributes and op.attributes[0].kind == "operand":
            if opcode == "constant" and isinstance(shape, TupleShape):
                return self.constant_tuple(shape, name)
            attributes[op.attributes[0].name] = self.immediate(opcode, shape)
        else:
            operands = self.operands()
        count = len(operands)
        if op.arity is not None and op.arity != count:
            lexer.error(f"{opcode} takes {op.arity} operand{'s' * (op.arity != 1)}, got {count}",
                        start)  # fmt: skip
        annotations: dict[str, Any] = {}
        if not nested:
            self.attributes(op, attributes, annotations)
        self.complete(op, attributes, start)
        try:
            made = wrapped(inner, operands, shape, attributes) if inner else Attributes(attributes)
        except ShapeError as error:
            lexer.error(str(error), start)
        shape = self.check_shape(op, operands, shape, made, start)
        metadata = annotations.pop("metadata", None)
        kept = tuple(annotations.items())
        return self.define(Instruction(opcode, operands, shape, made, name, metadata, kept), start)

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

    def immediate(self, opcode: str, shape: AnyShape | None) -> Any:
        """What stands in the parentheses of a parameter or constant."""
        lexer = self.lexer
        lexer.expect("(")
        if opcode == "parameter":
            start, value = lexer.start, lexer.integer("the parameter's number")
            if value < 0:
                lexer.error(f"parameters are numbered from 0, got {value}", start)
        else:
            assert isinstance(shape, Shape)
            value = parse_literal(lexer, shape)
        lexer.expect(")")
        return value

    def constant_tuple(self, shape: TupleShape, name: str) -> Instruction:
        """`constant((1, {2, 3}))`: a tuple of constants, since a Literal is one array."""
        lexer = self.lexer
        lexer.expect("(")
        made = self.literal_tuple(shape)
        lexer.expect(")")
        annotations: dict[str, Any] = {}
        self.attributes(OPS["tuple"], {}, annotations)
        metadata = annotations.pop("metadata", None)
        return self.scope.add(
            replace(made, name=name, metadata=metadata, annotations=tuple(annotations.items()))
        )

    def literal_tuple(self, shape: TupleShape) -> Instruction:
        """`(literal, …)`, its parts entered into the body."""
        lexer, parts = self.lexer, []
        lexer.expect("(")
        for element in shape.elements:
            if parts:
                lexer.accept(",")
            if isinstance(element, TupleShape):
                parts.append(self.scope.add(self.literal_tuple(element)))
            elif isinstance(element, TokenShape):
                lexer.error("a constant cannot hold a token")
            else:
                literal = Attributes(literal=parse_literal(lexer, element))
                made = Instruction("constant", (), element, literal, "constant")
                parts.append(self.scope.add(made))
        lexer.expect(")")
        return Instruction("tuple", tuple(parts), shape, name="tuple")

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
            self.enter("operands")
            made = self.application(shape, name, nested=True)
            self.nesting -= 1
            return made
        value = self.scope.named.get(name)
        if value is None:
            lexer.error(f"undefined name '{name}'", start)
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

    # Attributes

    def attributes(self, op: Op, attributes: dict[str, Any], annotations: dict[str, Any]) -> None:
        """Read `, name=value` as often as it comes, in any order."""
        lexer = self.lexer
        while lexer.accept(","):
            start, name = lexer.start, lexer.name("an attribute")
            attribute = op.attribute(name)
            if name in attributes or name in annotations:
                lexer.error(f"the attribute {name} is repeated", start)
            lexer.expect("=")
            if attribute is not None and attribute.kind != "operand":
                attributes[name] = FORMS[attribute.kind].parse(lexer, self.called)
            elif name == "metadata":
                annotations[name] = self.metadata()
            elif name == "control-predecessors":
                annotations[name] = self.predecessors()
            elif name in ANNOTATIONS:
                annotations[name] = lexer.raw()
            else:
                self.refuse_attribute(op, name, start)

    def refuse_attribute(self, op: Op, name: str, start: int) -> NoReturn:
        """Raise the error that lists what the op knows."""
        known = ", ".join(a.name for a in op.attributes if a.kind != "operand") or "none"
        self.lexer.error(f"{op.name} has no attribute '{name}'; its attributes: {known}", start)

    def complete(self, op: Op, attributes: dict[str, Any], start: int) -> None:
        """Check that what is required is there; drop what says no more than the default."""
        for attribute in op.attributes:
            if attribute.name not in attributes:
                if attribute.required and attribute.default is None:
                    self.lexer.error(f"{op.name} lacks the attribute {attribute.name}", start)
                if attribute.required:
                    attributes[attribute.name] = attribute.default
            elif not attribute.required and attributes[attribute.name] == attribute.default:
                del attributes[attribute.name]

    def predecessors(self) -> str:
        """`{%a, %b}`, each defined before."""

        def predecessor() -> str:
            start, name = self.lexer.start, self.lexer.name("an instruction")
            if name not in self.scope.named:
                self.lexer.error(f"undefined name '{name}'", start)
            return f"%{name}"

        return "{" + ", ".join(parse_list(self.lexer, "{", "}", predecessor)) + "}"

    def metadata(self) -> Metadata:
        """A known text is not read again: many instructions come from one place."""
        lexer, text = self.lexer, self.lexer.flat_braces()
        known = self.known_metadata.get(text)
        if known is None:
            known = self.known_metadata[text] = self.metadata_fields()
        else:
            lexer.seek(lexer.start + len(text))
        return known

    def metadata_fields(self) -> Metadata:
        """`{name=value …}`."""
        lexer, fields, extra = self.lexer, {}, []
        lexer.expect("{")
        while not lexer.accept("}"):
            name = lexer.name("a field of the metadata")
            lexer.expect("=")
            if name in ("op_type", "op_name", "source_file"):
                fields[name] = lexer.string()
            elif name == "source_line":
                fields[name] = lexer.integer()
            else:
                extra.append((name, lexer.raw()))
            lexer.accept(",")
        return Metadata(**fields, extra=tuple(extra))
