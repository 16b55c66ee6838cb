"""How reductions accumulate in registers, whatever loops go along their elements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert, maximum, minimum
from tfc.backends.mlir.kernels import add_freely, multiply_freely, of_any_zero, plain_loop
from tfc.backends.mlir.loops import LoopBody, for_loop
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.ir import Computation
from tfc.hlo.shape import F32, ElementType, Shape

# Reductions of so few elements are written out where the order makes no difference.
FEW = 16
# Sums longer than this are taken in pieces: the error then grows with the root of the length.
CHUNK = 4096

T = TypeVar("T")
Combine = Callable[[Sequence[Scalar], Sequence[Scalar]], Sequence[Scalar]]


def combination(to_apply: Computation) -> tuple[Combine, float | complex | None]:
    """How to combine accumulators with elements, and the identity if it is a plain float sum."""
    root = to_apply.root
    plain = root.opcode in ("add", "multiply") and set(root.operands) == set(to_apply.parameters)
    if plain and root.array_shape.element_type.is_float:
        plain = root.array_shape.element_type.bits > 16  # LLVM calls functions for narrower ones
    if plain and len(to_apply.parameters) == 2:
        freely = add_freely if root.opcode == "add" else multiply_freely
        # -0.0 is the sum's exact identity: adding +0.0 would turn a -0.0 result positive.
        zeros = {"float": -0.0, "complex": complex(-0.0, -0.0)}
        zero = zeros.get(root.array_shape.element_type.kind) if root.opcode == "add" else None
        return lambda x, y: [freely(x[0], y[0])], zero
    return lambda x, y: emit_scalar_computation(to_apply, [*x, *y]), None


@dataclass(frozen=True)
class Accumulation:
    """How a loop accumulates a reduction in registers.

    exact: the order makes no difference to the bits: the largest or least of elements.
    identities: for each scalar that of its sum, if it is a plain sum of floats.
    wide: the type that narrow floats are carried in, if that changes nothing but the speed.
    """

    combine: Combine
    identities: tuple[float | complex | None, ...]
    wide: ElementType | None = None
    exact: bool = False

    def widen(self, scalars: Sequence[Scalar]) -> list[Scalar]:
        """Elements or initial values as `combine` takes them."""
        return [convert(s, self.wide or s.element_type) for s in scalars]

    def narrow(self, totals: Sequence[Scalar], shapes: Sequence[Shape]) -> list[Scalar]:
        """The totals in the types of the results."""
        return [convert(t, s.element_type) for t, s in zip(totals, shapes)]


def accumulation(to_apply: Computation, any_zero: bool = False) -> Accumulation:
    """The accumulation of a reduction.

    Args:
        any_zero: whether a result of zero may have either sign.
    """
    root, count = to_apply.root, len(to_apply.parameters) // 2
    function = {"maximum": maximum, "minimum": minimum}.get(root.opcode)
    exact = bool(function) and count == 1 and set(root.operands) == set(to_apply.parameters)
    if function and exact:
        element_type = root.array_shape.element_type
        if element_type.is_float and any_zero:
            function = partial(of_any_zero, f"arith.{root.opcode}f")
        if element_type.is_float and (any_zero or element_type.bits <= 16):
            wide = F32 if element_type.bits <= 16 else None
            # The element first: what tells its NaN does not wait for the total.
            return Accumulation(lambda x, y: [function(y[0], x[0])], (None,), wide, exact)
    combine, identity = combination(to_apply)
    return Accumulation(combine, (identity,) * count, exact=exact)


def combined(parts: Sequence[T], combine: Callable[[T, T], T]) -> T:
    """All parts, of which there is one at least, as a tree: few of them wait for others.

    The first half meets the second, so that LLVM makes vectors of neighbours that do.
    """
    while len(parts) > 1:
        half = -(-len(parts) // 2)
        pairs = zip(parts, parts[half:])
        parts = [*(combine(x, y) for x, y in pairs), *parts[len(parts) - half : half]]
    return parts[0]


def chunked_loop(
    size: int,
    body: LoopBody,
    carried: Sequence[Scalar],
    identities: Sequence[float | complex | None],
    total: int,
) -> Sequence[Scalar]:
    """A loop, in pieces if the sum is long, each of which accumulates the plain sums by itself.

    Args:
        identities: for each carried scalar that of its sum, or None if it is something else.
        total: how many elements are accumulated by this loop and those around it.
    """
    if total <= CHUNK or all(i is None for i in identities):
        return plain_loop(size, body, carried)

    def chunk(low: Any, state: Sequence[Scalar]) -> Sequence[Scalar]:
        high = arith.minsi(arith.addi(low, index_value(CHUNK)), index_value(size))
        start = [s if i is None else constant(s.element_type, i) for s, i in zip(state, identities)]
        parts = zip(state, for_loop(low, high, 1, body, start), identities)
        return [p if i is None else add_freely(s, p) for s, p, i in parts]

    return for_loop(0, size, CHUNK, chunk, carried)
