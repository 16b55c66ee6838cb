"""Where the buffers of a generated class lie: in one block of memory.

arena │ results │ variables of its own │ arguments and other variables, if the class has them
"""

from dataclasses import dataclass

from tfc.aot.signature import ALIGNMENT, Signature


@dataclass(frozen=True)
class Placing:
    """Offsets in the block, in bytes.

    results, arguments: by number; None for what lies in another one's memory, or is placed by the
        other of the two.
    own: the arguments that are always in the block.
    own_bytes, block_bytes: how long it is without the caller's arguments, and with them.
    """

    results: tuple[int | None, ...]
    own: dict[int, int]
    arguments: dict[int, int]
    own_bytes: int
    block_bytes: int


def place(signature: Signature) -> Placing:
    """Where the buffers of a class lie (API-2)."""
    at = _aligned(signature.arena_size)
    aliased = dict(signature.aliases)
    results: list[int | None] = []
    for number, leaf in enumerate(signature.results):
        results.append(None if number in aliased else at)
        at += 0 if number in aliased else _aligned(leaf.shape.byte_size)
    owned = {v.argument for v in signature.variables if v.is_own}
    own: dict[int, int] = {}
    for number in sorted(owned):
        own[number] = at
        at += _aligned(signature.arguments[number].shape.byte_size)
    own_bytes = at
    arguments: dict[int, int] = {}
    for number, leaf in enumerate(signature.arguments):
        if number not in owned:
            arguments[number] = at
            at += _aligned(leaf.shape.byte_size)
    return Placing(tuple(results), own, arguments, own_bytes, at)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
