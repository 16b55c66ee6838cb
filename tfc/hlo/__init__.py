"""The HLO-style IR: what a program is before any backend sees it.

Here live the IR itself (`ir`, `shape`, `literal`), what an op is (`op`), index maps, and building.
Rooms, each importing only those before it: `attributes`, `evaluation`, `ops`, `loops`,
`verification`, `text`. Knows no pass and no backend.
"""

# Importing the room of ops enters them into the registry.
from tfc.hlo import ops, pickling  # noqa: F401
from tfc.hlo.evaluation.evaluator import evaluate
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.text.parser import parse
from tfc.hlo.text.printer import print_module
from tfc.hlo.verification.verifier import verify

__all__ = ["Computation", "Instruction", "Module", "evaluate", "parse", "print_module", "verify"]
