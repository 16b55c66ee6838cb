"""The messages of collectives: who sends how many bytes to whom, round after round.

Members are numbered 0 … n-1 in the order of the group; B is the bytes that the collective is of (an
all-gather's result, everything else's operand). A round ends when all of its messages have arrived.

                     ring                    tree                            direct
    all-reduce       2(n-1) of B/n           2⌈log2 n⌉ of B                  1 of B to each other
    reduce-scatter   n-1 of B/n              ⌈log2 n⌉, (n-1)/n B in all      1 of B/n to each other
    all-gather       n-1 of B/n              ⌈log2 n⌉, (n-1)/n B in all      1 of B/n to each other
    all-to-all       n-1 of B/n, B(n-1)/2n   ⌈log2 n⌉, about B/2 each        1 of B/n to each other
                     on average
    broadcast        2(n-1) of B/n           ⌈log2 n⌉ of B                   1 of B to each other

Trees are binomial for all-reduce and broadcast, Bruck's algorithm for the others, for any n. A
hierarchical one is rings within blocks and rings across: an all-reduce is a reduce-scatter within,
an all-reduce of the parts across, and an all-gather within.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tfc.errors import TfcError

_MOST_DIRECT = 2048  # members of a group that all send to all


@dataclass(frozen=True)
class Round:
    """Messages that are under way at one time, and how often that happens.

    sources, targets: s64[messages], members of the group.
    sizes: f64[messages], in bytes.
    """

    sources: np.ndarray
    targets: np.ndarray
    sizes: np.ndarray
    count: int = 1


Rounds = list[Round]


def rounds_of(kind: str, algorithm: str, members: int, size: float, block: int = 1) -> Rounds:
    """The rounds of a collective among so many members.

    Args:
        kind: HLO's name of it.
        size: the bytes that it is of.
        block: how many neighbours a hierarchical one joins first; a divisor of `members`.

    Raises:
        TfcError: there is no such algorithm for the collective, or the group is too large for it.
    """
    if members == 1 or not size:
        return []
    if algorithm == "direct" and members > _MOST_DIRECT:
        raise TfcError(f"a direct {kind} among {members} devices is too much; take ring or tree")
    made = _MADE.get((kind, algorithm))
    if made is None:
        raise TfcError(f"there is no {algorithm} {kind}: take one of {', '.join(offered(kind))}")
    if algorithm == "hierarchical":
        return _hierarchical(kind, members, size, block)
    return made(members, size)


def offered(kind: str) -> list[str]:
    """The algorithms that there are for a collective."""
    return [algorithm for known, algorithm in _MADE if known == kind]


def _shift(members: int, size: float, by: int = 1, count: int = 1) -> Round:
    """Each member sends to the one `by` places further."""
    numbers = np.arange(members)
    return Round(numbers, (numbers + by) % members, np.full(members, size), count)


def _ring(times: int) -> Callable[[int, float], Rounds]:
    return lambda n, size: [_shift(n, size / n, 1, times * (n - 1))]


def _ring_all_to_all(n: int, size: float) -> Rounds:
    """In round k what has n - k more places to go moves on: a part for each of these."""
    return [_shift(n, (n - k) * size / n) for k in range(1, n)]


def _ring_broadcast(n: int, size: float) -> Rounds:
    """n parts go one after the other along the chain: 2(n-1) rounds, part p on link k in p + k."""
    found = []
    for number in range(2 * (n - 1)):
        links = np.arange(max(0, number - n + 1), min(number, n - 2) + 1)
        found.append(Round(links, links + 1, np.full(len(links), size / n)))
    return found


def _distances(n: int) -> Iterator[int]:
    distance = 1
    while distance < n:
        yield distance
        distance *= 2


def _reduce_tree(n: int, size: float) -> Rounds:
    found = []
    for distance in _distances(n):
        senders = np.arange(distance, n, 2 * distance)
        found.append(Round(senders, senders - distance, np.full(len(senders), size)))
    return found


def _broadcast_tree(n: int, size: float) -> Rounds:
    return [Round(r.targets, r.sources, r.sizes) for r in reversed(_reduce_tree(n, size))]


def _bruck_gather(n: int, size: float) -> Rounds:
    """Each member has a part; in a round it sends all it has, up to what is missing."""
    return [_shift(n, min(d, n - d) * size / n, n - d) for d in _distances(n)]


def _bruck_scatter(n: int, size: float) -> Rounds:
    return [_shift(n, r.sizes[0], int(r.sources[0] - r.targets[0]) % n)
            for r in reversed(_bruck_gather(n, size))]  # fmt: skip


def _bruck_all_to_all(n: int, size: float) -> Rounds:
    """Parts for a member whose distance has bit d are sent d places on."""
    numbers = np.arange(n)
    return [_shift(n, int(np.count_nonzero(numbers & d)) * size / n, d) for d in _distances(n)]


def _to_each_other(part: Callable[[int, float], float]) -> Callable[[int, float], Rounds]:
    def made(n: int, size: float) -> Rounds:
        sources, targets = np.divmod(np.arange(n * n), n)
        others = sources != targets
        sizes = np.full(n * (n - 1), part(n, size))
        return [Round(sources[others], targets[others], sizes)]

    return made


def _from_the_first(n: int, size: float) -> Rounds:
    return [Round(np.zeros(n - 1, np.int64), np.arange(1, n), np.full(n - 1, size))]


def _hierarchical(kind: str, n: int, size: float, block: int) -> Rounds:
    """Rings within blocks of neighbours, and rings of those of one place in their blocks."""
    if n % block:
        raise TfcError(f"a hierarchical {kind} among {n} devices needs blocks of equal size")
    blocks = n // block

    def ring(stride: int, length: int, part: float, times: int) -> Rounds:
        if length == 1:
            return []
        numbers = np.arange(n)
        place = numbers // stride % length
        following = numbers + ((place + 1) % length - place) * stride
        return [Round(numbers, following, np.full(n, part), times * (length - 1))]

    inside = ring(1, block, size / block, 1)
    across = ring(block, blocks, size / n, 2 if kind == "all-reduce" else 1)
    if kind == "all-gather":
        return [*across, *inside]
    return [*inside, *across, *(inside if kind == "all-reduce" else [])]


_RINGS_OF_RINGS = ("all-reduce", "reduce-scatter", "all-gather")
_MADE: dict[tuple[str, str], Callable[[int, float], Rounds]] = {
    ("all-reduce", "ring"): _ring(2),
    ("reduce-scatter", "ring"): _ring(1),
    ("all-gather", "ring"): _ring(1),
    ("all-to-all", "ring"): _ring_all_to_all,
    ("collective-broadcast", "ring"): _ring_broadcast,
    ("all-reduce", "tree"): lambda n, size: [*_reduce_tree(n, size), *_broadcast_tree(n, size)],
    ("reduce-scatter", "tree"): _bruck_scatter,
    ("all-gather", "tree"): _bruck_gather,
    ("all-to-all", "tree"): _bruck_all_to_all,
    ("collective-broadcast", "tree"): _broadcast_tree,
    ("all-reduce", "direct"): _to_each_other(lambda n, size: size),
    ("reduce-scatter", "direct"): _to_each_other(lambda n, size: size / n),
    ("all-gather", "direct"): _to_each_other(lambda n, size: size / n),
    ("all-to-all", "direct"): _to_each_other(lambda n, size: size / n),
    ("collective-broadcast", "direct"): _from_the_first,
    **{(kind, "hierarchical"): _ring(1) for kind in _RINGS_OF_RINGS},
}
