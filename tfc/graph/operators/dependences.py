"""Which inputs the results of an operation depend on, as tracing its function tells.

The derivative of a linear function depends on no point, though the operation that computes it takes
one: where that is known, derivatives by the point are none at all, rather than zeros.
"""

from collections.abc import Sequence
from typing import Any

from tfc.errors import TfcError
from tfc.frontend.program import Abstract, trace_function
from tfc.graph.operators.inference import SMALL, known_values, of_unknown
from tfc.graph.operators.registry import Attributes, Operator, find
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape, element_type_of


def dependences(
    operator: Operator, inputs: Sequence[Any], attributes: Attributes
) -> list[frozenset[int]]:
    """For each result, the inputs, by number, that it depends on.

    All of them where the function cannot be traced with abstract inputs: it acts on more than
    these, they are no arrays, or their values or ranks are needed and not known.
    """
    everything = frozenset(range(len(inputs)))
    innermost, stated = operator, attributes
    while innermost.name == "Vjp":  # what it is the derivative of decides
        innermost, stated = find(stated["type"], stated["attributes"]), stated["attributes"]
    if innermost.effect or innermost.on_host or innermost.takes_context:
        return [everything]
    values = known_values(operator, inputs)
    unknown = [n for n, value in enumerate(values) if value is None]
    if any(inputs[n].shape.dims is None or inputs[n].dtype.numpy is None for n in unknown):
        return [everything]
    abstract = [
        Abstract(
            Shape(
                element_type_of(inputs[n].dtype.dtype),
                tuple(SMALL if d is None else d for d in inputs[n].shape.as_list()),
            )
        )
        for n in unknown
    ]

    more = {"context": None} if operator.takes_context else {}
    call = of_unknown(operator, values, attributes, **more)
    try:
        program = trace_function("dependences", call, abstract)
    except TfcError:
        return [everything]
    places = dict(zip(program.trace.parameters, unknown))
    return [frozenset(_reached(x.instruction, places)) for x in program.results]


def _reached(root: Instruction, places: dict[Instruction, int]) -> set[int]:
    """The places of the parameters that an instruction's value is computed of."""
    seen, left, found = {root}, [root], set[int]()
    while left:
        instruction = left.pop()
        if instruction in places:
            found.add(places[instruction])
        new = [x for x in instruction.operands if x not in seen]
        seen.update(new)
        left += new
    return found
