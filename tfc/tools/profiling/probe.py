"""What one core can do: fused multiply-adds in registers, and bytes through each level of memory.

Both are measured by code made for the purpose, the best of a few attempts. One core, since that is
what a program runs on.
"""

import ctypes
import time
from collections.abc import Callable

import numpy as np

from tfc.backends.llvm.compilation import LoadedCode, compile_ir
from tfc.backends.target import Target
from tfc.tools.profiling.peaks import Level, Peaks

_ROUNDS = 500_000
_ATTEMPTS = 8
_STREAM_SECONDS = 0.002  # at least, for each attempt
_LINE = 16  # elements of a cache line
_SMALLEST_MEMORY, _LARGEST_MEMORY = 64 << 20, 256 << 20  # bytes that are in no cache
# Twelve chains hide a latency of four cycles on two units, and fit sixteen registers.
CHAINS = 12


def measure_peaks() -> Peaks:
    """Measure this machine: a few hundredths of a second for each figure."""
    target = Target.host()
    return Peaks({bits: peak_flops(bits) for bits in (32, 64)}, _levels(target))


def peak_flops(bits: int = 32) -> float:
    """Operations a second of one core in floats of so many bits."""
    target = Target.host()
    lanes = max(target.lanes(bits), 1)
    code = compile_ir(multiply_adds(lanes, "float" if bits == 32 else "double"), target).load()
    memory = np.zeros(lanes * CHAINS, np.dtype(f"f{bits // 8}"))
    seconds = _best(_function(code, "peak"), _ROUNDS, memory.ctypes.data)
    return 2 * lanes * CHAINS * _ROUNDS / seconds


def _levels(target: Target) -> tuple[Level, ...]:
    code = compile_ir(_STREAMS, target).load()
    streams = [(_function(code, "update"), 2), (_function(code, "read"), 1)]
    caches = [("L1", target.l1_bytes), ("L2", target.l2_bytes), ("L3", target.l3_bytes)]
    # Half of a cache: the other half is for whatever else is in it.
    sizes = [(n, float(size), size // 2) for n, size in caches if size <= _LARGEST_MEMORY // 4]
    beyond = min(max(4 * target.l3_bytes, _SMALLEST_MEMORY), _LARGEST_MEMORY)
    sizes.append(("memory", float("inf"), beyond))
    memory = np.ones(beyond // 4 + _LINE, np.float32)
    found: list[Level] = []
    for name, capacity, size in reversed(sizes):
        rate = max(_bytes_per_second(f, n, memory, size) for f, n in streams)
        # A smaller level does what a larger one does; measuring it may have been disturbed.
        rate = max(rate, found[-1].bytes_per_second if found else 0.0)
        found.append(Level(name, capacity, rate))
    return tuple(reversed(found))


def _bytes_per_second(
    stream: Callable[..., None], touches: int, memory: np.ndarray, size: int
) -> float:
    """Bytes a second of a loop over so many bytes of an array, each touched so many times."""
    start = memory.ctypes.data + -memory.ctypes.data % (4 * _LINE)
    count, rounds = size // 4 // _LINE * _LINE, 1
    while True:
        seconds = _best(stream, rounds, count, start)
        if seconds >= _STREAM_SECONDS:
            return touches * rounds * 4 * count / seconds
        rounds *= max(2, min(round(1.2 * _STREAM_SECONDS / max(seconds, 1e-7)), 1000))


def _best(function: Callable[..., None], *arguments: int) -> float:
    """The least seconds that a call takes."""
    best = float("inf")
    for _ in range(_ATTEMPTS):
        start = time.perf_counter()
        function(*arguments)
        best = min(best, time.perf_counter() - start)
    return best


def _function(code: LoadedCode, name: str) -> Callable[..., None]:
    """A function of integers and addresses; the code lives as long as it does."""
    made = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * _PARAMETERS[name])(code.address(name))

    def call(*arguments: int, _kept: LoadedCode = code) -> None:
        made(*arguments)

    return call


_PARAMETERS = {"peak": 2, "update": 3, "read": 3}
_STREAMS = """
define void @update(i64 %rounds, i64 %count, ptr %array) {
entry:
  br label %round
round:
  %n = phi i64 [0, %entry], [%next, %done]
  br label %loop
loop:
  %i = phi i64 [0, %round], [%j, %loop]
  %place = getelementptr float, ptr %array, i64 %i
  %a = load float, ptr %place, align 4
  %b = fneg float %a
  store float %b, ptr %place, align 4
  %j = add i64 %i, 1
  %inside = icmp ult i64 %j, %count
  br i1 %inside, label %loop, label %done
done:
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, %rounds
  br i1 %more, label %round, label %end
end:
  ret void
}
define void @read(i64 %rounds, i64 %count, ptr %array) {
entry:
  br label %round
round:
  %n = phi i64 [0, %entry], [%next, %done]
  br label %loop
loop:
  %i = phi i64 [0, %round], [%j, %loop]
  %sum = phi float [-0.0, %round], [%b, %loop]
  %place = getelementptr float, ptr %array, i64 %i
  %a = load float, ptr %place, align 4
  %b = fadd reassoc float %sum, %a
  %j = add i64 %i, 1
  %inside = icmp ult i64 %j, %count
  br i1 %inside, label %loop, label %done
done:
  store float %b, ptr %array, align 4
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, %rounds
  br i1 %more, label %round, label %end
end:
  ret void
}
"""


def multiply_adds(lanes: int, element: str) -> str:
    """LLVM IR: a function that runs the chains a number of times and stores where they end."""
    vector = f"<{lanes} x {element}>"
    suffix = f"v{lanes}f{32 if element == 'float' else 64}"
    numbers = range(CHAINS)
    start = "\n".join(
        f"  %p{n} = getelementptr {element}, ptr %memory, i64 {n * lanes}\n"
        f"  %s{n} = load {vector}, ptr %p{n}, align 4"
        for n in numbers
    )
    phis = "\n".join(f"  %a{n} = phi {vector} [%s{n}, %entry], [%b{n}, %loop]" for n in numbers)
    # The factor comes from memory too, so that nothing can be computed while compiling.
    steps = "\n".join(
        f"  %b{n} = call {vector} @llvm.fma.{suffix}({vector} %a{n}, {vector} %s0, {vector} %s1)"
        for n in numbers
    )
    stores = "\n".join(f"  store {vector} %b{n}, ptr %p{n}, align 4" for n in numbers)
    return f"""
declare {vector} @llvm.fma.{suffix}({vector}, {vector}, {vector})
define void @peak(i64 %rounds, ptr %memory) {{
entry:
{start}
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{phis}
{steps}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %rounds
  br i1 %more, label %loop, label %done
done:
{stores}
  ret void
}}
"""
