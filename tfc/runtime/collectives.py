"""What devices do together: a collective, what reduces in it, and the engines that carry it out.

    run = here.bind(all_reduce, [x], [y])       once, for arrays that stay where they are
    run()                                       y is now the sum of all x
    finish = here.begin(all_reduce, [x], [y])   begun; other work may be done meanwhile
    finish()                                    y is now the sum of all x

Arrays are those of the program, where they lie in its memory. An engine that can hand them to
others without a copy does so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np

from tfc.runtime.arrays import ArraySpec

Array = np.ndarray
Arrays = Sequence[Array]


@dataclass(frozen=True)
class Reduction:
    """How the elements of a group become one.

    name: HLO's of the operation on two elements, such as "add"; "" for a function of several.
    combine: the function of two arrays, element by element.
    """

    name: str
    combine: Callable[[Array, Array], Array]

    def total(self, given: Arrays) -> Array:
        """All arrays combined, from the first to the last."""
        return reduce(self.combine, given)


@dataclass(frozen=True, eq=False)
class Collective:
    """One operation of a program in which a group of devices meets, as one of them sees it.

    kind: "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute" or
        "collective-broadcast".
    what: the operation in messages; the same for all of the group. `name` may say more.
    group: the devices, in the order in which they count; `own` is the position of this one.
    dimension: along which arrays are gathered, scattered or split; None where several arrays are
        exchanged in an all-to-all, one for each of the group.
    pairs: of a collective-permute, positions (source, target).
    """

    kind: str
    what: str
    group: tuple[int, ...]
    own: int
    dimension: int | None = None
    reduction: Reduction | None = None
    pairs: tuple[tuple[int, int], ...] = ()
    name: str = ""

    @property
    def source(self) -> int | None:
        """The position that a collective-permute brings something from, if there is one."""
        return next((s for s, target in self.pairs if target == self.own), None)

    def reduced(self, given: Arrays) -> Array:
        """What a reducing collective makes of the arrays of all.

        Raises:
            AttributeError: it does not reduce.
        """
        assert self.reduction is not None
        return self.reduction.total(given)


@dataclass(frozen=True)
class Place:
    """The address of an operand or a result, by its number; the results follow the operands."""

    buffer: int


@dataclass(frozen=True)
class ForeignCall:
    """A call of a C function, which returns an int, 0 if all is well.

    function: its address.
    kinds: what its arguments are: "ptr", "i32" or "i64".
    """

    function: int
    kinds: tuple[str, ...]
    arguments: tuple[int | Place, ...]


@dataclass(frozen=True)
class CopyBytes:
    """So many bytes of an operand or a result become another's."""

    target: Place
    source: Place
    size: int


@dataclass(frozen=True)
class Direct:
    """How code runs a collective without Python, on arrays wherever they lie.

    doing, done: addresses of numbers of 64 bits. While it runs the first is `number`, then 0;
        the second counts how many have run.
    error: what a call means that does not return 0.
    """

    steps: tuple[ForeignCall | CopyBytes, ...]
    doing: int
    done: int
    number: int
    error: Callable[[int], BaseException]


@dataclass(frozen=True)
class Run:
    """What runs a collective on arrays where they lie, and how others of the same specs go."""

    run: Callable[[], None]
    direct: Direct

    def __call__(self) -> None:
        self.run()


class Messages(Protocol):
    """Values from one device to another, over channels with numbers."""

    def send(self, what: str, channel: int, value: Array, target: int) -> None:
        """Give a value to a device, without waiting for it to be taken."""
        ...

    def receive(self, what: str, channel: int, spec: ArraySpec, source: int) -> Callable[[], Array]:
        """Ask a device for the next value; the function that is returned waits for it."""
        ...


class Engine(Protocol):
    """What joins the devices that run one program together.

    messages: None where devices share the channels of tfc/runtime/transfers.py.
    overlaps: whether what is begun goes on while its device does something else.
    """

    overlaps: bool

    @property
    def messages(self) -> Messages | None:
        """How values go from one device to another."""
        ...

    def bind(self, collective: Collective, given: Arrays, results: Arrays) -> Callable[[], None]:
        """A function that runs a collective on arrays where they lie, as often as it is called.

        It is a `Run` if code may do the same by itself.

        Args:
            given: the operands, row-major or all in one order of dimensions.
            results: written to.

        Raises:
            TfcError: when called: some device of the group has ended, or does something else.
        """
        ...

    def begin(self, collective: Collective, given: Arrays, results: Arrays) -> Callable[[], None]:
        """Begin a collective; the function that is returned waits until the results are there.

        Operands must stay as they are and results must be left alone until then. Several may be
        under way; all of a group begin them in one order and wait for them in one order, which may
        be another: what MPI cannot reduce is exchanged a second time when it is waited for.

        Raises:
            TfcError: now or then: some device of the group has ended, or does something else.
        """
        ...

    def barrier(self, what: str, group: Sequence[int], device: int) -> None:
        """Wait until all of the group have come here.

        Raises:
            TfcError: some device of the group has ended, or does something else.
        """
        ...


Asked = Callable[[int], None]


class Stream(Protocol):
    """What one GPU is asked for, in order."""

    @property
    def identity(self) -> str:
        """Which GPU it is, among all of its host."""
        ...

    def ask(self, work: Asked) -> None:
        """Let another library ask for work in the stream whose address it is given."""
        ...

    def mark(self) -> Any:
        """This place in the order, with `is_passed()`."""
        ...


class GpuEngine(Protocol):
    """What joins the GPUs of a job of processes, without the memory of their hosts."""

    def bind(
        self,
        collective: Collective,
        given: Sequence[int],
        results: Sequence[int],
        specs: Sequence[ArraySpec],
        stream: Stream,
    ) -> Asked:
        """A function that asks for a collective on arrays in the GPU's memory.

        Args:
            given, results: addresses of dense row-major arrays.
            specs: what lies at those of `given`.

        Raises:
            TfcError: that cannot be done.
        """
        ...

    def asked(self, what: str, group: tuple[int, ...], stream: Stream) -> None:
        """Say what the GPU was asked for last, so that others learn if it does not end."""
        ...


def results_of(collective: Collective, given: Sequence[Arrays]) -> list[Array]:
    """The results of a collective for what each device of the group gave, in plain NumPy."""
    own = collective.own
    dimension = 0 if collective.dimension is None else collective.dimension
    columns = list(zip(*given))
    match collective.kind:
        case "all-reduce":
            return [collective.reduced(c) for c in columns]
        case "all-gather":
            return [np.concatenate(c, dimension) for c in columns]
        case "reduce-scatter":
            return [np.split(collective.reduced(c), len(given), dimension)[own] for c in columns]
        case "all-to-all" if collective.dimension is None:
            return [row[own] for row in given]
        case "all-to-all":
            parts = [np.split(row[0], len(given), dimension)[own] for row in given]
            return [np.concatenate(parts, dimension)]
        case "collective-permute":
            source = collective.source
            return [np.zeros_like(v) for v in given[own]] if source is None else [*given[source]]
        case _:
            return [*given[0]]
