"""The parser of HLO text, the inverse of the printer; it takes all that XLA prints.

    module      ::= 'HloModule' name (',' attribute)* table* computation+ | computation+
                  | '{' instruction+ '}' | instruction+
    computation ::= 'ENTRY'? name ('(' (name ':' shape),* ')' '->' shape)? '{' instruction+ '}'

(body_parser.py reads instructions.) Without ENTRY the last computation is the entry. Everything
refused is a ParseError that points at the place.
"""

from dataclasses import replace
from typing import Any

from tfc.errors import KindError, ShapeError, did_you_mean
from tfc.hlo.attributes.annotations import (
    COMPUTATION_ATTRIBUTES,
    MODULE_ATTRIBUTES,
    STACK_FRAME_TABLES,
    carry,
)
from tfc.hlo.attributes.entry_layout import apply_entry_layout
from tfc.hlo.ir import Computation, Module
from tfc.hlo.lexer import BYTE_ORDER_MARK, Lexer
from tfc.hlo.shape import AnyShape
from tfc.hlo.text.body_parser import BodyParser
from tfc.hlo.text.fill import Fill, filler
from tfc.hlo.text.value_text import parse_list, parse_shape
from tfc.hlo.verification.verifier import verify
from tfc.tracebacks import api_boundary


@api_boundary
def parse(text: str, file: str = "<text>", fill_constants: str | None = None) -> Module:
    """The module that a text describes, verified.

    Args:
        text: HLO text: a module, its computations only, or a list of instructions.
        file: the name that errors show before the line number.
        fill_constants: what to put where the text leaves a constant's elements out as {...}:
            "random", "random:SEED", "zeros" or "iota"; None refuses such a text.

    Raises:
        KindError: it is no text.
        ParseError: the text is malformed, or an instruction breaks a rule of its op.
        TfcError: constants cannot be filled in that way.
    """
    if not isinstance(text, str):
        raise KindError(f"parse takes HLO text as a str, got {type(text).__name__}")
    lexer = Lexer(text.removeprefix(BYTE_ORDER_MARK), file)
    try:
        module = _Parser(lexer, None if fill_constants is None else filler(fill_constants)).module()
    except RecursionError:
        lexer.error("what stands here nests too deeply")
    verify(module)
    return module


class _Parser:
    def __init__(self, lexer: Lexer, fill: Fill | None):
        self.lexer = lexer
        self.bodies = BodyParser(lexer, fill)

    def module(self) -> Module:
        lexer = self.lexer
        name, attributes, layout = None, {}, None
        if lexer.accept_word("HloModule"):
            name = lexer.name("the module's name")
            lexer.accept(":")
            attributes, layout = self.module_attributes()
        entry = None
        if name is None and self.at_bare_instructions():
            entry = self.bare_instructions()
        while lexer.kind != "end":
            start, marked = lexer.start, lexer.accept_word("ENTRY")
            if marked and entry is not None:
                lexer.error("the module has a second ENTRY", start)
            computation = self.computation()
            entry = computation if marked else entry
        if not self.bodies.computations and entry is None:
            lexer.expected("a computation")
        entry = entry or list(self.bodies.computations.values())[-1]
        if layout is not None:
            try:
                entry = apply_entry_layout(entry, *layout[:2])
            except ShapeError as error:
                lexer.error(str(error), layout[2])
        return Module(name or f"module_{entry.name}", entry, tuple(attributes.items()))

    def module_attributes(self) -> tuple[dict[str, str], tuple[Any, ...] | None]:
        lexer, found, layout, seen = self.lexer, {}, None, set()
        while lexer.accept(","):
            start, name = lexer.start, lexer.name("a module attribute")
            if name not in MODULE_ATTRIBUTES:
                hint = did_you_mean(name, MODULE_ATTRIBUTES)
                lexer.error(f"unknown module attribute '{name}'{hint}", start)
            if name in seen:
                lexer.error(f"the module attribute {name} is repeated", start)
            seen.add(name)
            lexer.expect("=")
            if name == "entry_computation_layout":
                lexer.expect("{")
                layout = (*self.program_layout(), start)
                lexer.expect("}")
            else:
                carry(lexer, name, MODULE_ATTRIBUTES, found)
        while any(map(lexer.is_word, STACK_FRAME_TABLES)):
            name, rows = lexer.advance(), []
            while lexer.kind == "number":
                rows.append(f"{lexer.integer()} {lexer.raw()}")
            if rows:
                found[name] = "\n".join(rows)
        return found, layout

    def program_layout(self) -> tuple[tuple[AnyShape, ...], AnyShape]:
        parameters = parse_list(self.lexer, "(", ")", lambda: parse_shape(self.lexer))
        self.lexer.expect("->")
        return parameters, parse_shape(self.lexer)

    def at_bare_instructions(self) -> bool:
        """True at `{`, `ROOT` or `name =`: the text is one computation without a header."""
        lexer, start = self.lexer, self.lexer.start
        if lexer.kind == "end" or lexer.is_symbol("{") or lexer.is_word("ROOT"):
            return lexer.kind != "end"
        lexer.advance()
        found = lexer.is_symbol("=")
        lexer.seek(start)
        return found

    def bare_instructions(self) -> Computation:
        braced = self.lexer.accept("{")
        computation = self.bodies.body("entry")
        if braced:
            self.lexer.expect("}")
        if self.lexer.kind != "end":
            self.lexer.expected("an instruction or the end of the text")
        return computation

    def computation(self) -> Computation:
        lexer, start = self.lexer, self.lexer.start
        name = lexer.name("a computation")
        if name in self.bodies.computations:
            lexer.error(f"the computation {name} is defined twice", start)
        declared = None
        if lexer.is_symbol("("):
            declared = (start, *self.program_shape())
        lexer.expect("{")
        self.bodies.unfinished.append(name)
        computation = self.bodies.body(name)
        self.bodies.unfinished.pop()
        lexer.expect("}")
        if declared is not None:
            self.check_program_shape(computation, *declared)
        found: dict[str, str] = {}
        while lexer.accept(","):
            at, annotation = lexer.start, lexer.name("a computation attribute")
            if annotation not in COMPUTATION_ATTRIBUTES:
                known = ", ".join(COMPUTATION_ATTRIBUTES)
                lexer.error(f"computations have no attribute '{annotation}', only {known}", at)
            lexer.expect("=")
            carry(lexer, annotation, COMPUTATION_ATTRIBUTES, found)
        computation = replace(computation, annotations=tuple(found.items()))
        self.bodies.computations[name] = computation
        return computation

    def program_shape(self) -> tuple[tuple[AnyShape, ...], AnyShape]:
        def parameter() -> AnyShape:
            self.lexer.name("a parameter's name")
            if not self.lexer.accept(":") and self.lexer.kind != "shape":
                self.lexer.expected("':'")
            return parse_shape(self.lexer)

        parameters = parse_list(self.lexer, "(", ")", parameter)
        self.lexer.expect("->")
        return parameters, parse_shape(self.lexer)

    def check_program_shape(
        self, made: Computation, start: int, parameters: tuple[AnyShape, ...], result: AnyShape
    ) -> None:
        got = [p.shape for p in made.parameters]
        fits = len(got) == len(parameters) and result.is_compatible(made.root.shape)
        if not fits or not all(a.is_compatible(b) for a, b in zip(got, parameters)):
            shown = ", ".join(s.without_layout() for s in got)
            self.lexer.error(
                f"{made.name} is declared otherwise than its body, which is "
                f"({shown}) -> {made.root.shape.without_layout()}",
                start,
            )
