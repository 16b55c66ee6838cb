"""How matrix products are shared among threads.

    rows:     chunk c has rows c·m/n … of the result      a chunk packs what it uses of the operands
    columns:  chunk c has columns c·n/n …
    batch:    chunk c has the products of its batches

All chunks but the last are equal, so that one code serves them. What they pack several times
between them is work in vain, and so are tiles that are not full: the way that costs the least is
taken. More chunks than cores leave less to wait for at the end when a core is late, so there are as
many as cost nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from tfc.backends.cpu.products.schedule import MatmulSpec, make_schedule
from tfc.backends.target import Target
from tfc.errors import InternalError

Along = Literal["rows", "columns", "batch"]
_LEAST_ROWS = 8  # rows or columns that a chunk is worth it for
# Products in the time to pack an element, to compute it, or to read it first.
PACKED, _COMPUTED, _READ = 8, 16, 6
_LINE = 96  # elements that are read in the time to go to another line of memory
_NOTHING = 1.01  # a loss of time that is none


@dataclass(frozen=True)
class ProductSplit:
    """A product in chunks.

    spec: that of each chunk but the last, but for `batch` that of all.
    last: that of the last chunk, which may have fewer rows or columns.
    """

    chunks: int
    along: Along
    spec: MatmulSpec
    last: MatmulSpec

    def workspace_size(self, target: Target) -> int:
        """The number of elements of the workspace of each chunk."""
        return max(self.spec.workspace_size(target), self.last.workspace_size(target))


@cache
def product_chunks(spec: MatmulSpec, target: Target, cores: int, most: int) -> int:
    """In how many chunks, `most` at the most, cores share a product."""

    flat = spec.flattened()
    along, chosen = spec.choice.share or ("", most + 1)
    if chosen <= most and any(w.along == along for w in ways_to_share(flat, target, chosen)):
        return chosen

    def time(chunks: int) -> float:
        ways = ways_to_share(flat, target, chunks)
        return min((chunk_cost(w, target) for w in ways), default=float("inf")) * -(
            -chunks // cores
        )

    return most_chunks(range(1, most + 1), time)


@cache
def split_product(spec: MatmulSpec, target: Target, chunks: int) -> ProductSplit:
    """The best way to share a product among so many chunks, which `product_chunks` said."""
    ways = list(ways_to_share(spec.flattened(), target, chunks))
    share = spec.choice.share
    asked = [way for way in ways if share == (way.along, chunks)]
    best = min(asked or ways, key=lambda way: chunk_cost(way, target), default=None)
    if best is None:
        raise InternalError(f"no way to share {spec} among {chunks} chunks")
    return best


def can_be_split(spec: MatmulSpec, target: Target, chunks: int) -> bool:
    """Whether there is a way to share a product among exactly so many chunks."""
    return any(True for _ in ways_to_share(spec.flattened(), target, chunks))


def most_chunks(counts: Iterable[int], time: Callable[[int], float]) -> int:
    """The largest number of chunks that takes no longer than the best."""
    times = {chunks: time(chunks) for chunks in counts}
    return max(c for c, t in times.items() if t <= _NOTHING * min(times.values()))


def ways_to_share(spec: MatmulSpec, target: Target, chunks: int) -> Iterator[ProductSplit]:
    """The ways to share a product among exactly so many chunks."""
    if chunks == 1 or spec.batch % chunks == 0:
        yield ProductSplit(chunks, "batch", spec, spec)
    schedule, whole = make_schedule(spec, target), (spec.m, spec.n)
    rows = _parts(spec.m, chunks, max(schedule.tile_rows, 1))
    if rows is not None:
        yield ProductSplit(chunks, "rows", *(replace(spec, m=m, part_of=whole) for m in rows))
    step = spec.rhs_panels or schedule.tile_columns or schedule.lanes
    columns = _parts(spec.n, chunks, step)
    if columns is not None:
        yield ProductSplit(chunks, "columns", *(replace(spec, n=n, part_of=whole) for n in columns))


def _parts(size: int, chunks: int, step: int) -> tuple[int, int] | None:
    """The size of all parts of rows or columns, and that of the last, if it can be so many."""
    part = -(-size // (chunks * step)) * step
    last = size - part * (chunks - 1)
    return (part, last) if chunks > 1 and part >= _LEAST_ROWS and last > 0 else None


def chunk_cost(way: ProductSplit, target: Target) -> int:
    """What a chunk costs: in products, as far as a line of an operand counts for some.

    The last tile takes as long as a full one. An element that is packed takes as long as some rows'
    products with it, and the first reading of one some fewer.
    """
    spec, schedule = way.spec, make_schedule(way.spec, target)
    rows = -(-spec.m // max(schedule.tile_rows, 1)) * max(schedule.tile_rows, 1)
    right = _element(schedule.pack_rhs, spec.rhs_computed)
    left = _element(schedule.pack_lhs, spec.lhs_computed)
    products = ((rows + right) * spec.n + left * spec.m) * spec.k
    if spec.rhs_strides[2] == 1 or spec.rhs_panels:
        products += right * _LINE * spec.k
    return products * spec.batch // (way.chunks if way.along == "batch" else 1)


def _element(packed: bool, computed: bool) -> int:
    """What an element of an operand costs before it is multiplied, in products."""
    return (PACKED if packed else _READ) + (_COMPUTED if computed else 0)
