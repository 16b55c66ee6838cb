"""The reference semantics: walk a computation in order and apply each op's NumPy meaning."""

from collections.abc import Callable, Sequence

import numpy as np

from tfc.errors import KindError, ShapeError, UnsupportedError
from tfc.hlo.attributes.devices import device_counts, require_devices
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.op import Call, Value, op_named
from tfc.hlo.shape import AnyShape, Shape
from tfc.runtime.engines.threads import run_devices
from tfc.runtime.replicas import running_one_of
from tfc.tracebacks import api_boundary

# (instruction, operand values, how to evaluate a called computation) -> its value
Step = Callable[[Instruction, Sequence[Value], Call], Value]


@api_boundary
def evaluate(module: Module, *arrays: object) -> Value:
    """The value of a module's entry for given arguments.

    Args:
        arrays: one array (or nested tuple of arrays) for each entry parameter; NumPy scalars and
            lists are taken as arrays of the parameter's type.

    Returns:
        An array, or a tuple of values for a tuple-shaped root.

    Raises:
        KindError: it is no module.
        ShapeError: the arguments do not fit the parameters.
        UnsupportedError: the calls in it nest deeper than Python's.
    """
    if not isinstance(module, Module):
        raise KindError(
            f"expected a tfc.hlo.Module to evaluate, got {type(module).__name__}: make one of text "
            "with tfc.hlo.parse"
        )
    parameters = module.entry.parameters
    if len(arrays) != len(parameters):
        raise ShapeError(f"{module.name} takes {len(parameters)} arguments, got {len(arrays)}")
    values = [_argument(a, p.shape, p.name) for a, p in zip(arrays, parameters)]
    try:
        with running_one_of(*device_counts(module), module):
            return evaluate_computation(module.entry, values)
    except RecursionError:
        raise UnsupportedError(
            f"the calls in {module.name} nest deeper than those of Python, in which it is "
            "evaluated: raise sys.setrecursionlimit"
        ) from None


@api_boundary
def evaluate_replicas(module: Module, *arrays: Sequence[object]) -> list[Value]:
    """The value for each device of a module that runs on several, each a thread.

    Args:
        arrays: for each device, replica by replica, its arguments, as `evaluate` takes them.

    Raises:
        ShapeError: there are not as many as the module has devices, or they do not fit.
        TfcError: a device fails, or the devices wait for each other in vain.
    """
    replicas, partitions = require_devices(module, len(arrays))
    return run_devices(replicas, partitions, lambda device: evaluate(module, *arrays[device]))


def evaluate_computation(computation: Computation, arguments: Sequence[Value]) -> Value:
    """The value of a computation's root; constants and results are never written to."""
    return walk(computation, arguments, _evaluate_instruction)


def walk(computation: Computation, arguments: Sequence[Value], evaluate_one: Step) -> Value:
    """The value of a computation's root, each instruction's made by `evaluate_one` in turn.

    Values are dropped after their last use.
    """

    def call(callee: Computation, values: Sequence[Value]) -> Value:
        return walk(callee, values, evaluate_one)

    values: dict[Instruction, Value] = dict(zip(computation.parameters, arguments))
    remaining = {i: len(computation.users[i]) for i in computation.instructions}
    remaining[computation.root] += 1
    for instruction in computation.instructions:
        if instruction not in values:
            operands = [values[o] for o in instruction.operands]
            values[instruction] = evaluate_one(instruction, operands, call)
        for operand in dict.fromkeys(instruction.operands):
            remaining[operand] -= 1
            if not remaining[operand]:
                del values[operand]
    return values[computation.root]


def _evaluate_instruction(instruction: Instruction, operands: Sequence[Value], call: Call) -> Value:
    return op_named(instruction.opcode).evaluate(instruction, operands, call)


def _argument(value: object, shape: AnyShape, name: str) -> Value:
    if not isinstance(shape, Shape):
        if not isinstance(value, tuple) or len(value) != len(shape.elements):
            raise ShapeError(f"argument {name} must be a tuple of {len(shape.elements)} values")
        return tuple(_argument(v, s, name) for v, s in zip(value, shape.elements))
    dtype = shape.element_type.dtype
    array = value if isinstance(value, np.ndarray) else np.asarray(value, dtype)
    if array.dtype != dtype or array.shape != shape.dims:
        raise ShapeError(
            f"argument {name} must be {shape.without_layout()}, "
            f"got {array.dtype}{list(array.shape)}"
        )
    return array
