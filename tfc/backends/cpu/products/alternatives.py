"""The schedules that there are for a product on CPUs, of which the tuner measures some."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product

from tfc.backends.choices import chosen
from tfc.backends.cpu.products.choice import ProductChoice
from tfc.backends.cpu.products.schedule import (
    MatmulSpec,
    TileSchedule,
    further_rows,
    largest_tiles,
    make_schedule,
)
from tfc.backends.cpu.products.splits import ways_to_share
from tfc.backends.target import Target

_CHUNKS_A_CORE = (1, 2, 4)
_SHARED_FROM = 1 << 20  # multiplications; in fewer no threads share


def with_choice(spec: MatmulSpec, target: Target, cores: Callable[[], int]) -> MatmulSpec:
    """A product with what was measured to be best for it, if anything was."""
    flat = spec.flattened()
    choice = chosen(
        ("product on CPU", flat),
        lambda: make_schedule(flat, target),
        lambda: alternatives(flat, target, cores()),
    )
    return spec if choice is None else replace(spec, choice=choice)


@cache
def alternatives(spec: MatmulSpec, target: Target, cores: int) -> tuple[ProductChoice, ...]:
    """What may be chosen for a product in place of the model's schedule; each gives another one.

    What differs from the model's in one way comes before what differs in several.
    """
    if 0 in (spec.batch, spec.m, spec.n, spec.k):
        return ()
    model = make_schedule(spec, target)
    found: dict[tuple[TileSchedule, tuple[str, int] | None], ProductChoice] = {}
    found[model, None] = ProductChoice()
    for choice in sorted(_stated(spec, target, cores, model), key=_changes):
        made = make_schedule(replace(spec, choice=choice), target)
        found.setdefault((made, choice.share), choice)
    return tuple(found.values())[1:]


def _stated(
    spec: MatmulSpec, target: Target, cores: int, model: TileSchedule
) -> Iterator[ProductChoice]:
    """All combinations of what there is to choose; many give the same schedule."""
    lanes = target.lanes(spec.element_type.bits)
    tiles = largest_tiles(target, lanes, further_rows=further_rows(spec.words))
    panels = (None, target.l1_bytes // 4, target.l1_bytes * 3 // 4)
    shares = [None, *_shares(spec, target, cores)]
    is_stream = model.stream is not None
    yield from (ProductChoice(stream=True, share=share) for share in shares)
    for share, left, right, panel, tile in product(
        shares, *_packings(spec, model), panels, (None, *tiles[1:])
    ):
        yield ProductChoice(False if is_stream else None, tile, panel, left, right, share)


def _packings(spec: MatmulSpec, model: TileSchedule) -> tuple[list[bool | None], list[bool | None]]:
    """Whether the left and the right operand may be packed where the model does not, or else."""
    left: list[bool | None] = [None]
    right: list[bool | None] = [None]
    if model.stream is None and spec.words is None:
        if not spec.lhs_computed:
            left.append(not model.pack_lhs)
        if not spec.rhs_computed and spec.rhs_strides[2] == 1:
            right.append(not model.pack_rhs)
    return left, right


def _shares(spec: MatmulSpec, target: Target, cores: int) -> list[tuple[str, int]]:
    """Along what, and in how many chunks, threads may share a product."""
    if cores == 1 or spec.batch * spec.m * spec.n * spec.k < _SHARED_FROM:
        return []
    counts = [cores * each for each in _CHUNKS_A_CORE]
    return [(way.along, n) for n in counts for way in ways_to_share(spec, target, n)]


def _changes(choice: ProductChoice) -> int:
    """In how many ways a choice is not the model's."""
    stated = (choice.stream, choice.tile, choice.panel, choice.pack_lhs, choice.pack_rhs)
    return sum(s is not None for s in (*stated, choice.share))
