"""The generated class: C++ programs that include its header, link the object, and run."""

import pytest
from cpp_programs import SANITIZED, STRICT

from tfc.aot.header import header_text
from tfc.aot.signature import ALIGNMENT, CppClass, signature_of
from tfc.backends.cpu.runtime import abi
from tfc.errors import TfcError
from tfc.hlo import parse

FLAGS = {"plain": ("-O2",), "sanitized": SANITIZED}

ALL_TYPES = """
HloModule all_types
ENTRY main {
  flags = pred[2,3] parameter(0)
  bytes = u8[4] parameter(1)
  scalar = s32[] parameter(2)
  cube = s64[2,3,4] parameter(3)
  doubles = f64[2,2] parameter(4)
  nothing = f32[0,3] parameter(5)
  half = f16[2] parameter(6)
  brain = bf16[2] parameter(7)

  inverted = pred[2,3] not(flags)
  twice = u8[4] add(bytes, bytes)
  squared = s32[] multiply(scalar, scalar)
  turned = s64[4,2,3] transpose(cube), dimensions={2,0,1}
  negated = f64[2,2] negate(doubles)
  still_nothing = f32[0,3] negate(nothing)
  half_sum = f16[2] add(half, half)
  brain_sum = bf16[2] add(brain, brain)
  ROOT all = (pred[2,3], u8[4], s32[], s64[4,2,3], f64[2,2], f32[0,3], f16[2], bf16[2])
      tuple(inverted, twice, squared, turned, negated, still_nothing, half_sum, brain_sum)
}
"""

# Computing on complex numbers is the backend's affair; the header can pass them.
COMPLEX = """
HloModule complex_numbers
ENTRY main {
  z = c64[2] parameter(0)
  w = c128[] parameter(1)
  ROOT both = (c128[], c64[2]) tuple(w, z)
}
"""


def header_of(text: str, cpp_class: str) -> str:
    return header_text(signature_of(parse(text), CppClass.parse(cpp_class)))


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_example_of_the_documentation(cpp, flags, matmul_text, matmul_main):
    made = cpp.aot(matmul_text, "foo::bar::MatMulComp", name="matmul")
    assert made.header.name == "matmul.h"  # TL-3
    printed = cpp.run([matmul_main], [made.object], *flags)
    assert printed == "Success\n58 64\n139 154\n"  # E01


def test_buffers_given_by_the_caller(cpp, matmul_text):
    """API-2, API-3, API-4: unset and misaligned arguments make Run() fail and say which."""
    made = cpp.aot(matmul_text, "MatMulComp")
    program = """
    #include <cstring>
    #include <utility>
    #include "mat_mul_comp.h"
    int main() {
      typedef MatMulComp::AllocMode Mode;
      alignas(32) float x[8] = {1, 2, 3, 4, 5, 6, 0, 0};
      alignas(32) float y[8] = {7, 8, 9, 10, 11, 12, 0, 0};
      MatMulComp matmul(Mode::RESULTS_AND_TEMPS_ONLY);
      CHECK(matmul.arg0_data() == nullptr && matmul.args()[1] == nullptr);
      CHECK(!matmul.Run());
      CHECK(std::strstr(matmul.error_msg(), "argument 0 (x_hold)") != nullptr);
      matmul.set_arg0_data(x);
      CHECK(!matmul.Run());
      CHECK(std::strstr(matmul.error_msg(), "argument 1 (y_hold)") != nullptr);
      matmul.set_arg_y_hold_data(y);
      CHECK(matmul.Run() && matmul.error_msg()[0] == '\\0');
      CHECK(matmul.result0(0, 0) == 58 && matmul.result0(1, 1) == 154);
      CHECK(matmul.arg1_data() == y && matmul.args()[0] == x);

      matmul.set_arg0_data(x + 1);
      CHECK(!matmul.Run());
      matmul.set_arg0_data(x);
      x[0] = 2;
      CHECK(matmul.Run() && matmul.result0(0, 0) == 65);
      matmul.results()[0] = nullptr;
      CHECK(!matmul.Run() && matmul.error_msg()[0] != '\\0');

      // A class that owns its arguments may be given others.
      MatMulComp owner;
      CHECK(reinterpret_cast<std::uintptr_t>(owner.arg1_data()) % 64 == 0);
      CHECK(reinterpret_cast<std::uintptr_t>(owner.result0_data()) % 64 == 0);
      CHECK(owner.arg0(1, 2) == 0);
      owner.set_arg0_data(x);
      owner.arg_y_hold(0, 0) = 1;
      CHECK(owner.Run() && owner.result0(0, 0) == 2 && owner.result0(1, 0) == 4);

      MatMulComp moved(std::move(owner));
      CHECK(!owner.Run() && owner.error_msg()[0] != '\\0');
      moved.arg1(0, 0) = 2;
      CHECK(moved.Run() && moved.result0(0, 0) == 4);
      owner = std::move(moved);
      CHECK(owner.Run() && owner.result0(1, 0) == 8);

      const MatMulComp& constant = owner;
      CHECK(constant.arg0(0, 0) == 2 && constant.result0_data()[0] == 4);
      CHECK(constant.results()[0] == owner.results()[0] && constant.args()[0] == x);
      static_assert(MatMulComp::kNumArgs == 2 && MatMulComp::kNumResults == 1, "counts");
      static_assert(MatMulComp::arg0_size() == 24 && MatMulComp::arg1_count() == 6, "sizes");
      static_assert(MatMulComp::arg_x_hold_size() == MatMulComp::arg0_size(), "names");
      CHECK(MatMulComp::ArgSize(1) == 24 && MatMulComp::ResultSize(0) == 16);
      CHECK(std::strcmp(MatMulComp::ArgName(1), "y_hold") == 0);
      return failures;
    }
    """
    cpp.run([program], [made.object], *SANITIZED)


def test_objects_are_independent_and_run_again(cpp):
    """Two threads, each with its own object, whose temporaries must not be shared."""
    text = """
    HloModule steps
    ENTRY main {
      x = f32[64,64] parameter(0)
      y = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      z = f32[64,64] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT w = f32[64,64] subtract(z, y)
    }
    """
    made = cpp.aot(text, "Steps")
    program = """
    #include <thread>
    #include "steps.h"
    // For a multiple c of the identity, w is c*c*c - c*c times it.
    static void Work(float first, bool* good) {
      Steps steps;
      for (float c = first; c < first + 200; ++c) {
        for (std::size_t i = 0; i < 64; ++i) steps.arg0(i, i) = c;
        *good = *good && steps.Run();
        for (std::size_t i = 0; i < 64; ++i) {
          *good = *good && steps.result0(i, i) == c * c * (c - 1);
          *good = *good && steps.result0(i, 63 - i) == 0;
        }
      }
    }
    int main() {
      bool one = true, two = true;
      std::thread first(Work, 1.0f, &one), second(Work, 40.0f, &two);
      first.join();
      second.join();
      CHECK(one);
      CHECK(two);
      return failures;
    }
    """
    cpp.run([program], [made.object], "-pthread", *SANITIZED)


def test_scalars_cubes_and_other_types(cpp):
    """API-6, API-7, API-8: types and ranks follow the graph, and elements are row-major."""
    made = cpp.aot(ALL_TYPES, "types::All")
    program = """
    #include <cstdint>
    #include <type_traits>
    #include "all.h"
    int main() {
      types::All all;
      static_assert(std::is_same<decltype(all.arg0(0, 0)), bool&>::value, "pred");
      static_assert(std::is_same<decltype(all.arg1_data()), std::uint8_t*>::value, "u8");
      static_assert(std::is_same<decltype(all.arg2()), std::int32_t&>::value, "s32");
      static_assert(std::is_same<decltype(all.result3(0, 0, 0)), std::int64_t&>::value, "s64");
      static_assert(std::is_same<decltype(all.result4_data()), double*>::value, "f64");
      static_assert(std::is_same<decltype(all.arg6(0)), std::uint16_t&>::value, "f16");
      static_assert(types::All::arg5_size() == 0 && types::All::arg5_count() == 0, "none");
      for (std::size_t i = 0; i < 24; ++i) all.arg3_data()[i] = (1LL << 40) + static_cast<int>(i);
      CHECK(all.arg3(1, 2, 3) == (1LL << 40) + 23 && &all.arg3(1, 0, 2) == all.arg3_data() + 14);
      all.arg0(1, 2) = true;
      all.arg1(3) = 200;
      all.arg_scalar() = -7;
      all.arg4(0, 1) = 1e300;
      all.arg6(1) = 0x3C00;
      all.arg7(0) = 0x3F80;
      all.set_arg5_data(nullptr);
      CHECK(all.Run());
      CHECK(all.result0(0, 0) && !all.result0(1, 2));
      CHECK(all.result1(3) == 144);
      CHECK(all.result2() == 49);
      CHECK(all.result3(3, 1, 2) == (1LL << 40) + 23 && all.result3(2, 0, 1) == all.arg3(0, 1, 2));
      CHECK(all.result4(0, 1) == -1e300);
      CHECK(all.result6(1) == 0x4000 && all.result7(0) == 0x4000);
      return failures;
    }
    """
    cpp.run([program], [made.object], *SANITIZED)


def test_constants_are_compiled_in(cpp):
    """AOT-6, E42: img + [1,2,3] + [1,4,4] is img + [2,6,7]."""
    text = """
    HloModule constants
    ENTRY main {
      img = f32[1,64,64,3] parameter(0)
      one = f32[3] constant({1, 2, 3})
      two = f32[3] constant({1, 4, 4})
      wide_one = f32[1,64,64,3] broadcast(one), dimensions={3}
      wide_two = f32[1,64,64,3] broadcast(two), dimensions={3}
      sum = f32[1,64,64,3] add(img, wide_one)
      ROOT out = f32[1,64,64,3] add(sum, wide_two)
    }
    """
    made = cpp.aot(text, "ImagePlus")
    assert len(made.signature.arguments) == 1
    program = """
    #include "image_plus.h"
    int main() {
      ImagePlus plus;
      for (std::size_t i = 0; i < plus.arg0_count(); ++i) {
        plus.arg0_data()[i] = static_cast<float>(i % 251);
      }
      CHECK(plus.Run());
      const float added[3] = {2, 6, 7};
      for (std::size_t i = 0; i < 64; ++i) {
        for (std::size_t j = 0; j < 64; ++j) {
          for (std::size_t k = 0; k < 3; ++k) {
            CHECK(plus.result0(0, i, j, k) == plus.arg0(0, i, j, k) + added[k]);
          }
        }
      }
      return failures;
    }
    """
    cpp.run([program], [made.object], *SANITIZED)


def test_header_in_two_translation_units(cpp, matmul_text):
    made = cpp.aot(matmul_text, "foo::MatMulComp")
    other = """
    #include "mat_mul_comp.h"
    #include "mat_mul_comp.h"
    float First(foo::MatMulComp* matmul);
    float First(foo::MatMulComp* matmul) { return matmul->Run() ? matmul->result0(0, 0) : -1; }
    """
    program = """
    #include "mat_mul_comp.h"
    float First(foo::MatMulComp* matmul);
    int main() {
      foo::MatMulComp matmul;
      matmul.arg0(0, 2) = 3;
      matmul.arg1(2, 0) = 5;
      CHECK(First(&matmul) == 15);
      return failures;
    }
    """
    cpp.run([program, other], [made.object])


@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20", "c++23"])
def test_header_is_clean_under_every_standard(cpp, standard):
    (cpp.folder / "all.h").write_text(header_of(ALL_TYPES, "types::All"), encoding="utf-8")
    (cpp.folder / "z.h").write_text(header_of(COMPLEX, "Z"), encoding="utf-8")
    program = """
    #include "all.h"
    #include "z.h"
    int main() { return static_cast<int>(Z::kNumArgs); }
    """
    flags = (*STRICT, "-Wold-style-cast", "-Wcast-qual", f"-std={standard}", "-fsyntax-only")
    built = cpp.build([program], [], *flags)
    assert built.returncode == 0, built.stderr


def test_a_function_without_arguments(cpp):
    text = "HloModule m\nENTRY main {\n  ROOT c = s32[2] constant({3, 4})\n}"
    made = cpp.aot(text, "Constant")
    program = """
    #include "constant.h"
    int main() {
      Constant constant(Constant::AllocMode::RESULTS_AND_TEMPS_ONLY);
      CHECK(constant.Run() && constant.result0(1) == 4 && Constant::kNumArgs == 0);
      return failures;
    }
    """
    cpp.run([program], [made.object], *SANITIZED)


def test_two_names_that_make_one_identifier_are_told_apart_by_number():
    text = """
    HloModule m
    ENTRY main {
      x = f32[] parameter(0)
      x_data = f32[] parameter(1)
      _y = f32[] parameter(2)
      ROOT t = (f32[], f32[], f32[]) tuple(x, x_data, _y)
    }
    """
    header = header_of(text, "C")
    assert "arg_x()" in header
    assert "arg_x_data_1_data()" in header
    assert "arg_x_data_data" not in header
    assert "arg__y" not in header
    assert "arg_y()" in header


def test_arrays_are_aligned_as_the_code_expects():
    assert ALIGNMENT == abi.ALIGNMENT


def test_arguments_may_be_called_as_cpp_or_the_class_calls_something_else(cpp):
    """Keywords stand behind a prefix; a name that a method of any index has gets its number."""
    names = ["size", "data", "class", "operator"]
    lines = [f"{name} = f32[2] parameter({n})" for n, name in enumerate(names)]
    text = "\n".join(["ENTRY e {", *lines, "ROOT r = f32[2] subtract(size, operator)", "}"])
    made = cpp.aot(text, "Named")
    program = """
    #include <algorithm>
    #include "named.h"
    // Constants have addresses, in C++11 and without optimization too.
    static const std::size_t* Address(const std::size_t& number) { return &number; }
    int main() {
      Named named;
      named.arg_size_0(1) = 5;
      named.arg_operator(1) = 2;
      named.arg_data_1(0) = named.arg_class(0) = 1;
      CHECK(named.Run() && named.result0(1) == 3);
      CHECK(Named::arg_size(2) == 8 && Named::arg_size_0_count() == 2);
      CHECK(named.arg_data(1) == named.arg_data_1_data());
      CHECK(*Address(Named::kNumArgs) == 4 && *Address(Named::kAlignment) == 64);
      CHECK(std::max(Named::kNumArgs, Named::kNumResults) == 4);
      CHECK(&Named::kNumArgs == Address(Named::kNumArgs));
      return failures;
    }
    """
    other = '#include "named.h"\nconst std::size_t* Other();\n'
    other += "const std::size_t* Other() { return &Named::kNumArgs; }\n"
    cpp.run([program, other], [made.object], "-O0")


@pytest.mark.parametrize("name", ["Run", "arg0", "result0_data", "kNumArgs", "data", "dim0"])
def test_class_names_used_inside_the_class_are_refused(name, matmul_text):
    with pytest.raises(TfcError, match=f"must not be called '{name}'"):
        header_of(matmul_text, f"foo::{name}")


def test_integers_of_4_bits_take_a_byte_each(cpp):
    text = """
    HloModule m
    ENTRY main {
      x = s4[3] parameter(0)
      y = u4[3] parameter(1)
      a = s4[3] negate(x)
      b = u4[3] add(y, y)
      ROOT t = (s4[3], u4[3]) tuple(a, b)
    }
    """
    made = cpp.aot(text, "Nibbles")
    program = """
    #include "nibbles.h"
    int main() {
      Nibbles nibbles;
      const signed char x[3] = {-7, 0, 7};
      for (std::size_t i = 0; i < 3; ++i) nibbles.arg0(i) = x[i];
      nibbles.arg1(2) = 5;
      CHECK(nibbles.Run() && nibbles.arg0_size() == 3);
      for (std::size_t i = 0; i < 3; ++i) CHECK(nibbles.result0(i) == -x[i]);
      CHECK(nibbles.result1(2) == 10 && nibbles.result1(0) == 0);
      return failures;
    }
    """
    cpp.run([program], [made.object], *SANITIZED)


DONATED = """
HloModule donated, input_output_alias={ {1}: (0, {}, may-alias) }
ENTRY main {
  weights = f32[3] parameter(0)
  step = f32[3] parameter(1)
  old = f32[3] negate(weights)
  new = f32[3] subtract(weights, step)
  ROOT both = (f32[3], f32[3]) tuple(old, new)
}
"""


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_a_result_is_written_over_a_donated_argument(cpp, flags):
    made = cpp.aot(DONATED, "Donated")
    program = """
    #include "donated.h"
    int main() {
      Donated own;
      CHECK(own.result1_data() == nullptr);
      own.arg0(2) = 5;
      own.arg1(2) = 1;
      for (int n = 0; n < 3; ++n) {
        CHECK(own.Run());
      }
      CHECK(own.result1_data() == own.arg0_data());
      CHECK(own.result1(2) == 2 && own.result0(2) == -3);
      alignas(32) float weights[3] = {7, 8, 9}, step[3] = {1, 1, 1};
      Donated given(Donated::AllocMode::RESULTS_AND_TEMPS_ONLY);
      given.set_arg0_data(weights);
      given.set_arg1_data(step);
      CHECK(given.Run());
      CHECK(weights[0] == 6 && weights[2] == 8 && given.result0(1) == -8);
      return failures;
    }
    """
    assert cpp.run([program], [made.object], *flags) == ""
    text = made.header.read_text()
    assert "Run() writes it over argument 0, in that one's buffer" in text
