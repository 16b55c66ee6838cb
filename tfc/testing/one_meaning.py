"""Programs whose values depend on the order in which a reduction or a sort takes its elements.

No two implementations need agree on them: a combiner that is not associative, a comparator that is
no strict weak order, ties in a sort that is not stable. What a called computation is, is asked of
it, on a few values.
"""

from collections.abc import Sequence
from itertools import permutations, product
from typing import Any

import numpy as np

from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.op import OPS
from tfc.hlo.shape import Shape, leaves
from tfc.hlo.traits import Accuracy
from tfc.testing.compare import flat
from tfc.testing.generators.values import random_array

_STARTING = frozenset({"reduce", "reduce-window"})
SAMPLES = 5


def order_matters(module: Module) -> str:
    """Why a module has no single meaning; empty if it has one, as far as a few values show."""
    for computation in module.computations:
        for instruction in computation.instructions:
            why = _order_matters(instruction)
            if why:
                return why
    return ""


def _order_matters(instruction: Instruction) -> str:
    summed = OPS[instruction.opcode].accuracy is Accuracy.SUMMED
    if summed and "to_apply" in instruction.attributes:
        combine = instruction["to_apply"]
        if not (_is_associative(combine) and _is_commutative(combine)):
            return "its reduction depends on the order of the elements"
        if _rounds_a_lot(combine):
            return "its sum of 8-bit floats rounds as the order of the elements has it"
    if instruction.opcode == "scatter" and not _is_associative(instruction["to_apply"]):
        return "its scatter depends on the order of the updates"
    if instruction.opcode == "select-and-scatter":
        if not _is_associative(instruction["scatter"]):
            return "its scatter depends on the order of the updates"
        select = instruction["select"].root
        if select.opcode != "compare" or select["direction"] not in ("GE", "GT", "LE", "LT"):
            return "its selection depends on the order of the elements"
    if instruction.opcode == "sort":
        if len(instruction.operands) > 1 and not instruction.attributes.get("is_stable"):
            return "ties of a sort that is not stable may come in any order"
        if not _is_order(instruction["to_apply"]):
            return "its sort is by no strict weak order"
    return ""


def starts_anew(module: Module) -> bool:
    """Whether a reduction begins with what is no constant that changes nothing.

    Where parts are reduced apart, as XLA does, it then counts as often as there are parts.
    """
    found = [i for c in module.computations for i in c.instructions if i.opcode in _STARTING]
    return not all(map(_begins_with_nothing, found))


def _begins_with_nothing(reduction: Instruction) -> bool:
    starts = reduction.operands[len(reduction.operands) // 2 :]
    if any(start.opcode != "constant" for start in starts):
        return False
    combine, start = reduction["to_apply"], tuple(s["literal"].array for s in starts)
    samples = _halves(combine)[:SAMPLES]
    return all(_alike(_combined(combine, start, sample), sample) for sample in samples)


Sample = tuple[Any, ...]


def _samples(parameters: Sequence[Instruction]) -> list[Sample]:
    """Values for some of a computation's parameters, NaN and zeros of both signs among them."""
    made = []
    for n in range(SAMPLES):
        rng = np.random.default_rng(n)
        shapes = [s for p in parameters for s in leaves(p.shape) if isinstance(s, Shape)]
        values = [random_array(s, rng, "special" if n % 2 else "whole") for s in shapes]
        made.append(tuple(values))
    floats = [s.element_type.is_float for p in parameters for s in leaves(p.shape)]
    nan = tuple(np.full_like(v, np.nan) if is_float else v for v, is_float in zip(made[0], floats))
    return [*made, nan]


def _combined(combine: Computation, left: Sample, right: Sample) -> Sample:
    with np.errstate(all="ignore"):
        return tuple(flat(evaluate_computation(combine, [*left, *right])))


def _alike(left: Sample, right: Sample) -> bool:
    """Equal up to rounding: sums of rounded numbers are associative enough."""
    for x, y in zip(left, right, strict=True):
        if x.dtype.kind in "biu" or x.dtype.name in ("int4", "uint4"):
            if not np.array_equal(x, y):
                return False
            continue
        wide = np.complex128 if x.dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            x, y = x.astype(wide), y.astype(wide)
            near = np.abs(x - y) <= 0.3 * (np.abs(x) + np.abs(y))
        if not np.all(near | ~np.isfinite(x) | ~np.isfinite(y)):
            return False
    return True


def _rounds_a_lot(combine: Computation) -> bool:
    """Whether so few bits are kept that another order may give a result of another size."""
    types = [s.element_type for p in combine.parameters for s in leaves(p.shape)]
    narrow = any(t.is_float and t.bits <= 8 for t in types)
    return narrow and combine.root.opcode not in ("maximum", "minimum")


def _halves(combine: Computation) -> list[Sample]:
    return _samples(combine.parameters[: len(combine.parameters) // 2])


def _is_associative(combine: Computation) -> bool:
    return all(
        _alike(
            _combined(combine, _combined(combine, a, b), c),
            _combined(combine, a, _combined(combine, b, c)),
        )
        for a, b, c in permutations(_halves(combine)[:SAMPLES], 3)
    )


def _is_commutative(combine: Computation) -> bool:
    return all(
        _alike(_combined(combine, a, b), _combined(combine, b, a))
        for a, b in permutations(_halves(combine)[:SAMPLES], 2)
    )


def _is_order(before: Computation) -> bool:
    """Whether a comparator is a strict weak order on the samples."""
    samples = _samples(before.parameters[::2])

    def comes_before(a: Sample, b: Sample) -> bool:
        pairs = [value for pair in zip(a, b) for value in pair]
        return bool(evaluate_computation(before, pairs))

    less = {(i, j): comes_before(a, b) for (i, a), (j, b) in product(enumerate(samples), repeat=2)}
    for i, j, k in product(range(len(samples)), repeat=3):
        if less[i, j] and less[j, i]:
            return False
        if less[i, k] and not (less[i, j] or less[j, k]):  # "not before" must be transitive, too
            return False
    return True
