"""Tracing a Python function into a computation, and calling that computation from another trace."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.promotion import NOT_NUMERIC, as_tensor, cast, shortened
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import Trace, inner_trace, refusal
from tfc.frontend.tree import Structure
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import Shape


@dataclass(frozen=True)
class Abstract:
    """What is known of a value before it is computed: its shape, and whether it is weak."""

    shape: Shape
    weak: bool = False

    @staticmethod
    def of(tensor: Tensor) -> "Abstract":
        """What is known of a Tensor."""
        return Abstract(tensor.array_shape, tensor.weak)


@dataclass
class Program:
    """A function that has been traced: its trace, and the leaves and containers it returned."""

    trace: Trace
    results: list[Tensor]
    structure: Structure

    @property
    def captures(self) -> list[Instruction]:
        """The values of the enclosing trace that it uses, in the order of their parameters."""
        return list(self.trace.captures)

    def convert_result(self, number: int, dtype: Any) -> None:
        """Give one result another dtype, before the computation is made."""
        with self.trace:
            self.results[number] = cast(self.results[number], dtype)

    def computation(self) -> Computation:
        """Parameters: the arguments, then the captures. Root: a tuple of the results' leaves."""
        with self.trace:
            root = ops.make_tuple(self.results)
        return self.trace.computation(root.instruction)


def trace_function(
    name: str,
    function: Callable[..., Any],
    arguments: Sequence[Abstract],
    names: Sequence[str] = (),
) -> Program:
    """Trace `function`, which takes one Tensor for each argument, inside the current trace.

    Args:
        names: the parameters' names; p0, p1 … if left out.

    Raises:
        TraceError: the function uses a Tensor in a way that a graph cannot express.
    """
    trace = inner_trace(name)
    with trace:
        tensors = []
        for number, argument in enumerate(arguments):
            label = names[number] if names else f"p{number}"
            tensors.append(Tensor(trace.parameter(argument.shape, label), trace, argument.weak))
        leaves, structure = tree.flatten(function(*tensors))
        _check_keys(structure)
        results = [_as_result(name, leaf) for leaf in leaves]
    return Program(trace, results, structure)


def _as_result(called: str, leaf: Any) -> Tensor:
    """What a function returned as a Tensor.

    Raises:
        TraceError: it is no array and no number.
    """
    if isinstance(leaf, Tensor) or np.asarray(leaf).dtype.kind not in NOT_NUMERIC:
        return as_tensor(leaf)
    raise refusal(
        f"{called} returns {shortened(leaf)} of type {type(leaf).__name__}; results are arrays, "
        "numbers, and dicts, lists and tuples of them"
    )


def _check_keys(structure: Structure) -> None:
    """Check that no key of a dictionary is a Tensor, which nobody outside the trace could look up.

    Raises:
        TraceError: one is.
    """
    for key in structure.keys:
        if isinstance(key, Tensor):
            raise TraceError(
                f"a result has {key!r} as the key of a dictionary, but its value is not known "
                "while tracing; return it as a value"
            )
    for child in structure.children:
        _check_keys(child)


def call(computation: Computation, operands: Sequence[Tensor]) -> list[Tensor]:
    """Call a computation that returns a tuple, in the current trace."""
    return ops.elements(ops.operation("call", *operands, to_apply=computation))


def union_of_captures(programs: Sequence[Program]) -> list[Instruction]:
    """What the programs capture from the enclosing trace, each value once."""
    return list(dict.fromkeys(captured for program in programs for captured in program.captures))


def apply_program(
    program: Program, arguments: Sequence[Tensor], captured: Mapping[Instruction, Tensor]
) -> list[Tensor]:
    """The results of a traced function, computed anew in the current trace.

    Args:
        arguments: what to compute them for.
        captured: what stands for each value of the enclosing trace that it uses.
    """
    given = [*arguments, *(captured[c] for c in program.captures)]
    return ops.elements(ops.inlined(program.computation(), given))
