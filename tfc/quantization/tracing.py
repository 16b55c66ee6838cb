"""Functions as computations, and changed computations as functions again."""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import call_python
from tfc.frontend.program import Abstract, Program, call, trace_function
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor, is_weak
from tfc.hlo.ir import Computation, Module
from tfc.hlo.shape import Shape, element_type_of
from tfc.passes.expand.inline import Inline

Change = Callable[[Computation], Computation]


def leaves_of(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[list[Any], tree.Structure]:
    """The arrays in the arguments of a call, and their structure."""
    return tree.flatten((tuple(args), named))


def traced(
    f: Callable[..., Any], leaves: Sequence[Any], structure: tree.Structure
) -> tuple[Program, Computation]:
    """A function traced for arguments; calls in its computation are replaced by their bodies.

    Raises:
        TraceError: the function uses a Tensor in a way that a graph cannot express.
    """

    def of_leaves(*given: Tensor) -> Any:
        args, named = tree.unflatten(structure, given)
        return call_python(f, *args, **named)

    known = [_abstract(leaf) for leaf in leaves]
    program = trace_function(getattr(f, "__name__", "function"), of_leaves, known)
    computation = program.computation()
    return program, Inline()(Module(computation.name, computation)).entry


def _abstract(leaf: Any) -> Abstract:
    if isinstance(leaf, Tensor):
        return Abstract.of(leaf)
    array = np.asarray(leaf)
    return Abstract(Shape(element_type_of(array.dtype), array.shape), is_weak(leaf))


def changed_results(
    f: Callable[..., Any], change: Change, args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Program, list[Tensor]]:
    """In the current trace: the function's program, and what a change of it computes."""
    leaves, structure = leaves_of(args, named)
    program, computation = traced(f, leaves, structure)
    operands = [as_tensor(leaf) for leaf in leaves]
    operands += [ops.wrap(captured) for captured in program.captures]
    return program, call(change(computation), operands)


def transformed(f: Callable[..., Any], change: Change) -> Callable[..., Any]:
    """A function to be traced: another after a change, which keeps the shapes of its results."""

    def changed(*args: Any, **named: Any) -> Any:
        program, results = changed_results(f, change, args, named)
        weak = [r.weak for r in program.results]
        kept = [Tensor(r.instruction, r.home, w) for r, w in zip(results, weak)]
        return tree.unflatten(program.structure, kept)

    return update_wrapper(changed, f, updated=())
