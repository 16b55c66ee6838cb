"""How many threads a multiprocessor runs at the same time, of those that it could.

A block's registers, shared memory and threads are there from its begin to its end; what is scarcest
decides how many blocks there are at once. The grains are those of compute capability 8.0 and later.
"""

from tfc.backends.gpu.driver.interface import Multiprocessor

WARP = 32
_REGISTER_GRAIN = 256  # of a warp
_WARP_GRAIN = 4  # warps that get registers together
_SHARED_GRAIN = 128  # bytes
_SHARED_RESERVED = 1024  # bytes of each block, for the system


def blocks_at_once(
    multiprocessor: Multiprocessor, threads: int, registers: int, shared: int
) -> int:
    """The blocks of a multiprocessor at one time.

    Args:
        threads: of a block.
        registers: of a thread.
        shared: bytes of a block, stated by the code or at the launch.
    """
    warps = -(-threads // WARP)
    limits = [multiprocessor.blocks, multiprocessor.threads // (warps * WARP)]
    if registers:
        own = -(-registers * WARP // _REGISTER_GRAIN) * _REGISTER_GRAIN
        held = multiprocessor.registers // own // _WARP_GRAIN * _WARP_GRAIN
        limits.append(held // warps)
    taken = -(-shared // _SHARED_GRAIN) * _SHARED_GRAIN + _SHARED_RESERVED
    limits.append(multiprocessor.shared // taken)
    return min(limits)


def occupancy(multiprocessor: Multiprocessor, threads: int, registers: int, shared: int) -> float:
    """The warps at one time, as a share of the most that there can be."""
    warps = -(-threads // WARP)
    blocks = blocks_at_once(multiprocessor, threads, registers, shared)
    return blocks * warps / (multiprocessor.threads // WARP)
