"""The programs of a class for several sizes of batch.

make(32), make(33) ──places──► where the rows are
       └──────────resized──► 1, 2, 4, 8, 16, 32      if rows are independent; else make(1), make(8)

Whether rows are independent is found out twice: by following them through the program, and by
making it anew for the other sizes, which must give the same as resizing does. A function that
divides by the size of its batch, say, gives another. For one row alone it is not made, as sizes of
one are treated in ways of their own that mean the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tfc.aot.batches.resizing import resized
from tfc.aot.batches.rules import Rows, Sizes
from tfc.aot.interface import Batch, Batched, Interface
from tfc.errors import ShapeError, TfcError, UnsupportedError
from tfc.hlo.ir import Computation, Module
from tfc.hlo.shape import Shape, leaves
from tfc.hlo.structure import structure
from tfc.passes.analysis.donation import donation_of
from tfc.passes.expand.inline import Inline

MOST_ROWS = 1 << 24
Make = Callable[[int], Module | Interface]


@dataclass(frozen=True)
class Asked:
    """The sizes to compile for.

    is_any: whether all sizes from the first to the last must be served.
    """

    sizes: tuple[int, ...]
    is_any: bool = False

    @staticmethod
    def of(sizes: Sequence[int], most: int | None) -> "Asked | None":
        """What a list of sizes asks for, or the most rows of a dynamic batch; None if neither.

        Raises:
            TfcError: both are given, or a size is none.
        """
        if sizes and most is not None:
            raise TfcError("give the sizes of batches, or the most rows of a dynamic one, not both")
        for size in (*sizes, *([] if most is None else [most])):
            if not 1 <= size <= MOST_ROWS:
                raise TfcError(f"the size of a batch must be 1 to {MOST_ROWS}, got {size}")
        if most is None:
            return Asked(tuple(sorted(set(sizes)))) if sizes else None
        powers = [1 << n for n in range(most.bit_length()) if 1 << n < most]
        return Asked((*powers, most), is_any=True)


def programs(make: Make, asked: Asked) -> Batched:
    """The programs for the sizes.

    Args:
        make: the program for a size, from a source that says which first dimensions are open.

    Raises:
        ShapeError: no argument has rows, or rows lie along another dimension than the first.
        UnsupportedError: any size is to be served, but rows are not independent.
    """
    largest = asked.sizes[-1]
    size = max(largest, 2)  # of one row nothing shows what happens to several
    further = [n for n in asked.sizes if 1 < n < size] or [size + 1]
    sizes = Sizes(size, further[-1])
    made, other = _interface(make(size)), _interface(make(sizes.new))
    arguments = _places(made, other, sizes, "argument")
    if not any(arguments):
        raise ShapeError("no argument has rows: a first dimension must be open, as in f32[?,8]")
    results = _places(made, other, sizes, "result")
    batch = Batch(asked.sizes, True, arguments, results)
    try:
        _require_independent(made, other, batch, sizes)
        for n in further[:-1]:
            _require_independent(made, _interface(make(n)), batch, Sizes(size, n))
    except UnsupportedError as error:
        if asked.is_any:
            raise UnsupportedError(f"rows of the batch are not independent: {error}") from None
        exact = tuple(_interface(make(n)) for n in asked.sizes)
        return Batched(exact, replace(batch, takes_any=False), str(error))
    found = [made if n == size else _at(made, batch, Sizes(size, n)) for n in asked.sizes]
    return Batched(tuple(found), batch)


def _interface(made: Module | Interface) -> Interface:
    return made if isinstance(made, Interface) else Interface(made)


def _places(made: Interface, other: Interface, sizes: Sizes, kind: str) -> tuple[int, ...]:
    """How many entries of its first dimension are a row, for each argument or result; or 0.

    Raises:
        ShapeError: the rows lie elsewhere.
    """
    found = []
    for number, (a, b) in enumerate(zip(_arrays(made, kind), _arrays(other, kind), strict=True)):
        count = a.dims[0] // sizes.old if a.dims else 0
        if a.dims == b.dims:
            found.append(0)
        elif (a.dims[1:], a.dims[:1], b.dims[:1]) == (
            b.dims[1:], (count * sizes.old,), (count * sizes.new,)
        ):  # fmt: skip
            found.append(count)
        else:
            raise ShapeError(
                f"{kind} {number} is {a.without_layout()} for a batch of {sizes.old} and "
                f"{b.without_layout()} for one of {sizes.new}: rows must lie along its first "
                "dimension"
            )
    return tuple(found)


def _arrays(made: Interface, kind: str) -> list[Shape]:
    entry = made.module.entry
    if kind == "result":
        return list(leaves(entry.root.shape))
    return [shape for p in entry.parameters for shape in leaves(p.shape)]


def _require_independent(made: Interface, other: Interface, batch: Batch, sizes: Sizes) -> None:
    """Check that programs of these sizes may each run on a part of a batch.

    Raises:
        UnsupportedError: they may not; the message says what is in the way.
    """
    donation = donation_of(made.module)
    if donation.arguments or made.states:
        raise UnsupportedError("a run writes what the next one reads")
    expected = _at(made, batch, sizes).module
    if _meaning(expected) != _meaning(other.module):
        raise UnsupportedError(
            f"the program for {sizes.new} rows differs from that for {sizes.old} in more than sizes"
        )


def _at(made: Interface, batch: Batch, sizes: Sizes) -> Interface:
    """The program for another size.

    Raises:
        UnsupportedError: its rows are not independent.
    """
    places = [Rows(0, count) if count else None for count in batch.arguments]
    module, found = resized(made.module, places, sizes)
    wanted = tuple(Rows(0, count) if count else None for count in batch.results)
    if found != wanted:
        raise UnsupportedError("a result has the size of the batch, but no rows of it")
    return replace(made, module=module)


def _meaning(module: Module) -> object:
    """What is equal for modules that compute the same in the same steps, calls or not."""
    entry = Inline()(module).entry
    return structure(Computation.make("", entry.parameters, entry.root))
