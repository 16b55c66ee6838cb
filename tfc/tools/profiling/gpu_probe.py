"""What a GPU can do: bytes through its memory, operations of its units, measured by code of PTX.

The rate of matrix units is that of `mma.sync`, which every GPU from compute capability 8.0 on has.
"""

from collections.abc import Callable

import numpy as np

from tfc.backends.gpu.driver import Driver
from tfc.tools.profiling.peaks import Level, Peaks

_COPIED = 256 << 20  # bytes, in no cache
_THREADS = 256
_ROUNDS = 2048
_CHAINS = 8  # of each thread or warp, which do not wait for each other
_ATTEMPTS = 5


def measure_gpu_peaks(driver: Driver) -> Peaks:
    """Measure a GPU: a few milliseconds for each figure.

    Raises:
        OutOfMemoryError: there is no room for two arrays of 256 MiB.
    """
    flops = {bits: _rate(driver, bits) for bits in (16, 32, 64)}
    memory = Level("memory", float("inf"), _copy_rate(driver))
    return Peaks(flops, (memory,), driver.name)


def _copy_rate(driver: Driver) -> float:
    """Bytes a second that are read and written when memory is copied."""
    source, target = driver.allocate(_COPIED), driver.allocate(_COPIED)
    try:
        driver.write(source, np.zeros(_COPIED, np.uint8))
        return 2 * _COPIED / _best(driver, lambda: driver.copy(target, source, _COPIED))
    finally:
        driver.free(source)
        driver.free(target)


def _rate(driver: Driver, bits: int) -> float:
    """Operations a second: of matrix units for 16 bits, else of fused multiply-adds."""
    blocks = 8 * driver.multiprocessor.count
    code = driver.load(rate_ptx(bits).encode())
    function, sink = driver.function(code, "rate"), driver.allocate(4)
    try:
        launch = driver.prepare(function, (blocks, 1, 1), (_THREADS, 1, 1), [sink, _ROUNDS])
        seconds = _best(driver, launch.launch)
    finally:
        driver.free(sink)
    each = 2 * 16 * 8 * 16 / 32 if bits == 16 else 2  # of a thread for one instruction
    return each * _CHAINS * _ROUNDS * _THREADS * blocks / seconds


def _best(driver: Driver, action: Callable[[], None]) -> float:
    """The least seconds that something takes on the GPU, after once to warm up."""
    action()
    found = []
    for _ in range(_ATTEMPTS):
        begin = driver.mark()
        action()
        found.append(driver.mark().seconds_since(begin))
    return min(found)


def rate_ptx(bits: int) -> str:
    """PTX of a kernel that does nothing but multiply and add a number of times, in chains.

    It is for the oldest GPUs; drivers compile it for later ones, too.
    """
    kind = "f64" if bits == 64 else "f32"
    zero = "0d0000000000000000" if bits == 64 else "0f00000000"
    count = 4 * _CHAINS if bits == 16 else _CHAINS
    start = "".join(f"  mov.{kind} %f{n}, {zero};\n" for n in range(count))
    if bits == 16:
        body = "".join(
            "  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            f"{_four(n)}, {{%a0, %a1, %a2, %a3}}, {{%a0, %a1}}, {_four(n)};\n"
            for n in range(_CHAINS)
        )
    else:
        body = "".join(f"  fma.rn.{kind} %f{n}, %x, %x, %f{n};\n" for n in range(count))
    joined = "".join(f"  add.{kind} %f0, %f0, %f{n};\n" for n in range(1, count))
    return f"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry rate(.param .u64 sink, .param .u64 rounds)
{{
  .reg .{kind} %f<{count}>;
  .reg .{kind} %x;
  .reg .b32 %a<4>;
  .reg .b64 %p;
  .reg .u32 %i;
  .reg .pred %more, %never;
  ld.param.u64 %p, [sink];
  ld.param.u32 %i, [rounds];
  mov.b32 %a0, %tid.x;
  shr.b32 %a0, %a0, 20;
  mov.b32 %a1, %a0;
  mov.b32 %a2, %a0;
  mov.b32 %a3, %a0;
  cvt.rn.{kind}.u32 %x, %a0;
{start}$again:
{body}  sub.u32 %i, %i, 1;
  setp.ne.u32 %more, %i, 0;
  @%more bra $again;
{joined}  setp.eq.{kind} %never, %f0, {zero};
  @%never bra $end;
  cvta.to.global.u64 %p, %p;
  st.global.u32 [%p], %a0;
$end:
  ret;
}}
"""


def _four(number: int) -> str:
    return "{" + ", ".join(f"%f{4 * number + n}" for n in range(4)) + "}"
