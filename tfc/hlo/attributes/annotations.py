"""What a module carries without giving it a meaning: the attributes that are kept as text.

One row for each, in the order in which XLA prints them: what its text looks like, an example for
messages, and the text that says no more than leaving the attribute out.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tfc.hlo.ir import Attributes, Instruction, Metadata
from tfc.hlo.lexer import Lexer, quote, unquote
from tfc.hlo.op import Op
from tfc.hlo.shape import AnyShape, leaves


@dataclass(frozen=True)
class Annotation:
    """One attribute that is carried as text.

    pattern: what its text must match; it is compiled when such a text is read.
    example: a text that does, for messages.
    defaults: texts that say nothing; they are dropped.
    lower: whether its words may be written in capitals, too.
    """

    pattern: str
    example: str
    defaults: tuple[str, ...] = ()
    lower: bool = False


def _row(pattern: str, example: str, *defaults: str, lower: bool = False) -> Annotation:
    return Annotation(pattern, example, defaults, lower)


_INTS = r"\d++(?:\s*,\s*\d++)*+"
_STRING = r"(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+')"
_ANY = r"\{.*\}"
_FLAT = r"\{[^{}]*\}"
_BOOL = r"(?:true|false)"
_INDEX = rf"\{{\s*(?:{_INTS})?\s*\}}"
_PLACE = rf"\(\s*\d+\s*,\s*{_INDEX}\s*"
_ALIAS = rf"{_INDEX}\s*:\s*{_PLACE}(?:,\s*(?:may-alias|must-alias)\s*)?\)"
_NUMBER = r"-?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?"
_SHARDING = rf"""\{{\s*(?:
    replicated | manual | unknown | unreduced | maximal\ device=\d+
    | (?:maximal_)?mesh\[[^{{}}]*(?:{_FLAT}[^{{}}]*)*
    | devices=\[{_INTS}\]\s*(?:{_INTS}|<=\[{_INTS}\](?:T\({_INTS}\))?)
    )(?:\s+(?:last_tile_dim_replicate | last_tile_dims={_FLAT} | shard_(?:as|like)\ \d+
    | metadata=(?:{_FLAT}|\{{\s*{_FLAT}(?:\s*,\s*{_FLAT})*\s*\}})))*\s*\}}"""


def _list(item: str) -> str:
    return rf"\{{\s*(?:(?:{item})(?:\s*,\s*(?:{item}))*)?\s*\}}"


# fmt: off
ANNOTATIONS: dict[str, Annotation] = {
    "parameter_replication": _row(rf"{_BOOL}|{_list(_BOOL)}", "{true,false}"),
    "sharding":              _row(rf"{_SHARDING}|{_list(_SHARDING)}", "{devices=[2,1]<=[2]}"),
    "frontend_attributes":   _row(_ANY, '{name="value"}', "{}"),
    "statistics":            _row(_list(rf"[\w.\-]+\s*=\s*{_NUMBER}"),
                                  "{visualizing_index=0,share=0.5}", "{}"),
    "result_accuracy":       _row(rf"\{{mode=(?:default|highest)\}}|\{{tolerance={_FLAT}\}}",
                                  "{mode=highest}", "{mode=default}", lower=True),
    "origin":                _row(_ANY, '{{"name"}}', "{}"),
    "backend_config":        _row(rf"{_STRING}|{_ANY}", '{"key":"value"} or "text"', '""'),
}
MODULE_ATTRIBUTES: dict[str, Annotation] = {
    "is_scheduled":              _row(_BOOL, "true or false", "false"),
    "input_output_alias":        _row(_list(_ALIAS), "{ {}: (0, {}, may-alias) }", "{}", "{ }"),
    "buffer_donor":              _row(_list(rf"{_PLACE}\)"), "{ (0, {}) }", "{}", "{ }"),
    "alias_passthrough_params":  _row(_BOOL, "true or false", "false"),
    "entry_computation_layout":  _row(_ANY, "{(f32[2]{0})->f32[2]{0}}"),
    "allow_spmd_sharding_propagation_to_parameters": _row(rf"{_BOOL}|{_list(_BOOL)}", "{true}"),
    "allow_spmd_sharding_propagation_to_output":     _row(rf"{_BOOL}|{_list(_BOOL)}", "{true}"),
    "replica_count":             _row(r"\d{1,9}", "2", "1"),
    "num_partitions":            _row(r"\d{1,9}", "2", "1"),
    "frontend_attributes":       ANNOTATIONS["frontend_attributes"],
    "origin_recovery_table":     _row(_ANY, "{}", "{}"),
    "debug_attributes":          _row(_ANY, "{}", "{}"),
}
COMPUTATION_ATTRIBUTES: dict[str, Annotation] = {
    "execution_thread": _row(_STRING, '"host"', '""', '"main"'),
}
# fmt: on
STACK_FRAME_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


@dataclass
class Notes:
    """What an instruction carries beside its op's attributes."""

    texts: dict[str, str] = field(default_factory=dict)
    metadata: Metadata | None = None
    predecessors: tuple[Instruction, ...] = ()

    def make(
        self,
        opcode: str,
        operands: tuple[Instruction, ...],
        shape: AnyShape,
        attributes: Attributes,
        name: str,
    ) -> Instruction:
        """The instruction that carries them."""
        texts = tuple(self.texts.items())
        return Instruction(
            opcode, operands, shape, attributes, name, self.metadata, texts, self.predecessors
        )


def carry(lexer: Lexer, name: str, table: dict[str, Annotation], found: dict[str, str]) -> None:
    """Read the value of an attribute that is carried as text, into `found` unless it says nothing.

    Raises:
        ParseError: it does not look as the attribute's row says.
    """
    start, row = lexer.start, table[name]
    text = lexer.raw().lower() if row.lower else lexer.raw()
    if not re.fullmatch(row.pattern, text, re.VERBOSE | re.DOTALL):
        lexer.error(f"{name} must look like {row.example}, got {text[:60]}", start)
    if text[0] == "'" or "\n" in text:
        text = quote(unquote(text))
    if text in ("true", "false") and row.example[0] == "{":
        text = f"{{{text}}}"
    if text not in row.defaults:
        found[name] = text


def check_place(
    lexer: Lexer, name: str, text: str, op: Op, shape: AnyShape | None, start: int
) -> None:
    """Refuse an annotation on an instruction of which it can say nothing.

    Raises:
        ParseError: it is there.
    """
    # XLA lets a program ask for an accuracy of functions of one number.
    if name == "result_accuracy" and not (op.transcendental and op.arity == 1):
        lexer.error(f"{op.name} has no {name}, which is for functions such as tanh", start)
    if name == "parameter_replication":
        arrays = len(list(leaves(shape))) if shape and op.name == "parameter" else 0
        if text.count("e") != arrays:  # there is one in true and in false
            lexer.error(f"{name} is for parameters, with true or false for each array in it, "
                        f"got {text} for {arrays}", start)  # fmt: skip


def in_order(found: dict[str, str], table: Iterable[str]) -> list[str]:
    """`name=text` for each, in the order of a table; what it does not list follows."""
    ranks = {name: rank for rank, name in enumerate(table)}
    ordered = sorted(found, key=lambda name: ranks.get(name, len(ranks)))
    return [f"{name}={found[name]}" for name in ordered]


class MetadataReader:
    """Reads metadata; a text that came before is not read again, since many places share one."""

    def __init__(self, lexer: Lexer):
        self.lexer = lexer
        self.known: dict[str, Metadata | None] = {}

    def read(self) -> Metadata | None:
        """`{name=value …}`; None if nothing stands there."""
        lexer, text = self.lexer, self.lexer.flat_braces()
        if text in self.known:
            lexer.seek(lexer.start + len(text))
            return self.known[text]
        made = self.fields()
        if text:
            self.known[text] = made
        return made

    def fields(self) -> Metadata | None:
        """Those that Metadata has apart, and the others as text; what is 0 or empty is left out."""
        lexer, seen, fields, extra = self.lexer, set(), {}, []
        lexer.expect("{")
        while not lexer.accept("}"):
            start, name = lexer.start, lexer.name("a field of the metadata")
            if name in seen:
                lexer.error(f"the field {name} is repeated", start)
            seen.add(name)
            lexer.expect("=")
            if name in ("op_type", "op_name", "source_file"):
                fields[name] = lexer.string()
            elif name == "source_line":
                fields[name] = lexer.integer()
            elif (text := lexer.raw()) not in ("0", '""'):
                extra.append((name, text))
            lexer.accept(",")
        made = Metadata(**fields, extra=tuple(extra))
        return None if made == Metadata() else made
