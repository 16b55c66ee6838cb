"""tfc.aot.compile: what it takes, what it writes, and what the object needs."""

import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from cpp_programs import SANITIZED, STRICT

import tfc
import tfc.aot
import tfc.numpy as tnp
from tfc.aot import ArgumentSpec
from tfc.errors import ShapeError, TfcError, UnsupportedError
from tfc.hlo import parse

# Everything that could make a compiler call its run-time library or a vector math library.
DEMANDING = """
HloModule demanding
ENTRY main {
  x = f32[64] parameter(0)
  y = f64[64] parameter(1)
  h = f16[64] parameter(2)
  b = bf16[64] parameter(3)
  i = s64[64] parameter(4)
  u = u64[64] parameter(5)
  e = f32[64] exponential(x)
  p = f32[64] power(e, x)
  t = f32[64] tanh(p)
  s = f32[64] sine(t)
  r = f32[64] remainder(s, x)
  n = f32[64] round-nearest-even(r)
  f = f64[64] log(y)
  g = f64[64] power(f, y)
  c = f64[64] cosine(g)
  h2 = f16[64] multiply(h, h)
  h3 = f16[64] convert(c)
  h4 = f16[64] add(h2, h3)
  b2 = bf16[64] add(b, b)
  b3 = bf16[64] convert(n)
  b4 = bf16[64] multiply(b2, b3)
  q = s64[64] divide(i, i)
  v = u64[64] divide(u, u)
  w = f32[64] convert(v)
  z = f16[64] convert(u)
  ROOT all = (f32[64], f64[64], f16[64], bf16[64], s64[64], f32[64], f16[64])
      tuple(n, c, h4, b4, q, w, z)
}
"""


class Model(NamedTuple):
    """Parameters, as a user nests them."""

    w: np.ndarray
    b: np.ndarray


def predict(params, x):
    return tnp.tanh(x @ params.w + params.b), {"sum": x.sum()}


PARAMS = Model(np.ones((3, 2), np.float32), np.zeros(2, np.float32))


@pytest.mark.parametrize(
    "x",
    [np.zeros((4, 3), np.float32), "f32[4,3]", ArgumentSpec((4, 3)), ArgumentSpec((4, 3), "f4")],
)
@pytest.mark.parametrize("function", [predict, tfc.jit(predict)], ids=["plain", "jitted"])
def test_functions_for_described_arguments(tmp_path, function, x):
    made = tfc.aot.compile(function, PARAMS, x, cpp_class="demo::Model", out_dir=tmp_path)
    assert str(made.signature) == (
        "(params_w: f32[3,2], params_b: f32[2], x: f32[4,3]) -> (f32[4,2], f32[])"
    )
    assert made.header == tmp_path / "model.h"
    assert made.object == tmp_path / "model.o"
    assert made.object_size == made.object.stat().st_size
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.h", "model.o"]


def test_closures_become_constants(tmp_path):
    """AOT-6: a value that is no argument is compiled in."""
    weights = np.arange(1000, dtype=np.float32)
    made = tfc.aot.compile(
        lambda x: x * weights, "f32[1000]", cpp_class="Scale", out_dir=tmp_path / "new" / "folder"
    )
    assert made.signature.constant_size >= 4000
    assert weights.tobytes() in made.object.read_bytes()


def test_static_arguments_of_jitted_functions(tmp_path):
    function = tfc.jit(lambda x, mode: x + x if mode == "twice" else x, static_argnums=1)
    made = tfc.aot.compile(function, "f32[2]", "twice", cpp_class="C", out_dir=tmp_path)
    assert str(made.signature) == "(x: f32[2]) -> f32[2]"


def test_python_numbers_are_arguments(tmp_path):
    made = tfc.aot.compile(
        lambda x, *scales: x * scales[0] + scales[1], "f32[2]", 2.0, 3,
        cpp_class="C", out_dir=tmp_path,
    )  # fmt: skip
    assert str(made.signature).startswith("(x: f32[2], scales0: f64[], scales1: s64[]) -> ")


def test_results_lie_in_donated_arguments(cpp):
    """One result takes the memory, as the header says, and one value may be two results."""
    function = tfc.jit(lambda x, y: (x + y, x, x + y), donate_argnums=0)
    made = tfc.aot.compile(function, "f32[4]", "f32[4]", cpp_class="Sum", out_dir=cpp.folder)
    program = """
    #include "sum.h"
    int main() {
      Sum sum;
      sum.arg_y(2) = 4;
      for (int repeat = 0; repeat < 2; ++repeat) {
        sum.arg_x(2) = 3;
        CHECK(sum.Run());
        CHECK(sum.result0(2) == 7 && sum.result1(2) == 3 && sum.result2(2) == 7);
        CHECK(sum.arg_x(2) == 7 && sum.arg_y(2) == 4);
        CHECK(sum.result0_data() == sum.arg_x_data());
        CHECK(sum.result0_data() != sum.result2_data());
      }
      return failures;
    }
    """
    cpp.run([program], [made.object], *SANITIZED)
    assert "Argument 0, x: f32[4]\n  // Run() writes over it." in made.header.read_text()


def test_layouts_become_row_major(cpp):
    """API-7, whatever the layouts of the module."""
    text = """
    HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{0,1}}
    ENTRY main {
      x = f32[2,3]{0,1} parameter(0)
      ROOT y = f32[2,3]{0,1} negate(x)
    }
    """
    made = cpp.aot(text, "Negate")
    program = """
    #include "negate.h"
    int main() {
      Negate negate;
      for (std::size_t i = 0; i < 6; ++i) negate.arg0_data()[i] = static_cast<float>(i);
      CHECK(negate.Run());
      for (std::size_t i = 0; i < 6; ++i) {
        CHECK(negate.result0_data()[i] == -static_cast<float>(i));
      }
      CHECK(negate.result0(1, 0) == -3);
      return failures;
    }
    """
    cpp.run([program], [made.object])


def test_object_needs_only_the_c_library(cpp):
    """AOT-2: it links with nothing but libc and libm."""
    made = cpp.aot(DEMANDING, "Demanding")
    program = '#include "demanding.h"\nint main() { return Demanding().Run() ? 0 : 1; }\n'
    cpp.run([program], [made.object])
    library = cpp.folder / "all.so"
    linked = subprocess.run(
        ["gcc", "-shared", "-nodefaultlibs", "-Wl,-z,defs", "-Wl,--fatal-warnings",
         str(made.object), "-lm", "-lc", "-o", str(library)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert linked.returncode == 0, linked.stderr
    undefined = subprocess.run(
        ["nm", "-u", str(made.object)], capture_output=True, text=True, check=True
    ).stdout
    assert not re.findall(r"\bU (?:__(?!tls_get_addr)|_Z|tfc)\S*", undefined), undefined
    assert "malloc" not in undefined


@pytest.mark.parametrize(
    ("triple", "machine", "bits"),
    [("aarch64-linux-gnu", 183, 2), ("riscv64-linux-gnu", 243, 2), ("armv7-linux-gnueabihf", 40, 1),
     ("x86_64-linux-gnu,x86-64-v3", 62, 2)],
)  # fmt: skip
def test_objects_for_other_machines(tmp_path, matmul_text, triple, machine, bits):
    """AOT-7: the triple decides what the object is for; the ELF header says."""
    made = tfc.aot.compile(
        parse(matmul_text), cpp_class="MatMulComp", out_dir=tmp_path, target=triple
    )
    head = made.object.read_bytes()[:20]
    assert head[:5] == b"\x7fELF" + bytes([bits])
    assert struct.unpack_from("<H", head, 18) == (machine,)


def test_objects_for_web_assembly(tmp_path, matmul_text):
    made = tfc.aot.compile(
        parse(matmul_text), cpp_class="C", out_dir=tmp_path,
        target="wasm32-unknown-unknown,generic,+simd128",
    )  # fmt: skip
    assert made.object.read_bytes()[:4] == b"\0asm"


def test_two_models_in_one_program(cpp, matmul_text):
    """What an object defines does not clash with another's, nor with a C++ name."""
    first = cpp.aot(matmul_text, "one::MatMulComp", name="one")
    second = cpp.aot(matmul_text, "two::MatMulComp", name="two")
    third = cpp.aot(matmul_text, "Third", entry_point="multiply")
    program = """
    #include "one.h"
    #include "two.h"
    #include "third.h"
    int main() {
      one::MatMulComp a;
      two::MatMulComp b;
      Third c;
      CHECK(a.Run() && b.Run() && c.Run());
      return failures;
    }
    """
    cpp.run([program], [first.object, second.object, third.object])


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
def test_entry_point_is_all_that_an_object_defines(cpp, matmul_text):
    made = cpp.aot(matmul_text, "MatMulComp", entry_point="multiply")
    defined = subprocess.run(
        ["nm", "-g", "--defined-only", str(made.object)], capture_output=True, text=True, check=True
    ).stdout.split()[2::3]
    assert "multiply" in defined
    assert all(name.startswith("multiply") for name in defined)


# --- Refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (("f32[2]",), TfcError, r"f\(x, y\) cannot take 1 arguments: missing .*'y'"),
        (("f32[2]",) * 3, TfcError, "cannot take 3 arguments: too many"),
        (("f32[2]", "twice"), TfcError, "y must be an array, a number or a shape .* got 'twice'"),
        (("f32[2", "f32[2]"), TfcError, "expected a shape"),
        (("f32[2]", "q32[2]"), TfcError, "unknown element type 'q32'"),
        (("f32[2]", "(f32[2])"), TfcError, "must be an array"),
        (("f32[2]", "f32[?]"), TfcError, "dynamic"),
        (("f32[2]", "f32[3]"), ShapeError, "got"),
    ],
)
def test_arguments_that_do_not_fit(tmp_path, args, error, message):
    def f(x, y):
        return x + y

    with pytest.raises(error, match=message):
        tfc.aot.compile(f, *args, cpp_class="C", out_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_arguments_of_a_module_are_checked(tmp_path, matmul_text):
    module = parse(matmul_text)
    tfc.aot.compile(module, "f32[2,3]", "f32[3,2]", cpp_class="C", out_dir=tmp_path)
    with pytest.raises(ShapeError, match=r"takes \(f32\[2,3\], f32\[3,2\]\), got .*\(f32\[2,3\]\)"):
        tfc.aot.compile(module, "f32[2,3]", cpp_class="C", out_dir=tmp_path)


def test_what_cannot_be_compiled(tmp_path):
    with pytest.raises(TfcError, match="expected a function or a module to compile, got int"):
        tfc.aot.compile(3, cpp_class="C", out_dir=tmp_path)


def test_targets_that_are_no_cpu(tmp_path, matmul_text):
    module = parse(matmul_text)
    for target in ("nvptx64-nvidia-cuda,sm_80", "z80-unknown"):
        with pytest.raises(UnsupportedError):
            tfc.aot.compile(module, cpp_class="C", out_dir=tmp_path, target=target)
    assert list(tmp_path.iterdir()) == []


def test_folders_that_cannot_be_written(tmp_path, matmul_text):
    module, file = parse(matmul_text), tmp_path / "file"
    file.write_text("")
    with pytest.raises(TfcError, match=r"cannot write .*file"):
        tfc.aot.compile(module, cpp_class="C", out_dir=file)
    with pytest.raises(TfcError, match="must not have a folder in it"):
        tfc.aot.compile(module, cpp_class="C", out_dir=tmp_path, name="a/b")


def test_files_appear_whole_or_not_at_all(tmp_path, matmul_text):
    module = parse(matmul_text)
    tfc.aot.compile(module, cpp_class="C", out_dir=tmp_path)
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}
    (tmp_path / "d.o").mkdir()
    with pytest.raises(TfcError, match=r"cannot write .*d\.o"):
        tfc.aot.compile(module, cpp_class="D", out_dir=tmp_path)
    assert {p: p.read_bytes() for p in tmp_path.iterdir() if p in before} == before
    assert not list(tmp_path.glob(".*"))


def test_output_depends_on_nothing_but_the_input(tmp_path, matmul_text):
    module = parse(matmul_text)
    first = tfc.aot.compile(module, cpp_class="C", out_dir=tmp_path / "1")
    second = tfc.aot.compile(module, cpp_class="C", out_dir=tmp_path / "2")
    assert first.header.read_bytes() == second.header.read_bytes()
    assert first.object.read_bytes() == second.object.read_bytes()


@pytest.mark.parametrize("small", [False, True])
def test_softmax_example(cpp, small):
    """A model with reductions, against NumPy."""
    text = Path(__file__).resolve().parents[2] / "examples" / "softmax.hlo"
    made = cpp.aot(text.read_text(encoding="utf-8"), "Softmax", small=small)
    program = """
    #include <cmath>
    #include "softmax.h"
    int main() {
      Softmax softmax;
      for (std::size_t i = 0; i < softmax.arg0_count(); ++i) {
        softmax.arg0_data()[i] = static_cast<float>(i % 97) * 0.1f;
      }
      CHECK(softmax.Run());
      for (std::size_t i = 0; i < 128; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < 256; ++j) {
          sum += std::exp(static_cast<double>(softmax.arg0(i, j)));
        }
        for (std::size_t j = 0; j < 256; ++j) {
          const double expected = std::exp(static_cast<double>(softmax.arg0(i, j))) / sum;
          const double got = static_cast<double>(softmax.result0(i, j));
          CHECK(std::fabs(got - expected) < 1e-5 * expected);
        }
      }
      return failures;
    }
    """
    cpp.run([program], [made.object], *STRICT, "-O2")
