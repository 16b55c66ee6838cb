"""From PTX text to the objects of `syntax`: what stands in a module, and what in a function."""

import re
import struct

from tfc.testing.ptx.text.operands import Cursor, operand
from tfc.testing.ptx.text.syntax import (
    Float,
    Function,
    Instruction,
    Integer,
    Label,
    Register,
    Source,
    Symbol,
    Variable,
)
from tfc.testing.ptx.text.tokens import tokens_of
from tfc.testing.ptx.text.types import is_type, size_of

_LINKAGE = (".visible", ".extern", ".weak", ".common")
_LIMITS = (
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnreg",
    ".maxnctapersm",
    ".reqnctapercluster",
)
_SPACES = (".global", ".const", ".shared", ".local", ".param")
_QUALIFIERS = (".ptr", ".managed")


def parse(text: str | bytes) -> Source:
    """Parse a module.

    Raises:
        ParseError: the text is not PTX.
    """
    text = text.decode() if isinstance(text, bytes) else text
    return _Parser(text.rstrip("\0")).module()


class _Parser:
    def __init__(self, text: str):
        self.text = text
        self.cursor = Cursor(text, tokens_of(text))
        self.source = Source("", "", {}, {})
        self.scopes = 0  # labels of inner scopes so far
        self.labels: set[str] = set()  # of the function that is read

    def module(self) -> Source:
        cursor = self.cursor
        while not cursor.at_end:
            word = cursor.peek().text
            if word == ".version":
                cursor.next()
                self.source.version = cursor.next().text
            elif word == ".target":
                cursor.next()
                self.source.target = cursor.next().text
                while cursor.accept(","):
                    cursor.next()
            elif word in (".address_size", ".file", ".pragma"):
                self._skip_line()
            elif word == ".section":
                self._skip_block()
            else:
                self._declaration()
        return self.source

    def _skip_line(self) -> None:
        line = self.cursor.peek().line
        while not self.cursor.at_end and self.cursor.peek().line == line:
            self.cursor.next()

    def _skip_block(self) -> None:
        while self.cursor.next().text != "{":
            pass
        depth = 1
        while depth:
            text = self.cursor.next().text
            depth += (text == "{") - (text == "}")

    def _declaration(self) -> None:
        cursor = self.cursor
        is_external = False
        while cursor.peek().text in _LINKAGE:
            is_external |= cursor.next().text == ".extern"
        word = cursor.peek().text
        if word in (".entry", ".func"):
            cursor.next()
            self._function(word == ".entry")
        elif word in _SPACES:
            for variable in self._variables():
                self.source.variables[variable.name] = variable
        else:
            raise cursor.error("expected a declaration")

    # --- Variables ------------------------------------------------------------------------------

    def _variables(self) -> list[Variable]:
        """`.space [.align n] [.v2] .type name[n][m] [= initial], …;` with its semicolon."""
        space, alignment, width, type_name = self._variable_type()
        variables = [self._variable(space, alignment, width, type_name)]
        while self.cursor.accept(","):
            variables.append(self._variable(space, alignment, width, type_name))
        self.cursor.expect(";")
        return variables

    def _variable_type(self) -> tuple[str, int, int, str]:
        cursor = self.cursor
        space = cursor.next().text[1:]
        alignment, width, type_name = 0, 1, ""
        while cursor.peek().text.startswith("."):
            word = cursor.next().text
            if word == ".align":
                value = int(cursor.next().text)
                alignment = alignment or value
                continue
            if word in _QUALIFIERS or word in _SPACES:
                continue
            for part in word[1:].split("."):
                if part in ("v2", "v4"):
                    width = int(part[1])
                elif is_type(part):
                    type_name = part
                elif f".{part}" not in (*_QUALIFIERS, *_SPACES):
                    raise cursor.error(f"unknown part '.{part}' of a declaration")
        if not type_name:
            raise cursor.error("expected the type of a variable")
        return space, alignment, width, type_name

    def _variable(self, space: str, alignment: int, width: int, type_name: str) -> Variable:
        cursor = self.cursor
        element = size_of(type_name)
        name = cursor.next().text
        count, unsized = width, False
        while cursor.accept("["):
            if cursor.accept("]"):
                unsized = True
                continue
            count *= int(cursor.next().text.rstrip("U"), 0)
            cursor.expect("]")
        size = 0 if unsized else count * element
        variable = Variable(name, space, size, alignment or element * width, unsized=unsized)
        if cursor.accept("="):
            data = bytearray()
            self._initial(variable, data, type_name)
            if unsized:
                variable.size, variable.unsized = len(data), False
            variable.initial = bytes(data).ljust(variable.size, b"\0")
        return variable

    def _initial(self, variable: Variable, data: bytearray, type_name: str) -> None:
        cursor = self.cursor
        if cursor.accept("{"):
            while not cursor.accept("}"):
                self._initial(variable, data, type_name)
                cursor.accept(",")
            return
        size = size_of(type_name)
        value = self._initial_value()
        match value:
            case Symbol():
                variable.references.append((len(data), value, size))
                data += bytes(size)
            case Float():
                packed = value.pattern.to_bytes(value.bits // 8, "little")
                (number,) = struct.unpack("<f" if value.bits == 32 else "<d", packed)
                data += struct.pack("<f" if size == 4 else "<d", number)
            case Integer():
                data += (value.value % (1 << 8 * size)).to_bytes(size, "little")
            case _:
                raise cursor.error("expected a number or a symbol")

    def _initial_value(self) -> object:
        """A number, `symbol`, `generic(symbol)`, or `symbol+number`."""
        cursor = self.cursor
        if cursor.peek().text == "generic":
            cursor.next()
            cursor.expect("(")
            value = operand(cursor)
            cursor.expect(")")
        else:
            value = operand(cursor)
        if isinstance(value, Symbol) and cursor.accept("+"):
            value = Symbol(value.name, value.offset + int(cursor.next().text, 0))
        return value

    # --- Functions ------------------------------------------------------------------------------

    def _function(self, is_entry: bool) -> None:
        cursor = self.cursor
        results = self._parameters() if cursor.peek().text == "(" else []
        function = Function(cursor.next().text, is_entry, results=results)
        if cursor.peek().text == "(":
            function.parameters = self._parameters()
        while (word := cursor.peek().text).startswith("."):
            cursor.next()
            if word in _LIMITS:
                sizes = [int(cursor.next().text)]
                while cursor.accept(","):
                    sizes.append(int(cursor.next().text))
                function.directives[word[1:]] = tuple(sizes)
            elif word == ".pragma":
                cursor.next()
                cursor.expect(";")
            elif word not in (".noreturn", ".explicitcluster", ".attribute"):
                raise cursor.error(f"unknown directive '{word}' of a function")
        if cursor.accept(";"):
            function.is_defined = False
            self.source.functions.setdefault(function.name, function)
            return
        cursor.expect("{")
        self.labels = set()
        self._body(function, {})
        self.source.functions[function.name] = function

    def _parameters(self) -> list[Variable]:
        cursor = self.cursor
        cursor.expect("(")
        found: list[Variable] = []
        while not cursor.accept(")"):
            if cursor.peek().text == ".reg":
                raise cursor.error("parameters in registers are not known")
            found.append(self._variable(*self._variable_type()))
            cursor.accept(",")
        return found

    def _body(self, function: Function, renamed: dict[str, str]) -> None:
        """Statements up to the closing brace; scopes within rename what they declare anew."""
        cursor = self.cursor
        while not cursor.accept("}"):
            token = cursor.peek()
            if token.text == "{":
                cursor.next()
                self._body(function, self._scope(renamed))
            elif token.text == ".reg":
                self._registers(function, renamed)
            elif token.text in _SPACES:
                for variable in self._variables():
                    self._declare(function, variable, renamed)
            elif token.text == ".loc":
                self._skip_line()
            elif token.text == ".pragma":
                cursor.next()
                cursor.next()
                cursor.expect(";")
            elif token.kind == "word" and cursor.peek(1).text == ":":
                self._label(function, renamed)
            elif token.kind == "end":
                raise cursor.error("a function without its closing brace")
            else:
                function.body.append(self._instruction(renamed))

    def _declare(self, function: Function, variable: Variable, renamed: dict[str, str]) -> None:
        name = variable.name
        while variable.name in function.variables:
            variable.name += "'"
        renamed[name] = variable.name
        function.variables[variable.name] = variable

    def _scope(self, renamed: dict[str, str]) -> dict[str, str]:
        """The names of a scope that begins here: its labels, which branches before them may name,
        are its own."""
        inner, depth, ahead = dict(renamed), 0, 0
        while depth >= 0:
            token, following = self.cursor.peek(ahead), self.cursor.peek(ahead + 1)
            if token.kind == "end":
                break
            if depth == 0 and token.kind == "word" and following.text == ":":
                self.scopes += 1
                inner[token.text] = f"{token.text}'{self.scopes}"
            depth += (token.text == "{") - (token.text == "}")
            ahead += 1
        return inner

    def _label(self, function: Function, renamed: dict[str, str]) -> None:
        cursor = self.cursor
        written = cursor.next().text
        name = renamed.get(written, written)
        if name in self.labels:
            raise cursor.error(f"a second label '{written}'")
        self.labels.add(name)
        cursor.expect(":")
        if cursor.peek().text == ".branchtargets":
            cursor.next()
            labels = [cursor.next().text]
            while cursor.accept(","):
                labels.append(cursor.next().text)
            cursor.expect(";")
            function.tables[name] = tuple(renamed.get(label, label) for label in labels)
        elif cursor.peek().text == ".callprototype":
            while cursor.next().text != ";":
                pass
        else:
            function.body.append(Label(name))

    def _registers(self, function: Function, renamed: dict[str, str]) -> None:
        """`.reg .b32 %r<27>;` or `.reg .b32 a, b;`"""
        cursor = self.cursor
        cursor.next()
        type_name = cursor.next().text[1:]
        while not cursor.accept(";"):
            name = cursor.next().text
            if cursor.accept("<"):
                count = int(cursor.next().text)
                cursor.expect(">")
                names = [f"{name}{n}" for n in range(count)]
            else:
                names = [name]
            for each in names:
                own = each
                while own in function.registers:
                    own += "'"
                if own != each:
                    renamed[each] = own
                function.registers[own] = type_name
            cursor.accept(",")

    def _instruction(self, renamed: dict[str, str]) -> Instruction:
        cursor = self.cursor
        first = cursor.peek()
        predicate = None
        if cursor.accept("@"):
            negated = cursor.accept("!")
            name = cursor.next().text
            predicate = Register(renamed.get(name, name), negated)
        opcode, *modifiers = cursor.next("word").text.split(".")
        operands = []
        while not cursor.accept(";"):
            operands.append(operand(cursor, renamed))
            if cursor.peek().text != ";":
                cursor.expect(",")
        end = cursor.previous().start
        text = re.sub(r"\s+", " ", self.text[first.start : end])
        return Instruction(opcode, tuple(modifiers), tuple(operands), predicate, first.line, text)
