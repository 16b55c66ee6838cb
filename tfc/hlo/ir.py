"""The IR: immutable instructions, computations and modules, and the traversals over them.

    Module      ::= name entry:Computation attributes
    Computation ::= name parameters instructions root         -- instructions in a topological order
    Instruction ::= opcode operands:Instruction* shape attributes name metadata
    attribute   ::= int | bool | str | tuple | Literal | Computation …          -- hashable values

Instructions are compared by identity. A pass builds new ones and leaves the old untouched;
returning the same object means that nothing changed.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

from tfc.hlo.printable import Printable
from tfc.hlo.shape import AnyShape, Shape, TupleShape


class Attributes(Mapping[str, Any]):
    """An immutable mapping from attribute names to hashable values; itself hashable."""

    __slots__ = ("_called", "_hash", "_items")

    def __init__(self, items: Mapping[str, Hashable] | None = None, **named: Hashable):
        merged = {**(items or {}), **named}
        self._items = {k: v for k, v in merged.items() if v is not None}
        self._hash: int | None = None
        self._called: tuple[Computation, ...] | None = None

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    # Mapping has the next three, too, but slowly, and passes ask for attributes all the time.
    def __contains__(self, name: object) -> bool:
        return name in self._items

    def get(self, name: str, default: Any = None) -> Any:
        """The value of an attribute; the default where there is none."""
        return self._items.get(name, default)

    def items(self) -> Any:
        """The names and values, as those of a dictionary."""
        return self._items.items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attributes) and self._items == other._items

    def __repr__(self) -> str:
        return f"Attributes({self._items})"

    @property
    def called_computations(self) -> tuple["Computation", ...]:
        """The computations among the values, in the order of the attributes."""
        if self._called is None:
            found: list[Computation] = []
            for value in self._items.values():
                if isinstance(value, Computation):
                    found.append(value)
                elif isinstance(value, tuple):
                    found.extend(v for v in value if isinstance(v, Computation))
            self._called = tuple(found)
        return self._called

    def with_(self, **changes: Hashable) -> "Attributes":
        """The same attributes with some set anew; a value of None removes one."""
        return Attributes({**self._items, **changes})


NO_ATTRIBUTES = Attributes()

# The ops that may do more than compute a value, and with which attributes; filled by op.register.
SIDE_EFFECTS: dict[str, Callable[[Attributes], bool]] = {}


@dataclass(frozen=True)
class Metadata:
    """Where an instruction comes from; kept by passes and printed back.

    `extra` holds further fields of the text form, as (name, text) pairs.
    """

    op_type: str = ""
    op_name: str = ""
    source_file: str = ""
    source_line: int = 0
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Instruction(Printable):
    """One occurrence of an operation: what it computes, from what, and the shape of the result.

    `annotations` are attributes without meaning to the compiler (sharding, frontend attributes …)
    as (name, text) pairs; they are carried along and printed back. `control_predecessors` are other
    instructions of the computation that come earlier without being operands; an edge says nothing
    once a pass has removed either end.
    """

    opcode: str
    operands: tuple["Instruction", ...]
    shape: AnyShape
    attributes: Attributes
    name: str
    metadata: Metadata | None
    annotations: tuple[tuple[str, str], ...]
    control_predecessors: tuple["Instruction", ...]

    def __init__(
        self,
        opcode: str,
        operands: tuple["Instruction", ...],
        shape: AnyShape,
        attributes: Attributes = NO_ATTRIBUTES,
        name: str = "",
        metadata: Metadata | None = None,
        annotations: tuple[tuple[str, str], ...] = (),
        control_predecessors: tuple["Instruction", ...] = (),
    ):
        # What a dataclass would do, in half the time: passes make instructions all day.
        _SET_OPCODE(self, opcode)
        _SET_OPERANDS(self, operands)
        _SET_SHAPE(self, shape)
        _SET_ATTRIBUTES(self, attributes)
        _SET_NAME(self, name)
        _SET_METADATA(self, metadata)
        _SET_ANNOTATIONS(self, annotations)
        _SET_CONTROL_PREDECESSORS(self, control_predecessors)

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]

    @property
    def array_shape(self) -> Shape:
        """The shape, known not to be a tuple."""
        assert isinstance(self.shape, Shape), f"{self.name} is a tuple"
        return self.shape

    @property
    def called_computations(self) -> tuple["Computation", ...]:
        """The computations that the attributes name, in the order of the attributes."""
        return self.attributes.called_computations

    def with_(self, **changes: Any) -> "Instruction":
        """A new instruction that differs in the given fields."""
        return Instruction(**{name: getattr(self, name) for name in self.__slots__} | changes)

    def renewed(self, new: Mapping["Instruction", "Instruction"]) -> "Instruction":
        """The instruction over what stands for its operands in `new`; itself if they are the same.

        Control predecessors that `new` does not know stay as they are.
        """
        # Every pass asks this of every instruction, and mostly nothing has changed.
        for predecessor in self.control_predecessors:
            if new.get(predecessor, predecessor) is not predecessor:
                break
        else:
            for operand in self.operands:
                if new[operand] is not operand:
                    break
            else:
                return self
        return Instruction(
            self.opcode,
            tuple([new[o] for o in self.operands]),
            self.shape,
            self.attributes,
            self.name,
            self.metadata,
            self.annotations,
            tuple([new.get(p, p) for p in self.control_predecessors]),
        )

    def __repr__(self) -> str:
        operands = ", ".join(o.name or o.opcode for o in self.operands)
        return f"<{self.name or '?'} = {self.shape} {self.opcode}({operands})>"


(_SET_OPCODE, _SET_OPERANDS, _SET_SHAPE, _SET_ATTRIBUTES, _SET_NAME, _SET_METADATA,
 _SET_ANNOTATIONS, _SET_CONTROL_PREDECESSORS) = (
    getattr(Instruction, name).__set__ for name in Instruction.__slots__
)  # fmt: skip


def postorder(roots: Iterable[Instruction]) -> list[Instruction]:
    """The instructions that `roots` depend on, operands first. Iterative: any depth works.

    Control predecessors come first, too, if they are among them. (No cycle can arise: whatever an
    instruction refers to was made before it.)
    """
    roots = list(roots)
    order = _postorder(roots, frozenset())
    if any(map(_CONTROL, order)):
        order = _postorder(roots, frozenset(order))
    return order


_CONTROL = attrgetter("control_predecessors")


def _postorder(roots: list[Instruction], members: frozenset[Instruction]) -> list[Instruction]:
    """The order in which control predecessors count if they are among `members`."""
    order: dict[Instruction, None] = {}
    begun: set[Instruction] = set()
    stack = roots[::-1]
    while stack:
        node = stack.pop()
        if node in order:
            continue
        if node in begun:
            order[node] = None
            continue
        # It comes up again once all that it waits for, which lies above it, is in order.
        begun.add(node)
        stack.append(node)
        stack += node.operands[::-1]
        if members and node.control_predecessors:
            stack += [p for p in node.control_predecessors if p in members]
    return list(order)


@dataclass(frozen=True, eq=False)
class Computation(Printable):
    """A function from parameters to the value of its root."""

    name: str
    parameters: tuple[Instruction, ...]
    instructions: tuple[Instruction, ...]
    root: Instruction
    annotations: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def make(
        name: str,
        parameters: Sequence[Instruction],
        root: Instruction,
        effects: Iterable[Instruction] = (),
    ) -> "Computation":
        """The computation of `root`, its instructions in post-order after the parameters.

        Args:
            effects: instructions to keep though the root need not depend on them, in their order.
        """
        order = postorder([*parameters, *effects, root])
        return Computation(name, tuple(parameters), tuple(order), root)

    @property
    def effects(self) -> tuple[Instruction, ...]:
        """The instructions that do more than compute their value, in the order of the text.

        They run once each, in this order, whoever uses their values. One that calls a computation
        with effects is among them.
        """
        if "_effects" not in self.__dict__:
            # A search rather than recursion, as computations nest deep; it ends at what is known.
            for callee in callees_first(self, "_effects"):
                found = tuple(i for i in callee.instructions if has_side_effect(i))
                callee.__dict__["_effects"] = found
        return self.__dict__["_effects"]

    @cached_property
    def callees(self) -> tuple["Computation", ...]:
        """The computations that the instructions call, in their order, each as often as called."""
        return tuple(c for i in self.instructions for c in i.attributes.called_computations)

    @cached_property
    def users(self) -> dict[Instruction, tuple[Instruction, ...]]:
        """For each instruction, those that have it as an operand (each once)."""
        found: dict[Instruction, list[Instruction]] = {i: [] for i in self.instructions}
        for instruction in self.instructions:
            for operand in dict.fromkeys(instruction.operands):
                found[operand].append(instruction)
        return {k: tuple(v) for k, v in found.items()}

    def __repr__(self) -> str:
        return f"<Computation {self.name}: {len(self.instructions)} instructions>"


def has_side_effect(instruction: Instruction) -> bool:
    """True if the instruction does more than compute its value, or calls what does."""
    trait = SIDE_EFFECTS.get(instruction.opcode)
    if trait is not None and trait(instruction.attributes):
        return True
    called = instruction.attributes.called_computations
    return bool(called) and any(c.effects for c in called)


def callees_first(entry: Computation, but: str = "") -> list[Computation]:
    """A computation and all it calls, at any depth, callees first; none that have `but`."""
    order: list[Computation] = []
    begun: set[int] = set()
    stack: list[tuple[Computation, bool]] = [(entry, False)]
    while stack:
        computation, expanded = stack.pop()
        if expanded:
            order.append(computation)
            continue
        if id(computation) in begun:
            continue
        begun.add(id(computation))
        stack.append((computation, True))
        stack.extend((c, False) for c in reversed(computation.callees) if but not in c.__dict__)
    return order


@dataclass(frozen=True, eq=False)
class Module(Printable):
    """A whole program: the entry computation and those it calls.

    `attributes` are the module's header attributes as (name, text) pairs, carried along.
    """

    name: str
    entry: Computation
    attributes: tuple[tuple[str, str], ...] = field(default=())

    @cached_property
    def computations(self) -> tuple[Computation, ...]:
        """Every computation, callees before callers, the entry last."""
        return tuple(callees_first(self.entry))

    def with_entry(self, entry: Computation) -> "Module":
        """The module with another entry; itself if the entry is the same object."""
        return self if entry is self.entry else replace(self, entry=entry)

    def __repr__(self) -> str:
        return f"<Module {self.name}: {len(self.computations)} computations>"


Rewrite = Callable[[Instruction], Instruction]


def rebuild(computation: Computation, rewrite: Rewrite) -> Computation:
    """Rewrite each instruction, operands first, and drop those no longer reachable by a change.

    `rewrite` receives an instruction whose operands are already rewritten and returns it or a
    replacement of compatible shape. One in another layout gets a copy, since the users of the
    instruction rely on the layout. The same computation is returned if nothing changed.
    """
    new: dict[Instruction, Instruction] = {}
    differs = False
    for old in computation.instructions:
        made = rewrite(old.renewed(new) if differs else old)
        if made is not old:
            made, differs = laid_out(made, old.shape), True
        new[old] = made
    return remake(computation, new) if differs else computation


def remake(computation: Computation, new: Mapping[Instruction, Instruction]) -> Computation:
    """The computation with `new[i]` in place of i, effects included, and nothing unused."""
    parameters, root = [new[p] for p in computation.parameters], new[computation.root]
    # What replaces an effect may contain several: those of a body put in the place of its call.
    kept = [new[i] for i in computation.effects]
    effects = [i for i in postorder([*parameters, *kept]) if has_side_effect(i)] if kept else []
    made = Computation.make(computation.name, parameters, root, effects)
    return replace(made, annotations=computation.annotations)


def retarget(instruction: Instruction, change: Callable[[Computation], Computation]) -> Instruction:
    """The instruction calling `change(c)` for each computation c; itself if all stay the same.

    `change` is asked once for each place that names a computation.
    """
    if not instruction.attributes.called_computations:
        return instruction
    changed = {}
    for key, value in instruction.attributes.items():
        if isinstance(value, Computation):
            new = change(value)
            if new is not value:
                changed[key] = new
        elif isinstance(value, tuple) and any(isinstance(v, Computation) for v in value):
            several = tuple(change(v) for v in value)
            if any(a is not b for a, b in zip(several, value)):
                changed[key] = several
    if not changed:
        return instruction
    return instruction.with_(attributes=instruction.attributes.with_(**changed))


def calling(computation: Computation, new: Mapping[Computation, Computation]) -> Computation:
    """The computation with `new[c]` called in place of c; itself if all stay the same."""
    if all(new[c] is c for c in computation.callees):
        return computation
    return rebuild(computation, lambda i: retarget(i, new.__getitem__))


def map_computations(module: Module, change: Callable[[Computation], Computation]) -> Module:
    """Apply `change` to every computation, callees first; callers see the changed callees."""
    new: dict[Computation, Computation] = {}
    for computation in module.computations:
        new[computation] = change(calling(computation, new))
    return module.with_entry(new[module.entry])


def inline(computation: Computation, arguments: Sequence[Instruction]) -> Instruction:
    """The root of `computation` with its parameters replaced by `arguments`, laid out as they are.

    If the computation has effects, the result is an element of a tuple that holds them too.
    """
    parameters = computation.parameters
    new = {p: laid_out(a, p.shape) for p, a in zip(parameters, arguments)}
    for old in computation.instructions:
        if old not in new:
            made = old.renewed(new)
            new[old] = old.with_() if made is old else made
    return holding(new[computation.root], [new[e] for e in computation.effects])


def holding(value: Instruction, effects: Sequence[Instruction]) -> Instruction:
    """The value as an element of a tuple that holds effects too; itself if there are none."""
    if not effects:
        return value
    parts = (*effects, value)
    packed = Instruction("tuple", parts, TupleShape(tuple(p.shape for p in parts)), name="tuple")
    index = Attributes(index=len(parts) - 1)
    return Instruction("get-tuple-element", (packed,), value.shape, index, value.name)


def laid_out(value: Instruction, shape: AnyShape) -> Instruction:
    """The same value in another layout, through copies of its arrays; itself if it is in it."""
    if value.shape is shape or value.shape == shape:
        return value
    if not isinstance(shape, TupleShape):
        return Instruction("copy", (value,), shape, name="copy")
    if value.opcode == "tuple":
        elements = value.operands
    else:
        assert isinstance(value.shape, TupleShape)
        elements = tuple(
            Instruction("get-tuple-element", (value,), s, Attributes(index=i), f"{value.name}.{i}")
            for i, s in enumerate(value.shape.elements)
        )
    parts = tuple(laid_out(e, s) for e, s in zip(elements, shape.elements))
    return Instruction("tuple", parts, shape, name="tuple")
