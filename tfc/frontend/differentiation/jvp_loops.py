"""The tangent of a loop: one loop, whose state holds the tangents beside the values.

    while (v) …, v = body(v)    -->    while (v, dv) …, v, dv = body(v), body'(v) dv

The number of iterations need not be known. Which elements have tangents is found by going through
the body until no more get one.
"""

from collections.abc import Sequence

from tfc.errors import UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend.control.emission import while_of
from tfc.frontend.differentiation.forward import Tangent, push, pushed
from tfc.frontend.differentiation.reverse import on_elements, zeros
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import Trace
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.loops.loop_state import apply, loop_of


@pushed("while")
def _while(
    old: Instruction, operands: Sequence[Tensor], tangents: Sequence[Tangent]
) -> tuple[Tensor, Tangent]:
    loop = loop_of(old)
    if loop is None:
        raise UnsupportedError("a loop whose state has tuples in it has no derivative")
    begun = ops.elements(operands[0])
    given = tangents[0] if isinstance(tangents[0], list) else [None] * len(begun)
    flowing = [n for n, t in enumerate(given) if t is not None]
    step, flowing = _settled(on_elements(loop.body), flowing)
    count = len(begun)

    def test(parts: list[Tensor]) -> Tensor:
        made = apply(loop.condition, [p.instruction for p in parts[:count]])
        for effect in made.effects:
            ops.wrap(effect)
        return ops.wrap(made.results[0])

    def advance(parts: list[Tensor]) -> list[Tensor]:
        return ops.elements(ops.inlined(step, parts))

    slopes = [_slope(given[n], begun[n]) for n in flowing]
    after = while_of([*begun, *slopes], test, advance, loop.body.name)
    made = dict(zip(flowing, after[count:]))
    return ops.make_tuple(after[:count]), [made.get(n) for n in range(count)]


def _settled(step: Computation, flowing: list[int]) -> tuple[Computation, list[int]]:
    """An iteration on values and then tangents, and which elements of the state have tangents.

    Args:
        flowing: those that have one before the first iteration.
    """
    while True:
        trace = Trace(f"{step.name}_tangent")
        with trace:
            values = [ops.wrap(trace.parameter(p.shape)) for p in step.parameters]
            given = {n: ops.wrap(trace.parameter(values[n].array_shape)) for n in flowing}
            duals = push(step, values, [given.get(n) for n in range(len(values))])
            results = [duals.values[r] for r in step.root.operands]
            slopes = [duals.tangents.get(r) for r in step.root.operands]
            found = sorted({*flowing, *(n for n, s in enumerate(slopes) if s is not None)})
            made = [s if isinstance(s, Tensor) else zeros(r.array_shape)
                    for n, (r, s) in enumerate(zip(results, slopes)) if n in found]  # fmt: skip
            root = ops.make_tuple([*results, *made]).instruction
        if found == flowing:
            return trace.computation(root), flowing
        flowing = found


def _slope(tangent: Tangent, value: Tensor) -> Tensor:
    return tangent if isinstance(tangent, Tensor) else zeros(value.array_shape)
