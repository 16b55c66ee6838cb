"""Fuse what follows and precedes a dot or convolution element by element into its kernel.

    d = f32[8,16] dot(x, w)                    fused { d = f32[8,16] dot(p0, p1)
    b = f32[8,16] broadcast(bias)                      b = f32[8,16] broadcast(p2)
    a = f32[8,16] add(d, b)             -->            ROOT a = f32[8,16] add(d, b) }
                                               a = f32[8,16] fusion(x, w, bias), kind=kOutput

The epilogue grows from the product's result through elementwise ops, reshapes that move nothing
and transposes, as far as there is one value that all the others end in, the root: it alone may have
users outside. An op of it runs once for each element, while the element is in a cache, so an
epilogue always pays. What its ops read besides comes in from memory, through broadcasts and slices,
or is computed inside where it is wanted nowhere else.

A prologue is what an operand of a dot is computed from, element by element. It goes inside where
the backend's kernel makes a packed copy of the operand anyway (a matrix product), and it
is wanted nowhere else. Conversions that widen the integers of products go inside of each: kernels
read narrow ones, those of convolutions only bytes whose features come in fours. Where kernels
multiply narrow floats as they are in memory, so do all conversions that widen what is multiplied.

Where a kernel may have several results, what is made of a dot's result and is in memory in any case
(an activation beside what its gradient reads) is stored by the dot's kernel, too.

Refused, with the reason: a value with users outside of the kernel, an op that is not elementwise,
and code that would grow beyond `max_instructions`.
"""

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import prod
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction
from tfc.passes.analysis.aliases import before_bitcasts, is_alias, is_bitcast
from tfc.passes.analysis.fusible import (
    REDUCTIONS,
    instructions_of,
    is_cheap,
    is_elementwise,
    is_loop,
    is_scalar_constant,
    is_widening,
)
from tfc.passes.analysis.products import (
    PRODUCTS,
    dot_groups,
    has_one_stride_a_direction,
    is_byte_convolution,
    is_narrow_factor,
    makes_operands,
    tiled_type,
)
from tfc.passes.fusion.engine import FusionPass, Kernel, Kernels, too_much

# Movements whose elements are found at no cost in a loop over a result.
_VIEWS = frozenset({"broadcast", "reshape", "slice", "iota"})
_WINDOW = 64  # instructions after a product's result among which further results are looked for
_MOST_FURTHER = 2
_COLUMNS_AT_ONCE = 512  # of a matrix product, for which a computed left operand is computed once


@dataclass(frozen=True)
class EpilogueFusion(FusionPass):
    """Form fusions around dots and convolutions, in every computation that runs as steps.

    max_instructions: the most elementwise ops in one of them.
    narrow_floats: whether kernels multiply floats as narrow as they are in memory, too.
    instructions_a_byte: how many instructions take as long as moving a byte; where that is given,
        values are computed again rather than read if it takes less.
    several_results: whether a dot's kernel stores what is made of its result, too.
    takes_slices: whether it reads dynamic slices where they lie, as parts of loops' arrays.
    """

    name: ClassVar[str] = "epilogues"
    max_instructions: int = 64
    narrow_floats: bool = False
    instructions_a_byte: int = 0
    several_results: bool = False
    takes_slices: bool = False

    def plan(self, computation: Computation) -> Kernels:
        """The kernels, and what was refused."""
        return _Plan(computation, self)


@dataclass(eq=False)
class _Region:
    """A product and the ops that depend on it, in the order of the computation.

    outside: for each of them, how many users it has that are not among them.
    """

    product: Instruction
    outside: dict[Instruction, int] = field(default_factory=dict)
    exits: int = 0  # how many have such users

    def add(self, instruction: Instruction, users: int) -> None:
        """Take in the product, or an op whose operand is inside."""
        for operand in dict.fromkeys(instruction.operands):
            if operand in self.outside:
                self.outside[operand] -= 1
                self.exits -= not self.outside[operand]
        self.outside[instruction] = users
        self.exits += users > 0


class _Plan(Kernels):
    """The fusions of one computation.

    taken: what is part of one of them.
    served: for what some compute again, what is inside of these.
    together: for what is inside of one with several results, these.
    """

    def __init__(self, computation: Computation, options: EpilogueFusion):
        super().__init__(computation)
        self.limit, self.narrow_floats = options.max_instructions, options.narrow_floats
        self.instructions_a_byte = options.instructions_a_byte
        self.several_results, self.takes_slices = options.several_results, options.takes_slices
        self.after_reductions = _after_reductions(computation)
        self.taken: set[Instruction] = set()
        self.served: defaultdict[Instruction, set[Instruction]] = defaultdict(set)
        self.together: dict[Instruction, Sequence[Instruction]] = {}
        # From the end: where the results of two products meet, the second one to be ready is
        # followed by what they have in common.
        regions = []
        for product in reversed(computation.instructions):
            if product.opcode in PRODUCTS and product.array_shape.size:
                regions.append(self._grow(product))
                self.taken.update(regions[-1])
        for region in regions:
            self._plan(region)

    def _plan(self, region: list[Instruction]) -> None:
        """Decide what precedes a product and its epilogue in their kernel."""
        product, root, members = region[0], region[-1], dict.fromkeys(region)
        for number, operand in enumerate(product.operands):
            if not _is_stored(operand) and self._is_prologue(product, number, members):
                members[operand] = None
        further = self._further_results(region) if self.several_results else []
        members.update(dict.fromkeys(x for result in further for x in result))
        if len(members) == 1:
            return
        members = self._with_sources(members)
        self.taken.update(m for m in members if not (_is_free(m) or self._is_read_narrow(m)))
        again = self._again(members) if self.instructions_a_byte else []
        members = dict.fromkeys(sorted([*members, *again], key=self.position.__getitem__))
        for x in again:
            self.served[x].update(members)
        outputs = [result[-1] for result in further]
        # What is read outside and not stored is made there once more, of the product's result.
        unstored = [root, *(x for result in further for x in result[:-1] if x not in outputs)]
        if not outputs or any(self.is_read_outside(x, members) for x in unstored):
            outputs = [root, *outputs]
        self.kernels.append(Kernel("kOutput", tuple(members), outputs))
        if len(outputs) > 1:
            self.together.update(dict.fromkeys(members, outputs))

    def _further_results(self, region: Sequence[Instruction]) -> list[list[Instruction]]:
        """What is made of a product's result element by element, and is in memory, too, whatever
        other passes do: each as the instructions that lead to it, itself the last."""
        product, root = region[0], region[-1]
        if product.opcode != "dot":
            return []
        dims, start = root.array_shape.dims, self.position[root] + 1
        inside: dict[Instruction, None] = {}
        dependent = self._dependent(root, start + _WINDOW)
        found: list[list[Instruction]] = []
        for x in self.computation.instructions[start : start + _WINDOW]:
            if x not in dependent or not is_elementwise(x) or x in self.taken:
                continue
            if x.array_shape.dims != dims or self._is_read_narrow(x):
                continue
            if any(o in dependent and o is not root and o not in inside for o in x.operands):
                continue
            inside[x] = None
            if self._needs_memory(x) and len(found) < _MOST_FURTHER:
                steps, stack = {x}, [x]
                while stack:
                    new = [o for o in stack.pop().operands if o in inside and o not in steps]
                    steps.update(new)
                    stack += new
                found.append(sorted(steps, key=self.position.__getitem__))
        return found if len(region) + len(inside) <= self.limit else []

    def _dependent(self, root: Instruction, end: int) -> set[Instruction]:
        """What is before a position and cannot be made before a result is there: what is made of
        it, and all results of kernels that read such."""
        dependent, stack = {root}, [root]
        while stack:
            for user in self._users(stack.pop()):
                for x in (user, *self.together.get(user, ())):
                    if x not in dependent and self.position[x] < end:
                        dependent.add(x)
                        stack.append(x)
        return dependent

    def _needs_memory(self, x: Instruction) -> bool:
        """True for a value that is read by what no loop's kernel computes."""
        users = self._users(x)
        return x is self.computation.root or any(
            self._is_read_narrow(u) or not (is_loop(u) or u.opcode in REDUCTIONS) for u in users
        )

    def _users(self, instruction: Instruction) -> list[Instruction]:
        return list(dict.fromkeys(self.computation.users[instruction]))

    def _grow(self, product: Instruction) -> list[Instruction]:
        """The product with its epilogue, the root last."""
        region = _Region(product)
        waiting: list[tuple[int, Instruction]] = []
        queued: set[Instruction] = set()
        best, added = [product], product
        while True:
            users = self._users(added)
            region.add(added, len(users) + (added is self.computation.root))
            if region.exits == 1 and region.outside[added]:
                best = list(region.outside)
            for user in users:
                if user not in queued:
                    queued.add(user)
                    heappush(waiting, (self.position[user], user))
            if not waiting:
                break
            _, candidate = heappop(waiting)
            reason = self._reason_against(region, candidate)
            if reason is not None:
                self.refuse(candidate, reason, best[-1])
                break
            added = candidate
        while is_alias(best[-1]) or (self.narrow_floats and self._is_read_wider(best)):
            best.pop()  # without code where it is
        return best

    def _is_read_wider(self, region: list[Instruction]) -> bool:
        """True if the last of a region is a wider form of what it holds, which readers can make."""
        last = region[-1]
        if len(region) < 3 or not is_widening(last) or last is self.computation.root:
            return False
        return all(makes_operands(u) for u in self._users(last))

    def _reason_against(self, region: _Region, candidate: Instruction) -> str | None:
        """Why an op does not go into the region; None if it may."""
        if len(region.outside) > self.limit:
            return too_much(self.limit, "epilogue")
        if candidate in self.taken:
            return "it is part of another product's epilogue"
        if self._is_read_narrow(candidate):
            return "the product that takes it reads narrow numbers"
        inside = next(o for o in candidate.operands if o in region.outside)
        if candidate.opcode == "transpose":
            # Other paths to the root would have their elements at other places.
            alone = region.exits == 1 and region.outside[inside] == 1
            return None if alone else "the value before the transpose is used too"
        if is_bitcast(candidate):
            return None
        if not is_elementwise(candidate):
            return f"{candidate.opcode} is not elementwise"
        if candidate.array_shape.size != region.product.array_shape.size:
            return "the value is a scalar that other elements are computed with"
        return None

    def _is_prologue(
        self, product: Instruction, number: int, members: Collection[Instruction]
    ) -> bool:
        """True if an operand is computed inside; else the reason is noted."""
        operand = product.operands[number]
        reason = self._reason_against_prologue(product, number)
        if reason is None and operand in self.taken:
            reason = "it is part of another product's epilogue"
        elif reason is None and not (
            self._is_read_narrow(operand) or self._only_here(operand, members)
        ):
            reason = "it is used elsewhere too"
        if reason is not None:
            self.refuse(operand, reason, product)
        return reason is None

    def _reason_against_prologue(self, product: Instruction, number: int) -> str | None:
        operand = product.operands[number]
        if is_byte_convolution(product) or (self.narrow_floats and self._is_read_narrow(operand)):
            return None
        if product.opcode != "dot":
            return "a convolution reads each element of its operand many times"
        if not _is_matrix_product(product):
            return f"a dot of {operand.array_shape.element_type} reads elements for each product"
        if self._is_read_narrow(operand):
            return None
        if not is_elementwise(operand):
            return f"{operand.opcode} is not elementwise"
        if operand in self.after_reductions:
            return "it is computed from sums of its rows, together with these"
        if number == 0 and not is_cheap(operand) and _columns(product) > _COLUMNS_AT_ONCE:
            return "it is expensive, and would be computed once for each block of columns"
        return None

    def _is_read_narrow(self, x: Instruction) -> bool:
        """True for a conversion that each product that takes it does for itself."""
        return is_narrow_factor(x, self.computation.users[x], self.narrow_floats)

    def _with_sources(self, region: Collection[Instruction]) -> dict[Instruction, None]:
        """The members of a fusion: the region, and what it reads that is computed inside."""
        members = dict.fromkeys(region)
        product = next(iter(region))
        # What is read narrow, kernels find in memory.
        apart = [o for o in product.operands if self._is_read_narrow(o)]
        operands = (o for x in region if x is not product and x not in apart for o in x.operands)
        for source in self._sources(members, operands):
            if self._goes_inside(source, members):
                members[source] = None
        return dict.fromkeys(sorted(members, key=self.position.__getitem__))

    def _again(self, members: dict[Instruction, None]) -> list[Instruction]:
        """What others compute from values that are read here anyway, and is to be computed inside,
        too, since that takes less than reading the results."""
        others = [x for x in members if x.opcode not in PRODUCTS]
        read = {o: None for x in others for o in x.operands if o not in members}
        again: dict[Instruction, None] = {}
        for wanted in sorted(read, key=self.position.__getitem__):
            made = self._made_of(wanted, {*members, *again}, read)
            instructions = sum(map(instructions_of, made))
            saved = wanted.array_shape.element_type.bytes * self.instructions_a_byte
            size = len(members) + len(again) + len(made)
            if made and instructions <= saved and size <= self.limit:
                again.update(dict.fromkeys(made))
        return list(again)

    def _made_of(
        self, wanted: Instruction, members: Container[Instruction], read: Container[Instruction]
    ) -> list[Instruction]:
        """What computes a value from what is inside and read; empty if that is not enough."""
        made: dict[Instruction, None] = {}
        stack = [wanted]
        while stack:
            x = stack.pop()
            stored = x in self.taken or not (is_elementwise(x) or _is_free(x))
            if x in members or x in made or (x in read and x is not wanted):
                continue
            if stored or (x.array_shape.rank and x.array_shape.dims != wanted.array_shape.dims):
                return []
            made[x] = None
            stack += x.operands
        return list(made)

    def _sources(
        self, members: Container[Instruction], operands: Iterable[Instruction]
    ) -> Iterator[Instruction]:
        """What members read that are none: users first, operands of what becomes one included."""
        waiting: list[tuple[int, Instruction]] = []
        queued: set[Instruction] = set()

        def push(some: Iterable[Instruction]) -> None:
            for operand in some:
                if operand not in queued and operand not in members:
                    queued.add(operand)
                    heappush(waiting, (-self.position[operand], operand))

        push(operands)
        while waiting:
            _, source = heappop(waiting)
            yield source
            if source in members:
                push(source.operands)

    def _goes_inside(self, source: Instruction, members: Collection[Instruction]) -> bool:
        """True for what is better computed in the kernel than read from memory."""
        if _is_free(source):
            return True
        if not self._only_here(source, members) or len(members) > self.limit:
            return False
        # Once for each element; through a broadcast it would be more often.
        users = self.computation.users[source]
        if self.takes_slices and before_bitcasts(source).opcode == "dynamic-slice":
            return all(u.array_shape.size == source.array_shape.size for u in users)
        same = all(u.array_shape.dims == source.array_shape.dims for u in users)
        return is_elementwise(source) and same

    def _only_here(self, source: Instruction, members: Collection[Instruction]) -> bool:
        others = self.served.get(source)
        inside = {*members, *others} if others else members
        return source not in self.taken and not self.is_read_outside(source, inside)


def _is_free(source: Instruction) -> bool:
    """True for what costs nothing to find again in each kernel that reads it."""
    if is_bitcast(source):
        return False  # its value is in memory already
    return source.opcode in _VIEWS or is_scalar_constant(source)


def _after_reductions(computation: Computation) -> set[Instruction]:
    """What one loop could compute from the results of reductions."""
    found: set[Instruction] = set()
    for x in computation.instructions:
        if x.opcode == "reduce" or (is_loop(x) and any(o in found for o in x.operands)):
            found.add(x)
    return found


def _is_stored(source: Instruction) -> bool:
    """True if the value is in memory whatever this pass does, as far as it can tell."""
    source = before_bitcasts(source)
    return not is_loop(source) and not is_scalar_constant(source)


def _is_matrix_product(dot: Instruction) -> bool:
    """True for the dots that tiled kernels exist for: of their types, one stride a direction."""
    return tiled_type(dot) is not None and has_one_stride_a_direction(dot)


def _columns(dot: Instruction) -> int:
    """The number of columns of a matrix product."""
    _, _, (result, (*_, columns)) = dot_groups(dot)
    return prod(result.dims[d] for d in columns)
