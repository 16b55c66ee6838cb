"""The HLO-style IR: shapes, instructions, op definitions, text, verifier, reference evaluator."""

# Importing a family's file enters its ops into the registry, in the order of the documentation.
from tfc.hlo import elementwise, selection, conversions  # noqa: F401, I001
from tfc.hlo import movement, dynamic, indexed  # noqa: F401
from tfc.hlo import contraction, convolution, ragged_dot, windows, mapped  # noqa: F401
from tfc.hlo import sorting, triangular, control  # noqa: F401
from tfc.hlo import fft, normalization, random  # noqa: F401
from tfc.hlo import tokens, communication, custom_call, collectives, asynchronous  # noqa: F401
from tfc.hlo import pickling  # noqa: F401
from tfc.hlo.evaluator import evaluate
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.parser import parse
from tfc.hlo.printer import print_module
from tfc.hlo.verifier import verify

__all__ = ["Computation", "Instruction", "Module", "evaluate", "parse", "print_module", "verify"]
