"""Fused multiply-adds on targets without an instruction for them: right, inline, and in vectors."""

import ctypes
import re
from fractions import Fraction

import numpy as np
import pytest

from tfc.aot.export import generate
from tfc.aot.signature import CppClass
from tfc.backends.llvm.compilation import compile_ir
from tfc.backends.target import Target
from tfc.hlo.text.parser import parse

FUNCTIONS = (
    "atan2", "cbrt", "cosine", "erf", "exponential", "exponential-minus-one", "log",
    "log-plus-one", "logistic", "power", "rsqrt", "sine", "tan", "tanh",
)  # fmt: skip
WITHOUT = [
    "x86_64-linux-gnu", "armv7-linux-gnueabihf", "wasm32-unknown-unknown",
    "wasm32-unknown-unknown,generic,+simd128", "riscv64-linux-gnu,generic-rv64,+m,+a",
]  # fmt: skip


def _loop(kind: str) -> str:
    return f"""
define void @kernel(ptr noalias %a, ptr noalias %b, ptr noalias %c, ptr noalias %r, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %a.i = getelementptr {kind}, ptr %a, i64 %i
  %b.i = getelementptr {kind}, ptr %b, i64 %i
  %c.i = getelementptr {kind}, ptr %c, i64 %i
  %r.i = getelementptr {kind}, ptr %r, i64 %i
  %x = load {kind}, ptr %a.i
  %y = load {kind}, ptr %b.i
  %z = load {kind}, ptr %c.i
  %v = call {kind} @llvm.fma.{"f32" if kind == "float" else "f64"}({kind} %x, {kind} %y, {kind} %z)
  store {kind} %v, ptr %r.i
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
declare {kind} @llvm.fma.{"f32" if kind == "float" else "f64"}({kind}, {kind}, {kind})
"""


def _numbers(dtype: type, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factors of many sizes, with what cancels their product to the last bits, or is any number."""
    random = np.random.default_rng(3)
    size = 30 if dtype is np.float32 else 300
    a, b = random.uniform(-1, 1, (2, count)) * 2.0 ** random.uniform(-size / 2, size, (2, count))
    a, b = a.astype(dtype), b.astype(dtype)
    near = -(a * b) * (1 + random.integers(-2, 3, count) * np.finfo(dtype).eps).astype(dtype)
    c = np.where(random.integers(0, 2, count), near, random.uniform(-1, 1, count).astype(dtype))
    return a, b, c.astype(dtype)


@pytest.mark.skipif(Target.host().architecture != "x86_64", reason="others have the instruction")
@pytest.mark.parametrize("kind", ["float", "double"])
def test_the_product_and_the_sum_are_rounded_once(kind: str):
    """Against fractions: half a unit in the last place, and 2^-102 of the product."""
    dtype = {"float": np.float32, "double": np.float64}[kind]
    code = compile_ir(_loop(kind), Target.parse("x86_64-linux-gnu"))
    assert re.search(r"fmul <\d+ x double>", code.llvm_ir)
    loaded = code.load()
    a, b, c = _numbers(dtype, 4000)
    result = np.empty_like(a)
    arrays = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, c, result)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)(loaded.address("kernel"))(
        *arrays, a.size
    )
    for got, *numbers in zip(result, a, b, c):
        x, y, z = (Fraction(float(n)) for n in numbers)
        wanted = x * y + z
        unit = Fraction(float(np.spacing(dtype(abs(float(wanted))))))
        allowed = unit * Fraction(5000001, 10000000) + abs(x * y) / 2**102
        assert abs(Fraction(float(got)) - wanted) <= allowed, numbers


def _program(element_type: str) -> str:
    """A program of all functions, a product and a convolution."""
    lines = [f"x = {element_type}[64] parameter(0)"]
    for number, name in enumerate(FUNCTIONS):
        operands = "x, x" if name in ("atan2", "power") else "x"
        lines.append(f"y{number} = {element_type}[64] {name}({operands})")
    lines += [
        f"m = {element_type}[8,8] reshape(x)",
        f"d = {element_type}[8,8] dot(m, m), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        f"i = {element_type}[1,4,4,4] reshape(x)",
        f"k = {element_type}[2,2,4,4] reshape(x)",
        f"c = {element_type}[1,3,3,4] convolution(i, k), "
        "window={size=2x2}, dim_labels=b01f_01io->b01f",
    ]
    shapes = [f"{element_type}[64]"] * len(FUNCTIONS)
    shapes += [f"{element_type}[8,8]", f"{element_type}[1,3,3,4]"]
    results = [*(f"y{n}" for n in range(len(FUNCTIONS))), "d", "c"]
    lines.append(f"ROOT t = ({', '.join(shapes)}) tuple({', '.join(results)})")
    return "HloModule m\n\nENTRY e {\n  " + "\n  ".join(lines) + "\n}\n"


@pytest.mark.parametrize("element_type", ["f32", "f64"])
@pytest.mark.parametrize("target", WITHOUT)
def test_objects_call_no_multiply_add_of_the_library(target: str, element_type: str):
    """Neither in functions, nor in products and convolutions."""
    module = parse(_program(element_type))
    _, made, _ = generate(module, CppClass.parse("C"), [Target.parse(target)])
    assert not re.search(rb"\bfmaf?\b", made.code)
