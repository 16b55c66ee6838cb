"""Count what programs for GPUs do, where there is no GPU: on the interpreter of PTX.

    python benchmarks/gpu_counts.py                         print the table
    python benchmarks/gpu_counts.py --write docs/FILE.md    write it as a page

Counts do not depend on the machine. Registers and machine code are those of NVIDIA's assembler.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

if __name__ == "__main__":
    # The folder that holds the package takes the place of the one that holds this file.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import tfc
import tfc.numpy as tnp
from benchmarks.gpu import write_whole
from tfc import nn
from tfc.backends.gpu.driver import using
from tfc.backends.interfaces import KernelTimes, LaunchFigures
from tfc.testing.ptx.driver import InterpretedDriver

ARCHITECTURE = "sm_90a"
_SECTOR = 32  # bytes that memory moves at once
_COLUMNS = (
    "program", "launches", "sectors ÷ least", "instructions a byte", "conflicts", "registers",
    "spilled", "occupancy",
)  # fmt: skip
_EXPLAINED = """\
# What GPU programs do

Counted by `python benchmarks/gpu_counts.py` on tfc's interpreter of PTX, for {architecture}; no GPU
has run these programs yet. Times are measured by `python benchmarks/gpu.py` where one is.

- *launches*: kernels of a call; all of them are one launch of a graph from the third call on.
- *sectors ÷ least*: memory that is read and written, in sectors of 32 bytes, beside the arguments
  and the results once. What a cache may hold counts as memory.
- *instructions a byte*: of PTX that a thread executes, beside the same bytes. Before instructions
  take longer than the memory, an H100 executes 8.8 a byte, an A100 with 80 GB 9.6. A matrix of
  products of tensor cores is one instruction.
- *conflicts*: of accesses to shared memory that have to wait for banks.
- *registers*, *spilled*: of a thread, and bytes of it in memory, of the kernel with the most.
- *occupancy*: warps that a multiprocessor runs at one time, of the most it can; of the kernel that
  executes most. Products and attention by warpgroups need one block of few warps, by design.
"""


@dataclass(frozen=True)
class Program:
    """A row of the table; `arguments` are dtypes and dimensions."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[tuple[Any, tuple[int, ...]], ...]


def _layer_norm(x: Any, scale: Any) -> Any:
    mean = tnp.mean(x, axis=-1, keepdims=True)
    variance = tnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / tnp.sqrt(variance + 1e-5) * scale


def _loss(x: Any, w: Any, v: Any, y: Any) -> Any:
    return tnp.mean((tnp.tanh(x @ w) @ v - y) ** 2)


def _causal(q: Any, k: Any, v: Any) -> Any:
    return nn.dot_product_attention(q, k, v, is_causal=True)


def _of_attention(q: Any, k: Any, v: Any, d: Any) -> Any:
    return tnp.sum(_causal(q, k, v) * d)


def _block(x: Any, *weights: Any) -> Any:
    """A transformer's block with RMS norms and SwiGLU."""
    q, k, v, out, gate, up, down, first, second = weights
    h = nn.rms_norm(x, first)
    heads = (tnp.reshape(h @ w, (*x.shape[:2], -1, 64)) for w in (q, k, v))
    x = x + tnp.reshape(_causal(*heads), x.shape) @ out
    h = nn.rms_norm(x, second)
    return x + (nn.silu(h @ gate) * (h @ up)) @ down


def _of_block(x: Any, d: Any, *weights: Any) -> Any:
    return tnp.sum((_block(x, *weights) * d).astype(np.float32))


def _convolution(x: Any, kernel: Any) -> Any:
    return nn.conv(x, kernel, 1, "SAME", data_format="NHWC", kernel_format="HWIO")


def _residual(x: Any, *weights: Any) -> Any:
    """A block of a residual network: convolutions of 1x1, 3x3 and 1x1, each with a batch norm."""
    h = x
    for number in range(0, len(weights), 3):
        kernel, scale, offset = weights[number : number + 3]
        h, _, _ = nn.batch_norm_training(_convolution(h, kernel), scale, offset)
        h = h + x if number == len(weights) - 3 else h
        h = nn.relu(h)
    return h


def _of_residual(x: Any, d: Any, *weights: Any) -> Any:
    return tnp.sum((_residual(x, *weights) * d).astype(np.float32))


_OF_RESIDUAL = tfc.grad(_of_residual, argnums=(0, *range(2, 11)))
_GRADIENTS = tfc.grad(_of_attention, argnums=(0, 1, 2))
_OF_BLOCK = tfc.grad(_of_block, argnums=(0, *range(2, 11)))
_STEP = tfc.grad(_loss, argnums=(1, 2))
_F32, _F16, _BF16 = np.float32, np.float16, ml_dtypes.bfloat16
_WIDE = (256, 256)
_WEIGHTS = (*((_BF16, _WIDE),) * 4, *((_BF16, (256, 1024)),) * 2, (_BF16, (1024, 256)),
            *((_BF16, (256,)),) * 2)  # fmt: skip
_TOKENS = (_BF16, (1, 512, 256))
_IMAGES = (_BF16, (2, 28, 28, 256))
_KERNELS = [
    (_BF16, dims)
    for kernel in ((1, 1, 256, 64), (3, 3, 64, 64), (1, 1, 64, 256))
    for dims in (kernel, kernel[-1:], kernel[-1:])
]
_SQUARE, _LONG, _HEADS = (512, 512), (64, 4096), (1, 1152, 8, 64)

PROGRAMS = (
    Program("x · 2 + y, f32", lambda x, y: x * 2 + y, ((_F32, _SQUARE),) * 2),
    Program("x · 2 + y, bf16", lambda x, y: x * 2 + y, ((_BF16, _SQUARE),) * 2),
    Program("gelu, f32", nn.gelu, ((_F32, _SQUARE),)),
    Program("silu, bf16", nn.silu, ((_BF16, _SQUARE),)),
    Program("softmax, f32", nn.softmax, ((_F32, _LONG),)),
    Program("softmax, bf16", nn.softmax, ((_BF16, _LONG),)),
    Program("layer norm, f32", _layer_norm, ((_F32, _LONG), (_F32, (4096,)))),
    Program("layer norm, f16", _layer_norm, ((_F16, _LONG), (_F16, (4096,)))),
    Program("sums of rows, f32", lambda x: tnp.sum(x, axis=1), ((_F32, _LONG),)),
    Program("sums of columns, f32", lambda x: tnp.sum(x, axis=0), ((_F32, _SQUARE),)),
    Program("transpose, f32", lambda x: x.T, ((_F32, _SQUARE),)),
    Program("transpose, f16", lambda x: x.T, ((_F16, _SQUARE),)),
    Program("running totals, f32", lambda x: tnp.cumsum(x, axis=1), ((_F32, _LONG),)),
    Program("sort of rows, f32", lambda x: tnp.sort(x, axis=1), ((_F32, (64, 1024)),)),
    Program("rows of a table, f16", lambda t, i: t[i], ((_F16, (1000, 768)), (np.int32, (300,)))),
    Program("product, bf16 512³", lambda a, b: a @ b, ((_BF16, _SQUARE),) * 2),
    Program("product, f32 256³", lambda a, b: a @ b, ((_F32, (256, 256)),) * 2),
    Program("convolution of 3x3, bf16", _convolution, (_IMAGES, (_BF16, (3, 3, 256, 128)))),
    Program("matrix by vector, bf16", lambda a, b: a @ b, ((_BF16, (512, 1024)), (_BF16, (1024,)))),
    Program("causal attention, bf16", _causal, ((_BF16, _HEADS),) * 3),
    Program("its gradients, bf16", _GRADIENTS, ((_BF16, _HEADS),) * 4),
    Program("its gradients, f16", _GRADIENTS, ((_F16, _HEADS),) * 4),
    Program("training step, two layers, f32", _STEP,
            ((_F32, (64, 128)), (_F32, (128, 256)), (_F32, (256, 32)), (_F32, (64, 32)))),
    Program("transformer block, bf16", _block, (_TOKENS, *_WEIGHTS)),
    Program("gradients of the block, bf16", _OF_BLOCK, (_TOKENS, _TOKENS, *_WEIGHTS)),
    Program("residual block, bf16", _residual, (_IMAGES, *_KERNELS)),
    Program("gradients of the residual block, bf16", _OF_RESIDUAL, (_IMAGES, _IMAGES, *_KERNELS)),
)  # fmt: skip


def counted(program: Program, device: InterpretedDriver) -> list[str]:
    """The row of a program."""
    random = np.random.default_rng(1)
    arguments = [_drawn(random, dtype, dims) for dtype, dims in program.arguments]
    compiled = tfc.jit(program.function, backend="gpu").lower(*arguments).compile()
    executable: Any = compiled.executable
    timed = executable.timed()
    device.reports.clear()
    times: KernelTimes = timed(*arguments)
    launched = [kernel for kernel in times.kernels if kernel.figures is not None]
    figures = [kernel.figures for kernel in launched if kernel.figures is not None]
    least = sum(s.byte_size for s in (*executable.parameter_shapes, *executable.result_shapes))
    most = max(figures, key=lambda f: f.counts["instructions"])
    return [
        program.name,
        str(len(device.reports)),
        f"{_total(figures, 'sectors') * _SECTOR / least:.2f}",
        f"{_total(figures, 'instructions') / least:.1f}",
        str(_total(figures, "bank conflicts")),
        str(max(f.registers for f in figures)),
        str(max(f.local for f in figures)),
        "–" if most.occupancy is None else f"{most.occupancy:.0%}",
    ]


def _total(figures: Sequence[LaunchFigures], name: str) -> int:
    return sum(f.counts[name] for f in figures)


def _drawn(random: np.random.Generator, dtype: Any, dims: tuple[int, ...]) -> np.ndarray:
    if dtype is np.int32:
        return random.integers(0, 1000, dims).astype(dtype)
    return random.standard_normal(dims).astype(dtype)


def page(rows: Sequence[Sequence[str]]) -> str:
    """The page with the table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (_COLUMNS, *rows)]
    lines.insert(1, "| --- |" + " ---: |" * (len(_COLUMNS) - 1))
    return "\n".join([_EXPLAINED.format(architecture=ARCHITECTURE), *lines, ""])


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write", type=Path, metavar="FILE", help="the page to write")
    parser.add_argument("--only", default="", help="programs with this in their name")
    options = parser.parse_args(arguments)
    rows = []
    with using(InterpretedDriver(ARCHITECTURE)) as device:
        for program in PROGRAMS:
            if options.only in program.name:
                rows.append(counted(program, device))
                print(" │ ".join(rows[-1]), flush=True)
    if not rows:
        parser.error(f"no program is called '{options.only}'")
    if options.write is not None:
        write_whole(options.write, page(rows))


if __name__ == "__main__":
    main()
