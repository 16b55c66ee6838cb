"""Clusters (sm_90): blocks with neighbouring numbers that reach into each other's shared memory.

A block must be there while others reach into it: they meet before, so that all have begun, and
afterwards, before any of them ends.
"""

from typing import Any

from tfc.backends.gpu.assembly import assembly
from tfc.backends.gpu.matrices import load_shared
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.hlo.shape import U32

MOST_BLOCKS = 8
"""Blocks of a cluster that every GPU with clusters has room for."""
_MEETING = 1500  # cycles until all blocks of a cluster are there, before and after
_OTHERS_BYTES = 16  # that a block reads of others' shared memory, in a cycle


def cycles_of_joining(size: float) -> float:
    """About how long blocks take to meet, and to read so many bytes each of what all have: by
    estimate."""
    return _MEETING + size / _OTHERS_BYTES


def rank_in_cluster() -> Scalar:
    """The number of the block in its cluster."""
    return Scalar(assembly("mov.u32 $0, %cluster_ctarank;", ["i32"], [])[0], U32)


def meet_cluster(releases: bool) -> None:
    """Wait for all threads of the cluster that have not ended.

    Args:
        releases: whether others see what threads did before, in their own blocks' memory or in
            others', which takes a fence of the whole GPU.
    """
    order = "release" if releases else "relaxed"
    text = f"barrier.cluster.arrive.{order};\nbarrier.cluster.wait.acquire;"
    assembly(text, [], [], memory=True)


def arrive_in_cluster(address: Scalar, rank: Scalar) -> None:
    """Count this thread at the barrier that lies there in a block of its cluster.

    It tells that products have read shared memory, which they have when it has waited for them;
    `.release.cluster` would add a fence of the whole GPU for what the thread wrote.
    """
    text = (
        "{ .reg .b32 there;\nmapa.shared::cluster.u32 there, $0, $1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there]; }"
    )
    assembly(text, [], [address.value, rank.value], memory=True)


def address_in_cluster(address: Scalar, rank: int | Scalar) -> Scalar:
    """Where in the cluster's memory a block has what lies at an address of its own."""
    known = isinstance(rank, int)
    text = f"mapa.shared::cluster.u32 $0, $1, {rank if known else '$2'};"
    operands = [address.value] if known else [address.value, rank.value]
    return Scalar(assembly(text, ["i32"], operands, pure=True)[0], U32)


def load_from_cluster(
    address: Scalar, type_name: str, count: int = 1, offset: int = 0
) -> list[Any]:
    """Numbers that lie one after the other in the cluster's memory, aligned as one.

    Args:
        offset: bytes added to the address.
    """
    return load_shared(address, type_name, count, offset, "shared::cluster")
