"""Expansions: a map as operations on whole arrays; a scan whose step is no simple one as a loop.

    before:  y = f32[8] map(x), dimensions={0}, to_apply=f       f: negate(abs(p))
    after:   y = f32[8] negate(abs(x))

    before:  y, c = scan(x, i), dimensions={0}, num_carries=1, to_apply=step
    after:   while(0, i, x, zeros), whose body takes a slice of x, runs step and puts a slice away

A map of a computation that is not elementwise throughout is a scan over its elements. A scan stays
as it is if its step combines slices of one shape element by element: backends have code for it.
"""

from collections.abc import Sequence

from tfc.hlo import builder
from tfc.hlo.builder import instruction
from tfc.hlo.evaluation.scalar_computations import over_arrays
from tfc.hlo.ir import Computation, Instruction, inline, laid_out
from tfc.hlo.ops.mapped import is_pointwise_scan, scan_parts
from tfc.hlo.shape import S64, Shape, TupleShape


def expand_map(x: Instruction) -> Instruction:
    """A map in operations on arrays, or as a loop over the elements."""
    computation, shape = x["to_apply"], x.array_shape
    results = over_arrays(computation, x.operands)
    if results is not None:
        return results[0]
    flat = [builder.reshape(o, (shape.size,)) for o in x.operands]
    scanned = instruction(
        "scan", flat, dimensions=(0,), num_carries=0, is_associative=False, to_apply=computation
    )
    return builder.reshape(expand_scan(scanned), shape.dims)


def expand_scan(x: Instruction) -> Instruction:
    """A scan as a while loop; itself if its step is simple enough for code of its own."""
    _, _, dimension = scan_parts(x)
    simple = x.operands[0].array_shape.dims[dimension] and is_pointwise_scan(x)
    return x if simple else scan_loop(x)


def scan_loop(x: Instruction) -> Instruction:
    """A scan as a while loop."""
    count, outputs, dimension = scan_parts(x)
    inputs, inits = x.operands[:count], x.operands[count:]
    length = inputs[0].array_shape.dims[dimension]
    parts = x.shape.elements if isinstance(x.shape, TupleShape) else (x.shape,)
    stacked = [builder.full(0, s) for s in parts[:outputs] if isinstance(s, Shape)]
    if not length:
        return _result(x, [*stacked, *inits])
    start = instruction("tuple", [builder.constant(0, S64), *inits, *inputs, *stacked])
    state = builder.parameter(0, start.shape, "state")
    number, *rest = (
        instruction("get-tuple-element", [state], index=i) for i in range(len(start.operands))
    )
    carried, walked, made = (
        rest[: len(inits)], rest[len(inits) : len(inits) + count], rest[len(inits) + count :]
    )  # fmt: skip
    last = builder.constant(length - 1, S64)
    place = builder.binary("subtract", last, number) if x.attributes.get("is_reverse") else number
    results = _parts(
        inline(x["to_apply"], [*(_slice(w, place, dimension) for w in walked), *carried])
    )
    stored = [_store(m, r, place, dimension) for m, r in zip(made, results)]
    following = builder.binary("add", number, builder.constant(1, S64))
    state_after = [following, *results[outputs:], *walked, *stored]
    lying = (o.shape for o in start.operands)
    body = instruction("tuple", list(map(laid_out, state_after, lying)))
    loop = instruction(
        "while", [start],
        condition=Computation.make(
            "scan_condition", [state], builder.compare("LT", number, builder.constant(length, S64))
        ),
        body=Computation.make("scan_body", [state], body),
    )  # fmt: skip
    final = [instruction("get-tuple-element", [loop], index=i) for i in range(len(body.operands))]
    return _result(x, [*final[1 + len(inits) + count :], *final[1 : 1 + len(inits)]])


def _result(x: Instruction, parts: Sequence[Instruction]) -> Instruction:
    return instruction("tuple", parts) if isinstance(x.shape, TupleShape) else parts[0]


def _parts(made: Instruction) -> list[Instruction]:
    """The elements of what a step gives."""
    if not isinstance(made.shape, TupleShape):
        return [made]
    if made.opcode == "tuple":
        return list(made.operands)
    count = len(made.shape.elements)
    return [instruction("get-tuple-element", [made], index=i) for i in range(count)]


def _starts(rank: int, place: Instruction, dimension: int) -> list[Instruction]:
    zero = builder.constant(0, S64)
    return [place if d == dimension else zero for d in range(rank)]


def _slice(array: Instruction, place: Instruction, dimension: int) -> Instruction:
    """The slice of an array at a place, without the dimension."""
    dims = array.array_shape.dims
    sizes = (*dims[:dimension], 1, *dims[dimension + 1 :])
    starts = _starts(len(dims), place, dimension)
    taken = instruction("dynamic-slice", [array, *starts], dynamic_slice_sizes=sizes)
    return builder.reshape(taken, dims[:dimension] + dims[dimension + 1 :])


def _store(
    array: Instruction, part: Instruction, place: Instruction, dimension: int
) -> Instruction:
    """The array with the slice at a place replaced."""
    dims = array.array_shape.dims
    thin = builder.reshape(part, (*dims[:dimension], 1, *dims[dimension + 1 :]))
    return instruction("dynamic-update-slice", [array, thin, *_starts(len(dims), place, dimension)])
