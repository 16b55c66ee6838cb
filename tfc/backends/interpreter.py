"""The interpreter backend: runs a module on the reference evaluator.

It shows what a backend needs (compiler, executable, transfer manager), and is the oracle that
other backends are compared with.
"""

import numpy as np

from tfc.backends.interfaces import (
    Backend,
    Compiler,
    Executable,
    HostTransferManager,
    MemoryAnalysis,
)
from tfc.backends.target import Target
from tfc.errors import OutOfMemoryError
from tfc.hlo.evaluation.evaluator import evaluate
from tfc.hlo.ir import Module
from tfc.hlo.op import Value
from tfc.hlo.shape import AnyShape, Shape
from tfc.options import Options
from tfc.passes.report import PipelineReport
from tfc.tracebacks import api_boundary


class InterpreterExecutable(Executable):
    """Evaluates the module anew at each call."""

    @api_boundary
    def __call__(self, *arguments: np.ndarray) -> list[np.ndarray]:
        self.check_arguments(arguments)
        remaining = iter(arguments)
        values = [_nested(p.shape, remaining) for p in self.hlo.entry.parameters]
        try:
            return list(_flat(evaluate(self.hlo, *values)))
        except MemoryError as error:
            raise OutOfMemoryError(f"there is no memory for {self.hlo.name}: {error}") from None

    def memory_analysis(self) -> MemoryAnalysis:
        """Arguments and results; what NumPy allocates between is not planned, so not counted."""
        return MemoryAnalysis(
            sum(s.byte_size for s in self.parameter_shapes),
            sum(s.byte_size for s in self.result_shapes),
            0,
            0,
        )


class InterpreterCompiler(Compiler):
    """Compiles nothing: the module runs as it is."""

    def optimize(
        self, module: Module, options: Options, report: PipelineReport | None = None
    ) -> Module:
        """The module itself: the reference must not depend on passes."""
        return module

    def compile(
        self, module: Module, options: Options, target: Target | None
    ) -> InterpreterExecutable:
        """An executable that evaluates the module; the target makes no difference."""
        return InterpreterExecutable(module, module)


def _nested(shape: AnyShape, arrays) -> Value:
    if isinstance(shape, Shape):
        return next(arrays)
    return tuple(_nested(s, arrays) for s in shape.elements)


def _flat(value: Value):
    if isinstance(value, tuple):
        for element in value:
            yield from _flat(element)
    else:
        yield np.array(value)  # a copy: results never share memory with arguments or constants


backend = Backend("interpreter", InterpreterCompiler(), HostTransferManager())
