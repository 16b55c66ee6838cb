"""A program for a batch of another size, made of the program for one.

    x = f32[32,8] parameter(0)                     x = f32[5,8] parameter(0)
    y = f32[32,4] dot(x, w)           ──5──►       y = f32[5,4] dot(x, w)
    ROOT r = f32[4] reduce(y), dimensions={0}      CombinesRows(r)

Rows are followed from the parameters through the rules (rules.py), through loops and branches. What
has no rows, but is combined with some, must be the same for every row: then it is made in the size
that is needed.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import NoReturn

import numpy as np

from tfc.aot.batches.rules import CombinesRows, Plan, Rows, Sizes, plan
from tfc.errors import UnsupportedError
from tfc.hlo.ir import Attributes, Computation, Instruction, Module
from tfc.hlo.literal import Literal
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import AnyShape, Shape, TupleShape, leaves
from tfc.hlo.verification.verifier import verify
from tfc.passes.expand.inline import Inline
from tfc.passes.rewriting.decisions import label

Places = tuple[Rows | None, ...]  # one for each array of a value


def resized(module: Module, places: Sequence[Rows | None], sizes: Sizes) -> tuple[Module, Places]:
    """The module for a batch of another size, and where the rows are in each of its results.

    Args:
        places: where the rows are in each array that the module takes.

    Raises:
        UnsupportedError: something in the module combines rows, or may do so; or runs once for
            each call, as what has a side effect does.
    """
    if module.entry.effects:
        _refuse(module.entry.effects[0], "has an effect once in each run")
    entry = Inline()(module).entry
    given = iter(places)
    taken = [tuple(islice(given, _count(p.shape))) for p in entry.parameters]
    try:
        made, found = _Frame(sizes).computation(entry, taken)
    except CombinesRows as problem:
        _refuse(problem.instruction, "combines rows of the batch, as far as tfc can tell")
    result = Module(module.name, made, module.attributes)
    verify(result)
    return result, found


def _refuse(instruction: Instruction, what: str) -> NoReturn:
    raise UnsupportedError(f"{label(instruction)}, a {instruction.opcode}, {what}")


def _count(shape: AnyShape) -> int:
    return sum(1 for _ in leaves(shape))


def _join(a: Places, b: Places, instruction: Instruction) -> Places:
    """Where rows are in values that become one another.

    Raises:
        CombinesRows: they lie along different dimensions.
    """
    if any(x != y and None not in (x, y) for x, y in zip(a, b)):
        raise CombinesRows(instruction)
    return tuple(x or y for x, y in zip(a, b))


def _element_of(x: Instruction) -> tuple[Instruction, int]:
    """The tuple, however nested, that a value is an element of, and which of its arrays."""
    number = 0
    while x.opcode == "get-tuple-element":
        (whole,) = x.operands
        assert isinstance(whole.shape, TupleShape)
        number += sum(_count(e) for e in whole.shape.elements[: x["index"]])
        x = whole
    return x, number


class _Wanted(CombinesRows):
    """Rows are needed in what a computation's parameter holds, by number of the array."""

    def __init__(self, instruction: Instruction, parameter: Instruction, number: int, rows: Rows):
        super().__init__(instruction)
        self.parameter, self.number, self.rows = parameter, number, rows

    def places(self, count: int) -> Places:
        """These rows, among so many arrays."""
        return tuple(self.rows if n == self.number else None for n in range(count))


class _Frame:
    """One way through a computation.

    new: what each instruction has become.
    places: where rows are in it.
    """

    def __init__(self, sizes: Sizes):
        self.sizes = sizes
        self.new: dict[Instruction, Instruction] = {}
        self.places: dict[Instruction, Places] = {}
        self.spread: dict[tuple[Instruction, Rows], Instruction] = {}

    def computation(
        self, old: Computation, taken: Sequence[Places], wanted: Places = ()
    ) -> tuple[Computation, Places]:
        """A computation for parameters with rows; and where they are in its result.

        Args:
            wanted: where they must be in the result, if anywhere.

        Raises:
            CombinesRows: something in it does.
        """
        for parameter, places in zip(old.parameters, taken):
            self.places[parameter] = places
            self.new[parameter] = parameter.with_(shape=self._resized(parameter.shape, places))
        for instruction in old.instructions:
            if instruction not in self.new:
                self._instruction(instruction)
        places = self.places[old.root]
        root = self.new[old.root]
        if wanted and _join(places, wanted, old.root) != places:
            places = _join(places, wanted, old.root)
            root = self.along(old.root, places)
        return Computation.make(old.name, [self.new[p] for p in old.parameters], root), places

    def along(self, x: Instruction, places: Places) -> Instruction:
        """A value with rows in these places; what has none is the same for every row.

        Raises:
            CombinesRows: its rows are elsewhere, or it is not the same for every row.
        """
        if self.places[x] == places:
            return self.new[x]
        if isinstance(x.shape, TupleShape):
            if x.opcode != "tuple":
                raise CombinesRows(x)
            given, parts = iter(places), []
            for operand in x.operands:
                parts.append(self.along(operand, tuple(islice(given, _count(operand.shape)))))
            shape = TupleShape(tuple(p.shape for p in parts))
            return x.with_(operands=tuple(parts), shape=shape, control_predecessors=())
        (rows,) = places
        if rows is None or self.places[x] != (None,):
            raise CombinesRows(x)
        if (x, rows) not in self.spread:
            self.spread[x, rows] = self._spread(x, rows)
        return self.spread[x, rows]

    def _spread(self, x: Instruction, rows: Rows) -> Instruction:
        """What has no rows, for a batch of another size, if it is the same for every row.

        Raises:
            CombinesRows: it is not, as far as can be seen.
            _Wanted: it is, if a parameter's value is.
        """
        shape, d = x.array_shape, rows.dimension
        if shape.dims[d] != rows.count * self.sizes.old:
            raise CombinesRows(x)
        whole, number = _element_of(x)
        if whole.opcode == "parameter":
            raise _Wanted(x, whole, number, rows)
        operands, attributes = x.operands, x.attributes
        if x.opcode == "constant":
            attributes = Attributes(literal=self._repeated(x, rows))
        elif x.opcode == "broadcast" and d not in x.attributes.get("dimensions", ()):
            operands = (self.new[operands[0]],)
        elif x.opcode != "iota" or x["iota_dimension"] == d:
            return self._applied(x, self._plan_for(x, rows))
        return x.with_(
            operands=operands, shape=self._resized(shape, (rows,)), attributes=attributes,
            control_predecessors=(),
        )  # fmt: skip

    def _plan_for(self, x: Instruction, rows: Rows) -> Plan:
        """What makes rows in the result of an instruction that has none, by the rules.

        Raises:
            CombinesRows: nothing does.
        """
        for number, operand in enumerate(x.operands):
            dims = operand.shape.dims if isinstance(operand.shape, Shape) else ()
            for dimension, size in enumerate(dims):
                given: list[Rows | None] = [None] * len(x.operands)
                given[number] = Rows(dimension, max(size // self.sizes.old, 1))
                with suppress(CombinesRows):
                    found = plan(x, given, self.sizes)
                    if found.rows == rows:
                        return found
        raise CombinesRows(x)

    def _applied(self, x: Instruction, found: Plan) -> Instruction:
        """An instruction for a batch of another size.

        Raises:
            CombinesRows: an operand that is to have rows cannot.
        """
        return x.with_(
            operands=tuple(
                self.along(o, (found.operands[n],)) if n in found.operands else self.new[o]
                for n, o in enumerate(x.operands)
            ),
            shape=self._resized(x.shape, (found.rows,) * _count(x.shape)),
            attributes=x.attributes.with_(**found.attributes),
            control_predecessors=(),
        )

    def _repeated(self, x: Instruction, rows: Rows) -> Literal:
        """A constant of which all rows are the same bytes, with another number of them."""
        array, d = x["literal"].array, rows.dimension
        parts = [p.tobytes() for p in np.split(array, self.sizes.old, d)]
        if any(part != parts[0] for part in parts):
            raise CombinesRows(x)
        first = array.take(range(rows.count), d)
        return Literal(np.concatenate([first] * self.sizes.new, d))

    def _resized(self, shape: AnyShape, places: Places) -> AnyShape:
        """A shape with as many rows as are wanted."""
        if not any(places):
            return shape
        if isinstance(shape, Shape):
            dims = list(shape.dims)
            for rows in filter(None, places):
                dims[rows.dimension] = rows.count * self.sizes.new
            return Shape(shape.element_type, tuple(dims), shape.layout)
        assert isinstance(shape, TupleShape)
        given = iter(places)
        elements = (self._resized(e, tuple(islice(given, _count(e)))) for e in shape.elements)
        return TupleShape(tuple(elements))

    def _instruction(self, x: Instruction) -> None:
        """Enter what an instruction becomes.

        Raises:
            CombinesRows: it does.
        """
        own = _OWN.get(x.opcode)
        if own is not None:
            self.new[x], self.places[x] = own(self, x)
            return
        given = [p for o in x.operands for p in self.places[o]]
        if not any(given):
            self.new[x] = x.renewed(self.new)
            self.places[x] = (None,) * _count(x.shape)
            return
        if any(not isinstance(o.shape, Shape) for o in x.operands):
            raise CombinesRows(x)
        found = plan(x, given, self.sizes)
        self.new[x] = self._applied(x, found)
        self.places[x] = (found.rows,) * _count(x.shape)

    def together(self, x: Instruction) -> tuple[Instruction, Places]:
        """A tuple."""
        operands = tuple(self.new[o] for o in x.operands)
        places = tuple(p for o in x.operands for p in self.places[o])
        shape = TupleShape(tuple(o.shape for o in operands))
        return x.with_(operands=operands, shape=shape, control_predecessors=()), places

    def element(self, x: Instruction) -> tuple[Instruction, Places]:
        """An element of a tuple."""
        whole = x.operands[0]
        assert isinstance(whole.shape, TupleShape)
        first = sum(_count(e) for e in whole.shape.elements[: x["index"]])
        places = self.places[whole][first : first + _count(x.shape)]
        shape = self._resized(x.shape, places)
        return x.with_(operands=(self.new[whole],), shape=shape, control_predecessors=()), places

    def loop(self, x: Instruction) -> tuple[Instruction, Places]:
        """A while whose state may get rows in its body; how often it runs must not depend on any.

        Raises:
            CombinesRows: something in it does.
        """
        places = self.places[x.operands[0]]
        while True:
            after, made = self._around(x, places)
            if made is not None and after == places:
                break
            places = _join(places, after, x)
        operand = self.along(x.operands[0], places)
        attributes = x.attributes.with_(body=made[0], condition=made[1])
        return x.with_(
            operands=(operand,), shape=operand.shape, attributes=attributes, control_predecessors=()
        ), places

    def _around(
        self, x: Instruction, places: Places
    ) -> tuple[Places, tuple[Computation, Computation] | None]:
        """Where the rows of a loop's state are after a time around; its body and condition.

        These are None where rows are needed in more of the state.
        """
        try:
            body, after = _Frame(self.sizes).computation(x["body"], [places], places)
            condition, decides = _Frame(self.sizes).computation(x["condition"], [places])
        except _Wanted as wanted:
            if wanted.parameter not in (*x["body"].parameters, *x["condition"].parameters):
                raise
            return wanted.places(len(places)), None
        if any(decides):
            raise CombinesRows(x)
        return after, (body, condition)

    def choice(self, x: Instruction) -> tuple[Instruction, Places]:
        """A conditional; what it chooses by must have no rows.

        Raises:
            CombinesRows: it has.
        """
        taken = [self.places[o] for o in x.operands]
        if taken[0] != (None,):
            raise CombinesRows(x)
        wanted: Places = (None,) * _count(x.shape)
        for branch, places in zip(branches(x), taken[1:]):
            wanted = _join(wanted, _Frame(self.sizes).computation(branch, [places])[1], x)
        made = [_Frame(self.sizes).computation(branch, [places], wanted)[0]
                for branch, places in zip(branches(x), taken[1:])]  # fmt: skip
        if "branch_computations" in x.attributes:
            attributes = x.attributes.with_(branch_computations=tuple(made))
        else:
            attributes = x.attributes.with_(true_computation=made[0], false_computation=made[1])
        operands = tuple(self.new[o] for o in x.operands)
        return x.with_(
            operands=operands, shape=made[0].root.shape, attributes=attributes,
            control_predecessors=(),
        ), wanted  # fmt: skip


_OWN: Mapping[str, Callable[[_Frame, Instruction], tuple[Instruction, Places]]] = {
    "tuple": _Frame.together,
    "get-tuple-element": _Frame.element,
    "while": _Frame.loop,
    "conditional": _Frame.choice,
}
