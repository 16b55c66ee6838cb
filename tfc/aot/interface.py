"""What a generated class offers beyond the arrays of a module: names of results, state."""

from dataclasses import dataclass

from tfc.hlo.ir import Module


@dataclass(frozen=True)
class State:
    """A variable: an argument that the class keeps between runs, and what it becomes.

    argument, result: their numbers; result None for one that is only read.
    is_own: whether it lies in memory of the class's own also where callers bring the arguments.
    initial: the bytes that it holds at first; zeros if left out.
    """

    name: str
    argument: int
    result: int | None
    is_own: bool = False
    initial: bytes | None = None


@dataclass(frozen=True)
class Interface:
    """A module with what its callers call its arguments and results.

    arguments, results: a name for each that is no variable; "" for none. Left out, arguments have
        the names of the module's parameters.
    states: the variables; their arguments and results are behind all others.
    """

    module: Module
    arguments: tuple[str, ...] | None = None
    results: tuple[str, ...] = ()
    states: tuple[State, ...] = ()


@dataclass(frozen=True)
class Batch:
    """The sizes of batch that a class has code for, and where rows are.

    sizes: of what is compiled, ascending. Buffers are as large as for the last.
    takes_any: whether rows are independent, so that runs of these sizes make up any number of rows
        from the first size on.
    arguments, results: how many entries of the first dimension are one row; 0 for those that are
        the same for all sizes.
    """

    sizes: tuple[int, ...]
    takes_any: bool
    arguments: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Batched:
    """Programs for several sizes of batch, in the order of the sizes.

    reason: why other sizes than these cannot be served; empty if they can.
    """

    programs: tuple[Interface, ...]
    batch: Batch
    reason: str = ""
