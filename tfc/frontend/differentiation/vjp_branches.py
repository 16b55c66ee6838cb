"""The gradient of a conditional: the conditional itself, and one that goes back.

    y = x * sin(x) if p else x     -->   forwards    y, kept = (x * sin(x), sin(x)) if p else (x, 0)
                                         backwards   dx = dy * kept + … if p else dy

What the way back needs of a branch is a further result of the conditional forwards, so no branch
runs twice, and what has effects is done once; cheap operations are computed again, as in loops
(`loop_residuals` says which). Branches share what has the same shape: only one of them runs. Both
conditionals are plain ones, so they have gradients again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tfc.errors import TraceError, UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend.control.emission import choosing, over_tuple, tuple_shape
from tfc.frontend.differentiation.forward import float_leaves, leaves_of, with_leaves
from tfc.frontend.differentiation.loop_residuals import Residuals
from tfc.frontend.differentiation.reverse import (
    Cotangent,
    Kept,
    Values,
    added,
    backward,
    forward,
    is_differentiable,
    keeping,
    on_elements,
    vjp,
    zeros,
)
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import Trace
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import Shape, TupleShape


@vjp("conditional")
def _conditional(g: Cotangent, y: Tensor, *operands: Tensor) -> Sequence[Cotangent]:
    flags = [True] * sum(len(_elements(o)) for o in operands)
    kept = _kept(y.instruction, operands, _traced(y.instruction, operands, flags, _listed(g)))
    return kept.rule(g, kept, *operands)


@keeping("conditional")
def _keep(old: Instruction, operands: Sequence[Tensor], active: Sequence[bool]) -> Kept | None:
    """The conditional that gives what its gradient needs besides.

    None if a branch has no gradient: the rule above says so where one is asked for.
    """
    everything = _listed(with_leaves([zeros(s) for s in float_leaves(old.shape)], old.shape))
    made = _branches(old, operands, active, everything)
    if made is None:
        # Elements of the result that have none may be such that nobody asks for one.
        alone = [[g if n == m else None for m, g in enumerate(everything)]
                 for n in range(len(everything))]  # fmt: skip
        fitting = [_branches(old, operands, active, g) is not None for g in alone]
        some = [g if fits else None for g, fits in zip(everything, fitting)]
        made = _branches(old, operands, active, some) if any(fitting) else None
    return None if made is None else _kept(old, operands, made)


def _kept(old: Instruction, operands: Sequence[Tensor], made: Sequence["_Branch"]) -> Kept:
    """What a conditional gives, and the rule by which cotangents flow back through it."""
    shapes = _shared([[x.array_shape for x in b.residuals.kept] for b in made])
    computations = [b.computation(shapes) for b in made]
    inputs = [ops.make_tuple(branch.given) for branch in made]
    after = ops.elements(choosing(old, operands[0], inputs, computations))
    count = len(after) - len(shapes)
    result = ops.make_tuple(after[:count]) if isinstance(old.shape, TupleShape) else after[0]
    return Kept(result, _Pull(old, made, after[count:]))


def _branches(
    old: Instruction, operands: Sequence[Tensor], active: Sequence[bool], g: list[Cotangent]
) -> list["_Branch"] | None:
    """The branches forwards, each in a trace of its own; None if one has no gradient.

    Args:
        active: for the selector and each element of the other operands, whether the gradient by
            that is wanted.
        g: a cotangent for each element of the result, or None where none will be given.
    """
    try:
        return _traced(old, operands, active, g)
    except (TraceError, UnsupportedError):
        return None


def _traced(
    old: Instruction, operands: Sequence[Tensor], active: Sequence[bool], g: list[Cotangent]
) -> list["_Branch"]:
    elements = {o.instruction: _elements(o) for o in operands[1:]}
    flags, made = iter(active[1:]), []
    for branch, operand in zip(branches(old), operands[1:]):
        given = elements[operand.instruction]
        made.append(_Branch(branch, [next(flags) for _ in given], given, g))
    return made


def _shared(branches: Sequence[Sequence[Shape]]) -> list[Shape]:
    """The fewest shapes among which each branch finds its own."""
    found: list[Shape] = []
    for shapes in branches:
        for shape in dict.fromkeys(shapes):
            found += [shape] * (list(shapes).count(shape) - found.count(shape))
    return found


class _Branch:
    """A branch forwards, in a trace of its own, and ways back through it.

    given: the elements of its operand.
    wanted: the parameters by which the gradient is wanted.
    residuals: what to keep of it.
    """

    def __init__(
        self,
        branch: Computation,
        active: Sequence[bool],
        given: Sequence[Tensor],
        g: list[Cotangent],
    ):
        self.given, self.step = given, on_elements(branch)
        parameters = self.step.parameters
        self.wanted = [p for p, a in zip(parameters, active) if a and is_differentiable(p.shape)]
        self.trace = Trace(f"{branch.name}_forward")
        with self.trace:
            begun = [ops.wrap(self.trace.parameter(p.shape, p.name)) for p in parameters]
            self.values: Values = forward(self.step, begun, self.wanted)
        captures = self.back(g)[1]
        self.residuals = Residuals(captures, lambda x: x.opcode == "parameter")

    def back(self, g: list[Cotangent]) -> tuple[Computation, list[Instruction]]:
        """The way back: the arrays in g, then captures → the arrays of wanted cotangents.

        The captures are the values of the way forwards that it uses.
        """
        trace = Trace(f"{self.step.name}_backward", self.trace)
        with trace:
            found = backward(self.step, self.values, _parameters(g, trace), self.wanted)
            flowing = [leaf for p, f in zip(self.wanted, found) for leaf in leaves_of(f, p.shape)]
            root = ops.make_tuple(flowing).instruction
        return trace.computation(root), list(trace.captures)

    def places(self, slots: Sequence[Shape]) -> list[int]:
        """For each value that is kept, the first slot of its shape that is not taken yet."""
        found: list[int] = []
        for x in self.residuals.kept:
            found.append(
                next(n for n, s in enumerate(slots) if s == x.array_shape and n not in found)
            )
        return found

    def computation(self, slots: Sequence[Shape]) -> Computation:
        """The branch that gives its results, then what it keeps in its slots."""
        kept = dict(zip(self.places(slots), self.residuals.kept))
        with self.trace:
            results = [self.values[r] for r in self.step.root.operands]
            rest = [ops.wrap(kept[n]) if n in kept else zeros(s) for n, s in enumerate(slots)]
            root = ops.make_tuple([*results, *rest]).instruction
        made = self.trace.computation(root)
        shape = tuple_shape(self.given)
        return over_tuple(made.name, shape, lambda parts: ops.inlined(made, parts))


@dataclass(frozen=True, eq=False)
class _Pull:
    """The rule of a conditional whose branches have kept what their gradients need.

    slots: what the branch that ran has kept.
    """

    old: Instruction
    branches: Sequence[_Branch]
    slots: Sequence[Tensor]

    def __call__(
        self, g: Cotangent, _: Tensor, selector: Tensor, *operands: Tensor
    ) -> list[Cotangent]:
        wanted = {
            given.instruction: p
            for branch in self.branches
            for p, given in zip(branch.step.parameters, branch.given)
            if p in branch.wanted
        }
        inputs, computations = [], []
        for branch in self.branches:
            state, computation = self._back(branch, _listed(g), wanted)
            inputs.append(ops.make_tuple(state))
            computations.append(computation)
        made = iter(ops.elements(choosing(self.old, selector, inputs, computations)))
        found = {x: with_leaves(made, p.shape) for x, p in wanted.items()}
        # What several operands have in common gets its cotangent once.
        flowing = [[found.pop(x.instruction, None) for x in b.given] for b in self.branches]
        is_tuple = [isinstance(o.instruction.shape, TupleShape) for o in operands]
        return [None, *(f if several else f[0] for f, several in zip(flowing, is_tuple))]

    def _back(
        self, branch: _Branch, g: list[Cotangent], wanted: dict[Instruction, Instruction]
    ) -> tuple[list[Tensor], Computation]:
        """What the way back through a branch is given, and the computation of that as one tuple.

        Args:
            wanted: whose cotangents to give, each with a parameter of its shape.
        """
        back, captures = branch.back(g)
        kept = [self.slots[n] for n in branch.places([s.array_shape for s in self.slots])]
        state = [*kept, *branch.given, *_arrays(g)]
        fixed = [*branch.residuals.kept, *branch.trace.parameters]

        def results(parts: list[Tensor]) -> Tensor:
            known = {x: part.instruction for x, part in zip(fixed, parts)}
            again = map(ops.wrap, branch.residuals.again(captures, known))
            made = iter(ops.elements(ops.inlined(back, [*parts[len(fixed) :], *again])))
            found: dict[Instruction, Cotangent] = {}
            for p, given in zip(branch.step.parameters, branch.given):
                if p in branch.wanted:
                    mine = found.get(given.instruction)
                    found[given.instruction] = added(mine, with_leaves(made, p.shape))
            return ops.make_tuple(
                [leaf for x, p in wanted.items() for leaf in leaves_of(found.get(x), p.shape)]
            )

        return state, over_tuple(back.name, tuple_shape(state), results)


def _elements(value: Tensor) -> list[Tensor]:
    """The elements of a tuple; what is none is its only element."""
    return ops.elements(value) if isinstance(value.instruction.shape, TupleShape) else [value]


def _listed(g: Cotangent) -> list[Cotangent]:
    return g if isinstance(g, list) else [g]


def _arrays(cotangent: Cotangent) -> Iterator[Tensor]:
    """The arrays of a cotangent, depth first."""
    if isinstance(cotangent, Tensor):
        yield cotangent
    for part in cotangent if isinstance(cotangent, list) else ():
        yield from _arrays(part)


def _parameters(cotangent: Cotangent, trace: Trace) -> Cotangent:
    """A cotangent of the same form, of parameters of the current trace."""
    if isinstance(cotangent, list):
        return [_parameters(part, trace) for part in cotangent]
    return None if cotangent is None else ops.wrap(trace.parameter(cotangent.array_shape))
