"""Kernels that are whole loops: a thread takes all turns of its element, in registers.

    z = z * z + c while i < n:    z, i = z[lane], 0;  while i < n { z, i = z * z + c[lane], i + 1 }
                                  z'[lane] = z
    ys[i] = h                     the same, with a store of each turn

What each element is made of is in `tfc.passes.analysis.loops.element_loops`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.movement.placing import put_in_place
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import while_scalars
from tfc.backends.mlir.spaces import bind
from tfc.errors import InternalError
from tfc.hlo.index_maps import constant
from tfc.hlo.ir import Computation, Instruction
from tfc.passes.analysis.loops.element_loops import ElementLoop, element_loop


def loop_parts(kernel: Kernel) -> list[Part]:
    """The functions of a kernel that is a loop: what is written in part begins as it does."""
    form = _Form.of(kernel)
    parts = [
        part
        for result, number in enumerate(form.ended)
        if number in form.loop.stacked
        for part in put_in_place(kernel, form.loop.loop.inits[number], result)
    ]
    return [*parts, Part(form.emit, prod(form.dims))]


@dataclass(frozen=True)
class _Form:
    """How threads run a loop.

    ended: the elements of the state that are results, in their order.
    """

    loop: ElementLoop
    ended: tuple[int, ...]

    @staticmethod
    def of(kernel: Kernel) -> "_Form":
        """That of a kernel."""
        assert kernel.loop is not None
        found = element_loop(kernel.loop)
        if isinstance(found, str):
            raise InternalError(f"{kernel.loop.name} is no kernel: {found}")
        return _Form(found, tuple(e["index"] for e in kernel.root.operands))

    @cached_property
    def carried(self) -> list[int]:
        """The elements of the state that a thread needs."""
        needed = self.loop.loop.needed(sum(1 << n for n in self.ended))
        return [n for n in self.loop.carried if needed >> n & 1]

    @property
    def dims(self) -> tuple[int, ...]:
        """The dimensions of what threads share out: one thread has all scalars."""
        only_shared = all(self.loop.is_shared(n) for n in self.ended)
        return () if only_shared else self.loop.dims

    def emit(self, work: Work) -> None:
        """Emit what a thread does."""
        index = self.loop.index

        def each(point: Sequence[object]) -> None:
            outer = Elements(sources(work.kernel, work.buffers), bind(index, point))
            _Thread(self, work, outer).emit()

        Grid().each(self.dims or (1,), each)


@dataclass(frozen=True)
class _Thread:
    """The code of a thread.

    outer: the elements of what the loop begins with.
    """

    form: _Form
    work: Work
    outer: Elements

    def emit(self) -> None:
        """All turns, and what is left of them in memory."""
        loop, carried = self.form.loop.loop, self.form.carried
        start = [self.begin(n) for n in carried]
        # Before the loop, as the code of `outer` is.
        kept = {n: self.unchanging(i) for n, i in enumerate(loop.inits) if loop.invariant[n]}

        def goes_on(state: Sequence[Scalar]) -> Scalar:
            now = {**kept, **dict(zip(carried, state))}
            return self.turn(loop.condition, now).element(loop.condition.root, ())

        def following(state: Sequence[Scalar]) -> list[Scalar]:
            scope = self.turn(loop.body, {**kept, **dict(zip(carried, state))})
            made = [scope.element(loop.results[n], self.index_of(n)) for n in carried]
            for number, buffer in self.results():
                if number in self.form.loop.stacked:
                    inside, place = self.form.loop.update_place(number)
                    update = loop.results[number].operands[1]
                    scope.store(scope.element(update, inside), buffer, place)
            return made

        ended = dict(zip(carried, while_scalars(start, goes_on, following)))
        for number, buffer in self.results():
            if number in ended:
                self.outer.store(ended[number], buffer, self.index_of(number))

    def index_of(self, number: int) -> tuple:
        """The thread's element of an element of the state."""
        return self.form.loop.index if self.form.loop.rank(number) else ()

    def begin(self, number: int) -> Scalar:
        """What the thread's element of an element of the state begins as."""
        return self.outer.element(self.form.loop.loop.inits[number], self.index_of(number))

    def results(self) -> list[tuple[int, Buffer]]:
        """The numbers of what the kernel gives, and where it goes to."""
        return list(zip(self.form.ended, self.work.buffers[-len(self.form.ended) :]))

    def turn(self, computation: Computation, now: Mapping[int, Buffer | Scalar]) -> Elements:
        """The elements in a turn of the condition or the body, given the state in it."""
        given: dict[Instruction, Buffer | Scalar] = {}
        for value in computation.users[computation.parameters[0]]:
            number = self.form.loop.loop.number_in(computation, value)
            if number is not None and number in now:
                given[value] = now[number]
        return self.outer.inside(given)

    def unchanging(self, init: Instruction) -> Buffer | Scalar:
        """What a loop hands on as it is: an argument, or one number throughout."""
        parameters = self.work.kernel.computation.parameters
        if init in parameters and init.array_shape.rank:
            return self.work.buffers[parameters.index(init)]
        return self.outer.element(init, (constant(0),) * init.array_shape.rank)
