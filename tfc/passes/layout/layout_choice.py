"""Which order in memory each value of a computation gets.

Orders grow from where they are given, across the heaviest edge first, so that regions of different
orders meet where least is copied. Given are those of parameters, of results that leave, of what no
code lays out otherwise, and of the operands and results of the target's convolutions. Where none
arrives, values that are reshaped are row-major, then dots, then all others. At last each value
takes the order of a neighbour while that lowers the bytes to be copied.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from heapq import heappop, heappush
from itertools import count

from tfc.hlo.ir import Attributes, Computation, Instruction
from tfc.hlo.op import op_named
from tfc.hlo.shape import Layout, Shape
from tfc.passes.analysis.dimension_orders import (
    Order,
    backward,
    forward,
    is_alike,
    order_of,
    row_major,
)
from tfc.passes.expand.dots import swapped

# Whether the kernel of a dot or convolution reads its operands and writes its result as they lie.
Takes = Callable[[Instruction], bool]

ASKED = frozenset({"convolution", "dot"})
# What is as easily made in one order as in another, without a copy.
REMADE = frozenset({"broadcast", "constant", "iota"})
_NEAR, _RESHAPED, _DOT, _OTHER = range(4)  # what is decided first


def shape_in(shape: Shape, order: Order) -> Shape:
    """The shape with its elements in an order; itself if they are."""
    return shape if order_of(shape) == order else shape.with_layout(Layout(order))


def reads_any_order(x: Instruction) -> bool:
    """True if the kernel of an instruction walks over its operands however they lie."""
    return op_named(x.opcode).any_order


def is_free(x: Instruction) -> bool:
    """True if the instruction's kernel can lay out its result in any order."""
    if not isinstance(x.shape, Shape) or not reads_any_order(x):
        return False
    # The parts of a wider element are a dimension that must lie together.
    return x.opcode != "bitcast-convert" or is_alike(x, 0) or not x.shape.rank


def _in_row_major(x: Instruction) -> tuple[tuple[Order, ...], Order]:
    ranks = (o.array_shape.rank for o in x.operands)
    return tuple(row_major(r) for r in ranks), row_major(x.array_shape.rank)


class Choice:
    """The order of each array among a computation's values, in `orders`."""

    def __init__(self, computation: Computation, takes: Takes):
        self.computation, self._takes = computation, takes
        self.orders: dict[Instruction, Order] = {}
        self._heap: list[tuple[int, int, bool, int, Instruction, Order]] = []
        self._number = count()
        self._fitting: dict[Hashable, Instruction | None] = {}
        self.asked = {
            x for x in computation.instructions
            if x.opcode in ASKED and self.fitting(x, *_in_row_major(x)) is not None
        }  # fmt: skip
        self._grow()
        self._relax()

    def fitting(
        self, x: Instruction, operands: tuple[Order, ...], order: Order
    ) -> Instruction | None:
        """The dot or convolution in these orders as the target takes it, on parameters.

        For a dot whose result has its rows as neighbours that is a transpose, for which no code
        runs, of the dot of its operands in the other order. None if the target takes neither.
        """
        shapes = tuple(shape_in(o.array_shape, a) for o, a in zip(x.operands, operands))
        key = (x.opcode, x.attributes, shapes, shape_in(x.array_shape, order))
        if key not in self._fitting:
            parameters = (
                Instruction("parameter", (), s, Attributes(number=n)) for n, s in enumerate(shapes)
            )
            laid = Instruction(x.opcode, tuple(parameters), key[-1], x.attributes, x.name)
            forms = [laid, *([swapped(laid)] if x.opcode == "dot" else [])]
            taken = (f for f in forms if self._takes(f if f is laid else f.operands[0]))
            self._fitting[key] = next(taken, None)
        return self._fitting[key]

    def _may(self, x: Instruction, operands: tuple[Order, ...], order: Order) -> bool:
        """Whether the kernel of an instruction takes its arrays in these orders."""
        return x not in self.asked or self.fitting(x, operands, order) is not None

    # Growing

    def _grow(self) -> None:
        computation = self.computation
        for x in computation.instructions:
            if isinstance(x.shape, Shape) and not is_free(x):
                self.orders[x] = order_of(x.shape)
            elif x.opcode == "convolution" and x in self.asked:
                self.orders[x] = row_major(x.array_shape.rank)
        for x in list(self.orders):
            self._spread(x)
        for x in computation.instructions:
            self._propose_demands(x)
        if isinstance(computation.root.shape, Shape):
            root = computation.root
            self._propose(_NEAR, root, order_of(root.array_shape), _weight(root))
        for x in computation.instructions:
            if x.opcode == "reshape":
                for side in (x, *x.operands):
                    self._propose(_RESHAPED, side, row_major(side.array_shape.rank))
            elif isinstance(x.shape, Shape):
                rank = _DOT if x in self.asked else _OTHER
                self._propose(rank, x, row_major(x.shape.rank))
        while self._heap:
            *_, x, order = heappop(self._heap)
            if x not in self.orders and self._result_may(x, order):
                self.orders[x] = order
                self._spread(x)

    def _propose(
        self, rank: int, x: Instruction, order: Order | None, weight: int = 0, back: bool = True
    ) -> None:
        """Have an order considered: by rank, then weight, and from operands before from users."""
        if order is not None and x not in self.orders:
            heappush(self._heap, (rank, -weight, back, next(self._number), x, order))

    def _spread(self, x: Instruction) -> None:
        """Propose orders to the neighbours of an instruction that has one."""
        order = self.orders[x]
        for k, o in enumerate(x.operands):
            if o not in self.orders and isinstance(o.shape, Shape):
                self._propose(_NEAR, o, backward(x, k, order), _edge(x, k))
        if x.opcode in REMADE:
            return
        for user in self.computation.users[x]:
            if user not in self.orders and isinstance(user.shape, Shape):
                for k, o in enumerate(user.operands):
                    if o is x:
                        to = forward(user, k, order)
                        self._propose(_NEAR, user, to, _edge(user, k), back=False)

    def _propose_demands(self, x: Instruction) -> None:
        for k, o in enumerate(x.operands):
            if isinstance(o.shape, Shape):
                wanted = self.demand(x, k)
                if wanted is None and x.opcode == "convolution" and x in self.asked:
                    wanted = row_major(o.shape.rank)
                self._propose(_NEAR, o, wanted, _weight(o))

    def demand(self, x: Instruction, number: int) -> Order | None:
        """The order in which an operand must lie, if there is but one: as it does."""
        if reads_any_order(x) and isinstance(x.operands[number].shape, Shape):
            return None
        return order_of(x.operands[number].array_shape)

    def _result_may(self, x: Instruction, order: Order) -> bool:
        return x not in self.asked or self._may(x, _in_row_major(x)[0], order)

    # Relaxing

    def _relax(self) -> None:
        """Change one order at a time while that lowers what is copied."""
        pending = deque(x for x in self.orders if self._is_torn(x))
        waiting, changes = set(pending), 4 * len(self.orders)
        while pending and changes:
            x = pending.popleft()
            waiting.discard(x)
            changes -= 1
            best = min(self._candidates(x), key=lambda order: self._cost(x, order), default=None)
            if best is None or self._cost(x, best) >= self._cost(x, self.orders[x]):
                continue
            self.orders[x] = best
            for near in (*x.operands, *self.computation.users[x]):
                if near in self.orders and near not in waiting:
                    waiting.add(near)
                    pending.append(near)

    def _is_torn(self, x: Instruction) -> bool:
        return is_free(x) and x.array_shape.rank > 1 and self._cost(x, self.orders[x]) > 0

    def _candidates(self, x: Instruction) -> Iterator[Order]:
        """The orders in which a value would lie as one of its neighbours does."""
        if not is_free(x) or x.array_shape.rank < 2:
            return
        wanted: dict[Order | None, None] = {}
        if x is self.computation.root:
            wanted[order_of(x.array_shape)] = None
        for k, o in enumerate(x.operands):
            if o in self.orders:
                wanted[forward(x, k, self.orders[o])] = None
        for user in self.computation.users[x]:
            for k, o in enumerate(user.operands):
                if o is x and user in self.asked:
                    wanted[row_major(x.array_shape.rank)] = None
                elif o is x:
                    near = backward(user, k, self.orders[user]) if user in self.orders else None
                    wanted[near or self.demand(user, k)] = None
        for order in wanted:
            if order is not None and self._result_may(x, order):
                yield order

    def _cost(self, x: Instruction, order: Order) -> int:
        """The bytes copied at the edges of an instruction if its result lies in an order."""
        total = sum(
            self._mismatch(x, k, self.orders[o], order)
            for k, o in enumerate(x.operands)
            if o in self.orders
        )
        for user in self.computation.users[x]:
            result = self.orders.get(user)
            for k, o in enumerate(user.operands):
                if o is x:
                    total += self._mismatch(user, k, order, result)
        if x is self.computation.root and order != order_of(x.array_shape):
            total += _weight(x) + 1
        return total

    def _mismatch(self, x: Instruction, number: int, operand: Order, result: Order | None) -> int:
        """The bytes copied between an operand and its user, and one more if that is a copy's."""
        near = x.operands[number]
        wanted = self.demand(x, number)
        if wanted is not None:
            return _weight(near) + 1 if operand != wanted else 0
        if near.opcode in REMADE or result is None:
            return 0
        if x in self.asked:
            orders = list(_in_row_major(x)[0])
            orders[number] = operand
            return 0 if self._may(x, tuple(orders), result) else _weight(near) + 1
        if x.opcode == "reshape":
            return 0 if forward(x, 0, operand) == result else _weight(near) + 1
        if backward(x, number, result) in (operand, None):
            return 0
        return _edge(x, number) + (not op_named(x.opcode).is_movement)


def _weight(x: Instruction) -> int:
    return x.array_shape.byte_size


def _edge(x: Instruction, number: int) -> int:
    """The bytes that are read where an operand lies otherwise than the result wants it."""
    return min(_weight(x.operands[number]), _weight(x))
