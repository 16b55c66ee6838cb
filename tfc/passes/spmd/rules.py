"""The factors of each op: one rule for each class of ops; what has none is computed whole.

Elementwise ops need no row: their definition says that they are. A result element of movement is
one of an operand's, so movement's rows say which dimensions stay whole.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import count

from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import OPS
from tfc.hlo.ops.contraction import free_dimensions
from tfc.hlo.ops.indexed import Windows, gather_windows, scatter_windows
from tfc.hlo.shape import Shape, TupleShape, leaves
from tfc.passes.spmd.factors import Factors, Labels
from tfc.passes.spmd.halos import Needed
from tfc.passes.spmd.window_rules import (
    convolution_factors,
    is_neutral,
    pad_factors,
    reduce_window_factors,
    slice_factors,
)

Rule = Callable[[Instruction], Factors | None]
RULES: dict[str, Rule] = {}


def _rule(*opcodes: str) -> Callable[[Rule], Rule]:
    def enter(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(opcodes, rule))
        return rule

    return enter


_rule("slice")(slice_factors)
_rule("pad")(pad_factors)
_rule("reduce-window")(reduce_window_factors)
_rule("convolution")(convolution_factors)


def factors_of(x: Instruction) -> Factors | None:
    """The factors of an instruction on arrays; None if it has no rule, or nothing to cut."""
    shapes = [s for o in x.operands for s in (o.shape,)]
    if not all(isinstance(s, Shape) for s in shapes):
        return None
    results = list(leaves(x.shape))
    if any(0 in s.dims for s in (*shapes, *results) if isinstance(s, Shape)):
        return None
    rule = RULES.get(x.opcode)
    if rule is None and not OPS[x.opcode].elementwise:
        return None
    return (rule or _elementwise)(x)


def _dims(x: Instruction, number: int) -> tuple[int, ...]:
    return x.operands[number].array_shape.dims


def _labels(numbers: Sequence[int | None]) -> Labels:
    return tuple(() if n is None else (n,) for n in numbers)


@_rule("copy")
def _elementwise(x: Instruction) -> Factors | None:
    dims = x.array_shape.dims
    same, none = _labels(range(len(dims))), ()
    operands = tuple(same if o.array_shape.dims == dims else none for o in x.operands)
    if any(not labels and o.array_shape.rank for labels, o in zip(operands, x.operands)):
        return None
    return Factors(operands, (same,), dims)


@_rule("broadcast")
def _broadcast(x: Instruction) -> Factors:
    places, dims, given = x["dimensions"], x.array_shape.dims, _dims(x, 0)
    operand = [d if given[k] == dims[d] else None for k, d in enumerate(places)]
    return Factors((_labels(operand),), (_labels(range(len(dims))),), dims)


@_rule("iota")
def _iota(x: Instruction) -> Factors:
    dims = x.array_shape.dims
    numbers = [None if d == x["iota_dimension"] else d for d in range(len(dims))]
    return Factors((), (_labels(numbers),), dims)


@_rule("transpose")
def _transpose(x: Instruction) -> Factors:
    given = _dims(x, 0)
    return Factors((_labels(range(len(given))),), (_labels(x["dimensions"]),), given)


@_rule("reshape")
def _reshape(x: Instruction) -> Factors:
    given, made = _dims(x, 0), x.array_shape.dims
    operand: list[list[int]] = [[] for _ in given]
    result: list[list[int]] = [[] for _ in made]
    sizes: list[int] = []
    i = j = 0
    left, right = 1, 1
    while True:
        while left == 1 and i < len(given):
            left, i = given[i], i + 1
        while right == 1 and j < len(made):
            right, j = made[j], j + 1
        size = min(left, right)
        if size == 1 or left % size or right % size:
            break
        operand[i - 1].append(len(sizes))
        result[j - 1].append(len(sizes))
        sizes.append(size)
        left, right = left // size, right // size
    # From where the two no longer go along together, what is left is needed whole.
    return Factors((tuple(map(tuple, operand)),), (tuple(map(tuple, result)),), tuple(sizes))


def _kept(x: Instruction, keeps: Sequence[bool], adapt: object = None) -> Factors:
    """Factors of an op whose arrays have dimensions that go along together where `keeps`."""
    labels = _labels([d if keep else None for d, keep in enumerate(keeps)])
    operands = tuple(labels if o.array_shape.rank == len(keeps) and o.array_shape.rank else ()
                     for o in x.operands)  # fmt: skip
    results = tuple(labels for _ in leaves(x.shape))
    dims = next(leaves(x.shape)).dims
    return Factors(operands, results, dims, adapt=adapt)  # pyright: ignore[reportArgumentType]


@_rule("reverse")
def _reverse(x: Instruction) -> Factors:
    return _kept(x, [d not in x["dimensions"] for d in range(x.array_shape.rank)])


@_rule("concatenate")
def _concatenate(x: Instruction) -> Factors:
    return _kept(x, [d != x["dimensions"][0] for d in range(x.array_shape.rank)])


@_rule("sort")
def _sort(x: Instruction) -> Factors:
    rank = x.operands[0].array_shape.rank
    return _kept(x, [d != x["dimensions"][0] for d in range(rank)])


@_rule("fft")
def _fft(x: Instruction) -> Factors:
    rank = x.array_shape.rank
    return _kept(x, [d < rank - len(x["fft_length"]) for d in range(rank)])


@_rule("cholesky", "triangular-solve")
def _matrices(x: Instruction) -> Factors:
    rank = x.operands[0].array_shape.rank
    return _kept(x, [d < rank - 2 for d in range(rank)])


@_rule("dynamic-slice")
def _dynamic_slice(x: Instruction) -> Factors:
    keeps = [n == m for n, m in zip(_dims(x, 0), x.array_shape.dims)]

    def adapt(a: Attributes, dims: Sequence[Sequence[int]], _: Mapping[int, Needed]) -> Attributes:
        return a.with_(dynamic_slice_sizes=tuple(dims[-1]))

    made = _kept(x, keeps, adapt)
    return Factors((made.operands[0], *[()] * (len(x.operands) - 1)), made.results, made.sizes,
                   adapt=adapt)  # fmt: skip


@_rule("dynamic-update-slice")
def _dynamic_update_slice(x: Instruction) -> Factors:
    keeps = [n == m for n, m in zip(_dims(x, 0), _dims(x, 1))]
    labels = _labels([d if keep else None for d, keep in enumerate(keeps)])
    rest = [()] * (len(x.operands) - 2)
    return Factors((labels, labels, *rest), (labels,), x.array_shape.dims)


@_rule("select-and-scatter")
def _selections(x: Instruction) -> Factors:
    plain = [w.size == w.stride == w.base_dilation == 1 and not w.low and not w.high
             for w in x["window"].dimensions]  # fmt: skip
    return _kept(x, plain or [True] * next(leaves(x.shape)).rank)


@_rule("reduce")
def _reduce(x: Instruction) -> Factors:
    half = len(x.operands) // 2
    dims, gone = _dims(x, 0), x["dimensions"]
    sums = half == 1 and is_neutral(x.operands[1], x["to_apply"])
    operand = _labels([None if d in gone and not sums else d for d in range(len(dims))])
    result = _labels([d for d in range(len(dims)) if d not in gone])
    return Factors(
        (*[operand] * half, *[()] * half), (result,) * half, dims,
        frozenset(gone) if sums else frozenset(), x["to_apply"],
    )  # fmt: skip


@_rule("dot")
def _dot(x: Instruction) -> Factors:
    a, (lhs, rhs) = x.attributes, (_dims(x, 0), _dims(x, 1))
    batch = a.get("lhs_batch_dims", ()), a.get("rhs_batch_dims", ())
    contracted = a["lhs_contracting_dims"], a["rhs_contracting_dims"]
    number = count()
    left: dict[int, int] = {}
    right: dict[int, int] = {}
    for i, j in (*zip(*batch), *zip(*contracted)):
        left[i] = right[j] = next(number)
    rows = free_dimensions(len(lhs), batch[0], contracted[0])
    columns = free_dimensions(len(rhs), batch[1], contracted[1])
    left.update({d: next(number) for d in rows})
    right.update({d: next(number) for d in columns})
    result = [left[d] for d in (*batch[0], *rows)] + [right[d] for d in columns]
    sizes = {**{f: rhs[d] for d, f in right.items()}, **{f: lhs[d] for d, f in left.items()}}
    return Factors(
        (_labels([left[d] for d in range(len(lhs))]), _labels([right[d] for d in range(len(rhs))])),
        (_labels(result),), tuple(sizes[f] for f in range(len(sizes))),
        frozenset(left[d] for d in contracted[0]), None,
    )  # fmt: skip


def _windowed(
    x: Instruction, windows: Windows, operand: Sequence[int], made: Sequence[int],
    in_window: Sequence[int],
) -> tuple[Labels, Labels, Labels, tuple[int, ...], list[int]]:  # fmt: skip
    """The factors of operand, start indices and windows, their sizes, and those of the windows.

    A dimension of the operand that every window has whole goes along with the window's; those that
    say which window with the start indices'; batching dimensions of both together.
    """
    own: list[int | None] = [None] * len(operand)
    starts: list[int | None] = [None] * windows.indices.rank
    result: list[int | None] = [None] * len(made)
    sizes: list[int] = []
    for d, place, size in zip(windows.kept(len(operand)), windows.window_dims, in_window):
        if size == operand[d] and d not in windows.index_map:
            own[d] = result[place] = len(sizes)
            sizes.append(size)
    outer = [d for d in range(len(made)) if d not in windows.window_dims]
    which = []
    for d, place in zip(windows.batch_dims, outer):
        starts[d] = result[place] = len(sizes)
        if d in windows.indices_batch:
            own[windows.operand_batch[windows.indices_batch.index(d)]] = len(sizes)
        else:
            which.append(len(sizes))
        sizes.append(made[place])
    return _labels(own), _labels(starts), _labels(result), tuple(sizes), which


@_rule("gather")
def _gather(x: Instruction) -> Factors:
    windows, operand = gather_windows(x), _dims(x, 0)
    inside = [x.array_shape.dims[d] for d in windows.window_dims]
    own, starts, result, sizes, _ = _windowed(x, windows, operand, x.array_shape.dims, inside)

    def adapt(a: Attributes, dims: Sequence[Sequence[int]], _: Mapping[int, Needed]) -> Attributes:
        sizes = [
            n if s == whole and labels else s
            for n, s, whole, labels in zip(dims[0], a["slice_sizes"], operand, own)
        ]
        for d in windows.operand_batch:
            sizes[d] = 1
        return a.with_(slice_sizes=tuple(sizes))  # fmt: skip

    return Factors((own, starts), (result,), sizes, adapt=adapt)


@_rule("scatter")
def _scatter(x: Instruction) -> Factors | None:
    if len(x.operands) != 3 or isinstance(x.shape, TupleShape):
        return None
    windows, operand, updates = scatter_windows(x), _dims(x, 0), _dims(x, 2)
    inside = [updates[d] for d in windows.window_dims]
    own, starts, result, sizes, which = _windowed(x, windows, operand, updates, inside)
    whole = {(f,) for f in which}
    # Every window may fall anywhere, so that all of them are needed where the operand is.
    starts = tuple(() if f in whole else f for f in starts)
    result = tuple(() if f in whole else f for f in result)
    return Factors((own, starts, result), (own,), sizes)
