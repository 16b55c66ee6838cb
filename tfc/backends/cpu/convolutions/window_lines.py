"""The loops around lines of a window that is larger than the convolution's result.

Positions are in elements of the array (`lhs`), of the kernel (`rhs`) and of the sums. What is given
for each dimension of the result leaves out the batch where a caller goes through that itself.
"""

from collections.abc import Callable, Sequence

from tfc.backends.cpu.convolutions.spec import ConvolutionSpec
from tfc.backends.mlir.vectors import Position, add, for_range, multiply
from tfc.backends.mlir.windows import bounds_inside
from tfc.hlo.attributes.window import WindowDimension

Parts = Sequence[tuple[Position, Position]]
Line = Callable[[Position, Position, Position], None]


def widest_place(spec: ConvolutionSpec) -> int:
    """The dimension of the result, but the last spatial one, along which chunks share the work."""
    sizes = spec.out.dims[1:-2]
    return sizes.index(max(sizes)) + 1 if sizes else 0


def inside_of(d: WindowDimension, size: int, place: int) -> tuple[int, int]:
    """The taps first … end-1 of a place that are not on padding."""
    before = place * d.stride - d.low
    reach = before, before + d.extent - 1
    first, end = bounds_inside(before, d.window_dilation, size, (0, d.size), reach)
    return min(first, end), end


def each_line(
    steps: Sequence[int],
    parts: Parts,
    body: Callable[[tuple[Position, ...], Position], None],
    at: Position = 0,
    places: tuple[Position, ...] = (),
) -> None:
    """Loops over the places of the result but along the last spatial dimension and the features.

    Args:
        steps: how far neighbours along each dimension of the result are in the sums.
        parts: the first place along each that is wanted, and the end.
        body: takes the places, and where their line of sums begins.
    """
    n = len(places)
    if n == len(steps) - 2:
        body(places, at)
        return
    for_range(
        *parts[n], 1,
        lambda p, _: each_line(steps, parts, body, add(at, multiply(p, steps[n])), (*places, p)),
    )  # fmt: skip


def meet_lines(
    spec: ConvolutionSpec,
    steps: Sequence[int],
    parts: Parts,
    line: Line,
    starts: tuple[Position, Position, Position],
    n: int = 0,
) -> None:
    """Loops over the lines of the window and, for each, those of the result that meet it inside.

    Args:
        steps, parts: as in `each_line`, for the spatial dimensions and the features.
        line: takes where the lines begin in the array, the kernel and the sums.
        starts: where these begin.
        n: the spatial dimension that is next.
    """
    if n == len(spec.window.dimensions) - 1:
        line(*starts)
        return
    d, size, count = spec.window.dimensions[n], spec.lhs.dims[n + 1], spec.out.dims[n + 1]
    lhs, rhs, sums = starts

    def tap(q: Position, _: object) -> None:
        before = add(multiply(q, d.window_dilation), -d.low)

        def place(p: Position, _: object) -> None:
            at = add(multiply(p, d.stride), before)
            inner = (
                add(lhs, multiply(at, spec.lhs.strides[n + 1])),
                add(rhs, multiply(q, spec.rhs.strides[n])),
                add(sums, multiply(p, steps[n])),
            )
            meet_lines(spec, steps, parts, line, inner, n + 1)

        for_range(*bounds_inside(before, d.stride, size, parts[n], d.reach(count)), 1, place)

    for_range(0, d.size, 1, tap)
