"""Propagation: what is said of some values' shardings says something of others.

    x = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}
    y = f32[8,4] tanh(x)              cut likewise
    z = f32[4,8] transpose(y)         its second dimension

A computation's values get the specs that cost nothing, forwards and backwards along the factors of
ops, again and again until nothing changes. What is stated stays. A spec only ever grows by axes.
"""

from collections.abc import Iterable, Sequence

from tfc.hlo.attributes.replica_groups import is_collective
from tfc.hlo.attributes.sharding import Sharding, sharding_of
from tfc.hlo.ir import Computation, Instruction, callees_first
from tfc.hlo.ops.outside.custom_call import ANNOTATIONS
from tfc.hlo.shape import AnyShape, Shape, TupleShape, leaves
from tfc.passes.spmd.factors import Factors, Labels
from tfc.passes.spmd.logical_mesh import LogicalMesh, Spec, whole
from tfc.passes.spmd.rules import factors_of

Key = tuple[Instruction, int]  # an instruction, and which array of its value
_ROUNDS = 64
TO_PARTS, TO_WHOLE = "SPMDFullToShardShape", "SPMDShardToFullShape"


def leaf_count(shape: AnyShape) -> int:
    """How many arrays a value holds."""
    return sum(1 for _ in leaves(shape))


def stated_spec(mesh: LogicalMesh, x: Instruction) -> Spec | None:
    """The spec that an instruction's annotation gives its array; None for none of the mesh."""
    stated = sharding_of(x)
    if not isinstance(stated, Sharding) or not isinstance(x.shape, Shape):
        return None
    if stated.kind not in ("tiled", "replicated"):
        return None
    return mesh.spec(stated, x.shape.rank)


class Propagation:
    """The specs of a computation's arrays.

    specs: those found, by instruction and number of the array in its value.
    """

    def __init__(self, mesh: LogicalMesh, computation: Computation, manual: set[Instruction]):
        self.mesh, self.computation, self.manual = mesh, computation, manual
        self.specs: dict[Key, Spec] = {}
        self._stated: set[Key] = set()
        self._factors: dict[Instruction, Factors] = {}
        self._ties: list[tuple[Key, Key]] = []

    def state(self, x: Instruction, number: int, spec: Spec) -> None:
        """Give an array a spec that stays."""
        self.specs[x, number] = spec
        self._stated.add((x, number))

    def run(self) -> None:
        """Find the specs that follow from those stated."""
        for x in self.computation.instructions:
            if x not in self.manual:
                self._prepare(x)
        order = [x for x in self.computation.instructions if x in self._factors]
        for _ in range(_ROUNDS):
            changed = self._tie()
            for x in order:
                changed |= self._flow(x)
            for x in reversed(order):
                changed |= self._flow(x)
            if not changed:
                return

    def _prepare(self, x: Instruction) -> None:
        """Note what an instruction states, and how its arrays belong together."""
        is_call = x.opcode == "custom-call" and len(x.operands) == 1
        if (x.opcode == "parameter" or is_call) and (x, 0) not in self._stated:
            spec = stated_spec(self.mesh, x)
            if spec is not None:
                self.state(x, 0, spec)
        if is_call and x["custom_call_target"] in ANNOTATIONS and x.operands[0].shape == x.shape:
            self._ties.append(((x, 0), (x.operands[0], 0)))
        elif x.opcode == "get-tuple-element":
            first = sum(leaf_count(s) for s in _elements(x.operands[0].shape)[: x["index"]])
            self._tied(x, 0, x.operands[0], first, leaf_count(x.shape))
        elif x.opcode in ("tuple", "while", "opt-barrier"):
            first = 0
            for operand in x.operands:
                self._tied(x, first, operand, 0, leaf_count(operand.shape))
                first += leaf_count(operand.shape)
        elif (factors := factors_of(x)) is not None:
            self._factors[x] = factors

    def _tied(self, x: Instruction, first: int, y: Instruction, other: int, count: int) -> None:
        self._ties += [((x, first + k), (y, other + k)) for k in range(count)]

    def _tie(self) -> bool:
        changed = False
        for x, y in self._ties:
            if x in self.specs:
                changed |= self._offer(y, self.specs[x])
            if y in self.specs:
                changed |= self._offer(x, self.specs[y])
        for x, y in reversed(self._ties):
            if x in self.specs:
                changed |= self._offer(y, self.specs[x])
        return changed

    def _arrays(self, x: Instruction) -> Iterable[tuple[Labels, Key]]:
        factors = self._factors[x]
        yield from zip(factors.results, [(x, k) for k in range(len(factors.results))])
        yield from zip(factors.operands, [(o, 0) for o in x.operands])

    def _flow(self, x: Instruction) -> bool:
        """Give an instruction's arrays what the others of them say."""
        factors, arrays = self._factors[x], list(self._arrays(x))
        known = [
            (labels, self.specs[key]) for labels, key in arrays if key in self.specs and labels
        ]
        if not any(any(spec) for _, spec in known):
            return False
        assignment = factors.assigned(self.mesh, known)
        changed = False
        for labels, key in arrays:
            if labels:
                changed |= self._offer(key, factors.spec(labels, assignment))
        return changed

    def _offer(self, key: Key, spec: Spec) -> bool:
        """Take a spec that says more than what is known."""
        if key in self._stated or key[0] in self.manual:
            return False
        now = self.specs.get(key, whole(len(spec)))
        if now == spec or not all(b[: len(a)] == a for a, b in zip(now, spec)):
            return False
        self.specs[key] = spec
        return True


def _elements(shape: AnyShape) -> Sequence[AnyShape]:
    assert isinstance(shape, TupleShape), "an element is one of a tuple"
    return shape.elements


def manual_in(computation: Computation) -> set[Instruction]:
    """The instructions that compute with parts: what depends on parts until they are joined."""
    found: set[Instruction] = set()
    for x in computation.instructions:
        target = x.attributes.get("custom_call_target")
        if target == TO_WHOLE:
            continue
        if target == TO_PARTS or any(o in found for o in x.operands) or _is_of_devices(x):
            found.add(x)
    return found


def _is_of_devices(x: Instruction) -> bool:
    """Whether an instruction asks for the device or meets others, itself or in what it calls."""
    if x.opcode == "partition-id" or is_collective(x):
        return True
    inner = [i for c in x.called_computations for d in callees_first(c) for i in d.instructions]
    targets = {i.attributes.get("custom_call_target") for i in inner}
    return TO_PARTS not in targets and any(_is_of_devices(i) for i in inner)
