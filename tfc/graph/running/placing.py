"""Which operations of a run are compiled."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tfc.graph.evaluation import row_of
from tfc.graph.operation import Operation


@dataclass(frozen=True)
class Placing:
    """The choice of what is compiled.

    by_default: whether operations are that say nothing about it themselves.
    refused: those of which no program can be made, and why.
    """

    by_default: bool = True
    refused: Mapping[Operation, str] = field(default_factory=dict)

    def is_compiled(self, op: Operation) -> bool:
        """Whether an operation is part of a cluster.

        Its attribute `_XlaCompile` says so, or else a device XLA_CPU, or else the session's
        configuration; what Python does and what is text runs on the host in any case.
        """
        if op in self.refused or row_of(op).on_host:
            return False
        if any(x.dtype.name == "string" for x in (*op.inputs, *op.outputs)):
            return False
        stated = op.attributes.get("_XlaCompile")
        if stated is not None:
            return bool(stated)
        return self.by_default or "XLA_" in op.device.upper()

    def without(self, operations: Iterable[Operation], reason: Exception) -> "Placing":
        """The same, which leaves these operations to the host."""
        return replace(self, refused={**self.refused, **dict.fromkeys(operations, str(reason))})

    def reasons(self, operations: Iterable[Operation]) -> dict[Operation, str]:
        """Why operations are not compiled that were to be."""
        found = {op: self.refused[op] for op in operations if op in self.refused}
        for op in operations:
            if op not in found and self.by_default and row_of(op).on_host:
                found[op] = f"{op.type} is what the host does"
        return found
