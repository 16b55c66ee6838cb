"""How the arrays of a program lie in nested structures, as torch's JSON says it."""

import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

from tfc.errors import ModelFileError, ShapeError

_LISTS: dict[str, type] = {
    "builtins.tuple": tuple, "builtins.list": list, "collections.deque": deque,
}  # fmt: skip
_DICTIONARIES: dict[str, type] = {
    "builtins.dict": dict, "collections.OrderedDict": OrderedDict,
    "collections.defaultdict": defaultdict,
}  # fmt: skip
_MOST_DEPTH = 100


@dataclass(frozen=True)
class Nesting:
    """A leaf, or a structure of several.

    make: makes the structure of its parts; None for a leaf.
    kind: the type that structures of this kind have.
    keys: those of a dictionary.
    """

    kind: type | None = None
    keys: tuple[Any, ...] | None = None
    parts: "tuple[Nesting, ...]" = ()
    named: type | None = None

    @property
    def count(self) -> int:
        """How many leaves there are."""
        return 1 if self.kind is None else sum(part.count for part in self.parts)

    @property
    def is_flat(self) -> bool:
        """Whether its parts are all leaves."""
        return all(part.kind is None for part in self.parts)

    def leaves(self, value: Any) -> list[Any]:
        """The leaves of a structure of this kind, in order.

        Raises:
            ShapeError: it is of another kind.
        """
        if self.kind is None:
            return [value]
        if self.keys is not None:
            fits = isinstance(value, Mapping) and set(value) == set(self.keys)
            parts = [value[key] for key in self.keys] if fits else []
        else:
            fits = isinstance(value, self.named or self.kind) and len(value) == len(self.parts)
            parts = list(value) if fits else []
        if not fits:
            raise ShapeError(
                "the arguments must be nested as those that the module was exported with"
            )
        return [leaf for part, own in zip(self.parts, parts) for leaf in part.leaves(own)]

    def nested(self, leaves: Sequence[Any]) -> Any:
        """The structure of leaves."""
        rest = iter(leaves)
        return self._nested(rest)

    def _nested(self, rest: Any) -> Any:
        if self.kind is None:
            return next(rest)
        parts = [part._nested(rest) for part in self.parts]
        if self.named is not None:
            return self.named(*parts)
        if self.keys is None:
            return self.kind(parts)
        pairs = zip(self.keys, parts)
        return defaultdict(None, pairs) if self.kind is defaultdict else self.kind(pairs)


def read_nesting(text: str, fields: Mapping[str, Any]) -> Nesting:
    """The structure that torch's text of a tree stands for.

    Types of other libraries become dictionaries, or tuples where no names of their parts are there.

    Args:
        fields: of the types of named tuples, the names of their parts.

    Raises:
        ModelFileError: it is nested too deep, or not as torch writes it.
    """
    _, schema = json.loads(text)
    return _nesting(schema, fields, 0)


def _nesting(schema: Any, fields: Mapping[str, Any], depth: int) -> Nesting:
    if depth > _MOST_DEPTH:
        raise ModelFileError("the arguments or results of the program are nested too deep")
    kind = schema["type"]
    if kind is None:
        return Nesting()
    parts = tuple(_nesting(part, fields, depth + 1) for part in schema["children_spec"])
    if kind in _LISTS:
        return Nesting(_LISTS[kind], None, parts)
    context = schema["context"]
    if kind == "collections.namedtuple":
        named = fields.get(_context(context), {}).get("field_names")
        return Nesting(tuple, None, parts, _named(_context(context), named, len(parts)))
    keys = _context(context)
    if kind == "collections.defaultdict":
        keys = keys["dict_context"]
    if isinstance(keys, list) and len(keys) == len(parts):
        return Nesting(_DICTIONARIES.get(kind, dict), tuple(keys), parts)
    if kind in _DICTIONARIES:
        raise ModelFileError(f"a {kind} of {len(parts)} parts has the keys {keys}")
    return Nesting(tuple, None, parts)


def _context(context: Any) -> Any:
    """What a type says of itself: JSON as text, or as it is."""
    if not isinstance(context, str):
        return context
    try:
        return json.loads(context)
    except ValueError:
        return context


def _named(name: str, fields: Any, count: int) -> Any:
    """The type of named tuples, where a file has the names of its parts."""
    names = fields or []
    usable = [n for n in names if str(n).isidentifier() and not iskeyword(n) and n[0] != "_"]
    if len(set(usable)) != count:
        return None
    last = str(name).rpartition(".")[2]
    return namedtuple(last if last.isidentifier() and not iskeyword(last) else "Named", usable)
