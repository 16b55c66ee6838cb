"""The hand-over from MLIR to LLVM: constants to the bit, and errors instead of crashes."""

import ctypes
import struct

import llvmlite.binding as llvm
import ml_dtypes
import numpy as np
import pytest

from tfc.backends.llvm.compilation import (
    compile_ir,
    compile_ptx,
    hand_over,
    lower_gpu_to_llvm,
    lower_to_llvm,
    to_llvm_ir,
)
from tfc.backends.mlir.provider import ir
from tfc.backends.target import Target
from tfc.errors import InternalError, UnsupportedError

BITS = {
    "half": (np.uint16, [0x0001, 0x03FF, 0x3C00, 0x2E66, 0x7BFF, 0x7C00, 0xFC00, 0x7E01, 0x8000]),
    "bfloat": (np.uint16, [0x0001, 0x3F80, 0x3DCD, 0x7F7F, 0x7F80, 0xFF80, 0x7FC1, 0x8000]),
    "float": (np.uint32, [1, 0x3F800000, 0x3DCCCCCD, 0x7F7FFFFF, 0x7F800000, 0x7FC00001, 1 << 31]),
    "double": (np.uint64, [1, 0x3FB999999999999A, 0x7FEFFFFFFFFFFFFF, 0x7FF0 << 48, 1 << 63]),
}
MLIR_TYPES = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


@pytest.mark.parametrize("kind", BITS)
def test_constants_arrive_to_the_bit(kind: str):
    """Each is stored by compiled code and read back."""
    dtype, patterns = BITS[kind]
    mlir = MLIR_TYPES[kind]
    digits = np.dtype(dtype).itemsize * 2
    stores = "\n".join(
        f"""%c{n} = arith.constant 0x{pattern:0{digits}X} : {mlir}
            %i{n} = arith.constant {n} : index
            memref.store %c{n}, %out[%i{n}] : memref<{len(patterns)}x{mlir}>"""
        for n, pattern in enumerate(patterns)
    )
    text = f"func.func @f(%out: memref<{len(patterns)}x{mlir}>) {{ {stores} return }}"
    with ir.Context(), ir.Location.unknown():
        code = compile_ir(to_llvm_ir(lower_to_llvm(ir.Module.parse(text))), Target.host()).load()
    out = np.zeros(len(patterns), dtype)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("f"))(out.ctypes.data)
    assert [hex(v) for v in out] == [hex(p) for p in patterns]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("store float f0x3F800000, ptr %p", "store float 0x3FF0000000000000, ptr %p"),
        ("%r = fadd half %x, 9.997550e-02", "%r = fadd half %x, 0xH2E66"),
        ("ret double -inf", "ret double 0xFFF0000000000000"),
        ("ret <2 x float> <float +qnan, float f0x00000001>",
         "ret <2 x float> <float 0x7FF8000000000000, float 0x36A0000000000000>"),
        ('call void @"f0x12"(bfloat +inf)', 'call void @"f0x12"(bfloat 0xR7F80)'),
    ],
)  # fmt: skip
def test_notation_of_the_older_llvm(line: str, expected: str):
    assert hand_over(line) == expected


def test_numbers_in_decimal_round_in_their_own_type():
    for value in (0.1, 1 / 3, 6.1e-5, 65504.0):
        bits = struct.unpack("<H", struct.pack("<e", value))[0]
        assert hand_over(f"ret half {value:.9e}") == f"ret half 0xH{bits:04X}"
        short = np.array(value).astype(ml_dtypes.bfloat16).view(np.uint16)
        assert hand_over(f"ret bfloat {value:.9e}") == f"ret bfloat 0xR{int(short):04X}"


def test_types_that_cannot_be_handed_over_are_named():
    with pytest.raises(UnsupportedError, match="fp128"):
        hand_over("ret fp128 f0x00000000000000000000000000000001")


def test_a_malformed_module_is_an_error_not_a_crash():
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse('"nobody.knows"() : () -> ()')
        with pytest.raises(InternalError, match="nobody"):
            to_llvm_ir(lower_to_llvm(module))


def test_text_that_llvm_refuses_is_shown():
    with pytest.raises(InternalError, match="does not accept the line: ret i64 0"):
        compile_ir("define i32 @f() {\n  ret i64 0\n}\n", Target.host())


@pytest.mark.parametrize(
    ("target", "machine"), [("x86_64-linux-gnu", 62), ("aarch64-linux-gnu", 183)]
)
def test_objects_are_for_their_machine(target: str, machine: int):
    code = compile_ir("define i32 @f() {\n  ret i32 7\n}\n", Target.parse(target)).object_code
    assert code[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", code, 18)[0] == machine


def test_code_stays_loaded_while_it_is_held():
    code = compile_ir("define i32 @f() {\n  ret i32 7\n}\n", Target.host()).load()
    assert ctypes.CFUNCTYPE(ctypes.c_int32)(code.address("f"))() == 7
    with pytest.raises(InternalError, match="cannot find g"):
        code.address("g")


def test_code_of_another_architecture_is_not_loaded():
    other = "aarch64-linux-gnu" if "x86" in llvm.get_process_triple() else "x86_64-linux-gnu"
    compiled = compile_ir("define i32 @f() {\n  ret i32 7\n}\n", Target.parse(other))
    with pytest.raises(UnsupportedError, match=r"for the target (aarch64|x86_64)-"):
        compiled.load()


def test_ptx_is_made_for_gpus_alone():
    text = "define ptx_kernel void @k(ptr %p) {\n  store float 1.0, ptr %p\n  ret void\n}\n"
    ptx = compile_ptx(text, Target.parse("nvptx64-nvidia-cuda,sm_80"))
    assert ".visible .entry k(" in ptx
    with pytest.raises(UnsupportedError, match="nvptx64"):
        compile_ptx(text, Target.host())


def gpu_llvm_ir(body: str) -> str:
    """LLVM IR of a kernel whose body computes %r from %x and %y."""
    text = f"""gpu.module @kernels {{
        gpu.func @k(%out: memref<2xf32>) kernel {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %x = memref.load %out[%c0] : memref<2xf32>
          %y = memref.load %out[%c1] : memref<2xf32>
          {body}
          memref.store %r, %out[%c0] : memref<2xf32>
          gpu.return
        }}
      }}"""
    with ir.Context(), ir.Location.unknown():
        return lower_gpu_to_llvm(ir.Module.parse(text))


@pytest.mark.parametrize(
    ("body", "instruction"),
    [
        ("%r = math.fma %x, %y, %x : f32", "fma.rn.f32"),
        ("%r = math.sqrt %x : f32", "sqrt.rn.f32"),
        ("%r = math.rsqrt %x : f32", "rcp.rn.f32"),
        ("%r = math.floor %x : f32", "cvt.rmi.f32.f32"),
        ("%r = math.roundeven %x : f32", "cvt.rni.f32.f32"),
        ("%r = math.copysign %x, %y : f32", "f32"),
        ("%r = arith.remf %x, %y : f32", "div.rn.f32"),
        ("%r = arith.maximumf %x, %y : f32", "max.NaN.f32"),
        ("%i = math.isnan %x : f32\n%r = arith.uitofp %i : i1 to f32", "setp.nan.f32"),
    ],
)
def test_math_on_gpus_needs_no_library(body: str, instruction: str):
    ptx = compile_ptx(gpu_llvm_ir(body), Target.parse("nvptx64-nvidia-cuda,sm_80"))
    assert instruction in ptx
    assert "call" not in ptx
    assert ".extern" not in ptx


def test_math_that_gpus_have_no_instruction_for_is_named():
    with pytest.raises(InternalError, match="__nv_expf"):
        gpu_llvm_ir("%r = math.exp %x : f32")
