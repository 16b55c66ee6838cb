"""Barriers of phases and bulk copies on the PTX interpreter, in order and out of it."""

from typing import Any

import numpy as np
import pytest
from ptx_boxes import ACQUIRE, BEGIN, BOX, HEADER, WAIT, launch, map_of
from ptx_kernels import kernel

from tfc.errors import KindError
from tfc.testing.ptx import Fault
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.state.tensor_maps import encode

random = np.random.default_rng(5)
u8, u16, u32, f32 = np.uint8, np.uint16, np.uint32, np.float32

# --- Phases ---------------------------------------------------------------------------------------

# Warps hand a word on: each waits for the one before it, adds its number and arrives.
_RELAY = """    .shared .align 8 .b64 done[4];
    .shared .align 4 .b32 word;
    mov.u32 %r20, done;
    mov.u32 %r22, word;
    shr.u32 %r23, %r62, 5;
    shl.b32 %r24, %r23, 3;
    add.u32 %r24, %r20, %r24;
    and.b32 %r25, %r62, 31;
    setp.eq.u32 %p1, %r25, 0;
    @%p1 mbarrier.init.shared.b64 [%r24], 32;
    setp.eq.u32 %p2, %r62, 0;
    @%p2 st.shared.u32 [%r22], 7;
    bar.sync 0;
    setp.eq.u32 %p3, %r23, 3;
    @%p3 bra turn;
again: mbarrier.{kind}.parity.acquire.cta.shared::cta.b64 %p4, [%r24+8], 0;
    @!%p4 bra again;
turn: bar.warp.sync -1;
    @%p1 ld.shared.u32 %r1, [%r22];
    @%p1 mad.lo.u32 %r1, %r1, 10, %r23;
    @%p1 st.shared.u32 [%r22], %r1;
    mbarrier.arrive.release.cta.shared::cta.b64 %d5, [%r24];
    mbarrier.test_wait.shared.b64 %p5, [%r24], %d5;
    @!%p5 trap;
    bar.sync 0;
    @%p2 ld.shared.u32 %r2, [%r22];
    @%p2 st.global.u32 [%d0], %r2;"""


@pytest.mark.parametrize("kind", ["try_wait", "test_wait"])
def test_threads_wait_for_phases_of_others(kind: str):
    after, _ = launch(_RELAY.format(kind=kind), [np.zeros(1, u32)])
    assert after[0][0] == 73210


def test_a_barrier_is_ended_before_its_memory_is_used_again():
    body = """    .shared .align 8 .b64 done;
    mov.u32 %r20, done;
    mbarrier.init.shared.b64 [%r20], 1;
    {}st.shared.u16 [%r20+6], %h1;"""
    launch(body.format("mov.b16 %h1, 1; mbarrier.inval.shared.b64 [%r20]; "), [], 1)
    with pytest.raises(Fault, match="async: a write over a barrier of phases"):
        launch(body.format("mov.b16 %h1, 1; "), [], 1)


def test_phases_follow_each_other():
    """A producer and a consumer hand eight words over through one place, each waiting its turn."""
    body = """    .shared .align 8 .b64 full;
    .shared .align 8 .b64 empty;
    .shared .align 4 .b32 slot;
    mov.u32 %r20, full; mov.u32 %r21, empty; mov.u32 %r22, slot;
    setp.eq.u32 %p1, %r62, 0;
    @%p1 mbarrier.init.shared.b64 [%r20], 1;
    @%p1 mbarrier.init.shared.b64 [%r21], 1;
    bar.sync 0;
    mov.u32 %r1, 0;
    setp.eq.u32 %p2, %r62, 32;
    @%p2 bra consume;
    @!%p1 bra end;
produce: not.b32 %r2, %r1;
    and.b32 %r2, %r2, 1;
w0: mbarrier.try_wait.parity.shared.b64 %p3, [%r21], %r2;
    @!%p3 bra w0;
    mul.lo.u32 %r3, %r1, %r1;
    st.shared.u32 [%r22], %r3;
    mbarrier.arrive.shared.b64 _, [%r20];
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p4, %r1, 8;
    @%p4 bra produce;
    bra end;
consume: and.b32 %r2, %r1, 1;
w1: mbarrier.try_wait.parity.shared.b64 %p3, [%r20], %r2;
    @!%p3 bra w1;
    ld.shared.u32 %r3, [%r22];
    mbarrier.arrive.shared.b64 _, [%r21];
    mul.wide.u32 %d5, %r1, 4;
    add.u64 %d5, %d0, %d5;
    st.global.u32 [%d5], %r3;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p4, %r1, 8;
    @%p4 bra consume;
end:"""
    after, _ = launch(body, [np.zeros(8, u32)], 64)
    np.testing.assert_array_equal(after[0], np.arange(8) ** 2)
    assert complaints(HEADER + kernel(body, 1), "sm_90a") == ""
    with pytest.raises(Fault, match="barrier: a wait for a phase that never ends: 1 of 1"):
        launch(body.replace("    mbarrier.arrive.shared.b64 _, [%r21];\n", ""), [np.zeros(8, u32)])


# Warps meet in pairs, by barriers of their own or by phases; the first one's word is read by the
# last one, which does not know of it unless all have met.
_PAIRS = """    .shared .align 8 .b64 done[2];
    .shared .align 4 .b32 word;
    mov.u32 %r20, done;
    mov.u32 %r22, word;
    setp.eq.u32 %p1, %r62, 0;
    @%p1 mbarrier.init.shared.b64 [%r20], 64;
    @%p1 mbarrier.init.shared.b64 [%r20+8], 64;
    bar.sync 0;
    shr.u32 %r1, %r62, 6;
    shl.b32 %r2, %r1, 3;
    add.u32 %r2, %r20, %r2;
    setp.eq.u32 %p2, %r62, 127;
    {first}
    {meet}
    {second}
    bar.sync 0;"""
_BY_BARRIERS = "add.u32 %r3, %r1, 1; bar.sync %r3, 64; bar.sync %r3, 64;"
_BY_PHASES = """mbarrier.arrive.shared.b64 _, [%r2];
again: mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;
    @!%p3 bra again;"""
_WRITE, _READ = "st.shared.u32 [%r22], %r62;", "ld.shared.u32 %r5, [%r22];"


@pytest.mark.parametrize("meet", [_BY_BARRIERS, _BY_PHASES])
@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (_WRITE, _READ, "reads shared memory that another wrote"),
        (_READ, _WRITE, "writes shared memory that another read"),
        (_WRITE, _WRITE, "writes shared memory that another wrote"),
    ],
)
def test_pairs_of_warps_that_meet_tell_others_nothing(
    meet: str, first: str, second: str, message: str
):
    parts = {"first": f"@%p1 {first}", "second": f"@%p2 {second}"}
    before = "@%p1 st.shared.u32 [%r22], %r62; bar.sync 0;\n    "
    parts["first"] = before + parts["first"]
    launch(_PAIRS.format(meet="bar.sync 0;", **parts), [])
    with pytest.raises(Fault, match=f"race: a thread {message}"):
        launch(_PAIRS.format(meet=meet, **parts), [])


# --- Copies ---------------------------------------------------------------------------------------

_RUN = (
    BEGIN
    + """    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r21], {expected};
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
        [%r20], [%d0], 1024, [%r21];
{wait}    shl.b32 %r3, %r62, 3;
    add.u32 %r4, %r20, %r3;
    ld.shared.u64 %d5, [%r4];
    add.u64 %d5, %d5, 1;
{early}    st.shared.u64 [%r4], %d5;
{fence}    bar.sync 0;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r20], 1024;
    @%p1 cp.async.bulk.commit_group;
{late}{drain}"""
)
_RIGHT = {
    "expected": 1024, "wait": WAIT.format(0, 0), "early": "", "late": "",
    "fence": "    fence.proxy.async.shared::cta;\n",
    "drain": "    @%p1 cp.async.bulk.wait_group.read 0;\n",
}  # fmt: skip
_AGAIN = (
    "    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    " [%r20], [%d0], 1024, [%r21];\n"
)
# What is wrong: the kind of fault, what it says, and the parts of the kernel.
_WRONG: list[tuple[str, str, dict[str, Any]]] = [
    ("async", "a copy under way is still to write", {"wait": ""}),
    ("async", "under way is still to write", {"wait": WAIT.format(0, 0).split("\n")[0] + "\n"}),
    (
        "async",
        "does not know that it is done",
        {"wait": "    @!%p1 bra on;\n" + WAIT.format(0, 0) + "on:\n"},
    ),
    ("async", "without fence.proxy.async", {"fence": ""}),
    ("async", "without fence.proxy.async", {"fence": "    @%p1 fence.proxy.async;\n"}),
    ("async", "may still read", {"drain": ""}),
    ("async", "an operation under way reads", {"late": "    @%p1 st.shared.u64 [%r20], %d5;\n"}),
    ("async", "under way still reads", {"late": _AGAIN}),
    (
        "async",
        "over what another thread reads",
        {"late": "    ld.shared.u64 %d5, [%r4];\n    @%p1 cp.async.bulk.wait_group 0;\n" + _AGAIN},
    ),
    (
        "async",
        "over what a thread wrote, without fence",
        {
            "late": "    @%p1 cp.async.bulk.wait_group 0;\n    @%p1 st.shared.u64 [%r20], %d5;\n"
            + _AGAIN
        },
    ),
    ("async", "nobody has waited", {"late": "    @%p1 cp.async.bulk.wait_group 0;\n" + _AGAIN}),
    (
        "barrier",
        "more threads arrive",
        {"wait": "    @%p1 mbarrier.arrive.shared::cta.b64 _, [%r21];\n"},
    ),
    ("barrier", "0 of 1 arrivals and 4 bytes are missing", {"expected": 1028}),
]


def test_runs_of_bytes_are_copied_beside_the_threads():
    x = np.arange(128, dtype=np.uint64)
    after, report = launch(_RUN.format(**_RIGHT), [x, np.zeros_like(x)])
    np.testing.assert_array_equal(after[1], x + np.uint64(1))
    for traffic in (report.bulk_loads, report.bulk_stores):
        assert (traffic.accesses, traffic.bytes, traffic.transactions) == (1, 1024, 32)
    assert report.bank_conflicts == report.loads.bytes == 0


@pytest.mark.parametrize(("kind", "message", "parts"), _WRONG)
def test_copies_out_of_order_are_found(kind: str, message: str, parts: dict[str, Any]):
    x = np.arange(128, dtype=np.uint64)
    with pytest.raises(Fault, match=message) as caught:
        launch(_RUN.format(**_RIGHT | parts), [x, np.zeros_like(x)])
    assert caught.value.kind == kind


def test_what_one_thread_has_waited_for_others_know_after_a_barrier():
    x = np.arange(128, dtype=np.uint64)
    wait = "    @!%p1 bra on;\n" + WAIT.format(0, 0) + "on: bar.sync 0;\n"
    after, _ = launch(_RUN.format(**_RIGHT | {"wait": wait}), [x, np.zeros_like(x)])
    np.testing.assert_array_equal(after[1], x + np.uint64(1))
    wait = wait.replace("bar.sync 0", "bar.warp.sync -1")
    with pytest.raises(Fault, match="does not know that it is done"):
        launch(_RUN.format(**_RIGHT | {"wait": wait}), [x, np.zeros_like(x)])


def test_a_barrier_is_made_known_before_copies_report_to_it():
    x = np.arange(128, dtype=np.uint64)
    body = _RUN.format(**_RIGHT).replace("    fence.mbarrier_init.release.cluster;\n", "")
    with pytest.raises(Fault, match=r"async: .* no fence"):
        launch(body, [x, np.zeros_like(x)])
    body = _RUN.format(**_RIGHT).replace("    @%p1 mbarrier.init", "    @!%p1 mbarrier.init")
    with pytest.raises(Fault, match="barrier: a barrier is made where there is one"):
        launch(body, [x, np.zeros_like(x)])


# Copies a box to shared memory, its bytes as they lie there to the second array, and the box to the
# third's map.
_BOXES = (
    BEGIN
    + ACQUIRE.format("%d2")
    + ACQUIRE.format("%d4")
    + """    mov.u32 %r5, {bytes};
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r21], %r5;
    @%p1 {load}
"""
    + WAIT.format(0, 0)
    + """    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r20], {bytes};
    @%p1 cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group
        [%d4, {{{corner}}}], [%r20];
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group 0;"""
)
# Shape, box, corner (outermost first), dtype, swizzle.
BOXES: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], Any, int]] = [
    ((100,), (64,), (50,), f32, 0),
    ((20, 16), (8, 8), (3, 4), u16, 0),
    ((20, 16), (8, 8), (-3, 12), f32, 32),
    ((20, 64), (16, 64), (10, 16), u16, 128),
    ((9, 32), (9, 32), (0, 0), u16, 64),
    ((3, 7, 16), (2, 4, 16), (2, 5, 8), u8, 0),
    ((2, 3, 5, 8), (2, 2, 3, 8), (1, -1, 3, 0), u16, 0),
    ((2, 2, 3, 5, 16), (1, 2, 2, 3, 16), (1, 1, 2, 4, -4), u8, 0),
]


def boxes_text(number: int, name: str = "kernel") -> str:
    shape, box, corner, dtype, _ = BOXES[number]
    coordinates = ", ".join(map(str, corner[::-1]))
    load = BOX.format(len(shape), "%r20", "%d2", coordinates)
    size = int(np.prod(box)) * np.dtype(dtype).itemsize
    return _BOXES.format(bytes=size, load=load, rank=len(shape), corner=coordinates)


@pytest.mark.parametrize("number", range(len(BOXES)))
def test_boxes_of_tensors_are_copied(number: int):
    """Elements beyond the tensor are zeros, and are not stored."""
    shape, box, corner, dtype, swizzle = BOXES[number]
    x = random.integers(1, 100, shape).astype(dtype)
    wanted = np.zeros(box, dtype)
    for at in np.ndindex(*box):
        from_ = tuple(np.add(at, corner))
        if all(0 <= n < size for n, size in zip(from_, shape)):
            wanted[at] = x[from_]
    arrays = [x, np.zeros_like(wanted), map_of(0, x, box, swizzle), np.zeros_like(x)]
    after, report = launch(boxes_text(number), [*arrays, map_of(3, x, box, swizzle)])
    held = after[1].reshape(-1).view(u8).reshape(-1, 16)
    if swizzle:  # rows of 128 bytes, whose pieces are exchanged by the number of the row
        pieces = np.arange(len(held))
        held = held[pieces ^ (pieces // 8 % (swizzle // 16))]
    np.testing.assert_array_equal(held.reshape(-1).view(dtype).reshape(box), wanted)
    stored = np.zeros_like(x)
    region = tuple(slice(max(c, 0), c + b) for c, b in zip(corner, box))
    stored[region] = x[region]
    np.testing.assert_array_equal(after[2], stored)
    assert report.bulk_loads.bytes == np.count_nonzero(wanted) * x.itemsize
    assert report.bulk_stores.bytes == report.bulk_loads.bytes + wanted.nbytes


def test_maps_that_there_are_not_are_refused():
    x = np.zeros((20, 16), u16)
    for wrong in (
        map_of(8, x, (8, 8)), map_of(0, x, (8, 4)), map_of(0, x, (257, 8)),
        map_of(0, x[:, :15], (8, 8), 32), map_of(0, np.zeros((4, 12), u16), (2, 8)),
    ):  # fmt: skip
        with pytest.raises(KindError, match="no such tensor map"):
            encode(wrong)
    arrays = [x, np.zeros((8, 8), u16), map_of(0, x, (8, 8)), x, map_of(3, x, (8, 8))]
    with pytest.raises(Fault, match=r"async: a tensor map .* not acquired"):
        launch(boxes_text(1).replace(ACQUIRE.format("%d2"), ""), arrays)
    with pytest.raises(Fault, match="misaligned: a box in shared memory"):
        launch(boxes_text(1).replace("[%r20], [%d2,", "[%r20+64], [%d2,"), arrays)
    with pytest.raises(Fault, match="no map of a tensor"):
        launch(boxes_text(1), [x, arrays[1], x, x, arrays[4]])


def test_the_assembler_takes_the_kernels():
    bodies = [(_RELAY.format(kind="try_wait"), 1), (_RUN.format(**_RIGHT), 2)]
    bodies += [(boxes_text(n), 5) for n in range(len(BOXES))]
    text = HEADER + "".join(kernel(body, count, f"k{n}") for n, (body, count) in enumerate(bodies))
    assert complaints(text, "sm_90a") == ""
