"""What threads do together on the PTX interpreter: branches, warps, matrices, atomics, copies."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ptx_kernels import HEADER, kernel, new, run

from tfc.testing.ptx import Machine
from tfc.testing.ptx.assembler import ARCHITECTURES, complaints

random = np.random.default_rng(11)
u8, u16, u32, u64 = np.uint8, np.uint16, np.uint32, np.uint64
f16, f32, f64, bf16 = np.float16, np.float32, np.float64, ml_dtypes.bfloat16
LANES = np.arange(64, dtype=u32)
_IN = "    add.u64 %d61, %d0, %d60;\n    ld.global.b32 %r1, [%d61];\n"
_OUT = "\n    add.u64 %d62, %d1, %d60;\n    st.global.b32 [%d62], %r2;"
_SUM = "".join(
    f"    shfl.sync.bfly.b32 %r3, %r2, {n}, 31, -1;\n    add.u32 %r2, %r2, %r3;\n"
    for n in (16, 8, 4, 2, 1)
)
X = random.integers(0, 1000, 64).astype(u32)
_ROWS = X.reshape(2, 32)


def each_lane(function: Any) -> np.ndarray:
    """function(row of a warp, lane) for each thread of two warps."""
    return np.array([function(row, lane) for row in _ROWS for lane in range(32)]).astype(u32)


def bits(flags: Any) -> int:
    return sum(1 << n for n, flag in enumerate(flags) if flag)


# What the body does with %r1 for %r2, and what it gives for X in two warps.
WARPS: list[tuple[str, np.ndarray]] = [
    ("shfl.sync.up.b32 %r2, %r1, 3, 0, -1;", each_lane(lambda r, n: r[n - 3] if n >= 3 else r[n])),
    ("shfl.sync.down.b32 %r2, %r1, 5, 31, -1;",
     each_lane(lambda r, n: r[n + 5] if n + 5 < 32 else r[n])),
    ("shfl.sync.down.b32 %r2, %r1, 5, 0x181f, -1;",
     each_lane(lambda r, n: r[n + 5] if n % 8 + 5 < 8 else r[n])),
    ("shfl.sync.bfly.b32 %r2, %r1, 9, 31, -1;", each_lane(lambda r, n: r[n ^ 9])),
    ("shfl.sync.idx.b32 %r2|%p1, %r1, 3, 0x101f, -1; @!%p1 trap;",
     each_lane(lambda r, n: r[n // 16 * 16 + 3])),
    ("mov.u32 %r2, %r1;\n" + _SUM, each_lane(lambda r, n: r.sum())),
    ("setp.gt.u32 %p1, %r1, 500; vote.sync.ballot.b32 %r2, %p1, -1;",
     each_lane(lambda r, n: bits(r > 500))),
    ("setp.gt.u32 %p1, %r1, 998; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r2, 1, 0, %p2;",
     each_lane(lambda r, n: (r > 998).any())),
    ("setp.le.u32 %p1, %r1, 998; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r2, 1, 0, %p2;",
     each_lane(lambda r, n: (r <= 998).all())),
    ("and.b32 %r3, %r1, 7; match.any.sync.b32 %r2, %r3, -1;",
     each_lane(lambda r, n: bits(r % 8 == r[n] % 8))),
    ("redux.sync.max.u32 %r2, %r1, -1;", each_lane(lambda r, n: r.max())),
    ("redux.sync.add.s32 %r2, %r1, -1;", each_lane(lambda r, n: r.sum())),
    ("mov.u32 %r2, 0; setp.gt.u32 %p1, %r1, 500; @%p1 activemask.b32 %r2;",
     each_lane(lambda r, n: bits(r > 500) if r[n] > 500 else 0)),
    ("mov.u32 %r2, %lanemask_lt;", each_lane(lambda r, n: (1 << n) - 1)),
    # Threads go through a loop as often as their value says, and meet again after it.
    ("""and.b32 %r3, %r1, 15; mov.u32 %r2, 0;
again: setp.eq.u32 %p1, %r3, 0; @%p1 bra done;
add.u32 %r2, %r2, %r3; sub.u32 %r3, %r3, 1; bra again;
done:
""" + _SUM, each_lane(lambda r, n: sum(v % 16 * (v % 16 + 1) // 2 for v in r.tolist()))),
    # A loop within a loop, left from its middle.
    ("""mov.u32 %r2, 0; mov.u32 %r3, 0;
outer: and.b32 %r4, %r1, 3; add.u32 %r4, %r4, 1;
inner: add.u32 %r2, %r2, %r3; setp.gt.u32 %p1, %r2, 40; @%p1 bra.uni out;
    sub.u32 %r4, %r4, 1; setp.ne.u32 %p2, %r4, 0; @%p2 bra inner;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 6; @%p3 bra outer;
out:""", each_lane(lambda r, n: next(
        (t for t in np.cumsum(np.repeat(np.arange(6), r[n] % 4 + 1)) if t > 40),
        15 * (r[n] % 4 + 1)))),
    ("""and.b32 %r3, %r1, 3;
table: .branchtargets zero, one, two, one;
    brx.idx %r3, table;
zero: mov.u32 %r2, 10; bra end;
one: mov.u32 %r2, 11; bra end;
two: mov.u32 %r2, 12;
end:""", each_lane(lambda r, n: (10, 11, 12, 11)[r[n] % 4])),
    ("bar.red.popc.u32 %r2, 0, %p0;".replace("%p0", "%p1"),
     each_lane(lambda r, n: (X > 500).sum())),
    ("{ .reg .b32 %r1; mov.b32 %r1, 5; add.u32 %r2, %r1, 1; } add.u32 %r2, %r2, %r1;",
     each_lane(lambda r, n: r[n] + 6)),
    ("""{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;
    call.uni (b), twice_and_one, (a); ld.param.b32 %r2, [b]; }""",
     each_lane(lambda r, n: 2 * r[n] + 1)),
    # A sum of 96 bits, and the difference that is the first number again.
    ("""add.cc.u32 %r3, %r1, -1; addc.cc.u32 %r4, %r1, -1; addc.u32 %r5, %r1, 0;
    sub.cc.u32 %r6, %r3, -1; subc.cc.u32 %r7, %r4, -1; subc.u32 %r8, %r5, 0;
    sub.u32 %r2, %r5, %r1; shl.b32 %r2, %r2, 16; xor.b32 %r6, %r6, %r8; or.b32 %r2, %r2, %r6;
    xor.b32 %r7, %r7, %r1; or.b32 %r2, %r2, %r7; add.u32 %r2, %r2, %r4;""",
     each_lane(lambda r, n: (1 << 16 if r[n] else 0)
               + ((int(r[n]) << 32 | int(r[n])) + (1 << 64) - 1 >> 32) % (1 << 32))),
    ("mov.b64 %d5, {%r1, %r0}; mov.b64 {%r3, %r2}, %d5; add.u32 %r2, %r2, %r3;",
     each_lane(lambda r, n: r[n] + n) + LANES // 32 * 32),
]  # fmt: skip
_TWICE = """.func (.param .b32 result) twice_and_one(.param .b32 x)
{ .reg .b32 %r<3>; .reg .pred %p<2>; ld.param.b32 %r1, [x]; setp.eq.u32 %p1, %r1, 0; @%p1 bra zero;
 shl.b32 %r2, %r1, 1; add.u32 %r2, %r2, 1; st.param.b32 [result], %r2; ret;
zero: st.param.b32 [result], 1; ret; }
"""


def _of_warps(number: int, name: str) -> str:
    body = WARPS[number][0]
    if body.startswith("bar.red"):
        body = "setp.gt.u32 %p1, %r1, 500;" + body
    return kernel(_IN + body + _OUT, 2, name)


@pytest.mark.parametrize("number", range(len(WARPS)))
def test_threads_of_a_warp_work_together(number: int):
    after, _ = run(HEADER + _TWICE + _of_warps(number, "kernel"), [X, new(64, u32)], block=64)
    np.testing.assert_array_equal(after[1], WARPS[number][1])


# --- Atomics -------------------------------------------------------------------------------------

ATOMIC: list[tuple[str, Any, Any]] = [
    ("atom.global.add.u32 %r2, [%d3], %r1", u32, lambda v: v.sum(dtype=u32)),
    ("atom.global.max.s32 %r2, [%d3], %r1", u32, lambda v: v.max()),
    ("red.global.min.u32 [%d3], %r1", u32, lambda v: min(v.min(), 7)),
    ("red.global.xor.b32 [%d3], %r1", u32, np.bitwise_xor.reduce),
    ("red.global.add.f32 [%d3], 0f3F000000", f32, lambda v: len(v) / 2),
    ("atom.global.inc.u32 %r2, [%d3], 9", u32, lambda v: len(v) % 10),
    ("atom.global.exch.b32 %r2, [%d3], %r1", u32, lambda v: v[-1]),
]


@pytest.mark.parametrize(("instruction", "dtype", "total"), ATOMIC)
def test_atomics_happen_one_after_the_other(instruction: str, dtype: Any, total: Any):
    """64 threads change each of four words, one of them for each remainder."""
    body = _IN + f"""    and.b32 %r3, %r62, 3;
    mul.wide.u32 %d3, %r3, 4;
    add.u64 %d3, %d2, %d3;
    mov.u32 %r2, 0;
    {instruction};
""" + _OUT  # fmt: skip
    x = random.integers(0, 1000, 256).astype(u32)
    start = np.full(4, 7 if "min" in instruction else 0, dtype)
    after, report = run(HEADER + kernel(body, 3), [x, new(256, u32), start], block=256)
    np.testing.assert_array_equal(after[2], [total(x[n::4]) for n in range(4)])
    assert report.atomics == 256
    if ".add.u32" in instruction:
        before = [np.concatenate([[0], np.cumsum(x[n::4])[:-1]]) for n in range(4)]
        np.testing.assert_array_equal(after[1], np.stack(before, 1).ravel())


def test_a_lock_is_taken_by_one_block_at_a_time():
    """Threads that spin wait for those of other blocks, which get their turns."""
    body = """    setp.ne.u32 %p1, %r62, 0;
    @%p1 bra end;
again: atom.global.acquire.gpu.cas.b32 %r2, [%d0], 0, 1;
    setp.ne.u32 %p2, %r2, 0;
    @%p2 bra again;
    ld.global.b32 %r3, [%d1];
    mad.lo.u32 %r3, %r3, 3, 1;
    st.global.b32 [%d1], %r3;
    atom.global.release.gpu.exch.b32 %r2, [%d0], 0;
end:"""
    after, _ = run(HEADER + kernel(body, 2), [np.zeros(1, u32), np.zeros(1, u32)], 32, 10)
    assert after[1][0] == (3**10 - 1) // 2


# --- Matrices ------------------------------------------------------------------------------------

# Shape, type, dtype; A is m x k, B k x n, and the result has another type.
PRODUCTS = [
    ("m16n8k8", "f16", f16, "f32"), ("m16n8k16", "f16", f16, "f32"),
    ("m16n8k16", "f16", f16, "f16"),
    ("m16n8k8", "bf16", bf16, "f32"), ("m16n8k16", "bf16", bf16, "f32"),
    ("m16n8k4", "tf32", f32, "f32"), ("m16n8k8", "tf32", f32, "f32"),
    ("m16n8k16", "s8", np.int8, "s32"), ("m16n8k32", "s8", np.int8, "s32"),
    ("m16n8k32", "u8", u8, "s32"), ("m8n8k4", "f64", f64, "f64"),
    ("m16n8k32", "e4m3", ml_dtypes.float8_e4m3fn, "f32"),
]  # fmt: skip
_RESULTS = {"f32": f32, "s32": np.int32, "f64": f64, "f16": f16}


def places(m: int, n: int, k: int, e: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row, column) of each thread's elements of A, B and C, as the manual has them for m16n8."""

    def of_a(lane: int, i: int) -> tuple[int, int]:
        upper, right = {
            (2, 8): (i < 2, False),
            (2, 16): (i < 2 or 4 <= i < 6, i >= 4),
            (1, 4): (i == 0 or m == 8, False),
            (1, 8): (i in (0, 2), i >= 2),
            (4, 16): (i < 4, False),
            (4, 32): (i < 4 or 8 <= i < 12, i >= 8),
        }[e, k]
        return (
            lane // 4 + (0 if upper else 8),
            lane % 4 * e + (i & (e - 1)) + (4 * e if right else 0),
        )

    def of_b(lane: int, i: int) -> tuple[int, int]:
        return lane % 4 * e + (i & (e - 1)) + (4 * e if i >= e else 0), lane // 4

    def of_c(lane: int, i: int) -> tuple[int, int]:
        return lane // 4 + (8 if i >= 2 else 0), lane % 4 * 2 + i % 2

    def table(function: Any, count: int) -> np.ndarray:
        return np.array([[function(lane, i) for i in range(count)] for lane in range(32)])

    return (
        table(of_a, m * k // 32), table(of_b, k * n // 32), table(of_c, m * n // 32),
    )  # fmt: skip


def product_text(shape: str, name: str, result: str, counts: list[int], kernel_name: str) -> str:
    """A kernel that loads the registers of A, B and C, multiplies, and stores those of D."""
    is_double = name == "f64"
    size, kind, register = (8, "b64", "d") if is_double else (4, "b32", "r")
    lines = []
    lists = []
    for operand, count in enumerate(counts):
        registers = [f"%{register}{10 + 10 * operand + n}" for n in range(count)]
        lines.append(f"    mad.wide.u32 %d{5 + operand}, %r0, {count * size}, %d{operand};")
        lines += [f"    ld.global.{kind} {r}, [%d{5 + operand}+{n * size}];"
                  for n, r in enumerate(registers)]  # fmt: skip
        if is_double:
            lines += [f"    mov.b64 %g{r[2:]}, {r};" for r in registers]
            registers = [f"%g{r[2:]}" for r in registers]
        lists.append("{" + ", ".join(registers) + "}")
    results = lists[2]
    if result == "f32":
        floats = [f"%f{n}" for n in range(counts[2])]
        lines += [f"    mov.b32 {f}, %r{30 + n};" for n, f in enumerate(floats)]
        results = "{" + ", ".join(floats) + "}"
    types = f"{result}.{name}.{name}.{result}"
    form = "sync.aligned"
    lines.append(
        f"    mma.{form}.{shape}.row.col.{types} {results}, {lists[0]}, {lists[1]}, {results};"
    )
    lines.append(f"    mad.wide.u32 %d9, %r0, {counts[2] * size}, %d3;")
    lines += [f"    st.global.{kind} [%d9+{n * size}], {r};"
              for n, r in enumerate(results.strip("{}").split(", "))]  # fmt: skip
    return kernel("\n".join(lines), 4, kernel_name)


def _counts(shape: str, dtype: Any, result: str) -> list[int]:
    m, k = (8 if shape.startswith("m8") else 16), int(shape.split("k")[1])
    size = max(np.dtype(dtype).itemsize, 1)
    width = max(size, 4)
    out = np.dtype(_RESULTS[result]).itemsize
    return [
        m * k * size // 32 // width,
        k * 8 * size // 32 // width,
        m * 8 * out // 32 // max(out, 4),
    ]


@pytest.mark.parametrize(("shape", "name", "dtype", "result"), PRODUCTS)
def test_matrices_in_registers_are_multiplied(shape: str, name: str, dtype: Any, result: str):
    m, k = (8 if shape.startswith("m8") else 16), int(shape.split("k")[1])
    a_places, b_places, c_places = places(m, 8, k, max(4 // np.dtype(dtype).itemsize, 1))
    low = 0 if name == "u8" else -4
    a, b = (random.integers(low, 5, s).astype(dtype) for s in ((m, k), (k, 8)))
    out = _RESULTS[result]
    c = random.integers(-9, 9, (m, 8)).astype(out)
    held = [np.ascontiguousarray(x[p[..., 0], p[..., 1]]).view(u64 if name == "f64" else u32)
            for x, p in ((a, a_places), (b, b_places), (c, c_places))]  # fmt: skip
    text = HEADER + product_text(shape, name, result, [h.shape[1] for h in held], "kernel")
    arrays = [*(h.ravel() for h in held), new(held[2].size, held[2].dtype)]
    after, _ = run(text, arrays)
    d = np.zeros((m, 8), out)
    d[c_places[..., 0], c_places[..., 1]] = np.asarray(after[3]).view(out).reshape(32, -1)
    np.testing.assert_array_equal(d, a.astype(f64) @ b.astype(f64) + c.astype(f64))


_MATRICES = """    .shared .align 16 .b8 tile[1024];
    mov.u32 %r20, tile;
    shl.b32 %r21, %r62, 4;
    add.u32 %r21, %r20, %r21;
    mul.wide.u32 %d5, %r0, 16;
    add.u64 %d6, %d0, %d5;
    cp.async.cg.shared.global [%r21], [%d6], 16;
    cp.async.commit_group;
    cp.async.wait_group 0;
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4.{trans}shared.b16 {{%r1, %r2, %r3, %r4}}, [%r21];
    add.u64 %d6, %d1, %d5;
    st.global.v4.b32 [%d6], {{%r1, %r2, %r3, %r4}};
"""


@pytest.mark.parametrize("trans", ["", "trans."])
def test_matrices_are_loaded_from_shared_memory(trans: str):
    """Each thread gets two neighbours of a row of each of four matrices, or of a column."""
    x = random.integers(0, 1 << 16, (4, 8, 8)).astype(u16)
    arrays = [x.reshape(-1).view(u32), new(128, u32)]
    after, report = run(HEADER + kernel(_MATRICES.format(trans=trans), 2), arrays)
    got = np.asarray(after[1]).view(u16).reshape(8, 4, 4, 2)
    matrices = x.swapaxes(1, 2) if trans else x
    wanted = matrices.reshape(4, 8, 4, 2).transpose(1, 2, 0, 3)
    np.testing.assert_array_equal(got, wanted)
    assert report.bank_conflicts == 0
    assert report.barriers == 1


def test_copies_are_there_after_their_own_wait():
    """Of two groups the first is waited for, then the second; short ones end in zeros."""
    body = """    .shared .align 16 .b8 buffer[1024];
    mov.u32 %r20, buffer;
    shl.b32 %r21, %r62, 3;
    add.u32 %r21, %r20, %r21;
    mul.wide.u32 %d5, %r0, 8;
    add.u64 %d6, %d0, %d5;
    cp.async.ca.shared.global [%r21], [%d6], 4;
    cp.async.commit_group;
    mov.u32 %r5, 2;
    cp.async.ca.shared.global [%r21+4], [%d6+4], 4, %r5;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.u32 %r1, [%r21];
    cp.async.wait_group 0;
    ld.shared.u32 %r2, [%r21+4];
    add.u64 %d6, %d1, %d5;
    st.global.v2.b32 [%d6], {%r1, %r2};"""
    x = random.integers(0, 1 << 32, 64, dtype=u32)
    after, _ = run(HEADER + kernel(body, 2), [x, new(64, u32)])
    np.testing.assert_array_equal(after[1].reshape(-1, 2), np.stack([x[::2], x[1::2] & 0xFFFF], 1))


# --- Grids and modules ---------------------------------------------------------------------------


def test_every_thread_of_a_grid_knows_where_it_is():
    body = """    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
    mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z;
    mov.u32 %r7, %ntid.x; mov.u32 %r8, %ntid.y; mov.u32 %r9, %nctaid.x; mov.u32 %r10, %nctaid.y;
    mov.u32 %r11, %ntid.z;
    mad.lo.u32 %r12, %r6, %r10, %r5; mad.lo.u32 %r12, %r12, %r9, %r4;
    mad.lo.u32 %r12, %r12, %r11, %r3; mad.lo.u32 %r12, %r12, %r8, %r2;
    mad.lo.u32 %r12, %r12, %r7, %r1;
    mul.wide.u32 %d5, %r12, 4; add.u64 %d5, %d0, %d5; st.global.b32 [%d5], %r12;"""
    machine = Machine(1 << 22)
    count = 2 * 3 * 4 * 5 * 7 * 3
    address = machine.allocate(4 * count)
    module = machine.load(HEADER + kernel(body, 1))
    report = machine.launch(module["kernel"], (2, 3, 4), (5, 7, 3), [address])
    np.testing.assert_array_equal(machine.read(address, 4 * count).view(u32), np.arange(count))
    assert report.stores.accesses == count


_VARIABLES = """.visible .global .align 4 .b32 numbers[4] = {1, 2, 30, 4};
.const .align 8 .u64 place = generic(numbers);
.extern .shared .align 16 .b8 dynamic[];
"""
_USE = """    ld.const.u64 %d5, [place];
    ld.u32 %r1, [%d5+8];
    ld.global.u32 %r2, [numbers+4];
    mov.u64 %d6, dynamic;
    cvta.shared.u64 %d7, %d6;
    add.u64 %d7, %d7, %d60;
    st.u32 [%d7], %r1;
    ld.shared.u32 %r3, [dynamic];
    add.u32 %r2, %r2, %r1;
    add.u64 %d8, %d0, %d60;
    st.global.u32 [%d8], %r2;
    red.global.add.u32 [numbers], 1;"""


def test_modules_have_variables_of_their_own():
    machine = Machine(1 << 20)
    module = machine.load(HEADER + _VARIABLES + kernel(_USE, 1))
    out = machine.allocate(4)
    machine.launch(module["kernel"], (1,), (1,), [out], shared_bytes=4)
    assert machine.read(out, 4).view(u32)[0] == 32
    numbers = machine.read(module.globals["numbers"], 16).view(u32)
    np.testing.assert_array_equal(numbers, [2, 2, 30, 4])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_assembler_takes_the_kernels(architecture: str):
    parts = [_of_warps(n, f"w{n}") for n in range(len(WARPS))]
    parts += [product_text(s, n, r, _counts(s, d, r), f"p{i}")
              for i, (s, n, d, r) in enumerate(PRODUCTS) if n != "e4m3"]  # fmt: skip
    parts += [kernel(_MATRICES.format(trans="trans."), 2, "m"), kernel(_USE, 1, "u")]
    assert complaints(HEADER + _VARIABLES + _TWICE + "".join(parts), architecture) == ""
