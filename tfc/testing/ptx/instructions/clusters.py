"""barrier.cluster and mapa: waiting for the blocks of a cluster, and addresses in their memory."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tfc.testing.ptx.instructions.access import ORDERS
from tfc.testing.ptx.instructions.decode import Decoder, Reader, Run
from tfc.testing.ptx.state.clusters import RANK_SHIFT
from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.threads import Lanes, Threads
from tfc.testing.ptx.text.syntax import Instruction


@dataclass
class ClusterWait:
    """Waiting for the threads of the cluster, at the end of a segment."""

    predicate: Reader | None = None


def cluster_wait_of(
    decoder: Decoder, instruction: Instruction, predicate: Reader | None
) -> ClusterWait:
    """barrier.cluster.wait, as the end of a segment."""
    decoder.works_beside = True
    if set(instruction.modifiers[2:]) - {"aligned", "acquire"}:
        raise decoder.unknown(instruction, "no such barrier of a cluster")
    return ClusterWait(predicate)


def arrive_at_cluster(decoder: Decoder, instruction: Instruction) -> Run:
    """barrier.cluster.arrive."""
    decoder.works_beside = True
    flags = set(instruction.modifiers[1:])
    if "arrive" not in flags or flags - {"arrive", "aligned", *ORDERS}:
        raise decoder.unknown(instruction, "no such barrier of a cluster")
    releases = "relaxed" not in flags
    return lambda t, lanes: t.clusters.arrive(lanes, releases)


def map_address(decoder: Decoder, instruction: Instruction) -> Run:
    """mapa: the address, in the memory of a cluster, of what lies alike in one of its blocks."""
    decoder.works_beside = True
    (name,) = decoder.types(instruction)
    decoder.flags(instruction, ("shared::cluster",))
    if name != "u32" or "shared::cluster" not in instruction.modifiers:
        raise decoder.unknown(instruction, "no such form of mapa")
    write = decoder.write(instruction.operands[0], name)
    read = decoder.read(instruction.operands[1], name)
    read_rank = decoder.read(instruction.operands[2], "u32")

    def run(t: Threads, lanes: Lanes) -> None:
        shape = (t.how_many(lanes),)
        given = np.broadcast_to(read(t, lanes), shape)
        ranks = np.broadcast_to(read_rank(t, lanes), shape)
        wrong = (ranks >= t.cluster) | (given >> RANK_SHIFT != 0)
        if wrong.any():
            lane = int(np.flatnonzero(wrong)[0])
            raise Violation("out-of-bounds", f"no block {int(ranks[lane])} of the cluster has such "
                            "an address", lane, int(given[lane]))  # fmt: skip
        write(t, lanes, given | (ranks + np.uint32(1)) << np.uint32(RANK_SHIFT))

    return run


ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {
    "mapa": map_address, "barrier": arrive_at_cluster,
}  # fmt: skip
