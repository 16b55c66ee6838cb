"""The GPU backend makes PTX from the emitters that the CPU uses; `ptxas` accepts it."""

from pathlib import Path

import numpy as np
import pytest

import tfc
from tfc.backends.gpu.assembler.programs import run_program
from tfc.backends.llvm.compilation import lower_gpu_to_llvm
from tfc.backends.mlir.provider import ir, new_context
from tfc.backends.target import Target
from tfc.errors import DriverError, UnsupportedError
from tfc.hlo import builder
from tfc.hlo.ir import Computation, Module
from tfc.hlo.shape import F32, S64, Shape
from tfc.testing.ptx.assembler import ARCHITECTURES, complaints


def example_module() -> Module:
    """A dot, reductions of rows and columns, a chain of functions, and data movement."""
    x = builder.parameter(0, Shape(F32, (50, 70)), "x")
    w = builder.parameter(1, Shape(F32, (70, 30)), "w")
    add, largest = (builder.scalar_computation(o, F32) for o in ("add", "maximum"))
    zero, lowest = builder.constant(0, F32), builder.constant(-np.inf, F32)
    product = builder.instruction(
        "dot", [x, w], lhs_contracting_dims=(1,), rhs_contracting_dims=(0,)
    )
    rows = builder.reduce(x, lowest, (1,), largest)
    shifted = builder.binary("subtract", x, builder.broadcast(rows, (50, 70), (0,)))
    padded = builder.instruction("pad", [shifted, zero], padding=((1, 2, 1), (-1, 0, 2)))
    functions = [
        builder.unary(name, shifted)
        for name in ("exponential", "tanh", "logistic", "erf", "sine", "log-plus-one", "rsqrt")
    ]
    results = [
        product,
        builder.reduce(x, zero, (0,), add),
        padded,
        *functions,
        builder.instruction("transpose", [padded], dimensions=(1, 0)),
    ]
    return Module(
        "example", Computation.make("main", [x, w], builder.instruction("tuple", results))
    )


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_ptx_for_elementwise_reduce_and_dot_assembles(architecture: str):
    target = Target.parse(f"nvptx64-nvidia-cuda,{architecture}")
    ptx = tfc.compile(example_module(), backend="gpu", target=target).as_text("ptx")
    assert f".target {architecture}" in ptx
    assert complaints(ptx, architecture) == ""


def test_the_entry_points_are_visible_and_nothing_is_linked():
    ptx = tfc.compile(example_module(), backend="gpu").as_text("ptx")
    assert ".visible .entry dot_" in ptx
    assert ".extern .func" not in ptx, "the code must not need a device library"


def test_memory_of_a_block_is_what_the_launch_gives_and_no_byte_more(tmp_path: Path):
    """Where a launch gives all that a block may have, a byte more is an error."""
    source = tmp_path / "source.ptx"
    target = Target.parse("nvptx64-nvidia-cuda,sm_90a")
    source.write_text(tfc.compile(example_module(), backend="gpu", target=target).as_text("ptx"))
    assert ".extern .shared" in source.read_text()
    done = run_program("ptxas", ["-arch=sm_90a", "-v", "-o", tmp_path / "code", source])
    assert "Used" in done.stderr
    assert "smem" not in done.stderr
    assert "out of bound" not in done.stderr


def test_kernels_with_several_results_assemble():
    x = builder.parameter(0, Shape(F32, (50, 70)), "x")
    small = [builder.parameter(n, Shape(F32, (n, 3))) for n in range(1, 4)]
    add, zero = builder.scalar_computation("add", F32), builder.constant(0, F32)
    square = builder.binary("multiply", x, x)
    results = [
        builder.reduce(x, zero, (1,), add),
        builder.reduce(square, zero, (1,), add),
        square,
        builder.unary("exponential", x),
        *(builder.unary("tanh", p) for p in small),
    ]
    root = builder.instruction("tuple", results)
    executable = tfc.compile(
        Module("several", Computation.make("main", [x, *small], root)), backend="gpu"
    )
    fusions = [i for i in executable.hlo.entry.instructions if i.opcode == "fusion"]
    assert sorted(len(f.shape.elements) for f in fusions) == [2, 2, 3]
    assert executable.memory_analysis().temporary_bytes == 0
    assert complaints(executable.as_text("ptx"), "sm_80") == ""


def test_an_integer_of_64_bits_is_one_access():
    x = builder.parameter(0, Shape(S64, (1000,)), "x")
    root = builder.binary("add", x, x)
    module = Module("wide", Computation.make("main", [x], root))
    ptx = tfc.compile(module, backend="gpu").as_text("ptx")
    accesses = [line.split()[0] for line in ptx.splitlines() if ".global" in line and "[" in line]
    assert accesses
    assert all("64" in access for access in accesses)


def test_equal_code_around_barriers_stays_apart():
    """Merged, threads that come from one place could wait at the barrier for those of another."""
    x = builder.parameter(0, Shape(F32, (100,)), "x")
    left, right = (builder.parameter(n, Shape(F32)) for n in range(2))
    before = Computation.make("before", [left, right], builder.compare("LT", left, right))
    root = builder.instruction("sort", [x], dimensions=(0,), is_stable=True, to_apply=before)
    module = Module("sorted", Computation.make("main", [x], root))
    mlir = tfc.compile(module, backend="gpu").as_text("mlir")
    with new_context("gpu", "nvvm"), ir.Location.unknown():
        llvm = lower_gpu_to_llvm(ir.Module.parse(mlir))
    assert llvm.count("call void @llvm.nvvm.barrier") == mlir.count("gpu.barrier") > 1


def test_without_a_driver_running_says_what_to_do():
    executable = tfc.compile(example_module(), backend="gpu")
    arguments = [np.zeros(s.dims, np.float32) for s in executable.parameter_shapes]
    with pytest.raises(DriverError, match=r"backend='cpu'"):
        executable(*arguments)


def test_stages_can_be_read():
    executable = tfc.compile(example_module(), backend="gpu")
    assert "gpu.func @dot_" in executable.as_text("mlir")
    assert "ptx_kernel" in executable.as_text("llvm")
    with pytest.raises(UnsupportedError, match="no stage 'asm'"):
        executable.as_text("asm")
