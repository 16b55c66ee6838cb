"""Kernels in Triton whose PTX the tests of the interpreter run: another compiler's, for GPUs.

    python tests/testing/recorded/kernels.py

compiles them anew, without a GPU, and writes the .ptx files beside this one. It needs Triton, which
tests do not: they read the files. The first line of a file holds what a launch has to know.
"""

import json
import re
from pathlib import Path
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
)

# --- Products -------------------------------------------------------------------------------------


@triton.jit
def product(
    a, b, c, m, k, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
    SUM: tl.constexpr, A_DOWN: tl.constexpr, B_DOWN: tl.constexpr,
):  # fmt: skip
    """c = a · b; A_DOWN: columns of a lie together in memory, B_DOWN: those of b."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    j = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    s = tl.arange(0, DEPTH)
    left = a + (s[None, :] * m + i if A_DOWN else i * k + s[None, :])
    right = b + (j * k + s[:, None] if B_DOWN else s[:, None] * n + j)
    sums = tl.zeros((ROWS, COLUMNS), SUM)
    for _ in range(0, k, DEPTH):
        sums = tl.dot(tl.load(left), tl.load(right), sums, out_dtype=SUM)
        left += DEPTH * m if A_DOWN else DEPTH
        right += DEPTH if B_DOWN else DEPTH * n
    tl.store(c + i * n + j, sums)


@triton.jit
def batched(a, b, c, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """c[z] = a[z] · b[z]ᵀ by boxes of three dimensions."""
    z, i, j = tl.program_id(2), tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, DEPTH):
        x = a.load([z, i, start]).reshape(ROWS, DEPTH)
        y = b.load([z, j, start]).reshape(COLUMNS, DEPTH)
        sums = tl.dot(x, y.T, sums)
    c.store([z, i, j], sums.to(tl.float16).reshape(1, ROWS, COLUMNS))


@triton.jit
def headed(a, b, c, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """c[z, :, 1] = a[z, :, 1] · b[z, :, 1] by boxes of four dimensions."""
    z, i, j = tl.program_id(2), tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, DEPTH):
        x = a.load([z, i, 1, start]).reshape(ROWS, DEPTH)
        y = b.load([z, start, 1, j]).reshape(DEPTH, COLUMNS)
        sums = tl.dot(x, y, sums)
    c.store([z, i, 1, j], sums.to(tl.float16).reshape(1, ROWS, 1, COLUMNS))


@triton.jit
def persistent(a, b, c, m, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """c = a · bᵀ: blocks go from tile to tile; those of a cluster have rows of a tile each."""
    across = n // COLUMNS
    for tile in tl.range(tl.program_id(0), m // ROWS * across, tl.num_programs(0)):
        i, j = tile // across * ROWS, tile % across * COLUMNS
        sums = tl.zeros((ROWS, COLUMNS), tl.float32)
        for start in range(0, k, DEPTH):
            sums = tl.dot(a.load([i, start]), b.load([j, start]).T, sums)
        c.store([i, j], sums.to(tl.bfloat16))


@gluon.jit
def _load(a, b, xs, ys, full, empty, k, DEPTH: gl.constexpr, STAGES: gl.constexpr):
    i, j = gl.program_id(0) * xs.shape[1], gl.program_id(1) * ys.shape[1]
    for step in range(0, k // DEPTH):
        stage = step % STAGES
        mbarrier.wait(empty.index(stage), (step // STAGES & 1) ^ 1)
        mbarrier.expect(full.index(stage), a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [i, step * DEPTH], full.index(stage), xs.index(stage))
        tma.async_load(b, [j, step * DEPTH], full.index(stage), ys.index(stage))


@gluon.jit
def _store(c, sums, row, column):
    out = gl.allocate_shared_memory(gl.float16, sums.shape, c.layout)
    out.store(sums.to(gl.float16))
    fence_async_shared()
    tma.async_store(c, [row, column], out)
    tma.store_wait(0)


@gluon.jit
def _multiply(c, xs, ys, full, empty, k, DEPTH: gl.constexpr, STAGES: gl.constexpr):
    rows: gl.constexpr = xs.shape[1]
    columns: gl.constexpr = ys.shape[1]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, columns, 16])
    sums = gl.zeros((rows, columns), gl.float32, layout)
    for step in range(0, k // DEPTH):
        stage = step % STAGES
        mbarrier.wait(full.index(stage), step // STAGES & 1)
        sums = warpgroup_mma(xs.index(stage), ys.index(stage).permute((1, 0)), sums)
        mbarrier.arrive(empty.index(stage))
    _store(c, sums, gl.program_id(0) * rows, gl.program_id(1) * columns)


@gluon.jit
def divided(a, b, c, k, DEPTH: gl.constexpr, STAGES: gl.constexpr):
    """c = a · bᵀ: a warp with few registers loads, a warpgroup with many multiplies."""
    xs = gl.allocate_shared_memory(gl.float16, [STAGES] + a.block_type.shape, a.layout)
    ys = gl.allocate_shared_memory(gl.float16, [STAGES] + b.block_type.shape, b.layout)
    full = mbarrier.allocate_mbarrier(batch=STAGES)
    empty = mbarrier.allocate_mbarrier(batch=STAGES)
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=1)
    fence_async_shared()
    gl.warp_specialize(
        [
            (_multiply, (c, xs, ys, full, empty, k, DEPTH, STAGES)),
            (_load, (a, b, xs, ys, full, empty, k, DEPTH, STAGES)),
        ],
        [1],
        [24],
    )


@gluon.jit
def shared(a, b, c, k, DEPTH: gl.constexpr):
    """c = a · bᵀ: two blocks of a cluster have half of the rows each, and share loads of b."""
    rows: gl.constexpr = a.block_type.shape[0]
    columns: gl.constexpr = b.block_type.shape[0]
    x = gl.allocate_shared_memory(gl.float16, a.block_type.shape, a.layout)
    y = gl.allocate_shared_memory(gl.float16, b.block_type.shape, b.layout)
    full = mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    fence_async_shared(cluster=True)
    gl.barrier(cluster=True)
    layout: gl.constexpr = gl.NVMMADistributedLayout(
        [3, 0], [4, 1], [16, columns, 16], cga_layout=[[1, 0]]
    )
    sums = gl.zeros((rows, columns), gl.float32, layout)
    for step in range(0, k // DEPTH):
        mbarrier.expect(full, a.nbytes_per_cta + b.nbytes_per_cta)
        gl.barrier(cluster=True)
        tma.async_load(a, [0, step * DEPTH], full, x)
        tma.async_load(b, [0, step * DEPTH], full, y, multicast=True)
        mbarrier.wait(full, step & 1)
        sums = warpgroup_mma(x, y.permute((1, 0)), sums)
        gl.barrier(cluster=True)
    _store(c, sums, 0, 0)


@gluon.jit
def convolved(
    a, b, c, height, width, step, low, right, down, kernel_width, blocks, k, DEPTH: gl.constexpr
):
    """c = a * b, whose sums go through places of the kernel, and then through features.

    height, width: of the results. low: the padding. right, down: between places of the kernel.
    """
    rows: gl.constexpr = a.block_type.shape[0]
    columns: gl.constexpr = b.block_type.shape[1]
    x = gl.allocate_shared_memory(gl.float16, a.block_type.shape, a.layout)
    y = gl.allocate_shared_memory(gl.float16, b.block_type.shape, b.layout)
    full = mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    fence_async_shared()
    first = gl.program_id(0) * rows
    image, pixel = first // (height * width), first % (height * width)
    corner_y, corner_x = pixel // width * step - low, pixel % width * step - low
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, columns, 16])
    sums = gl.zeros((rows, columns), gl.float32, layout)
    for turn in range(0, k // DEPTH):
        place, feature = turn // blocks, turn % blocks * DEPTH
        moved_y = (place // kernel_width * down).to(gl.int16)
        moved_x = (place % kernel_width * right).to(gl.int16)
        mbarrier.expect(full, a.nbytes_per_cta + b.nbytes_per_cta)
        corner = [image, corner_y, corner_x, feature]
        tma.async_load_im2col(a, corner, [moved_y, moved_x], full, x)
        tma.async_load(b, [turn * DEPTH, 0], full, y)
        mbarrier.wait(full, turn & 1)
        sums = warpgroup_mma(x, y, sums)
    _store(c, sums, first, 0)


@gluon.jit
def kernel_gradient(
    a, b, c, height, width, step, low, right, down, kernel_width, k, DEPTH: gl.constexpr
):
    """c[place of the kernel] = the sums over pixels of a, moved to that place, times b."""
    rows: gl.constexpr = a.block_type.shape[1]
    columns: gl.constexpr = b.block_type.shape[1]
    x = gl.allocate_shared_memory(gl.float16, a.block_type.shape, a.layout)
    y = gl.allocate_shared_memory(gl.float16, b.block_type.shape, b.layout)
    full = mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    fence_async_shared()
    place = gl.program_id(0)
    moved_y = (place // kernel_width * down).to(gl.int16)
    moved_x = (place % kernel_width * right).to(gl.int16)
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, columns, 16])
    sums = gl.zeros((rows, columns), gl.float32, layout)
    for turn in range(0, (k + DEPTH - 1) // DEPTH):
        image, pixel = turn * DEPTH // (height * width), turn * DEPTH % (height * width)
        corner = [image, pixel // width * step - low, pixel % width * step - low, 0]
        mbarrier.expect(full, a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load_im2col(a, corner, [moved_y, moved_x], full, x)
        tma.async_load(b, [turn * DEPTH, 0], full, y)
        mbarrier.wait(full, turn & 1)
        sums = warpgroup_mma(x.permute((1, 0)), y, sums)
    _store(c, sums, place * rows, 0)


# --- Attention, rows, numbers ---------------------------------------------------------------------


@triton.jit
def attention(
    q, k, v, o, n, scale, SIZE: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    CAUSAL: tl.constexpr,
):  # fmt: skip
    """softmax(q · kᵀ · scale / log2(e)) · v of each head: the weights stay in registers."""
    head = tl.program_id(1) * n * SIZE
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    s = tl.arange(0, SIZE)
    x = tl.load(q + head + i[:, None] * SIZE + s[None, :])
    top = tl.full((ROWS,), -float("inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, SIZE), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * ROWS if CAUSAL else n, KEYS):
        j = start + tl.arange(0, KEYS)
        y = tl.load(k + head + j[:, None] * SIZE + s[None, :])
        z = tl.load(v + head + j[:, None] * SIZE + s[None, :])
        scores = tl.dot(x, tl.trans(y)) * scale
        if CAUSAL:
            scores = tl.where(i[:, None] >= j[None, :], scores, -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        shrunk = tl.exp2(top - higher)
        total = total * shrunk + tl.sum(weights, 1)
        sums = tl.dot(weights.to(z.dtype), z, sums * shrunk[:, None])
        top = higher
    tl.store(o + head + i[:, None] * SIZE + s[None, :], sums / total[:, None])


@triton.jit
def rows(x, weights, places, size, WIDTH: tl.constexpr):
    """The softmax of each row, and where its greatest element is."""
    place = tl.arange(0, WIDTH)
    there = place < size
    start = tl.program_id(0) * size
    row = tl.load(x + start + place, there, -float("inf")).to(tl.float32)
    powers = tl.exp(row - tl.max(row, 0))
    tl.store(weights + start + place, powers / tl.sum(powers, 0), there)
    tl.store(places + tl.program_id(0), tl.argmax(row, 0))


@triton.jit
def scans(x, across, up, ordered, counts, WIDTH: tl.constexpr, HEIGHT: tl.constexpr):
    """Running totals along rows and up columns, sorted rows, and how often each of 64 values is."""
    at = tl.arange(0, HEIGHT)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    given = tl.load(x + at)
    tl.store(across + at, tl.cumsum(given, 1))
    tl.store(up + at, tl.cumsum(given, 0, reverse=True))
    tl.store(ordered + at, tl.sort(given, 1))
    flat = tl.reshape(given, (HEIGHT * WIDTH,))
    tl.store(counts + tl.arange(0, 64), tl.histogram(flat & 63, 64))


@triton.jit
def atomics(x, sums, most, least, whole, some, count, WIDTH: tl.constexpr):
    """By the last four bits of each number: totals, extremes and one of the numbers."""
    n = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    there = n < count
    given = tl.load(x + n, there, 0)
    key = given & 15
    tl.atomic_add(sums + key, given.to(tl.float32), there)
    tl.atomic_max(most + key, given, there)
    tl.atomic_min(least + key, given, there)
    tl.atomic_add(whole + key, given.to(tl.int64), there)
    tl.atomic_xchg(some + key, given, there)


@triton.jit
def numbers(x, y, z, i, j, count, WIDTH: tl.constexpr):
    """Functions of floats, and quotients, high halves and random bits of integers."""
    n = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    there = n < count
    a = tl.load(x + n, there, 1.0)
    b = tl.load(y + n, there, 1.0)
    size = tl.abs(b) + 1
    smooth = tl.exp(a) + tl.log(size) + tl.sqrt(tl.abs(a)) + tl.rsqrt(size) + a / b + tl.erf(a)
    tl.store(z + n, smooth + tl.floor(a) + tl.ceil(b) + tl.fma(a, b, a), there)
    m = tl.load(i + n, there, 1)
    bits = tl.randint(7, m)
    made = tl.umulhi(m, bits) + m // 7 - m % 5 + tl.clamp(a, -1.0, 1.0).to(tl.int32)
    tl.store(j + n, made, there)


# --- Recording ------------------------------------------------------------------------------------

_DEPTH = {"fp64": 16, "fp32": 32, "fp16": 64, "bf16": 64}  # 128 for types of 8 bits


def _record(name: str, kernel: Any, types: list[str], constants: Any, target: int, **options: Any):
    arguments = iter(types)
    kinds = {n: "constexpr" if n in constants else next(arguments) for n in kernel.arg_names}
    aligned = [n for n, kind in enumerate(kinds.values()) if kind[0] == "*" or kind == "i32"]
    attributes = {(n,): [["tt.divisibility", 16]] for n in aligned}
    make = GluonASTSource if kernel.is_gluon() else ASTSource
    source = make(fn=kernel, signature=kinds, constexprs=constants, attrs=attributes)
    made = triton.compile(source, target=GPUTarget("cuda", target, 32), options=options)
    about = {
        "kernel": made.metadata.name,
        "threads": 32 * made.metadata.num_warps,
        "shared": made.metadata.shared,
        "boxes": [(b["block_size"], b["swizzle"]) for b in made.metadata.tensordesc_meta],
    }
    if "total_num_warps" in made.metadata._fields:
        about["threads"] = 32 * made.metadata.total_num_warps
    text = re.sub(r"(?ms)^\t\.section.*|^\t\.file[^\n]*\n|^\t+\.loc[^\n]*\n", "", made.asm["ptx"])
    text = re.sub(r"(?m)[ \t]*//[^\n]*|^\$L__(tmp|func)\w+:\n", "", text)
    text = re.sub(r"\n\s*\n+", "\n", text).replace("\t", " ")
    head = f"// {json.dumps(about)}\n// Triton {triton.__version__}, from kernels.py\n"
    (Path(__file__).parent / f"{name}.ptx").write_text(head + text.strip() + "\n")
    print(name, len(text), about)


def _products() -> None:
    cases = [
        (80, "bf16 00, fp16 11, fp16 10, fp32 01, fp64 00, fp64 11, i8 01"),
        (90, "bf16 00, fp16 01, fp16 10, bf16 11, fp32 01, fp32 10, i8 01, i8 10, fp8e4nv 01, "
             "fp8e5 10"),
    ]  # fmt: skip
    for target, texts in cases:
        for kind, flips in (text.split() for text in texts.split(", ")):
            out = {"i8": "i32", "fp64": "fp64"}.get(kind, "fp32")
            constants = {
                "ROWS": 64, "COLUMNS": 32, "DEPTH": _DEPTH.get(kind, 128),
                "SUM": {"i32": tl.int32, "fp64": tl.float64}.get(out, tl.float32),
                "A_DOWN": int(flips[0]), "B_DOWN": int(flips[1]),
            }  # fmt: skip
            types = [f"*{kind}", f"*{kind}", f"*{out}", "i32", "i32", "i32"]
            name = f"product_{kind}_{flips}_sm{target}"
            _record(name, product, types, constants, target, num_warps=4, num_stages=3)


def _boxes() -> None:
    tile = {"ROWS": 64, "COLUMNS": 64}
    three = [f"tensordesc<fp16[1,64,{width}]>" for width in (32, 32, 64)] + ["i32"]
    _record("batched_sm90", batched, three, {**tile, "DEPTH": 32}, 90, num_warps=4, num_stages=3)
    four = ["tensordesc<fp16[1,64,1,64]>"] * 3 + ["i32"]
    _record("headed_sm90", headed, four, {**tile, "DEPTH": 64}, 90, num_warps=4, num_stages=3)
    two = ["tensordesc<bf16[64,64]>"] * 3 + ["i32"] * 3
    _record("persistent_sm90", persistent, two, {**tile, "DEPTH": 64}, 90, num_warps=4)
    pairs = [f"tensordesc<bf16[{height},64]>" for height in (128, 64, 128)] + ["i32"] * 3
    constants = {"ROWS": 128, "COLUMNS": 64, "DEPTH": 64}
    _record("pairs_sm90", persistent, pairs, constants, 90, num_warps=4, num_ctas=2)


def _explicit() -> None:
    plain = gl.NVMMASharedLayout(128, 16)
    of = "tensordesc<fp16[{}],{!r}>".format
    tile = of("64,64", plain)
    stages = {"DEPTH": 64, "STAGES": 2}
    _record("divided_sm90", divided, [tile, tile, tile, "i32"], stages, 90, num_warps=4)
    halves = gl.NVMMASharedLayout(128, 16, cga_layout=[[1, 0]])
    both = gl.NVMMASharedLayout(128, 16, cga_layout=[[0, 0]])
    types = [of("128,64", halves), of("64,64", both), of("128,64", halves), "i32"]
    _record("shared_sm90", shared, types, {"DEPTH": 64}, 90, num_warps=4, num_ctas=2)


def _images() -> None:
    plain = gl.NVMMASharedLayout(128, 16)
    pixels = f"tensordesc_im2col<fp16[64,64],{plain!r}>"
    tile = f"tensordesc<fp16[64,64],{plain!r}>"
    numbers = ["i32"] * 8
    types = [pixels, tile, tile, *numbers, "i32"]
    _record("convolved_sm90", convolved, types, {"DEPTH": 64}, 90, num_warps=4)
    types = [pixels, tile, tile, *numbers]
    _record("kernel_gradient_sm90", kernel_gradient, types, {"DEPTH": 64}, 90, num_warps=4)


def _others() -> None:
    tile = {"SIZE": 32, "ROWS": 64, "KEYS": 32}
    cases = ((80, "fp16", 0), (80, "bf16", 1), (90, "bf16", 0), (90, "fp16", 1))
    for target, kind, causal in cases:
        _record(f"attention_{kind}_{causal}_sm{target}", attention,
                [f"*{kind}"] * 3 + ["*fp32", "i32", "fp32"], {**tile, "CAUSAL": causal}, target,
                num_warps=4, num_stages=2)  # fmt: skip
    _record("rows_sm90", rows, ["*fp32", "*fp32", "*i32", "i32"], {"WIDTH": 1024}, 90)
    _record("scans_sm90", scans, ["*i32"] * 5, {"WIDTH": 32, "HEIGHT": 16}, 90)
    types = ["*i32", "*fp32", "*i32", "*i32", "*i64", "*i32", "i32"]
    _record("atomics_sm90", atomics, types, {"WIDTH": 256}, 90)
    types = ["*fp32"] * 3 + ["*i32"] * 2 + ["i32"]
    _record("numbers_sm90", numbers, types, {"WIDTH": 256}, 90)


if __name__ == "__main__":
    _products()
    _boxes()
    _explicit()
    _images()
    _others()
