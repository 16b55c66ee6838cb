"""The tangent table: the ops whose tangents are better computed than by their gradient rules.

Linear ops apply themselves to tangents; products have a term for each factor; control flow computes
values and tangents together.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from tfc.frontend import operations as ops
from tfc.frontend.control.emission import choosing
from tfc.frontend.differentiation.forward import (
    Tangent,
    jvp,
    leaves_of,
    push,
    pushed,
    transposed_rule,
    with_leaves,
)
from tfc.frontend.differentiation.reverse import added, inline_calls, is_differentiable, zeros
from tfc.frontend.differentiation.vjp import reducer
from tfc.frontend.operations import operation
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import Trace
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.ops.control import branches
from tfc.hlo.ops.mapped import scan_parts
from tfc.hlo.shape import TupleShape

Operands = Sequence[Tensor]
Tangents = Sequence[Tangent]


def applied(y: Tensor, operands: Operands) -> Tensor:
    """The op of y, with its attributes, on other operands of the same shapes."""
    instructions = tuple(ops.adopt(o).instruction for o in operands)
    return ops.wrap(y.instruction.with_(operands=instructions))


def _linear_in(
    y: Tensor, operands: Operands, tangents: Tangents, count: int, first: int
) -> Tangent:
    """The op on the tangents of some operands, of which it is a linear function together."""
    changed = list(operands)
    for place in range(first, first + count):
        tangent = tangents[place]
        given = tangent if isinstance(tangent, Tensor) else zeros(operands[place].array_shape)
        changed[place] = given
    return applied(y, changed)


def linear(*opcodes: str, count: int = 1, first: int = 0) -> None:
    """Rows for ops that are linear in `count` operands from `first` on, together; 0 means all."""
    jvp(*opcodes)(lambda y, o, t: _linear_in(y, o, t, count or len(o), first))


def _product(y: Tensor, operands: Operands, tangents: Tangents) -> Tangent:
    """The sum of the op with the tangent in the place of each of the first two operands."""
    total = None
    for place, tangent in enumerate(tangents[:2]):
        if isinstance(tangent, Tensor):
            changed = [tangent if n == place else o for n, o in enumerate(operands)]
            total = added(total, applied(y, changed))
    return total


# fmt: off
jvp("sign")(transposed_rule)  # of complex numbers it is no product with a derivative
linear("convert", "reduce-precision", "real", "imag")
linear("complex", count=2)
linear("broadcast", "reshape", "transpose", "reverse", "slice", "copy", "dynamic-slice", "gather")
linear("concatenate", count=0)
linear("pad", "dynamic-update-slice", count=2)
linear("fft", "add-dependency", "domain", "set-dimension-size")
jvp("dot", "convolution", "ragged-dot")(_product)
jvp("tuple")(lambda y, operands, tangents: list(tangents))
jvp("opt-barrier")(lambda y, operands, tangents: tangents[0])
# fmt: on


@jvp("get-tuple-element")
def _element(y: Tensor, _: Operands, tangents: Tangents) -> Tangent:
    (parts,) = tangents
    assert isinstance(parts, list), "the tangent of a tuple is a list"
    return parts[y.instruction["index"]]


@jvp("reduce", "reduce-window")
def _reduce(y: Tensor, operands: Operands, tangents: Tangents) -> Tangent:
    if len(operands) == 2 and reducer(y.instruction["to_apply"]) == "add":
        return _linear_in(y, operands, tangents, 2, 0)
    return transposed_rule(y, operands, tangents)


@jvp("scatter")
def _scatter(y: Tensor, operands: Operands, tangents: Tangents) -> Tangent:
    if len(operands) != 3 or reducer(y.instruction["to_apply"]) != "add":
        return transposed_rule(y, operands, tangents)
    x, indices, updates = operands
    parts = [t if isinstance(t, Tensor) else zeros(o.array_shape)
             for o, t in ((x, tangents[0]), (updates, tangents[2]))]  # fmt: skip
    return applied(y, [parts[0], indices, parts[1]])


@jvp("select-and-scatter")
def _select_and_scatter(y: Tensor, operands: Operands, tangents: Tangents) -> Tangent:
    if reducer(y.instruction["scatter"]) != "add":
        return transposed_rule(y, operands, tangents)
    return _linear_in(y, operands, tangents, 2, 1)


@jvp("batch-norm-training")
def _batch_norm_training(y: Tensor, operands: Operands, tangents: Tangents) -> Tangent:
    x, scale, _ = operands
    dx, dscale, doffset = (
        t if isinstance(t, Tensor) else zeros(o.array_shape) for o, t in zip(operands, tangents)
    )
    feature = y.instruction["feature_index"]
    others = [d for d in range(x.ndim) if d != feature]
    count = max(prod(x.shape[d] for d in others), 1)

    def spread(vector: Tensor) -> Tensor:
        return ops.broadcast(vector, x.shape, [feature])

    _, mean, variance = ops.elements(y)
    centred = x - spread(mean)
    dmean = ops.reduce_sum(dx, others) / count
    dvariance = ops.reduce_sum(centred * dx, others) * (2 / count)
    inverse = operation("rsqrt", variance + float(np.float32(y.instruction["epsilon"])))
    slope = dscale * inverse - dvariance * scale * inverse * inverse * inverse * 0.5
    moved = (dx - spread(dmean)) * spread(scale * inverse)
    return [moved + centred * spread(slope) + spread(doffset), dmean, dvariance]


@pushed("conditional")
def _conditional(
    old: Instruction, operands: Operands, tangents: Tangents
) -> tuple[Tensor, Tangent]:
    """One conditional, whose branches compute their results and the results' tangents."""
    selector, *values = operands
    inputs = [
        ops.make_tuple([o, *leaves_of(t, o.instruction.shape)])
        for o, t in zip(values, tangents[1:])
    ]
    computations = []
    for branch, given in zip(branches(old), inputs):
        trace = Trace(f"{branch.name}_tangent")
        with trace:
            parts = ops.elements(ops.wrap(trace.parameter(given.instruction.shape, "state")))
            flat = inline_calls(branch)
            flowing = with_leaves(parts[1:], flat.parameters[0].shape)
            duals = push(flat, parts[:1], [flowing])
            made = leaves_of(duals.tangents.get(flat.root), flat.root.shape)
            root = ops.make_tuple([duals.values[flat.root], *made]).instruction
        computations.append(trace.computation(root))
    y, *flowing = ops.elements(choosing(old, selector, inputs, computations))
    return y, with_leaves(flowing, old.shape)


@pushed("scan")
def _scan(old: Instruction, operands: Operands, tangents: Tangents) -> tuple[Tensor, Tangent]:
    """One scan that carries tangents beside values."""
    count, outputs, _ = scan_parts(old)
    step = inline_calls(old["to_apply"])
    flows = [is_differentiable(o.array_shape) for o in operands]
    flowing = [
        t if isinstance(t, Tensor) else zeros(o.array_shape)
        for o, t, flow in zip(operands, tangents, flows)
        if flow
    ]
    more_inputs = sum(flows[:count])
    given = [*operands[:count], *flowing[:more_inputs], *operands[count:], *flowing[more_inputs:]]
    made = ops.elements(
        operation(
            "scan", *given,
            **old.attributes.with_(
                to_apply=_stepping(step, count, outputs, more_inputs),
                num_carries=len(given) - count - more_inputs, is_associative=False,
            ),
        )
    )  # fmt: skip
    root = step.root.shape
    has = list(map(is_differentiable, root.elements if isinstance(root, TupleShape) else [root]))
    more = sum(has[:outputs])
    values = [*made[:outputs], *made[outputs + more :][: len(has) - outputs]]
    slopes = [*made[outputs : outputs + more], *made[more + len(has) :]]
    found = iter(slopes)
    tangent: list[Tangent] = [next(found) if flow else None for flow in has]
    if isinstance(old.shape, TupleShape):
        return ops.make_tuple(values), tangent
    return values[0], tangent[0]


def _stepping(step: Computation, count: int, outputs: int, more_inputs: int) -> Computation:
    """The step in which inputs, carries and outputs are each followed by their tangents."""
    trace = Trace(f"{step.name}_tangent")
    with trace:
        carried = step.parameters[count:]

        def parameters(of: Sequence[Instruction]) -> tuple[list[Tensor], list[Tensor]]:
            values = [ops.wrap(trace.parameter(p.shape)) for p in of]
            floats = [p for p in of if is_differentiable(p.shape)]
            return values, [ops.wrap(trace.parameter(p.shape)) for p in floats]

        inputs, of_inputs = parameters(step.parameters[:count])
        carries, of_carries = parameters(carried)
        assert len(of_inputs) == more_inputs, "the operands have the types of the step's inputs"
        given = iter([*of_inputs, *of_carries])
        tangents = [next(given) if is_differentiable(p.shape) else None for p in step.parameters]
        duals = push(step, [*inputs, *carries], tangents)
        y, dy = duals.values[step.root], duals.tangents.get(step.root)
        is_tuple = isinstance(step.root.shape, TupleShape)
        values = ops.elements(y) if is_tuple else [y]
        parts = dy if isinstance(dy, list) else [dy] if not is_tuple else [None] * len(values)
        both = [
            [leaf for v, t in zip(values[side], parts[side])
             for leaf in leaves_of(t, v.instruction.shape)]
            for side in (slice(None, outputs), slice(outputs, None))
        ]  # fmt: skip
        root = ops.make_tuple([*values[:outputs], *both[0], *values[outputs:], *both[1]])
    return trace.computation(root.instruction)
