"""Clusters on the PTX interpreter: blocks that reach into each other's memory, and how they err."""

from collections.abc import Sequence

import numpy as np
import pytest
from ptx_boxes import HEADER, map_of
from ptx_kernels import kernel

from tfc.errors import KindError, UnsupportedError
from tfc.testing.ptx import Fault, Machine
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.state.tensor_maps import TensorMap, encode

u8, u32 = np.uint8, np.uint32
CLUSTER = "\n.explicitcluster\n.reqnctapercluster {}\n{{"
MEET = "    barrier.cluster.arrive.{}; barrier.cluster.wait.acquire;\n"

# Thread n of each block arrives at the barrier of block n of the cluster, whose warps all wait.
ROUND = (
    """    .shared .align 8 .b64 come;
    mov.u32 %r20, come;
    mov.u32 %r1, %cluster_nctarank;
    mov.u32 %r2, %cluster_ctarank;
    mov.u32 %r3, %clusterid.x;
    setp.eq.u32 %p1, %r62, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r20], %r1;
    fence.mbarrier_init.release.cluster;
"""
    + MEET.format("relaxed")
    + """    setp.lt.u32 %p2, %r62, %r1;
    @!%p2 bra wait;
    mapa.shared::cluster.u32 %r4, %r20, %r62;
    mbarrier.arrive.shared::cluster.b64 _, [%r4];
wait: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r20], 0;
    @!%p3 bra wait;
    mad.lo.u32 %r5, %r3, 100, %r2;
    add.u64 %d5, %d0, %d60;
    st.global.u32 [%d5], %r5;
"""
    + MEET.format("release")
)


def text_of(body: str, parameters: int = 1, cluster: str = "2, 1, 1") -> str:
    """A kernel whose blocks form clusters."""
    return HEADER + kernel(body, parameters).replace("\n{", CLUSTER.format(cluster), 1)


def run(text: str, arrays: Sequence[np.ndarray], grid: int = 4, block: int = 32) -> np.ndarray:
    """What the first array holds after a launch."""
    machine = Machine(1 << 22, 20_000)
    addresses = [machine.allocate(a.nbytes) for a in arrays]
    for address, array in zip(addresses, arrays):
        machine.write(address, array)
    machine.launch(machine.load(text)["kernel"], (grid,), (block,), addresses)
    return machine.read(addresses[0], arrays[0].nbytes).view(arrays[0].dtype)


def test_blocks_arrive_at_each_others_barriers():
    got = run(text_of(ROUND), [np.zeros(128, u32)])
    np.testing.assert_array_equal(got.reshape(4, 32)[:, 0], [0, 1, 100, 101])
    got = run(text_of(ROUND, cluster="4"), [np.zeros(256, u32)], grid=8)
    np.testing.assert_array_equal(got.reshape(8, 32)[:, 5], [0, 1, 2, 3, 100, 101, 102, 103])
    assert complaints(text_of(ROUND), "sm_90a") == ""


FAULTS = [
    (MEET.format("relaxed"), "    bar.sync 0;\n", "may not have begun"),
    (MEET.format("release"), "", "may have ended"),
    (MEET.format("release"), MEET.format("relaxed"), r"without .release, after it arrived"),
    ("%r4, %r20, %r62;", "%r4, %r20, 2;", "no block 2 of the cluster"),
    ("wait: mbar", "    barrier.cluster.arrive;\nwait: mbar", "without having waited"),
    ("barrier.cluster.arrive.relaxed;", "", "has not arrived"),
    ("barrier.cluster.arrive.release; b", "@%p1 bra over;\n    barrier.cluster.arrive.release; b",
     None),
    ("@!%p2 bra wait;", "@%p2 bra wait;", "no block 2 of the cluster"),
    ("setp.lt.u32 %p2, %r62, %r1;", "setp.lt.u32 %p2, %r62, 1;", "2 of 2 arrivals"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), FAULTS)
def test_what_a_cluster_must_not_do_is_a_fault(old: str, new: str, message: str | None):
    body = ROUND.replace(old, new)
    assert body != ROUND
    if message is None:  # threads that have ended are not waited for
        run(text_of(f"{body}\nover:"), [np.zeros(128, u32)])
        return
    with pytest.raises(Fault, match=message):
        run(text_of(body), [np.zeros(128, u32)])


def test_threads_that_wait_for_each_other_at_different_barriers_are_a_fault():
    body = """    setp.eq.u32 %p1, %r62, 0;
    @%p1 bra other;
    barrier.cluster.arrive; barrier.cluster.wait;
    bra over;
other: barrier.sync 1, 64;
over:"""
    with pytest.raises(Fault, match="some threads of the cluster never reach"):
        run(text_of(body), [np.zeros(32, u32)])


def test_sizes_that_are_no_clusters_are_refused():
    with pytest.raises(KindError, match="clusters of 2 blocks, and a grid of 3"):
        run(text_of(ROUND), [np.zeros(96, u32)], grid=3)
    with pytest.raises(UnsupportedError, match="that lie in a row"):
        Machine(1 << 16).load(text_of(ROUND, cluster="1, 2, 1"))


# Block 1 of a cluster brings a box of 128 bytes to both, each of which adds its bytes up.
SHARE = (
    """    .shared .align 128 .b8 tile[128];
    .shared .align 8 .b64 full;
    mov.u32 %r20, tile;
    mov.u32 %r21, full;
    mov.u32 %r2, %cluster_ctarank;
    setp.eq.u32 %p1, %r62, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r21], 1;
    fence.mbarrier_init.release.cluster;
"""
    + MEET.format("relaxed")
    + """    @!%p1 bra wait;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r21], 128;
    setp.eq.u32 %p2, %r2, 1;
    @!%p2 bra wait;
    mov.u32 %r6, 0;
    mov.u32 %r7, 1;
    fence.proxy.tensormap::generic.acquire.sys [%d1], 128;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
        [%r20], [%d1, {%r6, %r7}], [%r21], MASK;
wait: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r21], 0;
    @!%p3 bra wait;
    shl.b32 %r8, %r62, 2;
    add.u32 %r8, %r8, %r20;
    ld.shared.u32 %r9, [%r8];
    add.u64 %d5, %d0, %d60;
    st.global.u32 [%d5], %r9;
"""
    + MEET.format("release")
)


def test_a_box_comes_to_all_blocks_of_a_mask():
    table = np.arange(96, dtype=u32).reshape(3, 32)
    tensor = map_of(2, table, (1, 32))

    def launched(body: str) -> np.ndarray:
        machine = Machine(1 << 22, 20_000)
        results, place, source = (machine.allocate(n) for n in (256, 128, table.nbytes))
        machine.write(results, np.zeros(64, u32))
        machine.write(source, table)
        held = TensorMap(source, *list(vars(tensor).values())[1:])
        machine.write(place, np.frombuffer(encode(held), u8))
        text = text_of(body, 2)
        machine.launch(machine.load(text)["kernel"], (2,), (32,), [results, place])
        return machine.read(results, 256).view(u32)

    whole = SHARE.replace("MASK", "3")
    np.testing.assert_array_equal(launched(whole).reshape(2, 32), [table[1]] * 2)
    assert complaints(text_of(whole, 2), "sm_90a") == ""
    with pytest.raises(Fault, match="128 bytes are missing"):
        launched(SHARE.replace("MASK", "2"))
    with pytest.raises(Fault, match="block outside of the cluster"):
        launched(SHARE.replace("MASK", "7"))
    with pytest.raises(Fault, match="may not have begun"):
        launched(whole.replace(MEET.format("relaxed"), "    bar.sync 0;\n"))
    with pytest.raises(Fault, match="may have ended"):
        launched(whole.replace(MEET.format("release"), ""))


# Each block writes its numbers, and reads those of the next block of its cluster.
EXCHANGE = (
    """    .shared .align 4 .b32 numbers[32];
    mov.u32 %r20, numbers;
    mov.u32 %r2, %cluster_ctarank;
    mad.lo.u32 %r3, %r2, 100, %r62;
    shl.b32 %r4, %r62, 2;
    add.u32 %r4, %r4, %r20;
    st.shared.u32 [%r4], %r3;
"""
    + MEET.format("release")
    + """    xor.b32 %r5, %r2, 1;
    mapa.shared::cluster.u32 %r6, %r4, %r5;
    ld.shared::cluster.u32 %r7, [%r6];
    add.u64 %d5, %d0, %d60;
    st.global.u32 [%d5], %r7;
"""
    + MEET.format("release")
)


def test_blocks_read_each_others_memory():
    got = run(text_of(EXCHANGE), [np.zeros(128, u32)]).reshape(4, 32)
    np.testing.assert_array_equal(got[:, 3], [103, 3, 103, 3])
    own = EXCHANGE.replace("xor.b32 %r5, %r2, 1", "mov.u32 %r5, %r2")
    got = run(text_of(own), [np.zeros(128, u32)]).reshape(4, 32)
    np.testing.assert_array_equal(got[:, 3], [3, 103, 3, 103])
    assert complaints(text_of(EXCHANGE), "sm_90a") == ""


BEFORE, AFTER = EXCHANGE.split(MEET.format("release"))[:2]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (BEFORE + MEET.format("relaxed") + AFTER + MEET.format("release"), "that releases it"),
        (MEET.format("release") + BEFORE + "    bar.sync 0;\n" + AFTER + MEET.format("release"),
         "that releases it"),
        (BEFORE + MEET.format("release") + AFTER, "may have ended"),
        (EXCHANGE + "    st.shared.u32 [%r4], %r3;\n", None),
        (EXCHANGE.replace("    add.u64 %d5, %d0", "    bar.sync 0;\n    st.shared.u32 [%r4], %r3;\n"
                          "    add.u64 %d5, %d0"), "writes what another block .* reads"),
        (EXCHANGE.replace("[%r6]", "[%r6+2]"), "misaligned"),
        (EXCHANGE.replace("[%r6]", "[%r6+128]"), "out-of-bounds"),
        (EXCHANGE.replace("ld.shared::cluster.u32 %r7, [%r6]", "ld.shared.u32 %r7, [%r6]"),
         "out-of-bounds"),
    ],
)  # fmt: skip
def test_what_blocks_must_not_do_with_each_others_memory_is_a_fault(body: str, message: str | None):
    if message is None:
        run(text_of(body), [np.zeros(128, u32)])
        return
    with pytest.raises(Fault, match=message):
        run(text_of(body), [np.zeros(128, u32)])


def test_stores_to_others_memory_are_refused():
    text = text_of(EXCHANGE.replace("ld.shared::cluster.u32 %r7, [%r6]",
                                    "st.shared::cluster.u32 [%r6], %r7"))  # fmt: skip
    with pytest.raises(UnsupportedError, match="only to their own"):
        Machine(1 << 16).load(text)
