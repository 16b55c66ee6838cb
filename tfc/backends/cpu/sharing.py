"""Kernels that threads share: how many chunks each has, and the functions that run the chunks.

    call void @NAME.all(%x, %y)        define void @NAME.all(ptr %0, ptr %1) {
                                         table of %0 and %1 on the stack
                                         call void @tfc.parallel_for(@NAME.chunk, table, chunks) }
                                       define void @NAME.chunk(ptr %table, i64 %chunk) {
                                         call void @NAME(ptr %0, ptr %1, i64 %chunk) }

Chunks are a matter of the kernel and of the machine, not of how many threads run them: results are
the same bits whoever runs what. Each chunk has scratch memory of its own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tfc.backends.cpu.kernels import chunk_count, repeats_work
from tfc.backends.cpu.pool import PARALLEL_FOR
from tfc.backends.mlir.kernels import is_silent, kernel_of
from tfc.backends.target import Target
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.passes.cost import kernel_cost

_ALIGNMENT = 64
# What a nanosecond of one core is worth, about: bytes moved, arithmetic in a matrix product, other
# arithmetic, and transcendental functions.
_BYTES, _PRODUCTS, _OPERATIONS, _TRANSCENDENTALS = 10, 80, 8, 1.5
_LEAST = 8000  # nanoseconds that a chunk is worth it for
_CHUNKS = 4  # for each core, so that a core that is late has less left to do


@dataclass(frozen=True)
class Shared:
    """A kernel in chunks.

    arguments: how many buffers it has, the last of which is scratch memory if `scratch` is not 0:
        that of each chunk begins so many bytes after the one before.
    """

    name: str
    arguments: int
    chunks: int
    scratch: int

    @property
    def caller(self) -> str:
        """The name of the function that runs all chunks."""
        return f"{self.name}.all"


def chunks_of(instruction: Instruction, target: Target, cores: int) -> int:
    """In how many chunks cores share the kernel of an instruction; 1 if it is not worth it."""
    if cores == 1 or is_silent(instruction) or (instruction.called_computations and (
        instruction.opcode in ("while", "conditional", "call")
    )):  # fmt: skip
        return 1
    cost, kernel = kernel_cost(instruction), kernel_of(instruction)
    arithmetic = _PRODUCTS if kernel.product is not None else _OPERATIONS
    time = max(cost.bytes_accessed / _BYTES, cost.flops / arithmetic)
    time += cost.transcendentals / _TRANSCENDENTALS
    most = min(int(time / _LEAST), cores * (1 if repeats_work(kernel, target) else _CHUNKS))
    return chunk_count(kernel, target, most) if most > 1 else 1


def chunk_bytes(scratch: Shape) -> int:
    """How far apart the scratch memory of chunks begins."""
    return -(-scratch.byte_size // _ALIGNMENT) * _ALIGNMENT


def with_callers(text: str, shared: Sequence[Shared]) -> str:
    """LLVM IR with the functions that run the chunks, which it only declares."""
    if not shared:
        return text
    names = "|".join(re.escape(s.caller) for s in shared)
    text = re.sub(rf'^declare void @"?(?:{names})"?\(.*\n', "", text, flags=re.M)
    declared = f'declare void @"{PARALLEL_FOR}"(ptr, ptr, i64)'
    return "\n".join([text, declared, *map(_caller, shared), ""])


def _caller(shared: Shared) -> str:
    """The two functions of a kernel."""
    numbers = range(shared.arguments)
    table = f"[{shared.arguments} x ptr]"
    lines = [
        f'define internal void @"{shared.caller}"({", ".join(f"ptr %a{n}" for n in numbers)}) {{',
        f"  %table = alloca {table}",
    ]
    for n in numbers:
        lines.append(f"  %p{n} = getelementptr {table}, ptr %table, i64 0, i64 {n}")
        lines.append(f"  store ptr %a{n}, ptr %p{n}")
    chunk = f"{shared.name}.chunk"
    lines += [
        f'  call void @"{PARALLEL_FOR}"(ptr @"{chunk}", ptr %table, i64 {shared.chunks})',
        "  ret void",
        "}",
        f'define internal void @"{chunk}"(ptr %table, i64 %chunk) {{',
    ]
    for n in numbers:
        lines.append(f"  %p{n} = getelementptr {table}, ptr %table, i64 0, i64 {n}")
        lines.append(f"  %a{n} = load ptr, ptr %p{n}")
    passed = [f"ptr %a{n}" for n in numbers]
    if shared.scratch:
        last = shared.arguments - 1
        lines.append(f"  %offset = mul i64 %chunk, {shared.scratch}")
        lines.append(f"  %scratch = getelementptr i8, ptr %a{last}, i64 %offset")
        passed[-1] = "ptr %scratch"
    lines += [f'  call void @"{shared.name}"({", ".join([*passed, "i64 %chunk"])})', "  ret void"]
    return "\n".join([*lines, "}"])
