"""Fuse two products around a softmax into one kernel, which has no array of all scores.

    s = f32[2,9,9] dot(q, k)                   attention { s = dot(p0, p1)
    w = f32[2,9,9] … softmax(s)                            w = … softmax(s)
    y = f32[2,9,4] dot(w, v)          -->                  ROOT y = f32[2,9,4] dot(w, p2) }
                                               y = f32[2,9,4] fusion(q, k, v), kind=kCustom

What is computed of a score before the softmax, a scale, a bias, a mask, goes inside as far as it is
cheap or of the size of the scores; other arrays are read. So do the ways on which queries, keys and
values come and results go, as long as they only rearrange elements. What follows a product element
by element, as a bias does, stays outside: the product's kernel computes it on the way. So do
queries, keys and values of 16 bits that are computed in some way.

Its gradient becomes kernels, too, which compute scores and weights again from queries and keys
instead of reading them: one for the results of the rows, which also gives the statistics of each
row (maximum, sums), and one for those of the keys, which reads the statistics.

    g = dot(dy, v)                  rows { s = dot(p0, p1)  g = dot(p2, p3)  m, t, c = reduce(…)
    d = w (g - sum(w g))                   ROOT (m, t, c, dot(d, p1)) }
    dq = dot(d, k)          -->     keys { … of the m, t, c that are given
    dk = dot(d, q)                         ROOT (dot(d, p0), dot(w, p2)) }
    dv = dot(w, dy)

Refused, with the reason: weights or scores that are read elsewhere, too, as by the gradient of a
bias, and what the target has no code for. Does nothing where it has none at all.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import BF16, F16, Shape
from tfc.passes.analysis.aliases import is_alias
from tfc.passes.analysis.fusible import is_cheap, is_elementwise, is_loop, is_scalar_constant
from tfc.passes.analysis.products import PRODUCTS
from tfc.passes.attention.forward import MOVES, Attention, attention_at, is_widening
from tfc.passes.attention.scores import Mixing, Scores, scores_of
from tfc.passes.fusion.engine import FusionPass, Kernel, Kernels, too_much

_FREE = (*MOVES, "constant", "iota")
_MOVED = ("reshape", "transpose")  # what epilogues of products go through
_MOST = 256  # instructions of a kernel
_NO_CODE = "the target has no code for such attention"
_ELSEWHERE = "it is used elsewhere, too"


@dataclass(frozen=True)
class AttentionFusion(FusionPass):
    """Form the fusions in every computation that runs as steps.

    takes: whether the target has code for an attention.
    """

    name: ClassVar[str] = "attention"
    takes: Callable[[Attention | Scores], bool] = field(default_factory=lambda: lambda found: True)

    def plan(self, computation: Computation) -> Kernels:
        """The kernels, and what was refused."""
        plan = _Plan(computation)
        known: set[Instruction] = set()  # products that are part of a gradient, or of none
        for x in computation.instructions:
            if x.opcode == "dot" and x not in known:
                scores = scores_of(computation, x)
                if scores is not None and _is_gradient(scores):
                    known.update(s.dot for s in scores.scorings)
                    forward = self._forward(scores)
                    groups = self._groups(scores, {a.mixed for a in forward})
                    if groups is not None:
                        known.update(plan.form_gradient(scores, forward, groups))
                    else:
                        plan.refuse(x, _NO_CODE, scores.mixings[-1].dot)
        for attention in map(attention_at, computation.instructions):
            if attention is None or attention.mixed in known:
                continue
            if self.takes(attention):
                plan.form(attention)
            else:
                plan.refuse(attention.scores, _NO_CODE, attention.mixed)
        return plan

    def _forward(self, scores: Scores) -> list[Attention]:
        """The attentions whose gradient it is."""
        found = [attention_at(m.dot) for m in scores.mixings]
        return [a for a in found if a is not None and self.takes(a)]

    def _groups(self, scores: Scores, done: Collection[Instruction]) -> list[list[Mixing]] | None:
        """Which products the target makes in one kernel; None if it has no code for some.

        Args:
            done: products of others.
        """
        mixings = [m for m in scores.mixings if m.dot not in done]
        rows, keys = ([m for m in mixings if m.lines == name] for name in "rj")
        apart = [[m] for m in keys]
        for groups in ([rows, keys], [rows, *apart]):
            if all(self.takes(replace(scores, mixings=tuple(group))) for group in groups):
                return groups
        return None


def _is_gradient(scores: Scores) -> bool:
    """Whether rows have a softmax's statistics, and weights are read by more than attention."""
    return len(scores.statistics) > 1 and any(attention_at(m) is None for m in scores.products)


class _Plan(Kernels):
    """The kernels of one computation.

    formed: their results, which others read from memory.
    """

    def __init__(self, computation: Computation):
        super().__init__(computation)
        self.formed: set[Instruction] = set()

    def form(self, attention: Attention, inside: Collection[Instruction] = ()) -> bool:
        """Make a kernel of an attention, unless what is inside is read elsewhere.

        Args:
            inside: what computes it again, and so does not count.
        """
        root = self._finished(attention.mixed)
        dependent = self._dependent(attention.scores, root)
        products = (attention.scores, attention.mixed)
        size = attention.logits.array_shape.size
        members = self._members([root], products, size, dependent)
        for member in members:
            read = self.is_read_outside(member, {*members, *inside})
            if member in dependent and member is not root and read:
                self.refuse(member, _ELSEWHERE, root)
                return False
        return self._form(members, [root], "attention")

    def _form(
        self, members: Sequence[Instruction], outputs: Sequence[Instruction], title: str
    ) -> bool:
        """Make a kernel, unless it is too large."""
        if len(members) > _MOST:
            self.refuse(members[0], too_much(_MOST), outputs[-1])
            return False
        self.kernels.append(Kernel("kCustom", tuple(members), tuple(outputs), title))
        self.formed.update(outputs)
        return True

    # --- Gradients --------------------------------------------------------------------------------

    def form_gradient(
        self, scores: Scores, forward: Sequence[Attention], groups: Sequence[Sequence[Mixing]]
    ) -> list[Instruction]:
        """Make the kernels of a gradient, and of its attentions.

        Args:
            groups: what are kernels: the products of rows, and some of keys each.

        Returns:
            The second products of these, if they are part of kernels now.
        """
        done = [a.mixed for a in forward]
        mixings = [m for group in groups for m in group]
        last = mixings[-1].dot
        inside = {*scores.dependent, *scores.products}
        for x in scores.dependent:
            if self.is_read_outside(x, inside):
                self.refuse(x, _ELSEWHERE, last)
                return []
        products = [s.dot for s in scores.scorings]
        size = products[0].array_shape.size
        # What is multiplied passes by many times: it is made once, and read.
        factors = [f.value for s in scores.scorings for f in s.factors.values()]
        factors += [m.values.value for m in mixings]
        made = {x for x in factors if x.array_shape.rank} | {
            self._finished(a.mixed) for a in forward
        }
        planned, known = [], []
        for title, statistics, group in self._kernels(scores, groups):
            paths = {m: self._path(m) for m in group}
            outputs = [*statistics, *(path[-1] for path in paths.values())]
            own = {*scores.dependent, *(x for path in paths.values() for x in path)} - {*known}
            ends = [*products, *(m.dot for m in group)]
            planned.append((self._members(outputs, ends, size, own, made), outputs, title))
            known += statistics
        if self._depends_on_results(planned, made - {*factors}):
            self.refuse(products[0], "what it is made of depends on its results", last)
            return []
        if any(len(members) > _MOST for members, _, _ in planned):
            self.refuse(products[0], too_much(_MOST), last)
            return []
        if not all(self.form(a, inside) for a in forward):
            return []
        for members, outputs, title in planned:
            if outputs:
                self._form(members, outputs, title)
        return done

    def _kernels(
        self, scores: Scores, groups: Sequence[Sequence[Mixing]]
    ) -> list[tuple[str, list[Instruction], list[Mixing]]]:
        """What becomes a kernel: its title, the statistics and the products that it makes.

        Rows that other scores are made of come before these, as where an attention is no
        `Attention` for itself.
        """
        factors = {s.dot: [f.value for f in s.factors.values()] for s in scores.scorings}
        late = {dot for dot, f in factors.items() if self._reached(f) & {*scores.products}}
        for x in self.computation.instructions:
            if x in scores.dependent and any(o in late for o in x.operands):
                late.add(x)
        rows, *keys = groups
        early = [m for m in rows if m.weights.value not in late] if late else []
        first = [s.reduce for s in scores.statistics if early and s.reduce not in late]
        rest = [s.reduce for s in scores.statistics if s.reduce not in first]
        return [
            ("attention", first, early),
            ("attention_rows", rest, [m for m in rows if m not in early]),
            *(("attention_keys", [], list(group)) for group in keys),
        ]

    def _reached(self, found: Sequence[Instruction]) -> set[Instruction]:
        """The instructions, and all that they are made of."""
        done: set[Instruction] = set()
        stack = [*found]
        while stack:
            x = stack.pop()
            if x not in done:
                done.add(x)
                stack += x.operands
        return done

    def _path(self, mixing: Mixing) -> list[Instruction]:
        """A product, and what follows it in its kernel."""
        last = self._finished(mixing.dot)
        path = [last]
        while path[-1] is not mixing.dot:
            path.append(path[-1].operands[0])
        return path[::-1]

    def _depends_on_results(
        self,
        planned: Sequence[tuple[Sequence[Instruction], Sequence[Instruction], str]],
        stops: Collection[Instruction],
    ) -> bool:
        """Whether kernels read what is made of their results, but for one of the one before it."""
        results = {o for _, outputs, _ in planned for o in outputs}
        earlier: set[Instruction] = set()
        for members, outputs, _ in planned:
            inside, done = {*members, *earlier}, {*stops, *earlier}
            stack = [o for m in members for o in m.operands if o not in inside]
            while stack:
                x = stack.pop()
                if x in results and x not in earlier:
                    return True
                if x not in done:
                    done.add(x)
                    stack += x.operands
            earlier.update(outputs)
        return False

    # --- What is inside ---------------------------------------------------------------------------

    def _finished(self, mixed: Instruction) -> Instruction:
        """The last of what only rearranges or narrows the result, where it costs code."""
        root = last = mixed
        while last is not self.computation.root:
            users = self.computation.users[last]
            if len(users) != 1 or users[0].opcode not in ("reshape", "transpose", "convert"):
                break
            if is_widening(users[0]):
                break  # who reads it does that
            last = users[0]
            root = root if is_alias(last) else last
        return root

    def _dependent(self, scores: Instruction, root: Instruction) -> set[Instruction]:
        """The scores, and what is computed of them before the root."""
        found = {scores}
        between = slice(self.position[scores], self.position[root] + 1)
        for x in self.computation.instructions[between]:
            if any(o in found for o in x.operands):
                found.add(x)
        return found

    def _members(
        self,
        outputs: Sequence[Instruction],
        products: Sequence[Instruction],
        size: int,
        dependent: set[Instruction],
        made: Collection[Instruction] = (),
    ) -> list[Instruction]:
        """What is computed inside, in order.

        Args:
            products: before which what only rearranges is inside, too.
            size: of the scores.
            dependent: what is computed of the scores.
            made: what is read from memory in any case.
        """
        read = {*made, *self.formed}
        members: set[Instruction] = set()
        stack = list(outputs)
        while stack:
            x = stack.pop()
            inside = x in dependent or (
                x not in read and _goes_inside(x, size) and not self._follows_product(x)
            )
            if inside and x not in members:
                members.add(x)
                stack += x.operands
        for product in [x for x in products if x in members]:
            for operand in product.operands:
                members.update(_rearranging(operand, dependent | read))
        return sorted(members, key=self.position.__getitem__)

    def _follows_product(self, x: Instruction) -> bool:
        """Whether a product's kernel can make a value of its result, element by element."""
        if not is_elementwise(x):
            return False
        size = x.array_shape.size
        stack, done = [*x.operands], set[Instruction]()
        while stack:
            operand = stack.pop()
            if operand.opcode in PRODUCTS:
                return operand.array_shape.size == size
            on_the_way = is_elementwise(operand) or operand.opcode in _MOVED
            if on_the_way and operand.array_shape.size == size and operand not in done:
                done.add(operand)
                stack += operand.operands
        return False


def _goes_inside(x: Instruction, size: int) -> bool:
    """True for what is not worth memory: cheap, or of the size of the scores.

    A cache that is updated in place costs the memory of the update, and inside a test for each
    element that is read, also of all updates before it.
    """
    if not isinstance(x.shape, Shape) or not (is_loop(x) or is_scalar_constant(x)):
        return False
    if x.opcode == "dynamic-update-slice":
        return False
    if x.array_shape.size >= size or x.opcode in _FREE:
        return True
    # Of floats of 16 bits boxes can bring arrays, if they are in memory.
    is_brought = x.array_shape.rank > 0 and x.array_shape.element_type in (F16, BF16)
    return is_elementwise(x) and is_cheap(x) and not is_brought


def _rearranging(x: Instruction, stops: set[Instruction]) -> Iterator[Instruction]:
    """What only widens or moves elements before a product, or is a part of an array."""
    while x not in stops and (x.opcode in MOVES or x.opcode == "slice" or is_widening(x)):
        yield x
        x = x.operands[0]
