"""Tables of operators: one function for each, found by domain, name and version."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tfc.errors import ModelFileError, UnsupportedError
from tfc.importers.graph import Key, Node

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Row:
    """What an operator computes.

    function: takes the inputs by position and the attributes by name; returns the output, or a
        tuple of them. One that has a parameter `node` is handed the Call.
    since: the first version of the domain that it is for.
    until: the last one, or None.
    needs: the inputs, by the names of the parameters, that must be known while importing.
    is_pure: whether the same inputs give the same outputs, so that known ones are evaluated.
    least: how many inputs there must be.
    decides: whether what it gives of parameters alone is what they are in the file, for good.
    """

    function: Callable[..., Any]
    since: int
    until: int | None
    needs: frozenset[str]
    is_pure: bool
    inputs: tuple[str, ...]
    least: int
    takes_any: bool
    attributes: frozenset[str]
    decides: bool = False

    def needs_value(self, number: int) -> bool:
        """Whether an input must be known while importing."""
        name = self.inputs[number] if number < len(self.inputs) else self.inputs[-1]
        return name in self.needs


class Table:
    """The operators of a framework.

    name: the framework, for messages.
    ignored: attributes that mean nothing to a compiler.
    """

    def __init__(self, name: str, ignored: Sequence[str] = ()):
        self.name, self.ignored = name, frozenset(ignored)
        self._rows: dict[Key, list[Row]] = {}

    def operator(
        self,
        name: str,
        since: int = 1,
        until: int | None = None,
        *,
        domain: str = "",
        needs: Sequence[str] = (),
        is_pure: bool = True,
        attributes: Sequence[str] = (),
    ) -> Callable[[F], F]:
        """A decorator that enters a function as the row of an operator.

        Args:
            attributes: those that it takes by `**` and hands on.
        """

        def enter(function: F) -> F:
            rows = self._rows.setdefault((domain, name), [])
            assert all(r.since != since for r in rows), f"{name} has two rows since {since}"
            rows.append(_row(function, since, until, needs, is_pure, attributes))
            rows.sort(key=lambda row: row.since)
            return function

        return enter

    def find(self, node: Node) -> Row | None:
        """The row for a node: the last one that begins at its version or before."""
        found = None
        for row in self._rows.get((node.domain, node.op), ()):
            if row.since <= node.version and (row.until is None or node.version <= row.until):
                found = row
        return found

    def rows(self) -> Iterator[tuple[Key, list[Row]]]:
        """All operators with their rows, in order."""
        return iter(sorted(self._rows.items()))

    def detail(self, node: Node) -> str:
        """Of an operator that other versions have a row of: the version that has none."""
        has_rows = (node.domain, node.op) in self._rows
        return f", version {node.version}" if has_rows else ""

    def attributes(self, row: Row, node: Node) -> dict[str, Any]:
        """A node's attributes as the row takes them.

        Raises:
            UnsupportedError: the row has no attribute of a name.
        """
        given = {k: v for k, v in node.attributes.items() if k not in self.ignored}
        if unknown := sorted(set(given) - row.attributes):
            raise UnsupportedError(f"the attribute '{unknown[0]}' is not supported")
        return given

    def check_count(self, row: Row, node: Node) -> None:
        """Check that a node has as many inputs as its operator.

        Raises:
            ModelFileError: it has more or fewer.
        """
        most, count = len(row.inputs), len(node.inputs)
        if count < row.least or (count > most and not row.takes_any):
            takes = most if most == row.least else f"{row.least} to {most}"
            takes = f"{row.least} or more" if row.takes_any else takes
            raise ModelFileError(f"it takes {takes} inputs, got {count}")


def _row(
    function: Callable[..., Any],
    since: int,
    until: int | None,
    needs: Sequence[str],
    is_pure: bool,
    attributes: Sequence[str],
) -> Row:
    parameters = inspect.signature(function).parameters.values()
    inputs = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]
    rest = [p for p in parameters if p.kind == p.VAR_POSITIONAL]
    named = {p.name for p in parameters if p.kind == p.KEYWORD_ONLY} | set(attributes)
    names = tuple(p.name for p in [*inputs, *rest])
    least = sum(p.default is p.empty for p in inputs)
    assert set(needs) <= set(names), f"{needs} are no inputs of {function}"
    return Row(
        function,
        since,
        until,
        frozenset(needs),
        is_pure,
        names,
        least,
        bool(rest),
        frozenset(named),
    )


def unknown_operators(
    nodes: Sequence[Node], table: Table, functions: Mapping[Key, Any], file: str
) -> UnsupportedError | None:
    """The error that lists all operators without a row, to be raised; None if there are none."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        if (node.domain, node.op) not in functions and table.find(node) is None:
            found.setdefault(node.label, []).append(node)
    if not found:
        return None
    parts = [
        f"{label} ({len(uses)} ×, at {uses[0].name!r}{table.detail(uses[0])})"
        for label, uses in sorted(found.items())
    ]
    return UnsupportedError(f"{file} has operators that are not supported: {', '.join(parts)}")
