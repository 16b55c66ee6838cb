"""Products of warpgroups on the PTX interpreter: their values, and what must be left alone."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ptx_boxes import ACQUIRE, BEGIN, BOX, HEADER, WAIT, launch, map_of
from ptx_kernels import kernel

from tfc.testing.ptx import Fault, UnknownInstructionError
from tfc.testing.ptx.assembler import complaints

random = np.random.default_rng(5)
u8, f16, f32, bf16 = np.uint8, np.float16, np.float32, ml_dtypes.bfloat16
e4m3, e5m2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
_FINITE = {"f32": f32, "f16": f16, "s32": np.int32}
# Type of A and B, their dtypes, type of the sums, columns, swizzle, transposed A and B (K is the
# slower dimension in memory), whether A is in registers.
PRODUCTS: list[tuple[str, str, Any, Any, str, int, int, bool, bool, bool]] = [
    ("bf16", "bf16", bf16, bf16, "f32", 64, 128, False, False, False),
    ("bf16", "bf16", bf16, bf16, "f32", 256, 128, False, True, False),
    ("bf16", "bf16", bf16, bf16, "f32", 128, 128, True, False, False),
    ("f16", "f16", f16, f16, "f32", 64, 128, True, True, False),
    ("f16", "f16", f16, f16, "f16", 96, 64, True, True, False),
    ("f16", "f16", f16, f16, "f32", 8, 32, True, False, False),
    ("f16", "f16", f16, f16, "f16", 24, 64, False, False, False),
    ("f16", "f16", f16, f16, "f32", 16, 32, False, True, False),
    ("bf16", "bf16", bf16, bf16, "f32", 40, 16, False, False, False),
    ("bf16", "bf16", bf16, bf16, "f32", 16, 16, True, True, False),
    ("bf16", "bf16", bf16, bf16, "f32", 64, 128, False, True, True),
    ("tf32", "tf32", f32, f32, "f32", 64, 128, False, False, False),
    ("tf32", "tf32", f32, f32, "f32", 32, 64, False, False, True),
    ("s8", "s8", np.int8, np.int8, "s32", 64, 128, False, False, False),
    ("u8", "s8", u8, np.int8, "s32", 32, 64, False, False, True),
    ("e4m3", "e4m3", e4m3, e4m3, "f32", 128, 128, False, False, False),
    ("e5m2", "e4m3", e5m2, e4m3, "f16", 48, 32, False, False, False),
]


def _matrix(rows: int, k: int, size: int, span: int, flipped: bool) -> tuple[Any, int, int]:
    """How rows x k lie in shared memory: (box and its corners, leading offset, stride offset)."""
    if span == 16:  # pieces of 16 bytes, each column of pieces by itself
        per = 16 // size
        extent, count = (k, rows // per) if flipped else (rows, k // per)
        corners = [(0, per * n) for n in range(count)]
        apart = extent * 16
        # Along K the next eight rows; along M or N the next column of pieces; or the reverse.
        leading, stride = (128, apart) if flipped else (apart, 128)
        return [(extent, per), corners], leading, stride
    per = span // size
    if not flipped:
        return [(rows, per), [(0, 0)]], 16, 8 * span
    return [(k, per), [(0, per * n) for n in range(rows // per)]], k * span, 8 * span


def _descriptor(register: str, at: str, leading: int, stride: int, span: int) -> str:
    fixed = leading // 16 << 16 | stride // 16 << 32 | {16: 0, 128: 1, 64: 2, 32: 3}[span] << 62
    return f"""    shr.u32 %r30, {at}, 4;
    cvt.u64.u32 {register}, %r30;
    or.b64 {register}, {register}, {fixed - (1 << 64) if fixed >> 63 else fixed};
"""


def _depth(number: int) -> int:
    """K of the matrices of a product, of which an instruction takes 32 bytes at a time."""
    _, _, dtype, _, _, _, span, a_flip, b_flip, _ = PRODUCTS[number]
    return (32 if a_flip and b_flip else max(span, 32)) // np.dtype(dtype).itemsize


def product_text(number: int, steps: Sequence[str] = ("fence", "commit", "wait")) -> str:
    """A kernel that loads A and B by boxes, multiplies, and stores the registers of the sums."""
    a, b, a_dtype, _, result, n, span, a_flip, b_flip, in_registers = PRODUCTS[number]
    size = np.dtype(a_dtype).itemsize
    k = 32 // size
    depth = _depth(number)
    lines = [BEGIN, ACQUIRE.format("%d3"), ACQUIRE.format("%d4")]
    count = n // 2 // (2 if result == "f16" else 1)
    kind = "f32" if result == "f32" else "b32"
    lines.append(f"    .reg .{kind} %sum<{count}>;\n    .reg .b32 %a<4>;\n")
    total = (64 + n) * depth * size
    lines.append(f"    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r21], {total};\n")
    layouts = []
    for start, pointer, rows, flip in ((0, "%d3", 64, a_flip), (1, "%d4", n, b_flip)):
        first = start * 64 * depth * size
        (box, corners), leading, stride = _matrix(rows, depth, size, span, flip)
        along = 32 if not flip else k * span
        layouts.append((first, 2 * leading if span == 16 else along, leading, stride))
        for i, corner in enumerate(corners):
            at = first + i * box[0] * box[1] * size
            place = ", ".join(map(str, corner[::-1]))
            lines.append(f"    @%p1 {BOX.format(2, f'%r20+{at}', pointer, place)}\n")
    lines.append(WAIT.format(0, 0))
    zero = "0" if kind == "b32" else "0f00000000"
    lines += [f"    mov.{kind} %sum{i}, {zero};\n" for i in range(count)]
    lines.append("    mov.u32 %r9, 0; setp.ne.u32 %p5, %r9, 0;\n")
    if in_registers:
        lines.append("    mad.wide.u32 %d10, %r62, 16, %d5;\n")
        lines.append("    ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%d10];\n")
    if "fence" in steps:
        lines.append("    wgmma.fence.sync.aligned;\n")
    sums = "{" + ", ".join(f"%sum{i}" for i in range(count)) + "}"
    flips = "" if size != 2 else f", {int(b_flip)}" if in_registers else (
        f", {int(a_flip)}, {int(b_flip)}")  # fmt: skip
    last = "" if result == "s32" else ", 1, 1" + flips
    for step in range(1 if in_registers else depth // k):
        texts = []
        for register, (first, along, leading, stride) in zip(("%d20", "%d21"), layouts):
            lines.append(f"    add.u32 %r31, %r20, {first + along * step};\n")
            lines.append(_descriptor(register, "%r31", leading, stride, span))
            texts.append(register)
        if in_registers:
            texts[0] = "{%a0, %a1, %a2, %a3}"
        lines.append(f"    wgmma.mma_async.sync.aligned.m64n{n}k{k}.{result}.{a}.{b} {sums}, "
                     f"{texts[0]}, {texts[1]}, %p5{last};\n")  # fmt: skip
        lines.append("    setp.eq.u32 %p5, %r9, 0;\n")
    lines += ["    wgmma.commit_group.sync.aligned;\n"] if "commit" in steps else []
    lines += ["    wgmma.wait_group.sync.aligned 0;\n"] if "wait" in steps else []
    lines.append(f"    mad.wide.u32 %d11, %r62, {4 * count}, %d2;\n")
    lines += [f"    st.global.{kind} [%d11+{4 * i}], %sum{i};\n" for i in range(count)]
    return "".join(lines)


def _product_arrays(number: int) -> tuple[list[Any], np.ndarray]:
    """The arrays of a product's kernel, and what it should compute as rows and columns."""
    _, _, a_dtype, b_dtype, result, n, span, a_flip, b_flip, in_registers = PRODUCTS[number]
    size = np.dtype(a_dtype).itemsize
    k = 32 // size
    depth = _depth(number)
    a = random.integers(0 if a_dtype == u8 else -4, 5, (64, depth)).astype(a_dtype)
    b = random.integers(-4, 5, (n, depth)).astype(b_dtype)
    arrays: list[Any] = [np.ascontiguousarray(x.T if flip else x)
                         for x, flip in ((a, a_flip), (b, b_flip))]  # fmt: skip
    out = np.zeros((128, n // 2), _FINITE[result])
    maps = []
    for number_of, (array, rows, flip) in enumerate(zip(arrays, (64, n), (a_flip, b_flip))):
        (box, _), _, _ = _matrix(rows, depth, size, span, flip)
        maps.append(map_of(number_of, array, box, span if span > 16 else 0))
    thread, register, part = np.meshgrid(*map(np.arange, (128, 4, 4 // size)), indexing="ij")
    row = thread // 32 * 16 + thread % 32 // 4 + 8 * (register % 2)
    held = a[row, (thread % 4 + 4 * (register // 2)) * (4 // size) + part]
    used = slice(0, k if in_registers else depth)
    wanted = a[:, used].astype(np.float64) @ b[:, used].astype(np.float64).T
    return [*arrays, out, *maps, np.ascontiguousarray(held)], wanted


@pytest.mark.parametrize("number", range(len(PRODUCTS)))
def test_products_of_warpgroups(number: int):
    arrays, wanted = _product_arrays(number)
    after, report = launch(product_text(number), arrays)
    n = wanted.shape[1]
    got = np.zeros((64, n))
    thread, i = np.meshgrid(np.arange(128), np.arange(n // 2), indexing="ij")
    row = thread // 32 * 16 + thread % 32 // 4 + 8 * (i // 2 % 2)
    got[row, 8 * (i // 4) + 2 * (thread % 4) + i % 2] = after[2]
    np.testing.assert_array_equal(got, wanted)
    assert sum(report.products.values()) == max(report.products.total(), 1)
    assert report.bulk_loads.bytes == arrays[0].nbytes + arrays[1].nbytes


def test_registers_of_a_product_are_left_alone_until_it_is_waited_for():
    for steps, message in (
        (("commit", "wait"), "used since the last wgmma.fence"),
        (("fence", "commit"), "before wgmma.wait_group"),
        (("fence", "wait"), "before wgmma.wait_group"),
    ):
        arrays, _ = _product_arrays(0)
        with pytest.raises(Fault, match=message) as caught:
            launch(product_text(0, steps), arrays)
        assert caught.value.kind == "async"
    arrays, _ = _product_arrays(10)
    text = product_text(10).replace("    wgmma.commit", "    mov.b32 %a2, 0;\n    wgmma.commit")
    with pytest.raises(Fault, match=r"before wgmma\.wait_group"):
        launch(text, arrays)


def test_products_are_waited_for_before_the_end():
    arrays, _ = _product_arrays(0)
    text = product_text(0, ("fence", "commit"))
    with pytest.raises(Fault, match="a thread ends while a product of its warpgroup is under way"):
        launch(text[: text.index("wgmma.commit")] + "ret;", arrays)


def test_shared_memory_of_a_product_is_left_alone_until_it_is_waited_for():
    arrays, _ = _product_arrays(0)
    text = product_text(0)
    overwrite = "    st.shared.u32 [%r20], %r9;\n"
    with pytest.raises(Fault, match="async: a write to shared memory that an operation"):
        launch(text.replace("    wgmma.commit", overwrite + "    wgmma.commit"), arrays)
    launch(text + overwrite, arrays[:])
    with pytest.raises(Fault, match=r"without fence\.proxy\.async"):
        launch(text.replace("    wgmma.fence", overwrite + "    wgmma.fence"), arrays)
    fenced = overwrite + "    fence.proxy.async;\n    bar.sync 0;\n    wgmma.fence"
    launch(text.replace("    wgmma.fence", fenced), arrays)


def test_descriptors_and_warpgroups_that_are_incomplete_are_found():
    arrays, _ = _product_arrays(0)
    text = product_text(0)
    with pytest.raises(Fault, match="misaligned: a matrix with a swizzle of 128 bytes"):
        launch(text.replace("add.u32 %r31, %r20, 0;", "add.u32 %r31, %r20, 128;"), arrays)
    with pytest.raises(Fault, match="misaligned: the descriptor"):
        launch(text.replace("    wgmma.fence", "    wgmma.fence").replace(
            "cvt.u64.u32 %d20, %r30;", "cvt.u64.u32 %d20, %r30; or.b64 %d20, %d20, 16384;"),
            arrays)  # fmt: skip
    with pytest.raises(Fault, match="divergence: some threads of the warpgroup never"):
        launch(text.replace("    wgmma.fence", "    setp.lt.u32 %p7, %r62, 96;\n"
                            "    @!%p7 bra never;\n    wgmma.fence")
               + "    bra over;\nnever: bar.sync 1, 64;\nover:", arrays)  # fmt: skip
    with pytest.raises(UnknownInstructionError, match="no such product"):
        launch(text.replace("m64n64k16", "m64n64k8"), arrays)


def test_registers_are_given_up_before_others_take_them():
    body = """    setp.lt.u32 %p1, %r62, 128;
    @%p1 bra first;
    setmaxnreg.inc.sync.aligned.u32 {};
    bra end;
first: setmaxnreg.dec.sync.aligned.u32 40;
end:"""
    launch(body.format(232), [], 384)
    with pytest.raises(Fault, match=r"setmaxnreg\.inc waits .* 70656 of 65536"):
        launch(body.format(256), [], 384)


def test_the_assembler_takes_the_kernels():
    bodies = [product_text(n) for n in range(len(PRODUCTS))]
    text = HEADER + "".join(kernel(body, 6, f"k{n}") for n, body in enumerate(bodies))
    assert complaints(text, "sm_90a") == ""


def test_products_that_the_assembler_makes_wait_are_a_complaint():
    lines = product_text(0).splitlines(keepends=True)
    text = HEADER + kernel("".join(line for line in lines if "wait_group" not in line), 6, "k")
    assert "wgmma.wait_group is injected" in complaints(text, "sm_90a")
