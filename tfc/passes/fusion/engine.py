"""Forming kernels: what a policy decides to put together becomes a fusion here.

    a = f32[8] exponential(x)               fused { p = f32[8] parameter(0)
    m = f32[8] multiply(x, a)       -->             a = f32[8] exponential(p)
                                                    m = f32[8] multiply(p, a)
                                                    ROOT t = (f32[8], f32[8]) tuple(a, m) }
                                            f = (f32[8], f32[8]) fusion(x), kind=kLoop, calls=fused
                                            a = f32[8] get-tuple-element(f), index=0
                                            m = f32[8] get-tuple-element(f), index=1

A policy is a subclass of Kernels. It says which instructions are members of a kernel and which of
them are its outputs; what it refuses, it notes with the reason. From that follow the operands of
the kernel, its computation, and what is left beside it: what nothing outside of kernels reads any
more goes, and what is read there, too, is computed there again. A member that is a kernel itself is
taken apart, and what two of them compute alike is computed once.

No kernel may need a result that needs one of its own. Policies see to that beforehand (by
construction, by topological levels); a cycle that they leave is a defect, and found here.
Effects keep their order; control edges from what is now part of a kernel say nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from functools import cached_property

from tfc.errors import InternalError
from tfc.hlo import builder
from tfc.hlo.ir import Attributes, Computation, Instruction, Module, remake
from tfc.passes.analysis.called import control_computations, decided, map_some
from tfc.passes.rewriting.decisions import Decisions, Refused, Taken, label

_Known = dict[Hashable, Instruction]


class Kernel:
    """Instructions that become one fusion.

    inputs: what members read that are none, in the order in which they read it.
    body: what the kernel computes of its inputs; the root is a tuple of several results.
    """

    def __init__(
        self,
        kind: str,
        members: Sequence[Instruction],
        outputs: Sequence[Instruction],
        title: str = "",
        merges: bool = False,
    ):
        """
        Args:
            members: what is computed inside, operands first.
            outputs: the members whose values are stored.
            title: what the computation is named for; "" for the opcode of the last output.
            merges: whether members are kernels by themselves, which may compute the same in part.
        """
        self.kind, self.members, self.outputs, self.merges = kind, members, outputs, merges
        members_of = set(members)
        read = [o for member in members for o in member.operands]
        self.inputs = tuple(dict.fromkeys([o for o in read if o not in members_of]))
        parameters = [builder.parameter(n, o.shape) for n, o in enumerate(self.inputs)]
        inside = dict(zip(self.inputs, parameters))
        known: _Known | None = {} if merges else None
        apart: dict[Instruction, list[Instruction]] = {}  # the values of members that are kernels
        for member in members:
            operands = tuple([inside[o] for o in member.operands])
            if member.opcode == "fusion":
                apart[member] = _taken_apart(member["calls"], operands, known)
                inside[member] = apart[member][0]
            else:
                inside[member] = _copied(member, operands, known)
        self._values = {o: apart.get(o, [inside[o]]) for o in outputs}
        self._results = list(dict.fromkeys(v for several in self._values.values() for v in several))
        root = self._results[0] if len(self._results) == 1 else _tuple(self._results)
        title = title or outputs[-1].opcode.replace("-", "_")
        self.body = Computation.make(f"fused_{title}", parameters, root)

    def made(self, new: Mapping[Instruction, Instruction]) -> dict[Instruction, list[Instruction]]:
        """What stands for the outputs: the fusion, or elements of it; several for a tuple's.

        Args:
            new: what stands for the inputs.
        """
        last = self.outputs[-1]
        fusion = Instruction(
            "fusion",
            tuple(new[o] for o in self.inputs),
            self.body.root.shape,
            Attributes(kind=self.kind, calls=self.body),
            f"{last.name}_{'and_others' if self.merges else 'fusion'}",
            last.metadata,
        )
        parts = [fusion]
        if len(self._results) > 1:
            parts = [
                builder.instruction("get-tuple-element", [fusion], index=n, name=v.name)
                for n, v in enumerate(self._results)
            ]
        part = dict(zip(self._results, parts))
        return {output: [part[v] for v in several] for output, several in self._values.items()}


class Kernels:
    """The kernels of one computation, as a policy decides.

    position: the place of each instruction in the computation.
    refusals: what was not put together.
    """

    def __init__(self, computation: Computation):
        self.computation = computation
        self.refusals: list[Refused] = []
        self.kernels: list[Kernel] = []

    @cached_property
    def position(self) -> dict[Instruction, int]:
        """The place of each instruction in the computation."""
        return {x: n for n, x in enumerate(self.computation.instructions)}

    @cached_property
    def earlier_effects(self) -> dict[Instruction, Instruction]:
        """The effect before each effect, which must stay before it."""
        effects = self.computation.effects
        return dict(zip(effects[1:], effects))

    def refuse(self, instruction: Instruction, reason: str, into: Instruction) -> None:
        """Note that an instruction is not put together with another."""
        self.refusals.append(Refused.of(instruction, reason, into))

    def is_read_outside(self, member: Instruction, inside: Container[Instruction]) -> bool:
        """True if a value is wanted by anything that is not `inside`, or by the caller."""
        users = self.computation.users[member]
        return member is self.computation.root or any(u not in inside for u in users)

    @property
    def decisions(self) -> Decisions:
        """The kernels that are formed, and what is refused."""
        formed = (
            Taken(f"{k.kind} of {len(k.members)} instructions", label(k.outputs[-1]))
            for k in self.kernels
        )
        return (*self.refusals, *formed)

    def apply(self) -> Computation:
        """The computation with its kernels; itself if there are none.

        Raises:
            InternalError: kernels need each other's results.
        """
        if not self.kernels:
            return self.computation
        maker = {output: kernel for kernel in self.kernels for output in kernel.outputs}
        new: dict[Instruction, Instruction] = {}
        wholes: dict[Instruction, list[Instruction]] = {}  # the elements of tuples
        for old in self._order(maker):
            if old in maker:
                for output, parts in maker[old].made(new).items():
                    new[output] = parts[0]
                    if output.opcode == "fusion" and output["calls"].root.opcode == "tuple":
                        wholes[output], new[output] = parts, _tuple(parts)
            elif old.opcode == "get-tuple-element" and old.operands[0] in wholes:
                new[old] = wholes[old.operands[0]][old["index"]]
            else:
                new[old] = old.renewed(new)
        return remake(self.computation, new)

    def _order(self, maker: Mapping[Instruction, Kernel]) -> list[Instruction]:
        """What is to be made, operands first: instructions, and one output of each kernel."""
        order = self._postorder(maker, frozenset())
        if any(x.control_predecessors for x in order):
            order = self._postorder(maker, frozenset(order) - maker.keys())
        return order

    def _postorder(
        self, maker: Mapping[Instruction, Kernel], control: frozenset[Instruction]
    ) -> list[Instruction]:
        """The order in which control predecessors count if they are among `control`."""
        earlier = self.earlier_effects
        order: list[Instruction] = []
        done: set[Instruction] = set()
        begun: set[Instruction] = set()
        path: list[Instruction] = []  # what waits, each for a None in the stack
        members = {m for kernel in self.kernels for m in kernel.members}
        # In the order that there is: few have to wait then, and what is only inside is not made.
        stack: list[Instruction | None] = [
            x for x in reversed(self.computation.instructions) if x in maker or x not in members
        ]
        while stack:
            x = stack.pop() or path.pop()
            if x in done:
                continue
            kernel = maker.get(x)
            needed = kernel.inputs if kernel else x.operands
            if kernel is None and control and x.control_predecessors:
                needed = (*needed, *(p for p in x.control_predecessors if p in control))
            if x in earlier:
                needed = (*needed, earlier[x])
            waiting = [o for o in needed if o not in done]
            if not waiting:
                order.append(x)
                done.update(kernel.outputs if kernel else (x,))
                continue
            if x in begun:
                raise InternalError(f"the kernel of {label(x)} needs what needs its results")
            begun.update(kernel.outputs if kernel else (x,))
            path.append(x)
            stack += [None, *reversed(waiting)]
        return order


class FusionPass(ABC):
    """A pass that forms kernels in every computation that runs as steps: `plan` decides which."""

    @abstractmethod
    def plan(self, computation: Computation) -> Kernels:
        """The kernels of one computation, and what was refused."""

    def __call__(self, module: Module) -> Module:
        """The module with the kernels."""
        return map_some(module, control_computations(module), lambda c: self.plan(c).apply())

    def explain(self, module: Module) -> Decisions:
        """The kernels that would be formed, and what would be refused and why."""
        return decided(module, lambda c: self.plan(c).decisions)


def too_much(limit: int, what: str = "kernel") -> str:
    """The reason against a kernel of more than `limit` instructions."""
    return f"the {what} would exceed {limit} instructions"


def _taken_apart(
    called: Computation, arguments: Iterable[Instruction], known: _Known | None
) -> list[Instruction]:
    """The values that a kernel's computation stores, of other arguments."""
    new = dict(zip(called.parameters, arguments))
    whole = called.root if called.root.opcode == "tuple" else None
    for old in called.instructions:
        if old not in new and old is not whole:
            new[old] = _copied(old, tuple([new[o] for o in old.operands]), known)
    return [new[v] for v in (called.root.operands if whole else (called.root,))]


def _copied(
    old: Instruction, operands: tuple[Instruction, ...], known: _Known | None
) -> Instruction:
    """The instruction on other operands; what is `known` is not made again."""
    made = old.with_(operands=operands, control_predecessors=())
    if known is None:
        return made
    return known.setdefault((old.opcode, operands, old.attributes, old.shape), made)


def _tuple(parts: Sequence[Instruction]) -> Instruction:
    return builder.instruction("tuple", parts)
