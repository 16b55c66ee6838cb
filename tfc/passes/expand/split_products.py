"""Products of f32 whose algorithm permits it as products of bf16, which tensor cores do sooner.

    d = f32[2,3] dot(x, y), algorithm=dot_bf16_bf16_f32_x3

    x0 = bf16[2,4] convert(x)                    the nearest bf16, and of what is left the nearest
    x1 = bf16[2,4] convert(x - x0)               y0, y1 likewise
    s  = f32[2,3] dot(x1, y0) + dot(x0, y1)
    d  = f32[2,3] dot(x0, y0) + (s if it is finite, else 0)

So x3 keeps 16 bits of each factor, and x6, with three parts, all 24; x9 has the products of the
least parts, too. The smallest are summed first. Where an element is infinite or NaN its further
parts are, and so is s: the first parts alone say what the product is. An algorithm with tf32 in
several parts is taken as x6, which keeps more.

Products around a softmax stay those of f32 where they would be several: attention is one kernel,
without an array of all scores, and is what they are made of.
"""

from functools import reduce
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.builder import binary, convert, unary
from tfc.hlo.ir import Computation, Instruction, Module, laid_out, map_computations, remake
from tfc.hlo.shape import BF16, F32

# Of an algorithm, the numbers of the parts that are multiplied, the smallest products first.
_THREE = ((1, 0), (0, 1), (0, 0))
_SIX = ((1, 1), (2, 0), (0, 2), *_THREE)
_PARTS = {
    "dot_bf16_bf16_f32": ((0, 0),),
    "dot_bf16_bf16_f32_x3": _THREE,
    "dot_bf16_bf16_f32_x6": _SIX,
    "dot_bf16_bf16_f32_x9": ((2, 2), (2, 1), (1, 2), *_SIX),
    "dot_tf32_tf32_f32_x3": _SIX,
}
_LARGEST = float(BF16.float_limits.max)


class SplitProducts:
    """Make products of bf16 of those of f32 that may be."""

    name: ClassVar[str] = "split-products"

    def __call__(self, module: Module) -> Module:
        """The module without algorithms of bf16."""
        return map_computations(module, _in_computation)


def _in_computation(computation: Computation) -> Computation:
    new: dict[Instruction, Instruction] = {}
    around = _around_softmax(computation)
    for old in computation.instructions:
        made = old.renewed(new)
        new[old] = laid_out(_split(made, old in around), old.shape)
    changed = any(made is not old for old, made in new.items())
    return remake(computation, new) if changed else computation


def _split(x: Instruction, is_around_softmax: bool) -> Instruction:
    numbers = _PARTS.get(x.attributes.get("algorithm", ""))
    if x.opcode not in ("dot", "convolution") or numbers is None or not _is_f32(x):
        return x
    if len(numbers) > 1 and is_around_softmax:
        return x
    count = 1 + max(max(pair) for pair in numbers)
    left, right = (_parts(o, count) for o in x.operands)
    plain = x.attributes.with_(algorithm=None, operand_precision=None)
    products = [x.with_(operands=(left[i], right[j]), attributes=plain) for i, j in numbers]
    *small, whole = products
    if not small:
        return whole
    rest = reduce(lambda total, product: binary("add", total, product), small)
    nothing = builder.full(0, x.array_shape)
    known = builder.instruction("select", [unary("is-finite", rest), rest, nothing])
    return binary("add", whole, known)


def _around_softmax(computation: Computation) -> set[Instruction]:
    """Batches of dots that a batch of dots is reached from through an exponential and a reduction,
    and these."""
    found: set[Instruction] = set()
    for x in computation.instructions:
        if _is_batch(x) and x.attributes.get("algorithm") in _PARTS:
            before = _before(x)
            if {"exponential", "reduce"} <= {i.opcode for i in before}:
                scores = {i for i in before if _is_batch(i)}
                found |= {x, *scores} if scores else set()
    return found


def _before(x: Instruction) -> set[Instruction]:
    """What an instruction is made of, down to products."""
    seen: set[Instruction] = set()
    waiting = list(x.operands)
    while waiting:
        i = waiting.pop()
        if i not in seen:
            seen.add(i)
            waiting += i.operands if i.opcode not in ("dot", "convolution") else ()
    return seen


def _is_batch(x: Instruction) -> bool:
    return x.opcode == "dot" and bool(x.attributes.get("lhs_batch_dims"))


def _is_f32(x: Instruction) -> bool:
    return all(each.array_shape.element_type == F32 for each in (x, *x.operands))


def _parts(x: Instruction, count: int) -> list[Instruction]:
    """bf16, widened, whose sum is near to x: each is the nearest to what the others leave.

    The first of what rounds to infinity is the largest one, of infinity itself infinity.
    """
    shape = x.array_shape
    largest = builder.full(_LARGEST, shape)
    if count > 1:
        bounded = builder.instruction("clamp", [unary("negate", largest), x, largest])
        infinite = builder.compare("EQ", unary("abs", x), builder.full(float("inf"), shape))
        first = builder.instruction("select", [infinite, x, bounded])
    else:
        first = x
    found, left = [], first
    for number in range(count):
        found.append(convert(convert(left, BF16), F32))
        if number < count - 1:
            left = binary("subtract", x if number == 0 else left, found[-1])
    return found
