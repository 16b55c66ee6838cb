"""How the dimensions of an op's arrays belong together, as factors that can be cut.

    dot: operands (b, m, k) and (b, k, n), result (b, m, n); what is cut along k is summed
    reshape f32[6,4] -> f32[3,8]: operand ((0, 1), (2,)), result ((0,), (1, 2)); sizes 3, 2, 4

Along a factor, every device computes its part of the result from its parts of the operands. A
dimension without factors is needed whole. Of several factors in a dimension, one can be cut only
where all before it are cut into single elements, so that a part is contiguous; and only into equal
parts. A factor that is alone in each of its dimensions is cut into any number of parts, of which
the last ones are filled up.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tfc.hlo.ir import Attributes, Computation
from tfc.passes.spmd.halos import Needed, Reach
from tfc.passes.spmd.logical_mesh import Axes, LogicalMesh, Spec

Labels = tuple[tuple[int, ...], ...]  # for each dimension its factors
# (attributes, the parts' dims: of the operands, then of the results, what is needed along factors)
# -> attributes for parts
Adapt = Callable[[Attributes, Sequence[Sequence[int]], Mapping[int, Needed]], Attributes]
Assignment = dict[int, Axes]


@dataclass(frozen=True)
class Factors:
    """The factors of an op's dimensions.

    operands, results: those of each array.
    sizes: of each factor.
    summed: factors whose parts of the result are to be combined by `combine`.
    adapt: the attributes for parts, if they say sizes.
    reaches: the operands' dimensions of which more than a part is needed.
    """

    operands: tuple[Labels, ...]
    results: tuple[Labels, ...]
    sizes: tuple[int, ...]
    summed: frozenset[int] = frozenset()
    combine: Computation | None = None
    adapt: Adapt | None = field(default=None, compare=False)
    reaches: tuple[Reach, ...] = ()

    @cached_property
    def alone(self) -> frozenset[int]:
        """The factors that share no dimension with another."""
        every = [factors for labels in (*self.operands, *self.results) for factors in labels]
        shared = {f for factors in every if len(factors) > 1 for f in factors}
        return frozenset(f for factors in every for f in factors) - shared

    def assigned(self, mesh: LogicalMesh, tensors: Sequence[tuple[Labels, Spec]]) -> Assignment:
        """The axes of each factor as the arrays have them; the first array counts most."""
        found: Assignment = {}
        used: set[int] = set()
        for labels, spec in tensors:
            for factors, axes in zip(labels, spec, strict=True):
                self._assign(mesh, factors, axes, found, used)
        self._settle(mesh, found)
        return found

    def _assign(
        self,
        mesh: LogicalMesh,
        factors: Sequence[int],
        axes: Axes,
        found: Assignment,
        used: set[int],
    ) -> None:
        rest = list(axes)
        for factor in factors:
            taken: list[int] = []
            while rest and self._divides(factor, mesh.count((*taken, rest[0]))):
                taken.append(rest.pop(0))
            known = found.get(factor, ())
            if not known or tuple(taken[: len(known)]) == known:
                for axis in taken[len(known) :]:
                    if axis in used:
                        break
                    known = (*known, axis)
                    used.add(axis)
                if known:
                    found[factor] = known
            if mesh.count(tuple(taken)) < self.sizes[factor]:
                return

    def _divides(self, factor: int, count: int) -> bool:
        reaches = [r for r in self.reaches if r.factor == factor]
        size = self.sizes[factor]
        if reaches and (size < count or (factor in self.summed and size % count)):
            # What fills a window's part up meets elements of the array, which may be infinite.
            return False
        if any(r.needed(-(-size // count), count) is None for r in reaches):
            return False
        return factor in self.alone or size % count == 0

    def _settle(self, mesh: LogicalMesh, found: Assignment) -> None:
        """Drop what is cut though a factor before it is not cut into single elements."""
        changed = True
        while changed:
            changed = False
            for labels in (*self.operands, *self.results):
                for factors in labels:
                    contiguous = True
                    for factor in factors:
                        if not contiguous and found.pop(factor, None):
                            changed = True
                        cut = mesh.count(found.get(factor, ()))
                        contiguous = contiguous and cut == self.sizes[factor]

    def spec(self, labels: Labels, assignment: Assignment) -> Spec:
        """The spec of an array whose factors are cut so."""
        return tuple(
            tuple(axis for factor in factors for axis in assignment.get(factor, ()))
            for factors in labels
        )

    def partial(self, assignment: Assignment) -> Axes:
        """The axes along which devices have parts of sums."""
        return tuple(sorted(a for f in self.summed for a in assignment.get(f, ())))
