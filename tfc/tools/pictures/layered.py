"""Layered layout: boxes in rows, edges going down, few crossings, as straight as may be.

Each box is in the row of the longest path to it; an edge over several rows has a bend in each. Rows
are put in order by the mean place of their neighbours, swept down and up; then each row moves as
near to its neighbours as the distances between boxes allow (isotonic regression).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 8
_STRAIGHT = 16.0  # how much more the places of bends count than those of boxes
_GAP, _ROW_GAP, _BEND_WIDTH = 18.0, 30.0, 6.0

Point = tuple[float, float]


@dataclass(frozen=True)
class Placement:
    """Where boxes and edges are.

    corners: the upper left corner of each box.
    paths: for each edge, the points that it goes through, from box to box.
    """

    corners: tuple[Point, ...]
    paths: tuple[tuple[Point, ...], ...]
    width: float
    height: float


def layered(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Placement:
    """Lay out boxes of these sizes (width, height) with edges that form no cycle.

    Every edge goes from a box with a lower number to one with a higher.
    """
    if not sizes:
        return Placement((), (), 0.0, 0.0)
    ranks = _ranks(len(sizes), edges)
    widths = [w for w, _ in sizes]
    chains: list[list[int]] = []  # each edge as boxes and bends
    links: list[tuple[int, int]] = []
    for source, target in edges:
        chain = [source]
        for rank in range(ranks[source] + 1, ranks[target]):
            chain.append(len(widths))
            widths.append(_BEND_WIDTH)
            ranks.append(rank)
        chain.append(target)
        chains.append(chain)
        links += pairwise(chain)
    rows: list[list[int]] = [[] for _ in range(max(ranks) + 1)]
    for item, rank in enumerate(ranks):
        rows[rank].append(item)
    above, below = _neighbours(len(widths), links)
    _order(rows, above, below)
    centres = _centres(rows, widths, above, below)
    return _finished(sizes, rows, ranks, widths, centres, chains)


def _ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The row of each box: one below the lowest operand; what has no operand, above its users."""
    ranks = [0] * count
    users: list[list[int]] = [[] for _ in range(count)]
    has_operands = [False] * count
    for source, target in sorted(edges, key=lambda e: e[1]):
        ranks[target] = max(ranks[target], ranks[source] + 1)
        users[source].append(target)
        has_operands[target] = True
    for box in range(count):
        if not has_operands[box] and users[box]:
            ranks[box] = min(ranks[u] for u in users[box]) - 1
    return ranks


def _neighbours(
    count: int, links: Sequence[tuple[int, int]]
) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for source, target in links:
        above[target].append(source)
        below[source].append(target)
    return above, below


def _order(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> None:
    """Sort each row by the mean position of its neighbours, in place."""
    position = {item: float(n) for row in rows for n, item in enumerate(row)}
    for sweep in range(_SWEEPS):
        neighbours = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = {item: _mean([position[n] for n in neighbours[item]], position[item])
                      for item in row}  # fmt: skip
            row.sort(key=wanted.__getitem__)
            position.update((item, float(n)) for n, item in enumerate(row))


def _centres(
    rows: list[list[int]], widths: list[float], above: list[list[int]], below: list[list[int]]
) -> list[float]:
    """The middle of each box and bend."""
    centres = [0.0] * len(widths)
    for row in rows:
        x = 0.0
        for item in row:
            centres[item] = x + widths[item] / 2
            x += widths[item] + _GAP
    for sweep in range(2 * _SWEEPS + 1):  # the last goes down
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            # The last sweeps look both ways.
            sides = [above, below] if sweep >= _SWEEPS else [above if down else below]
            wanted = [
                _mean([centres[n] for side in sides for n in side[item]], centres[item])
                for item in row
            ]
            # Long edges are kept straight rather than boxes near their neighbours.
            weights = [_STRAIGHT if widths[item] == _BEND_WIDTH else 1.0 for item in row]
            _place(row, wanted, weights, widths, centres)
    return centres


def _place(
    row: list[int],
    wanted: list[float],
    weights: list[float],
    widths: list[float],
    centres: list[float],
) -> None:
    """Put a row's boxes as near as possible to where they are wanted, in order and apart."""
    shifts, total = [], 0.0
    for before, item in zip([None, *row], row):
        if before is not None:
            total += (widths[before] + widths[item]) / 2 + _GAP
        shifts.append(total)
    # Pool adjacent violators: the nearest sequence that does not decrease.
    pools: list[tuple[float, float, int]] = []  # (weighted sum, weight, count)
    for want, shift, weight in zip(wanted, shifts, weights):
        pools.append(((want - shift) * weight, weight, 1))
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            last, before = pools.pop(), pools.pop()
            pools.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    levels = [some / weight for some, weight, count in pools for _ in range(count)]
    for item, level, shift in zip(row, levels, shifts):
        centres[item] = level + shift


def _finished(
    sizes: Sequence[tuple[float, float]],
    rows: list[list[int]],
    ranks: list[int],
    widths: list[float],
    centres: list[float],
    chains: list[list[int]],
) -> Placement:
    left = min(c - w / 2 for c, w in zip(centres, widths))
    heights = [max((sizes[i][1] for i in row if i < len(sizes)), default=0.0) for row in rows]
    tops, y = [], 0.0
    for height in heights:
        tops.append(y)
        y += height + _ROW_GAP
    corners = tuple(
        (centres[n] - width / 2 - left, tops[ranks[n]] + (heights[ranks[n]] - height) / 2)
        for n, (width, height) in enumerate(sizes)
    )
    paths = []
    for chain in chains:
        first, last = chain[0], chain[-1]
        points = [(centres[first] - left, corners[first][1] + sizes[first][1])]
        for bend in chain[1:-1]:
            x, top = centres[bend] - left, tops[ranks[bend]]
            points += [(x, top), (x, top + heights[ranks[bend]])]
        points.append((centres[last] - left, corners[last][1]))
        paths.append(tuple(points))
    right = max(c + w / 2 for c, w in zip(centres, widths)) - left
    return Placement(corners, tuple(paths), right, y - _ROW_GAP)


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
