"""How matrix products and convolutions are shared among threads, in chunks of one size.

    rows:     chunk c has rows c·m/n … of the result      a chunk packs what it uses of the operands
    columns:  chunk c has columns c·n/n …
    batch:    chunk c has the products of its batches

Chunks are equal so that one code serves all. What they pack several times between them is work in
vain, and so are tiles that are not full: the way that costs the least is taken.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from tfc.backends.mlir.convolution_spec import ConvolutionSpec
from tfc.backends.mlir.kernel_gradients import feature_chunks
from tfc.backends.mlir.matmul_schedule import MatmulSpec, make_schedule
from tfc.backends.mlir.wide_windows import widest_place
from tfc.backends.target import Target

Along = Literal["rows", "columns", "batch"]
_LEAST_ROWS = 8  # rows or columns that a chunk is worth it for
_PACKED, _READ = 8, 3  # products in the time to pack an element, or to read it first


@dataclass(frozen=True)
class ProductSplit:
    """A product in chunks: the spec is that of each chunk, but for `batch` that of all."""

    chunks: int
    along: Along
    spec: MatmulSpec


@cache
def split_product(spec: MatmulSpec, target: Target, most: int) -> ProductSplit:
    """The best way to share a product among so many chunks, or fewer that are equal."""
    spec = spec.flattened()
    ways = [w for w in _ways(spec, target, most) if w.chunks > 1]
    best = max((w.chunks for w in ways), default=1)
    # A chunk more or less matters less than packing everything twice.
    ways = [w for w in ways if 2 * w.chunks > best]
    if not ways:
        return ProductSplit(1, "rows", spec)
    return min(ways, key=lambda w: (_cost(w, target), -w.chunks))


def _ways(spec: MatmulSpec, target: Target, most: int) -> Iterator[ProductSplit]:
    chunks = _divisor(spec.batch, most)
    yield ProductSplit(chunks, "batch", spec)
    chunks = _divisor(spec.m, min(most, spec.m // _LEAST_ROWS))
    yield ProductSplit(chunks, "rows", replace(spec, m=spec.m // chunks))
    for chunks in range(min(most, spec.n // _LEAST_ROWS), 1, -1):
        if spec.n % chunks == 0:
            part = replace(spec, n=spec.n // chunks)
            schedule = make_schedule(part, target)
            if schedule.stream is not None or part.n % schedule.tile_columns == 0:
                yield ProductSplit(chunks, "columns", part)
                return


def _cost(way: ProductSplit, target: Target) -> int:
    """What the chunks cost together: in products, as far as a line of an operand counts for some.

    The last tile takes as long as a full one. An element that is packed takes as long as some rows'
    products with it, and the first reading of one some fewer.
    """
    spec, schedule = way.spec, make_schedule(way.spec, target)
    rows = -(-spec.m // max(schedule.tile_rows, 1)) * max(schedule.tile_rows, 1)
    products = (rows + (_PACKED if schedule.pack_rhs else _READ)) * spec.n * spec.k
    products += (_PACKED if schedule.pack_lhs else _READ) * spec.m * spec.k
    return products * spec.batch * (1 if way.along == "batch" else way.chunks)


def _divisor(size: int, most: int) -> int:
    """The largest number up to `most` that divides a size."""
    return next((n for n in range(min(most, size), 1, -1) if size % n == 0), 1)


@dataclass(frozen=True)
class ConvolutionSplit:
    """A convolution in chunks: of the first spatial dimension, the widest place, or features."""

    chunks: int
    spec: ConvolutionSpec


@cache
def split_convolution(spec: ConvolutionSpec, target: Target, most: int) -> ConvolutionSplit:
    """The way to share a convolution among so many chunks."""
    form, shared = spec.form(target), 1
    if form == "kernel gradient" and feature_chunks(spec, target):
        return ConvolutionSplit(max(min(most, feature_chunks(spec, target)), 1), spec)
    plan = spec.tap_plan(target)
    if form == "taps" and plan is not None:
        return ConvolutionSplit(max(min(most, spec.columns // plan.columns), 1), spec)
    if form in ("kernel gradient", "wide window"):
        shared = widest_place(spec)
    if len(spec.window.dimensions) < 2:
        if form not in ("depthwise", "few features"):
            return ConvolutionSplit(1, spec)
        shared = 0
    return ConvolutionSplit(max(min(most, spec.out.dims[shared]), 1), spec)
