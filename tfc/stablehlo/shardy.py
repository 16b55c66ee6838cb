"""Text of Shardy, the dialect `sdy` of shardings, in MLIR's generic form, which needs no dialect.

    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<8xf32>
    %1 = "sdy.sharding_constraint"(%0) : (tensor<8xf32>) -> (tensor<8xf32>)

What operations say of meshes and axes means nothing on one device, and is left out. In a module for
several partitions it becomes `mhlo.sharding`, in XLA's notation: of the arguments and results of
functions, of custom calls in the place of constraints, and for the operands and results of
computations over all axes. Lines stay where they are, so that errors name the right one.
importer/shardings.py has what becomes of all this.
"""

import re

from tfc.errors import ParseError
from tfc.stablehlo.sharding_axes import SHARDING, Meshes

# Operations: what is followed by an equals sign, or begins with # or !, is none.
_OPERATION = re.compile(
    r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|//[^\n]*|(?<![\w.#!@%$"-])sdy\.(\w+)(?![\w.]|\s*=)'
)
_BRACKET = re.compile(r'"[^"\n]*"|([(\[{<])|((?<!-)[)\]}>])')
_SYMBOL = re.compile(r'\s*@(?:[\w$.-]+|"[^"\n]*")\s*=')
_VALUE = re.compile(r"\s*(%[\w$.-]+(?:#\d+)?)")
_RETURNED = re.compile(r"\s*(%[^:\n}]*?)?(?=\s*(?:[:\n}]|$))")
_SHARDINGS = re.compile(r"\s*(?:in_shardings|out_shardings|manual_axes)\s*=")
_ATTRIBUTE = re.compile(r"sdy\.sharding\s*=\s*#sdy\.sharding" + SHARDING.pattern)
_TYPE = re.compile(r"[^\n]*? : ([^\n]*?)(?=\s*(?:loc\(|\}|\n|$))")


def generic(text: str, file: str) -> str:
    """The text with Shardy's operations in their generic form.

    Raises:
        ParseError: an operation is malformed, or not one that means something on one device.
    """
    if "sdy." not in text:
        return text
    rewriter = _Rewriter(text, file)
    return rewriter.rewritten(0, len(rewriter.text))


class _Rewriter:
    """A text, and the place up to which it was read."""

    def __init__(self, text: str, file: str):
        self.meshes = Meshes(text)
        if self.meshes.partitions > 1:
            text = _ATTRIBUTE.sub(lambda found: self._attribute(found[0]), text)
        self.text, self.file, self.at = text, file, 0

    def _attribute(self, text: str) -> str:
        """What says the sharding that a text in angle brackets does; the text if it says none."""
        sharding = self.meshes.sharding(text)
        return text if sharding is None else f'mhlo.sharding = "{sharding}"'

    def rewritten(self, start: int, end: int) -> str:
        """A part of the text, which holds whole operations."""
        parts: list[str] = []
        done = start
        for found in _OPERATION.finditer(self.text, start, end):
            if found[1] is None or found.start() < done:
                continue
            self.at = found.end()
            made = self._operation(found[1])
            lost = self.text.count("\n", found.start(), self.at) - made.count("\n")
            parts += [self.text[done : found.start()], made, "\n" * lost]
            done = self.at
        return "".join([*parts, self.text[done:end]])

    def _operation(self, name: str) -> str:
        match name:
            case "mesh":
                self._match(_SYMBOL, "the name of a mesh and '='")
                self._brackets("<")
                if self._is_next("{"):
                    self._brackets("{")
                return '"sdy.mesh"() : () -> ()'
            case "sharding_constraint" | "reshard" | "propagation_barrier":
                value, start = self._match(_VALUE, "a value"), self.at
                shape = self._type()
                stated = self.meshes.sharding(self.text[start : self.at])
                if stated is None:
                    return f'"sdy.{name}"({value}) : ({shape}) -> ({shape})'
                return (
                    f'"stablehlo.custom_call"({value}) {{call_target_name = "Sharding", '
                    f'mhlo.sharding = "{stated}"}} : ({shape}) -> ({shape})'
                )
            case "sharding_group":
                value, shape = self._match(_VALUE, "a value"), self._type()
                return f'"sdy.sharding_group"({value}) : ({shape}) -> ()'
            case "return":
                values = self._match(_RETURNED, "values")
                return f'"sdy.return"({values}) : ({self._type() if values else ""}) -> ()'
            case "manual_computation" | "named_computation":
                return self._computation(name)
        raise self._error(
            f"sdy.{name} is not supported, since tfc runs a program on one device: export it for "
            "one, where nothing is moved between devices"
        )

    def _computation(self, name: str) -> str:
        """One with a region, behind which its type follows as it does in the generic form."""
        if self._is_next("<"):
            self._brackets("<")
        operands = self._brackets("(")
        stated: list[str] = []
        while found := _SHARDINGS.match(self.text, self.at):
            self.at = found.end()
            text = self._brackets("{" if self._is_next("{") else "[")
            stated.append(self._all_of(text))
        arguments = self._brackets("(")
        region = self._brackets("{")
        end = self.at
        inside = self.rewritten(end - len(region) + 1, end - 1)
        self.at = end
        label = "" if arguments == "()" else f"^bb0{arguments}:"
        notes = ""
        if name == "manual_computation" and all(stated[:2]) and len(stated) > 1:
            notes = f" {{given = {stated[0]}, made = {stated[1]}}}"
        return f'"sdy.{name}"{operands} ({{{label}{inside}}}){notes}'

    def _all_of(self, text: str) -> str:
        """The shardings of a list, as an attribute of strings; "" if one is not known."""
        found = [self.meshes.sharding(each[0]) for each in SHARDING.finditer(text)]
        if None in found or self.meshes.partitions == 1:
            return ""
        return "[" + ", ".join(f'"{sharding}"' for sharding in found) + "]"

    def _error(self, message: str) -> ParseError:
        return ParseError(message, self.text, self.at, self.file)

    def _match(self, pattern: re.Pattern[str], what: str) -> str:
        """What a pattern finds here, which is passed over."""
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self._error(f"expected {what}")
        self.at = found.end()
        return found[found.lastindex or 0] or ""

    def _is_next(self, bracket: str) -> bool:
        found = _BRACKET.search(self.text, self.at)
        return found is not None and found[0] == bracket and not self._skipped(found.start())

    def _skipped(self, place: int) -> str:
        return self.text[self.at : place].strip()

    def _brackets(self, opening: str) -> str:
        """What stands from this bracket, which is next, to the one that closes it, with both."""
        if not self._is_next(opening):
            raise self._error(f"expected '{opening}'")
        depth = 0
        start = self.text.index(opening, self.at)
        for found in _BRACKET.finditer(self.text, start):
            depth += 1 if found[1] else -1 if found[2] else 0
            if not depth:
                self.at = found.end()
                return self.text[start : self.at]
        raise self._error(f"'{opening}' is never closed")

    def _type(self) -> str:
        """The type behind a colon; what stands before it, of axes and directions, is left out."""
        return self._match(_TYPE, "':' and a type")
