"""Custom calls compiled ahead of time: the object refers to the target, which the user links."""

import numpy as np
import pytest
from cpp_programs import SANITIZED, Cpp

import tfc
from tfc.errors import TfcError, UnsupportedError
from tfc.hlo import parse


def test_the_example_of_the_specification(cpp: Cpp):
    """CC-1: `myfunc` as section 1.15 has it; z[0][0] is 42."""
    text = """
    ENTRY main {
      x = f32[2] parameter(0)
      y = f32[2,3] parameter(1)
      z = f32[3,3] custom-call(x, y), custom_call_target="myfunc"
      t = (f32[], (f32[2])) custom-call(x), custom_call_target="parts"
      a = f32[] get-tuple-element(t), index=0
      n = token[] custom-call(a), custom_call_target="count", custom_call_has_side_effect=true
      ROOT r = (f32[3,3], f32[]) tuple(z, a)
    }
    """
    made = cpp.aot(text, "Custom")
    program = """
    #include "custom.h"
    static int calls = 0;
    extern "C" void myfunc(void* out, void** in);
    extern "C" void parts(void* out, void** in);
    extern "C" void count(void* out, void** in);
    void myfunc(void* out, void** in) {
      float (&x)[2] = *static_cast<float(*)[2]>(in[0]);
      float (&y)[2][3] = *static_cast<float(*)[2][3]>(in[1]);
      CHECK(x[0] == 1 && x[1] == 2 && y[0][0] == 10 && y[0][2] == 30 && y[1][2] == 60);
      float (&z)[3][3] = *static_cast<float(*)[3][3]>(out);
      for (auto& row : z) for (float& element : row) element = 0;
      z[0][0] = x[1] + y[1][0];
    }
    void parts(void* out, void** in) {
      void** results = static_cast<void**>(out);
      *static_cast<float*>(results[0]) = static_cast<float*>(in[0])[1];
      float* nested = static_cast<float*>(*static_cast<void**>(results[1]));
      nested[0] = nested[1] = 1;
    }
    void count(void* out, void** in) {
      calls += out == nullptr && *static_cast<float*>(in[0]) == 2;
    }
    int main() {
      Custom custom;
      for (std::size_t i = 0; i < 2; ++i) custom.arg0_data()[i] = static_cast<float>(i + 1);
      for (std::size_t i = 0; i < 6; ++i) custom.arg1_data()[i] = static_cast<float>(10 * (i + 1));
      CHECK(custom.Run());
      CHECK(custom.result0(0, 0) == 42 && custom.result0(2, 2) == 0 && custom.result1() == 2);
      CHECK(calls == 1);
      return failures;
    }
    """
    cpp.run([program], [made.object], *SANITIZED)
    for target in ("myfunc", "parts", "count"):
        assert f'extern "C" void {target}(void* out, void** in);\n' in made.header.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('x = f32[] parameter(0)\nROOT y = f32[] custom-call(x), custom_call_target="a b"',
         "the custom call target 'a b' must be the name of a C function"),
        ("t = token[] after-all()\nROOT i = (f32[2], token[]) infeed(t)",
         "infeed 'i' needs the Python process that runs the program"),
        ("x = f32[] parameter(0)\nt = token[] after-all()\n"
         'ROOT o = token[] outfeed(x, t), metadata={op_name="model/log"}',
         "outfeed 'model/log' needs the Python process"),
    ],
)  # fmt: skip
def test_what_cannot_be_linked_is_refused(tmp_path, text: str, message: str):
    with pytest.raises(UnsupportedError, match=message):
        tfc.aot.compile(parse(text), cpp_class="C", out_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("template", "is a C++ keyword"),
        ("malloc", "is a name of the C library"),
        ("NULL", "is a macro of C's headers"),
        ("__mine", "is reserved for the compiler"),
        ("main", "is taken"),
        ("demo", "is taken"),
    ],
)
def test_a_target_that_no_function_can_be_called_is_refused(tmp_path, target, message):
    text = f'ENTRY e {{x = f32[] parameter(0)\nROOT y = f32[] CALL, custom_call_target="{target}"}}'
    module = parse(text.replace("CALL", "custom-call(x)"))
    with pytest.raises(UnsupportedError) as caught:
        tfc.aot.compile(module, cpp_class="demo::C", out_dir=tmp_path)
    said = f"the custom call target '{target}' {message}: give the function another name"
    assert str(caught.value) == said
    assert list(tmp_path.iterdir()) == []


def test_a_target_cannot_be_the_entry_point(tmp_path):
    text = 'ENTRY e {x = f32[] parameter(0)\nROOT y = f32[] custom-call(x), custom_call_target="f"}'
    with pytest.raises(TfcError, match="must not be called 'f', as a custom call is"):
        tfc.aot.compile(parse(text), cpp_class="C", out_dir=tmp_path, entry_point="f")


def test_a_function_of_python_is_named_with_what_calls_it(tmp_path):
    def called(x):
        return tfc.pure_callback(np.sin, x, x)

    with pytest.raises(UnsupportedError, match=r"^pure_callback of sin runs in .* so '.+' cannot "):
        tfc.aot.compile(called, "f32[2]", cpp_class="C", out_dir=tmp_path)
