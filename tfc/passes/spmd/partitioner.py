"""Rewriting a computation over whole arrays into one over a device's parts.

Each value becomes a part with the spec that says of what. An instruction's operands are brought to
specs in which every device can compute its part; of the ways to do that, the one that moves the
fewest bytes is taken. What devices then have parts of sums of is combined.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tfc.errors import UnsupportedError
from tfc.hlo import builder
from tfc.hlo.attributes.sharding import MANUAL, Sharding, sharding_of
from tfc.hlo.ir import Computation, Instruction, has_side_effect
from tfc.hlo.ops.outside.custom_call import ANNOTATIONS
from tfc.hlo.shape import AnyShape, Shape, TupleShape
from tfc.passes.rewriting.decisions import Decision, Refused, Taken, label
from tfc.passes.spmd.emitter import Emitter
from tfc.passes.spmd.factors import Assignment, Factors
from tfc.passes.spmd.halos import Halos, Needed, Reach
from tfc.passes.spmd.logical_mesh import Axes, LogicalMesh, Spec, whole
from tfc.passes.spmd.parts import Nest, Part, pack, parts_of
from tfc.passes.spmd.propagation import (
    TO_PARTS,
    TO_WHOLE,
    Propagation,
    manual_in,
)
from tfc.passes.spmd.resharding import cost, nests, reduction_cost, steps
from tfc.passes.spmd.rules import factors_of


class Partitioner:
    """Makes one computation's parts; `decisions` says what was moved and why."""

    def __init__(self, mesh: LogicalMesh, decisions: list[Decision], poisoned: bool = False):
        self.mesh, self.decisions = mesh, decisions
        self.emitter = Emitter(mesh, poisoned)
        self._moved: dict[tuple[Instruction, Spec], Part] = {}
        self._wanted: Callable[[Instruction, int], Spec | None] = lambda _, __: None
        self._manual: set[Instruction] = set()

    def run(
        self, computation: Computation, arguments: Sequence[Nest], root: Sequence[Spec | None]
    ) -> Nest:
        """The value of a computation's root for these arguments.

        Args:
            root: the specs that the root's arrays are to have; None leaves one as it is.
        """
        self._manual = manual_in(computation)
        found = Propagation(self.mesh, computation, self._manual)
        values: dict[Instruction, Nest] = dict(zip(computation.parameters, arguments))
        for x, value in values.items():
            for number, part in enumerate(parts_of(value)):
                if part.spec is not None:
                    found.state(x, number, part.spec)
        for number, spec in enumerate(root):
            if spec is not None and (computation.root, number) not in found.specs:
                found.state(computation.root, number, spec)
        found.run()
        self._wanted = lambda x, number: found.specs.get((x, number))
        for x in computation.instructions:
            if x not in values:
                values[x] = self._visit(x, [values[o] for o in x.operands])
        return self.brought(values[computation.root], root)

    def brought(self, value: Nest, specs: Sequence[Spec | None]) -> Nest:
        """A value whose arrays have these specs, where they are not None."""
        wanted = iter(specs)

        def bring(v: Nest) -> Nest:
            if isinstance(v, tuple):
                return tuple(bring(element) for element in v)
            spec = next(wanted, None)
            return v if None in (v.spec, spec) else self.resharded(v, spec or (), "result")

        return bring(value)

    def resharded(self, part: Part, spec: Spec, why: str) -> Part:
        """The array in another spec."""
        assert part.spec is not None, "the program's own parts have no spec"
        if part.spec == spec:
            return part
        key = part.instruction, spec
        if key not in self._moved:
            made, now = part.instruction, part.spec
            shape = Shape(made.array_shape.element_type, part.dims)
            for step in steps(self.mesh, part.dims, now, spec):
                made = self.emitter.step(made, part.dims, step, now)
                if step.kind != "slice":
                    size = cost(self.mesh, shape, now, step.spec)
                    self.decisions.append(
                        Taken(f"{made.opcode if step.kind != 'exchange' else 'all-to-all'} of "
                              f"{size} bytes for {why}", label(part.instruction))
                    )  # fmt: skip
                now = step.spec
            self._moved[key] = Part(made, spec, part.dims)
        return self._moved[key]

    def _replicated(self, value: Nest, why: str) -> Nest:
        if isinstance(value, tuple):
            return tuple(self._replicated(element, why) for element in value)
        if value.spec is None:
            return value
        return self.resharded(value, whole(len(value.dims)), why)

    def _visit(self, x: Instruction, operands: Sequence[Nest]) -> Nest:
        """The part of one instruction's value."""
        if x.opcode == "tuple":
            return tuple(operands)
        if x.opcode == "get-tuple-element" and isinstance(operands[0], tuple):
            return operands[0][x["index"]]
        if x.opcode == "custom-call" and x["custom_call_target"] in ANNOTATIONS:
            return self._annotated(x, operands)
        if x in self._manual:
            given = [pack(self._replicated(o, label(x))) for o in operands]
            return Part(self._again(x, given, x.shape), None)
        if x.opcode == "while":
            return self._loop(x, operands[0])
        if x.opcode == "conditional":
            return self._branches(x, operands)
        if x.opcode == "opt-barrier":
            made = self._again(x, [pack(operands[0])], pack(operands[0]).shape)
            return self._like(operands[0], made)
        if has_side_effect(x):
            raise UnsupportedError(
                f"{label(x)} = {x.opcode} has an effect, which each of {self.mesh.devices} "
                "partitions would have: take it out of what is partitioned"
            )
        factors = factors_of(x)
        if factors is None or not all(isinstance(o, Part) and o.spec is not None for o in operands):
            return self._computed_whole(x, operands)
        return self._computed(x, factors, [o for o in operands if isinstance(o, Part)])

    def _computed_whole(self, x: Instruction, operands: Sequence[Nest]) -> Nest:
        """The value of an op without a rule: every device computes all of it."""
        if any(any(p.spec or ()) for o in operands for p in parts_of(o)):
            self.decisions.append(Refused.of(x, f"no rule divides this {x.opcode}"))
        given = [pack(self._replicated(o, label(x))) for o in operands]
        made = self._again(x, given, x.shape)
        return _unpacked(made, [whole(s.rank) if isinstance(s, Shape) else None
                                for s in _arrays(x.shape)], _dims(x.shape))  # fmt: skip

    def _again(
        self, x: Instruction, operands: Sequence[Instruction], shape: AnyShape
    ) -> Instruction:
        notes = tuple(note for note in x.annotations if note[0] != "sharding")
        made = x.with_(
            operands=tuple(operands), shape=shape, annotations=notes, control_predecessors=()
        )
        return self.emitter.made(made) if has_side_effect(made) else made

    def _annotated(self, x: Instruction, operands: Sequence[Nest]) -> Nest:
        """What an annotation says of its operand."""
        (operand,) = operands
        target, stated = x["custom_call_target"], sharding_of(x)
        if not isinstance(operand, Part):
            return operand
        if target == TO_PARTS:
            if operand.spec is None or not isinstance(x.shape, Shape):
                raise UnsupportedError(f"{label(x)} makes parts of what is parts already")
            local = self.mesh.local(operand.dims, operand.spec)
            if not self.mesh.divides(operand.dims, operand.spec):
                raise UnsupportedError(
                    f"{label(x)} makes parts of an array of {list(operand.dims)}, which "
                    f"{list(self.mesh.parts(operand.spec))} parts do not divide: pad it, since "
                    "the program would see what fills the parts up"
                )
            if local != x.shape.dims:
                raise UnsupportedError(
                    f"{label(x)} states parts of {list(x.shape.dims)}, where its operand's are "
                    f"{list(local)}"
                )
            return Part(operand.instruction, None)
        if target == TO_WHOLE:
            assert isinstance(x.shape, Shape), "an array"
            spec = self.mesh.spec(stated, x.shape.rank) if isinstance(stated, Sharding) else None
            if spec is None:
                raise UnsupportedError(f"{label(x)} does not say by a sharding what its parts are")
            if operand.spec is not None:  # the same on every device, as constants are
                operand = self.resharded(operand, whole(len(operand.dims)), label(x))
            given = operand.instruction.array_shape.dims
            if self.mesh.local(x.shape.dims, spec) != given:
                raise UnsupportedError(
                    f"{label(x)} states an array of {list(x.shape.dims)}, of which parts of "
                    f"{list(given)} are not those of its sharding"
                )
            return Part(operand.instruction, spec, x.shape.dims)
        dims = operand.dims if operand.spec is not None else operand.instruction.array_shape.dims
        if not isinstance(x.shape, Shape) or x.shape.dims != dims:
            raise UnsupportedError(
                f"{label(x)} says how an array is sharded and must have its dimensions {list(dims)}"
            )
        if operand.spec is None or stated in (None, MANUAL):
            return operand
        spec = self._wanted(x, 0)
        return operand if spec is None else self.resharded(operand, spec, label(x))

    def _computed(self, x: Instruction, factors: Factors, operands: Sequence[Part]) -> Nest:
        """The part of a value that is computed from parts of the operands."""
        assignment = self._choice(x, factors, operands)
        given = [
            self.resharded(o, factors.spec(labels, assignment), label(x)).instruction
            for o, labels in zip(operands, factors.operands)
        ]
        needed = self._reached(factors, assignment, operands, given)
        for f in factors.summed & assignment.keys():
            given = self._masked(factors, f, assignment[f], given)
        specs = [factors.spec(labels, assignment) for labels in factors.results]
        shapes = [
            Shape(s.element_type, self.mesh.local(s.dims, spec), s.layout)
            for s, spec in zip(_arrays(x.shape), specs)
            if isinstance(s, Shape)
        ]
        several = isinstance(x.shape, TupleShape)
        shape = TupleShape(tuple(shapes)) if several else shapes[0]
        if factors.adapt is not None:
            dims = [g.array_shape.dims for g in given] + [s.dims for s in shapes]
            x = x.with_(attributes=factors.adapt(x.attributes, dims, needed))
        made = self._again(x, given, shape)
        partial = factors.partial(assignment)
        if partial:
            return self._combined(x, factors, Part(made, specs[0], x.array_shape.dims), partial)
        return _unpacked(made, specs, _dims(x.shape))

    def _reached(
        self, factors: Factors, assignment: Assignment, operands: Sequence[Part],
        given: list[Instruction],
    ) -> dict[int, Needed]:  # fmt: skip
        """Bring what parts need of their neighbours into `given`; what it is, by the factor."""
        found: dict[int, Needed] = {}
        for reach in factors.reaches:
            axes = assignment.get(reach.factor)
            if not axes:
                continue
            needed = self._needed(factors, reach, axes)
            x = given[reach.operand]
            value = (
                builder.constant(0, x.array_shape.element_type)
                if reach.fill is None else given[reach.fill]
            )  # fmt: skip
            halos = Halos(self.emitter, reach.dimension, reach.size, axes)
            given[reach.operand] = halos.made(x, needed, value)
            found[reach.factor] = needed
        return found

    def _needed(self, factors: Factors, reach: Reach, axes: Axes) -> Needed:
        part = self.mesh.part(factors.sizes[reach.factor], axes)
        found = reach.needed(part, self.mesh.count(axes))
        assert found is not None, "a factor is cut only where its parts reach no further"
        return found

    def _masked(
        self, factors: Factors, factor: int, axes: Axes, given: Sequence[Instruction]
    ) -> list[Instruction]:
        """Operands whose parts add nothing beyond the end of a factor that is summed over."""
        made = list(given)
        for number, labels in enumerate(factors.operands):
            element_type = given[number].array_shape.element_type
            neutral = given[1] if factors.combine else builder.constant(0, element_type)
            reached = {r.dimension for r in factors.reaches if r.operand == number}
            for d, found in enumerate(labels):
                if factor in found and d not in reached:
                    made[number] = self.emitter.masked(
                        made[number], d, axes, factors.sizes[factor], neutral
                    )
        return made

    def _combined(self, x: Instruction, factors: Factors, part: Part, axes: Axes) -> Part:
        """The combination of what devices have: the part that is wanted, as far as there is one."""
        reducer = factors.combine or builder.scalar_computation(
            "add", part.instruction.array_shape.element_type
        )
        made, spec = part.instruction, part.spec or ()
        for d, wanted in enumerate(self._wanted(x, 0) or ()):
            more = wanted[len(spec[d]) :]
            if not nests(self.mesh, part.dims[d], spec[d], more):
                continue
            if more and wanted[: len(spec[d])] == spec[d] and set(more) <= set(axes):
                made = self.emitter.scattered(made, d, more, reducer)
                spec = (*spec[:d], wanted, *spec[d + 1 :])
                axes = tuple(a for a in axes if a not in more)
                self._told(x, "reduce-scatter", made)
        if axes:
            made = self.emitter.reduced(made, axes, reducer)
            self._told(x, "all-reduce", made)
        return Part(made, spec, part.dims)

    def _told(self, x: Instruction, what: str, made: Instruction) -> None:
        size = made.array_shape.byte_size
        self.decisions.append(Taken(f"{what} to {size} bytes of parts of its sums", label(x)))

    def _choice(self, x: Instruction, factors: Factors, operands: Sequence[Part]) -> Assignment:
        """The way to cut the factors that moves the fewest bytes."""
        given = [(labels, o.spec or ()) for labels, o in zip(factors.operands, operands) if labels]
        wanted = [
            (labels, spec) for number, labels in enumerate(factors.results)
            if (spec := self._wanted(x, number)) is not None
        ]  # fmt: skip
        orders = [[*wanted, *given], [*given, *wanted], *([g, *wanted] for g in given[1:]), wanted]
        best: tuple[int, Assignment] | None = None
        for order in orders:
            assignment = factors.assigned(self.mesh, order)
            price = self._price(x, factors, operands, assignment)
            if best is None or price < best[0]:
                best = price, assignment
        assert best is not None, "there is always the way that nothing is cut"
        return best[1]

    def _price(
        self, x: Instruction, factors: Factors, operands: Sequence[Part], assignment: Assignment
    ) -> int:
        """The bytes that a device gets, and those of its part: what is computed costs, too."""
        total = 0
        for part, labels in zip(operands, factors.operands):
            shape = Shape(part.instruction.array_shape.element_type, part.dims)
            spec = factors.spec(labels, assignment)
            total += cost(self.mesh, shape, part.spec or (), spec)
            total += prod(self.mesh.local(part.dims, spec)) * shape.element_type.bytes // 8
        for reach in factors.reaches:
            if axes := assignment.get(reach.factor):
                part = operands[reach.operand]
                spec = factors.spec(factors.operands[reach.operand], assignment)
                held = list(self.mesh.local(part.dims, spec))
                length = self._needed(factors, reach, axes).length
                held[reach.dimension] = max(0, length - held[reach.dimension])
                total += prod(held) * part.instruction.array_shape.element_type.bytes
        partial = factors.partial(assignment)
        for number, (labels, shape) in enumerate(zip(factors.results, _arrays(x.shape))):
            assert isinstance(shape, Shape), "ops with factors give arrays"
            spec = factors.spec(labels, assignment)
            size = prod(self.mesh.local(shape.dims, spec)) * shape.element_type.bytes
            total += size // 8
            wanted = self._wanted(x, number)
            if partial:
                total += reduction_cost(self.mesh, size, partial)
            if wanted is not None:
                total += cost(self.mesh, shape, spec, wanted)
        return total

    def _loop(self, x: Instruction, state: Nest) -> Nest:
        """A loop whose state keeps its specs; condition and body are partitioned for them."""
        specs = [p.spec for p in parts_of(state)]
        wanted = [self._wanted(x, k) for k in range(len(specs))]
        state = self.brought(state, [w if w is not None else s for w, s in zip(wanted, specs)])
        given = pack(state)
        made = x.attributes.with_(
            condition=self._called(x["condition"], [state]),
            body=self._called(x["body"], [state], like=state),
        )
        loop = self._again(x.with_(attributes=made), [given], given.shape)
        return self._like(state, loop)

    def _branches(self, x: Instruction, operands: Sequence[Nest]) -> Nest:
        """A conditional on whose branch all devices agree; its results are whole."""
        selector = self._replicated(operands[0], label(x))
        changed: dict[str, Any] = {}
        inputs = iter(operands[1:])
        for name, value in x.attributes.items():
            if isinstance(value, Computation):
                changed[name] = self._called(value, [next(inputs)])
            elif isinstance(value, tuple) and value and isinstance(value[0], Computation):
                changed[name] = tuple(self._called(c, [next(inputs)]) for c in value)
        made = x.with_(attributes=x.attributes.with_(**changed))
        result = self._again(made, [pack(selector), *map(pack, operands[1:])], x.shape)
        return _unpacked(result, [whole(s.rank) if isinstance(s, Shape) else None
                                  for s in _arrays(x.shape)], _dims(x.shape))  # fmt: skip

    def _called(
        self, computation: Computation, arguments: Sequence[Nest],
        like: Nest | None = None,
    ) -> Computation:  # fmt: skip
        """A computation over parts of these arguments, whose result is as `like`, or whole."""
        inner = Partitioner(self.mesh, self.decisions, self.emitter.poisoned)
        parameters = [
            builder.parameter(number, pack(a).shape, p.name)
            for number, (a, p) in enumerate(zip(arguments, computation.parameters))
        ]
        given = [self._like(a, p) for a, p in zip(arguments, parameters)]
        if like is not None:
            root = [p.spec for p in parts_of(like)]
        else:
            shapes = _arrays(computation.root.shape)
            root = [whole(s.rank) if isinstance(s, Shape) else None for s in shapes]
        made = pack(inner.run(computation, given, root))
        return Computation.make(computation.name, parameters, made, inner.emitter.effects)

    def _like(self, value: Nest, made: Instruction) -> Nest:
        """The parts of an instruction that stands for a value with the same specs."""
        if isinstance(value, Part):
            return Part(made, value.spec, value.dims)
        elements = [
            builder.instruction("get-tuple-element", [made], index=k) for k in range(len(value))
        ]
        return tuple(self._like(v, e) for v, e in zip(value, elements))


def _arrays(shape: AnyShape) -> list[AnyShape]:
    """The arrays and tokens of a value."""
    if isinstance(shape, TupleShape):
        return [leaf for element in shape.elements for leaf in _arrays(element)]
    return [shape]


def _dims(shape: AnyShape) -> list[tuple[int, ...]]:
    return [s.dims if isinstance(s, Shape) else () for s in _arrays(shape)]


def _unpacked(
    made: Instruction, specs: Sequence[Spec | None], dims: Sequence[tuple[int, ...]]
) -> Nest:
    """The parts of an instruction, given specs and whole dims of its arrays in order."""
    remaining = iter(zip(specs, dims, strict=True))

    def unpack(x: Instruction) -> Nest:
        if not isinstance(x.shape, TupleShape):
            return Part(x, *next(remaining))
        return tuple(
            unpack(builder.instruction("get-tuple-element", [x], index=k))
            for k in range(len(x.shape.elements))
        )

    return unpack(made)
