"""The most arithmetic that one core does: independent fused multiply-adds, in registers only."""

import ctypes
import time

from tfc.backends.llvm import compile_ir
from tfc.backends.target import Target

ROUNDS = 2_000_000


def peak_gflops() -> float:
    """GFLOP/s of f32 on one core, the best of a few attempts."""
    target = Target.host()
    lanes = target.lanes(32)
    # Twelve chains hide a latency of four cycles on two units, and fit sixteen registers.
    chains = 12
    code = compile_ir(_loop(lanes, chains), target).load()
    run = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(code.address("peak"))
    memory = (ctypes.c_float * (lanes * chains))()
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        run(ROUNDS, ctypes.addressof(memory))
        best = min(best, time.perf_counter() - start)
    return 2 * lanes * chains * ROUNDS / best / 1e9


def _loop(lanes: int, chains: int) -> str:
    """LLVM IR: a function that runs the chains a number of times and stores where they end."""
    vector = f"<{lanes} x float>"
    suffix = f"v{lanes}f32"
    numbers = range(chains)
    start = "\n".join(
        f"  %p{n} = getelementptr float, ptr %memory, i64 {n * lanes}\n"
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
