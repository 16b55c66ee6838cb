"""What the cores can do: fused multiply-adds, and bytes through memory.

    python -m benchmarks.limits THREADS        prints them as JSON, in operations or bytes a second

Each thread runs the same code on its own data, and what counts is the time until the last is done.
Memory is streamed through arrays that no cache holds: read; copied; or two read and a third
written. What is written goes past the caches, which is the fastest way to write much. Products of
small types are measured where the processor has instructions for them.
"""

import ctypes
import json
import sys
import time
from collections.abc import Callable
from threading import Barrier, Thread

import numpy as np

from tfc.backends.llvm.compilation import compile_ir
from tfc.backends.target import Target
from tfc.tools.profiling.probe import CHAINS, multiply_adds

_ATTEMPTS = 10
_ROUNDS = 2_000_000  # of multiply-adds; some hundredths of a second
_BYTES = 64 << 20  # of each array of a thread
_ACCUMULATORS = 8


def measure(threads: int) -> dict[str, float]:
    """The limits by name, as cases name them; those that the processor has."""
    target = Target.host()
    dots = [name for name, dot in _DOTS.items() if f"+{dot[0]}" in target.features.split(",")]
    return {
        "fma32": _multiply_adds(target, threads, 32),
        "fma64": _multiply_adds(target, threads, 64),
        **{name: _streams(target, threads, name) for name in ("read", "copy", "stream")},
        **{name: _dot_products(target, threads, name) for name in dots},
    }


def _multiply_adds(target: Target, threads: int, bits: int) -> float:
    lanes = max(target.lanes(bits), 1)
    code = compile_ir(multiply_adds(lanes, "float" if bits == 32 else "double"), target).load()
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(code.address("peak"))
    memories = [np.zeros(lanes * CHAINS, f"f{bits // 8}") for _ in range(threads)]
    calls = [lambda m=m: function(_ROUNDS, m.ctypes.data) for m in memories]
    return threads * 2 * lanes * CHAINS * _ROUNDS / _best(calls)


# By name: the feature, the intrinsic function, and the vectors that it adds to and multiplies.
_DOTS = {
    "dot16": ("avx512bf16", "avx512bf16.dpbf16ps.512", "<16 x float>", 32, "bfloat"),
    "dot8": ("avx512vnni", "avx512.vpdpbusd.512", "<16 x i32>", 64, "i8"),
}


def _dot_products(target: Target, threads: int, name: str) -> float:
    count = _DOTS[name][3]
    code = compile_ir(dot_code(name), target).load()
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(code.address("dots"))
    memories = [np.zeros(64 * CHAINS, np.uint8) for _ in range(threads)]
    calls = [lambda m=m: function(_ROUNDS, m.ctypes.data) for m in memories]
    return threads * 2 * count * CHAINS * _ROUNDS / _best(calls)


def dot_code(name: str) -> str:
    """LLVM IR: a function that runs chains of dot products, like those of multiply-adds."""
    _, intrinsic, sums, count, element = _DOTS[name]
    numbers, factors = range(CHAINS), f"<{count} x {element}>"
    phis = [f"  %a{n} = phi {sums} [zeroinitializer, %entry], [%b{n}, %loop]" for n in numbers]
    function = f"{sums} @llvm.x86.{intrinsic}"
    steps = [
        f"  %b{n} = call {function}({sums} %a{n}, {factors} %f, {factors} %f)" for n in numbers
    ]
    stores = [
        f"  %p{n} = getelementptr i8, ptr %memory, i64 {64 * n}\n"
        f"  store {sums} %b{n}, ptr %p{n}, align 4"
        for n in numbers
    ]
    return "\n".join([
        f"declare {function}({sums}, {factors}, {factors})",
        "define void @dots(i64 %rounds, ptr %memory) {", "entry:",
        f"  %f = load {factors}, ptr %memory, align 4", "  br label %loop", "loop:",
        "  %i = phi i64 [0, %entry], [%next, %loop]", *phis, *steps,
        "  %next = add i64 %i, 1", "  %more = icmp ult i64 %next, %rounds",
        "  br i1 %more, label %loop, label %done", "done:", *stores, "  ret void", "}", "",
    ])  # fmt: skip


def _streams(target: Target, threads: int, name: str) -> float:
    inputs, writes = {"read": (1, 0), "copy": (1, 1), "stream": (2, 1)}[name]
    lanes = max(target.lanes(32), 1)
    code = compile_ir(stream_code(lanes, inputs, bool(writes)), target).load()
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(code.address("stream"))
    count = _BYTES // 4
    memories = [np.ones(3 * count + 64, np.float32) for _ in range(threads)]
    calls: list[Callable[[], None]] = []
    for memory in memories:
        start = memory.ctypes.data + -memory.ctypes.data % 64
        places = [start + n * _BYTES for n in range(3)]
        calls.append(lambda p=places: function(count, *p))
    return threads * (inputs + writes) * _BYTES / _best(calls)


def _best(calls: list[Callable[[], None]]) -> float:
    """The least seconds from the first start to the last end of all of these at once."""
    barrier = Barrier(len(calls))
    times = np.zeros((_ATTEMPTS, len(calls), 2))

    def run(number: int) -> None:
        for attempt in times:
            barrier.wait()
            attempt[number, 0] = time.perf_counter()
            calls[number]()
            attempt[number, 1] = time.perf_counter()

    workers = [Thread(target=run, args=(number,)) for number in range(len(calls))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return float(np.min(times[:, :, 1].max(1) - times[:, :, 0].min(1)))


def stream_code(lanes: int, inputs: int, writes: bool) -> str:
    """LLVM IR: stream(count, result, first, second) adds one or two arrays, to a third or up."""
    vector, wide = f"<{lanes} x float>", _ACCUMULATORS
    lines = []
    for n in range(wide):
        lines.append(f"  %i{n} = add i64 %i, {n * lanes}")
        for array in ("first", "second")[:inputs]:
            lines.append(f"  %{array}{n}p = getelementptr float, ptr %{array}, i64 %i{n}")
            lines.append(f"  %{array}{n} = load {vector}, ptr %{array}{n}p, align {4 * lanes}")
        value = f"%first{n}"
        if inputs == 2:
            value = f"%sum{n}"
            lines.append(f"  {value} = fadd {vector} %first{n}, %second{n}")
        if writes:
            lines.append(f"  %result{n} = getelementptr float, ptr %result, i64 %i{n}")
            lines.append(f"  store {vector} {value}, ptr %result{n}, align {4 * lanes}, "
                         "!nontemporal !0")  # fmt: skip
        else:
            lines.append(f"  %b{n} = fadd {vector} %a{n}, {value}")
    phis = [] if writes else [
        f"  %a{n} = phi {vector} [zeroinitializer, %entry], [%b{n}, %loop]" for n in range(wide)
    ]  # fmt: skip
    # What was read is stored, or reading it could be left out.
    kept = [] if writes else [
        f"  %k{n} = getelementptr float, ptr %result, i64 {n * lanes}\n"
        f"  store {vector} %b{n}, ptr %k{n}, align {4 * lanes}"
        for n in range(wide)
    ]  # fmt: skip
    return "\n".join([
        "define void @stream(i64 %count, ptr %result, ptr %first, ptr %second) {",
        "entry:", "  br label %loop", "loop:",
        "  %i = phi i64 [0, %entry], [%next, %loop]", *phis, *lines,
        f"  %next = add i64 %i, {wide * lanes}",
        "  %more = icmp ult i64 %next, %count",
        "  br i1 %more, label %loop, label %done", "done:", *kept,
        "  ret void", "}", "!0 = !{i32 1}", "",
    ])  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
