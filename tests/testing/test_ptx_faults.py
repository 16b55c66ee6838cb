"""The PTX interpreter finds what kernels do wrong, and says nothing of those that do not."""

import numpy as np
import pytest
from ptx_kernels import HEADER, kernel, new, run

from tfc.errors import KindError, OutOfMemoryError, ParseError
from tfc.testing.ptx import Fault, Machine, UnknownInstructionError
from tfc.testing.ptx.assembler import ARCHITECTURES, complaints

X = np.arange(256, dtype=np.uint32)
_STORE = """    add.u64 %d61, %d1, %d60;
    st.global.b32 [%d61], %r1;"""
_LOAD = """    add.u64 %d62, %d0, %d60;
    ld.global.b32 %r1, [%d62{offset}];
""" + _STORE  # fmt: skip
_SHARED = "    .shared .align 16 .b8 buffer[4096];\n"
# Each thread writes a word of shared memory and reads its neighbour's.
_NEIGHBOUR = (
    _SHARED
    + """    mov.u32 %r2, buffer;
    shl.b32 %r3, %r62, 2;
    add.u32 %r4, %r2, %r3;
    st.shared.u32 [%r4], %r62;
{barrier}    xor.b32 %r5, %r62, {distance};
    shl.b32 %r5, %r5, 2;
    add.u32 %r5, %r2, %r5;
    ld.shared.u32 %r1, [%r5];
"""
    + _STORE
)
_LOOP = (
    """    mov.u32 %r1, 0;
loop:
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, {limit};
    {branch}
"""
    + _STORE
)
_BRANCH = (
    """    mov.u32 %r1, 5;
    setp.lt.u32 %p1, %r62, 20;
    @%p1 bra {target};
    mov.u32 %r1, 6;
join:
    bar.sync 0;
end:
"""
    + _STORE
)
_SOMETIMES = (
    """    setp.lt.u32 %p1, %r62, {limit};
    @%p1 mov.u32 %r1, %r62;
"""
    + _STORE
)
_PICKED = "    prmt.b32 %r1, %r62, %r9, {picked};\n" + _STORE  # %r9 is never written
_STRIDED = (
    _SHARED
    + """    mov.u32 %r2, buffer;
    mul.lo.u32 %r3, %r62, {stride};
    add.u32 %r4, %r2, %r3;
    st.shared.u32 [%r4], %r62;
    ld.shared.u32 %r1, [%r4];
"""
    + _STORE
)
_TRAP = (
    """    setp.eq.u32 %p1, %r62, {number};
    mov.u32 %r1, 1;
    @%p1 trap;
"""
    + _STORE
)
_COPY = (
    _SHARED
    + """    mov.u32 %r2, buffer;
    shl.b32 %r3, %r62, 2;
    add.u32 %r4, %r2, %r3;
    add.u64 %d61, %d0, %d60;
    cp.async.ca.shared.global [%r4], [%d61], 4;
    cp.async.commit_group;
{wait}    ld.shared.u32 %r1, [%r4];
"""
    + _STORE
)
_SHUFFLE = (
    """    mov.u32 %r2, %laneid;
    setp.lt.u32 %p1, %r2, 16;
    mov.u32 %r1, %r62;
    @%p1 bra other;
    shfl.sync.idx.b32 %r1, %r62, 17, 31, {mask};
other:
"""
    + _STORE
)
_LOCAL = (
    """    .local .align 4 .b8 mine[8];
    mov.u32 %r2, mine;
    st.local.u32 [%r2], %r62;
    ld.local.u32 %r1, [%r2+{offset}];
"""
    + _STORE
)

# Kind, the body with the defect, the same without it.
DEFECTS: list[tuple[str, str, str]] = [
    ("out-of-bounds", _LOAD.format(offset="+1024"), _LOAD.format(offset="")),
    ("out-of-bounds", _LOAD.format(offset="+-4"), _LOAD.format(offset="+0")),
    ("out-of-bounds", _LOCAL.format(offset=8), _LOCAL.format(offset=0)),
    ("out-of-bounds", _STRIDED.format(stride=64), _STRIDED.format(stride=16)),
    ("misaligned", _LOAD.format(offset="+2"), _LOAD.format(offset="")),
    ("misaligned", _STRIDED.format(stride=6), _STRIDED.format(stride=8)),
    ("uninitialized", _LOAD.replace("%d0", "%d1").format(offset=""), _LOAD.format(offset="")),
    ("uninitialized", _LOCAL.format(offset=4), _LOCAL.format(offset=0)),
    ("uninitialized", _SOMETIMES.format(limit=100), _SOMETIMES.format(limit=256)),
    ("uninitialized", _PICKED.format(picked="0x3410"), _PICKED.format(picked="0x0123")),
    ("uninitialized", _NEIGHBOUR.format(barrier="    bar.sync 0;\n", distance=256),
     _NEIGHBOUR.format(barrier="    bar.sync 0;\n", distance=255)),
    ("uninitialized", _COPY.format(wait=""), _COPY.format(wait="    cp.async.wait_all;\n")),
    ("uninitialized", _COPY.format(wait="    cp.async.wait_group 1;\n"),
     _COPY.format(wait="    cp.async.wait_group 0;\n")),
    ("race", _NEIGHBOUR.format(barrier="", distance=1),
     _NEIGHBOUR.format(barrier="    bar.sync 0;\n", distance=1)),
    ("race", _NEIGHBOUR.format(barrier="    bar.warp.sync 0xffffffff;\n", distance=32),
     _NEIGHBOUR.format(barrier="    bar.warp.sync 0xffffffff;\n", distance=31)),
    ("barrier", _BRANCH.format(target="end"), _BRANCH.format(target="join")),
    ("divergence", _SHUFFLE.format(mask="0x0000ffff"), _SHUFFLE.format(mask="0xffff0000")),
    ("divergence", _SHUFFLE.format(mask="0xffffffff"), _SHUFFLE.format(mask="0xffff0000")),
    ("trap", _TRAP.format(number=77), _TRAP.format(number=1000)),
    ("budget", _LOOP.format(limit=3, branch="bra loop;"),
     _LOOP.format(limit=3, branch="@%p1 bra loop;")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "wrong", "right"), DEFECTS)
def test_a_defect_is_found_and_its_absence_too(kind: str, wrong: str, right: str):
    results = [X, new(256, np.uint32)]
    run(HEADER + kernel(right, 2), results, block=256, budget=5000)
    with pytest.raises(Fault) as caught:
        run(HEADER + kernel(wrong, 2), results, block=256, budget=5000)
    fault = caught.value
    assert fault.kind == kind
    assert fault.kernel == "kernel"
    line = (HEADER + kernel(wrong, 2)).split("\n")[fault.line - 1]
    assert fault.instruction in line


def test_a_fault_says_who_did_what_where():
    text = HEADER + kernel(_TRAP.format(number=77), 2)
    with pytest.raises(Fault, match=r"^trap: .* by thread \(77, 0, 0\) of block \(0, 0, 0\)"):
        run(text, [X, new(256, np.uint32)], block=256)
    machine = Machine(1 << 20)
    address = machine.allocate(1024)
    module = machine.load(HEADER + kernel(_LOAD.format(offset=""), 2))
    with pytest.raises(Fault) as caught:
        machine.launch(module["kernel"], (2,), (32,), [address, address])
    assert (caught.value.thread, caught.value.block) == ((0, 0, 0), (0, 0, 0))
    assert caught.value.address == address
    machine.write(address, X[:40])
    with pytest.raises(Fault) as caught:
        machine.launch(module["kernel"], (2,), (32,), [address, address])
    assert (caught.value.thread, caught.value.block) == ((8, 0, 0), (1, 0, 0))


def test_memory_that_was_freed_is_not_used():
    machine = Machine(1 << 20)
    source, target = machine.allocate(1024), machine.allocate(1024)
    machine.write(source, X)
    module = machine.load(HEADER + kernel(_LOAD.format(offset=""), 2))
    machine.launch(module["kernel"], (1,), (256,), [source, target])
    np.testing.assert_array_equal(machine.read(target, 1024).view(np.uint32), X)
    machine.free(source)
    with pytest.raises(Fault, match="use-after-free"):
        machine.launch(module["kernel"], (1,), (256,), [source, target])
    with pytest.raises(Fault, match="out-of-bounds"):
        machine.read(source, 4)
    with pytest.raises(Fault, match="not allocated"):
        machine.free(source)


def test_memory_is_used_again_once_there_is_no_other():
    machine = Machine(1 << 16)
    first = [machine.allocate(1 << 13) for _ in range(6)]
    with pytest.raises(OutOfMemoryError, match="memory_limit"):
        machine.allocate(1 << 14)
    for address in first:
        assert address % 256 == 0
        machine.free(address)
    again = machine.allocate(1 << 14)
    machine.fill(again, np.float32(2.5), 1 << 12)
    assert (machine.read(again, 1 << 14).view(np.float32) == 2.5).all()
    assert machine.allocated == 1 << 14


def test_bank_conflicts_are_counted():
    """A stride of 32 words puts all of a warp into one bank; 33 words into all banks."""
    results = [X, new(32, np.uint32)]
    for stride, conflicts in ((4, 0), (8, 1), (128, 31), (132, 0)):
        text = HEADER + kernel(_STRIDED.format(stride=stride).replace("4096", "8192"), 2)
        _, report = run(text, results, block=32)
        assert report.bank_conflicts == 2 * conflicts, stride
        assert report.shared_accesses == 2


def test_uncoalesced_accesses_are_counted():
    """A warp's 128 bytes are four sectors when they lie together, and 32 when they do not."""
    strided = (
        """    mul.wide.u32 %d63, %r0, {};
    add.u64 %d62, %d0, %d63;
    ld.global.b32 %r1, [%d62];
"""
        + _STORE
    )
    x = np.zeros(64 * 64, np.uint32)
    for stride, transactions in ((4, 8), (8, 16), (32, 64), (128, 64), (0, 2)):
        _, report = run(HEADER + kernel(strided.format(stride), 2), [x, new(64, np.uint32)], 64)
        assert report.loads.transactions == transactions
        assert report.loads.uncoalesced == max(transactions - 8, 0)
        assert (report.stores.transactions, report.stores.ideal) == (8, 8)
        assert report.loads.bytes == 256


def test_what_was_done_is_counted():
    _, report = run(
        HEADER + kernel(_BRANCH.format(target="join"), 2), [X, new(256, np.uint32)], 256
    )
    assert report.divergent_branches == 1
    assert report.barriers == 1
    assert report.instructions["bar"] == 256
    assert report.instructions["mov"] == 3 * 256 + 256 + 236
    assert report.total > report.instructions["mov"]


def test_unknown_instructions_are_named():
    with pytest.raises(UnknownInstructionError, match=r"'tex.1d.v4.f32 .*' of line 1\d") as caught:
        Machine(1 << 16).load(HEADER + kernel("    tex.1d.v4.f32 {%r1, %r2, %r3, %r4}, [%d0];", 1))
    assert caught.value.instruction.startswith("tex.1d")
    for body in (
        "add.f32.f32 %f1, %f2, %f3;",
        "add.wrong.s32 %r1, %r2, %r3;",
        "bra nowhere;",
        "add.s32 %r1, %r2, %unknown;",
        "add.s64 %d1, %r1, %r2;",
        "mov.u32 %r1;",
    ):
        with pytest.raises(UnknownInstructionError):
            Machine(1 << 16).load(HEADER + kernel("    " + body, 1))


def test_text_that_is_no_ptx_is_refused_with_its_place():
    with pytest.raises(ParseError, match="PTX:5:1"):
        Machine(1 << 16).load(HEADER + "\n?")
    with pytest.raises(ParseError, match="closing brace"):
        Machine(1 << 16).load(HEADER + ".visible .entry k() { ret;")
    with pytest.raises(ParseError, match="a second label 'twice'"):
        Machine(1 << 16).load(HEADER + kernel("twice: twice:", 1))


def test_labels_of_scopes_are_their_own():
    body = "    mov.u32 %r1, 0;\n"
    for step in (1, 10):
        body += f"""    {{
    bra over;
    add.u32 %r1, %r1, 100;
over:
    add.u32 %r1, %r1, {step};
    }}
"""
    (_, out), _ = run(HEADER + kernel(body + _STORE, 2), [X, new(256, np.uint32)], 256)
    assert (out == 11).all()


def test_launches_that_do_not_fit_are_refused():
    machine = Machine(1 << 16)
    module = machine.load(HEADER + kernel("", 1).replace("\n{", "\n.maxntid 64, 1, 1\n{", 1))
    assert module["kernel"].max_threads == 64
    for grid, block, arguments in (((1,), (65,), [0]), ((0,), (32,), [0]), ((1,), (32,), []),
                                   ((1,), (32,), [np.int32(0)])):  # fmt: skip
        with pytest.raises(KindError):
            machine.launch(module["kernel"], grid, block, arguments)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_assembler_takes_the_kernels(architecture: str):
    text = HEADER + "".join(kernel(right, 2, f"k{n}") for n, (_, _, right) in enumerate(DEFECTS))
    assert complaints(text, architecture) == ""
    assert "known instruction" in complaints(HEADER + kernel("wrong", 1), architecture)
