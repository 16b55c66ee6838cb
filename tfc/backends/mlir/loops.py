"""Loops that carry scalars, loops with a condition, and the shares of loops that threads run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.arithmetic.value import Scalar, bitcast
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import BF16, F16, U16, ElementType

# (loop variable, carried scalars) -> the scalars for the next iteration
LoopBody = Callable[[Any, Sequence[Scalar]], Sequence[Scalar]]


def for_loop(
    lower: Any,
    upper: Any,
    step: Any,
    body: LoopBody,
    carried: Sequence[Scalar] = (),
) -> Sequence[Scalar]:
    """`for i in range(lower, upper, step)`, carrying scalars from one iteration to the next.

    A float of 16 bits is carried as an integer: LLVM would carry it as an f32, and call a function
    of the compiler's library to make one of 16 bits again.

    Args:
        lower, upper, step: Python integers or values of type `index`.

    Returns:
        The scalars after the last iteration; `carried` if there is none.
    """
    bounds = [index_value(b) if isinstance(b, int) else b for b in (lower, upper, step)]
    types = [c.element_type for c in carried]
    loop = scf.ForOp(*bounds, _carriers(carried))
    with ir.InsertionPoint(loop.body):
        state = _carried(loop.inner_iter_args, types)
        scf.yield_(_carriers(body(loop.induction_variable, state)))
    return _carried(loop.results, types)


def for_each(low: Any, high: Any, body: Callable[[Any], object]) -> None:
    """A loop over `range(low, high)` that carries nothing."""

    def step(point: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
        body(point)
        return []

    for_loop(low, high, 1, step)


def _carriers(scalars: Sequence[Scalar]) -> list[Any]:
    """The values that carry scalars through a loop."""
    return [(bitcast(s, U16) if s.element_type in (F16, BF16) else s).value for s in scalars]


def _carried(values: Sequence[Any], types: Sequence[ElementType]) -> list[Scalar]:
    """The scalars of these types that the values carry."""
    return [bitcast(Scalar(v, U16), t) if t in (F16, BF16) else Scalar(v, t)
            for v, t in zip(values, types)]  # fmt: skip


class LoopNest:
    """The CPU's way through a space: nested sequential loops, the last index fastest."""

    def each(self, sizes: Sequence[int], body: Callable[[Sequence[Any]], None]) -> None:
        """Emit a loop for each size around `body`, which gets the loop variables."""
        self._nest(list(sizes), [], body)

    def _nest(
        self, sizes: list[int], points: list[Any], body: Callable[[Sequence[Any]], None]
    ) -> None:
        if not sizes:
            body(points)
            return

        def inside(point: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
            self._nest(sizes[1:], [*points, point], body)
            return []

        for_loop(0, sizes[0], 1, inside)


@dataclass(frozen=True)
class Chunk:
    """One share of a kernel's work; the shares run in any order, or at the same time.

    number: which one, a value of type `index` below `count`.
    """

    number: Any
    count: int

    def part(self, size: int, step: int = 1) -> tuple[Any, Any]:
        """The first of `size` things in this share, and the end; shares begin at multiples."""
        share = -(-size // (self.count * step)) * step
        total = index_value(size)
        low = arith.minsi(arith.muli(self.number, index_value(share)), total)
        return low, arith.minsi(arith.addi(low, index_value(share)), total)


_NEIGHBOURS = 64  # elements of the fastest dimension that stay together, as vectors and in lines


class SplitNest(LoopNest):
    """A chunk's share of the points of a space: the CPU's way through it with several threads.

    The first dimension that has enough for all shares is split, else the largest.
    """

    def __init__(self, chunk: Chunk):
        self.chunk = chunk
        self._inside = False

    def each(self, sizes: Sequence[int], body: Callable[[Sequence[Any]], None]) -> None:
        """Emit loops around `body`; what it calls in turn has to be done for each of its points."""
        if self._inside:
            super().each(sizes, body)
            return
        self._inside = True
        if sizes:
            enough = (d for d, size in enumerate(sizes) if size >= 2 * self.chunk.count)
            self._share(list(sizes), next(enough, sizes.index(max(sizes))), body)
        else:
            first = arith.cmpi(arith.CmpIPredicate.eq, self.chunk.number, index_value(0))
            with ir.InsertionPoint(scf.IfOp(first).then_block):
                body([])
                scf.yield_([])
        self._inside = False

    def _share(self, sizes: list[int], split: int, body: Callable[[Sequence[Any]], None]) -> None:
        is_fastest = split == len(sizes) - 1 and sizes[split] >= self.chunk.count * _NEIGHBOURS
        low, high = self.chunk.part(sizes[split], _NEIGHBOURS if is_fastest else 1)

        def middle(points: Sequence[Any]) -> None:
            def inside(point: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
                self._nest(sizes[split + 1 :], [*points, point], body)
                return []

            for_loop(low, high, 1, inside)

        self._nest(sizes[:split], [], middle)


def while_loop(
    start: Sequence[Any],
    condition: Callable[[Sequence[Any]], Any],
    body: Callable[[Sequence[Any]], Sequence[Any]],
) -> Sequence[Any]:
    """`while condition(state): state = body(state)` on MLIR values; gives the last state.

    Args:
        condition: emits an i1.
    """
    types = [v.type for v in start]
    loop = scf.WhileOp(types, list(start))
    before, after = (region.blocks.append(*types) for region in (loop.before, loop.after))
    with ir.InsertionPoint(before):
        scf.condition(condition(before.arguments), list(before.arguments))
    with ir.InsertionPoint(after):
        scf.yield_(list(body(after.arguments)))
    return loop.results
