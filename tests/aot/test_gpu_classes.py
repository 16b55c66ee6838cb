"""C++ classes for GPUs, compiled strictly and run with a libcuda that is the interpreter of PTX."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import libcuda
import numpy as np
import pytest
from cpp_programs import CHECKS

import tfc
import tfc.aot
import tfc.numpy as tnp
from tfc.errors import TfcError

COMPILER = shutil.which("c++") or ""
needs_compiler = pytest.mark.skipif(not COMPILER, reason="there is no C++ compiler")


def model(x: Any, y: Any) -> Any:
    return tfc.nn.relu(x @ np.float32([[1, -1], [2, 1], [0, 3]])), tnp.sum(x, axis=0) + y


PROGRAM = """
#include "model.h"
#include <cstring>
extern "C" int run() {
  demo::Model model;
  const float x[6] = {1, 2, 3, -1, 0, 1};
  std::memcpy(model.arg_x_data(), x, sizeof x);
  model.arg1(0) = 10;
  model.arg1(1) = 20;
  model.arg1(2) = 30;
  for (int round = 0; round < 2; ++round) {
    CHECK(model.Run());
    if (model.error_msg()[0] != '\\0') std::printf("%s\\n", model.error_msg());
    CHECK(model.result0(0, 0) == 5 && model.result0(0, 1) == 10);
    CHECK(model.result0(1, 0) == 0 && model.result0(1, 1) == 4);
    CHECK(model.result1(0) == 10 && model.result1(1) == 22 && model.result1(2) == 34);
  }
  demo::Model other(std::move(model));
  other.arg_x(0, 0) = 2;
  CHECK(other.Run() && other.result0(0, 0) == 6);
  CHECK(!model.Run() && std::strstr(model.error_msg(), "moved from") != nullptr);
  CHECK(demo::Model::LookupArgIndex("y") == 1 && demo::Model::kNumResults == 2);
  other.set_arg_data(0, nullptr);
  CHECK(!other.Run() && std::strstr(other.error_msg(), "set_arg_device()") != nullptr);
  return failures;
}
"""


@needs_compiler
def test_a_class_computes_with_arrays_on_the_host(tmp_path: Path):
    made = tfc.aot.compile_gpu(
        model, "f32[2,3]", "f32[3]", out=tmp_path / "model", cpp_class="demo::Model"
    )
    assert made.cpp_source is not None
    libcuda.build(tmp_path, COMPILER, CHECKS + PROGRAM, made.cpp_source)
    _, calls, left = libcuda.run(tmp_path)
    assert left == 0
    assert calls.count("cuMemAlloc_v2") == calls.count("cuMemFree_v2") == 6
    assert calls.count("cuModuleLoadData") == 2  # machine code, which the library refuses, and PTX
    assert calls.count("cuMemcpyHtoDAsync_v2") == 1 + 3 * 2  # constants, then what each run takes
    # Contexts are left as they were found: what is pushed is popped.
    assert calls.count("cuCtxPushCurrent_v2") == calls.count("cuCtxPopCurrent_v2")
    assert calls[-1] == "cuDevicePrimaryCtxRelease_v2"


WARPGROUPS = """
#include "model.h"
#include <cstring>
extern "C" int run() {
  Product product;
  std::uint16_t* const x = reinterpret_cast<std::uint16_t*>(product.arg_data(0));
  std::uint16_t* const y = reinterpret_cast<std::uint16_t*>(product.arg_data(1));
  std::uint16_t* const z = reinterpret_cast<std::uint16_t*>(product.arg_data(2));
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 32; ++j) x[32 * i + j] = i == j ? 0x4000 : 0;         // 2 on the diagonal
    for (int j = 0; j < 32; ++j) y[64 * j + i] = (i + j) % 2 ? 0x3f80 : 0xbf80;  // 1 or -1
    for (int j = 0; j < 32; ++j) z[64 * j + i] = i % 2 ? 0x3f80 : 0xbf80;
  }
  if (!product.Run()) {
    CHECK(std::strstr(product.error_msg(), EXPECTED) != nullptr);
    return failures;
  }
  for (unsigned i = 0; i < 64; ++i) {
    for (unsigned j = 0; j < 64; ++j) {
      CHECK(product.result0(i, j) == (i >= 32 ? 0 : (i + j) % 2 ? 2 : -2));
      CHECK(product.result1(i, j) == (i >= 32 ? 0 : j % 2 ? 2 : -2));
    }
  }
  return failures;
}
"""


@needs_compiler
@pytest.mark.usefixtures("by_warpgroups")
def test_products_go_by_warpgroups_whose_descriptors_the_driver_makes(tmp_path: Path):
    def function(x: Any, y: Any, z: Any) -> Any:
        return [tnp.dot(x, w, preferred_element_type="float32") for w in (y, z)]

    tfc.aot.compile_gpu(
        function, "bf16[64,32]", *["bf16[32,64]"] * 2, out=tmp_path / "model", cpp_class="Product",
        architectures=["sm_90a"],
    )  # fmt: skip
    said = '#define EXPECTED "cuTensorMapEncodeTiled of the CUDA driver failed: invalid"\n'
    libcuda.build(tmp_path, COMPILER, CHECKS + said + WARPGROUPS, tmp_path / "model.cc")
    _, calls, left = libcuda.run(tmp_path, hopper=True)
    assert left == 0
    assert calls.count("cuTensorMapEncodeTiled") == 6
    assert calls.count("cuLaunchKernel") == 1  # of two equal kernels
    _, calls, left = libcuda.run(tmp_path, {"cuTensorMapEncodeTiled": 1}, hopper=True)
    assert left == 0
    assert "cuLaunchKernel" not in calls


PIXELS = """
#include "model.h"
#include <cstring>
static std::uint16_t Rounded(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<std::uint16_t>(bits >> 16);
}
extern "C" int run() {
  Convolution convolution;
  std::uint16_t* const x = reinterpret_cast<std::uint16_t*>(convolution.arg_data(0));
  std::uint16_t* const k = reinterpret_cast<std::uint16_t*>(convolution.arg_data(1));
  for (int n = 0; n < 4 * 5 * 5 * 64; ++n) x[n] = Rounded(static_cast<float>(n % 255));
  for (int n = 0; n < 3 * 3 * 64 * 64; ++n) k[n] = 0;
  for (int c = 0; c < 64; ++c) k[(2 * 64 + c) * 64 + c] = Rounded(1);  // what is above, right
  if (!convolution.Run()) {
    CHECK(std::strstr(convolution.error_msg(), EXPECTED) != nullptr);
    return failures;
  }
  for (unsigned n = 0; n < 4; ++n) {
    for (unsigned i = 0; i < 5; ++i) {
      for (unsigned j = 0; j < 5; ++j) {
        for (unsigned c = 0; c < 64; ++c) {
          const unsigned from = (((n * 5 + i - 1) * 5 + j + 1) * 64 + c) % 255;
          const bool is_there = i > 0 && j < 4;
          CHECK(convolution.result0(n, i, j, c) == (is_there ? static_cast<float>(from) : 0));
        }
      }
    }
  }
  return failures;
}
"""


@needs_compiler
@pytest.mark.usefixtures("by_warpgroups")
def test_convolutions_copy_pixels_by_descriptors_of_their_own(tmp_path: Path):
    def function(x: Any, k: Any) -> Any:
        made = {"data_format": "NHWC", "kernel_format": "HWIO"}
        return tfc.nn.conv(x, k, 1, "SAME", preferred_element_type="float32", **made)

    tfc.aot.compile_gpu(
        function, "bf16[4,5,5,64]", "bf16[3,3,64,64]", out=tmp_path / "model",
        cpp_class="Convolution", architectures=["sm_90a"],
    )  # fmt: skip
    said = '#define EXPECTED "cuTensorMapEncodeIm2col of the CUDA driver failed: invalid"\n'
    libcuda.build(tmp_path, COMPILER, CHECKS + said + PIXELS, tmp_path / "model.cc")
    _, calls, left = libcuda.run(tmp_path, hopper=True)
    assert left == 0
    assert calls.count("cuTensorMapEncodeIm2col") == 1
    assert calls.count("cuTensorMapEncodeTiled") == 2
    _, calls, left = libcuda.run(tmp_path, {"cuTensorMapEncodeIm2col": 1}, hopper=True)
    assert left == 0
    assert "cuLaunchKernel" not in calls


ON_DEVICE = """
#include "model.h"
#include <cstring>
extern "C" int cuMemAlloc_v2(unsigned long long*, unsigned long long);
extern "C" int cuMemcpyHtoDAsync_v2(unsigned long long, const void*, unsigned long long, void*);
extern "C" int cuMemcpyDtoHAsync_v2(void*, unsigned long long, unsigned long long, void*);
extern "C" int cuMemFree_v2(unsigned long long);
extern "C" int run() {
  unsigned long long x = 0, y = 0;
  CHECK(cuMemAlloc_v2(&x, 4) == 0 && cuMemAlloc_v2(&y, 4) == 0);
  Steps steps(Steps::AllocMode::RESULTS_AND_TEMPS_ONLY);
  int streams = 0;
  steps.set_stream(&streams);
  steps.set_arg_device(0, x);
  steps.set_result_device(0, y);
  const std::int32_t starts[] = {1, 2, 3, 7}, expected[] = {0, -1, -7, -16};
  for (int n = 0; n < 4; ++n) {
    CHECK(cuMemcpyHtoDAsync_v2(x, &starts[n], 4, nullptr) == 0);
    CHECK(steps.Run());
    std::int32_t got = 0;
    CHECK(cuMemcpyDtoHAsync_v2(&got, y, 4, nullptr) == 0);
    CHECK(got == expected[n] * 64);
  }
  steps.set_arg_device(0, x + 4);
  CHECK(!steps.Run() && std::strstr(steps.error_msg(), "multiple of 16 bytes") != nullptr);
  CHECK(cuMemFree_v2(x) == 0 && cuMemFree_v2(y) == 0);
  return failures;
}
"""


@needs_compiler
def test_a_class_reads_and_writes_arrays_on_the_device_through_loops_and_branches(tmp_path: Path):
    def collatz(n: Any) -> Any:
        def body(state: Any) -> Any:
            n, count = state
            # Turned, so that threads wait for each other and a turn is launches.
            return tnp.where(n % 2 == 0, n // 2, 3 * n + 1)[::-1], count + 1

        start = tnp.stack([n, n]), np.int32(0)
        steps = tfc.while_loop(lambda s: s[0][0] != 1, body, start)[1]
        signed = tfc.cond(n == 1, lambda x: x, lambda x: -x, steps)

        def turn(i: Any, x: Any) -> Any:  # doubles, in so many instructions that it stays a loop
            y = x
            for _ in range(33):
                y = (y * 3) ^ 5
            for _ in range(33):
                y = (y ^ 5) * np.int32(-1431655765)  # the inverse of 3
            return (x + y)[::-1]

        def turns(i: Any, x: Any) -> Any:
            return tfc.fori_loop(0, 2, turn, x)

        return tfc.fori_loop(0, 3, turns, signed * np.int32([1, 1]))[0]

    tfc.aot.compile_gpu(
        collatz, "s32[]", out=tmp_path / "model", cpp_class="Steps", architectures=["sm_80"]
    )
    libcuda.build(
        tmp_path, COMPILER, CHECKS + ON_DEVICE, tmp_path / "model.cc", Path("libcuda.so.1")
    )
    _, calls, left = libcuda.run(tmp_path)
    assert left == 0
    runs = calls[calls.index("cuStreamCreate") :]
    # Whether to go on is read only of the loop whose length is not known; the test reads 4 results.
    assert runs.count("cuMemcpyDtoHAsync_v2") == 1 + 2 + 8 + 17 + 4
    # Nothing is copied from the host but what the test itself copies, and constants once.
    assert runs.count("cuMemcpyHtoDAsync_v2") <= 4 + 1


FAILURES: list[tuple[str, int, str]] = [
    ("cuInit", 100, "cuInit of the CUDA driver failed: no CUDA-capable device is detected"),
    ("cuMemAlloc", 2, "cuMemAlloc of the CUDA driver failed: out of memory"),
    ("cuLaunchKernel", 719, "cuLaunchKernel of the CUDA driver failed: unspecified launch failure"),
    ("cuModuleLoadData", 218, "cuModuleLoadData of the CUDA driver failed: a PTX JIT"),
]


@needs_compiler
@pytest.mark.slow
def test_what_the_driver_refuses_is_said_and_nothing_is_lost(tmp_path: Path):
    tfc.aot.compile_gpu(lambda x: x + 1, "f32[3]", out=tmp_path / "model", cpp_class="Adder")
    program = """
#include "model.h"
extern "C" int run() {
  for (int round = 0; round < 2; ++round) {
    Adder adder;
    CHECK(!adder.Run());
    std::printf("%s\\n", adder.error_msg());
    CHECK(!adder.Run());
  }
  Adder adder;
  adder.set_device(4);
  CHECK(!adder.Run());
  return failures;
}
"""
    libcuda.build(tmp_path, COMPILER, CHECKS + program, tmp_path / "model.cc")
    for name, status, message in FAILURES:
        failures, calls, left = libcuda.run(tmp_path, {name: status})
        assert (failures, left) == (0, 0), message
        assert calls.count("cuDevicePrimaryCtxRetain") == calls.count(
            "cuDevicePrimaryCtxRelease_v2"
        )


def test_names_and_constants_that_do_not_fit_are_refused(tmp_path: Path):
    def compiled(function: Callable[..., Any], cpp_class: str) -> Any:
        return tfc.aot.compile_gpu(function, "f32[3]", out=tmp_path / "m", cpp_class=cpp_class)

    with pytest.raises(TfcError, match="must not be called 'arg0_data'"):
        compiled(lambda x: x, "arg0_data")
    large = np.arange(5 << 20, dtype=np.float32)
    with pytest.raises(TfcError, match="make weights arguments"):
        compiled(lambda x: x[0] * large, "Model")
    assert list(tmp_path.iterdir()) == []
