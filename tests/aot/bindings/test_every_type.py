"""Arrays of every element type through the class, the functions of C, and what calls them."""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import every_type
import numpy as np
import pytest
from cpp_programs import CHECKS, STRICT
from every_type import NAMES, SIZE, bits

import tfc.aot


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with its header and its modules."""
    made = tmp_path_factory.mktemp("every_type")
    tfc.aot.compile(
        every_type.every_type(), cpp_class="demo::Every", out_dir=made, target="native",
        bindings=["rust", "python"],
    )  # fmt: skip
    return made


def run(*command: str | Path) -> None:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def needed(program: str) -> str:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    return program


def elements(array: np.ndarray, pair: str, u64: str = "") -> list[str]:
    """Elements as text; a complex number as `pair` says, the largest integers with an ending."""
    if array.dtype.kind == "c":
        return [pair.format(value.real, value.imag) for value in array.tolist()]
    end = u64 if array.dtype == np.uint64 else ""
    return [f"{str(value).lower()}{end}" for value in array.tolist()]


ARRAYS = [(n, every_type.bits(a)) for n, a in enumerate(every_type.given())]


def assignments(line: str, pair: str) -> str:
    return "\n".join(
        line.format(n=n, i=i, name=NAMES[n], value=value)
        for n, array in ARRAYS
        for i, value in enumerate(elements(array, pair, "u"))
    )


def checks(line: str, pair: str) -> str:
    return "\n".join(
        line.format(n=n, i=i, name=NAMES[n], value=value)
        for n, array in enumerate(every_type.wanted())
        for i, value in enumerate(elements(bits(array), pair, "u"))
    )


def test_the_class_has_them(folder):
    is_there = "CHECK((e.result{n}({i}) == decltype(Of(e.result{n}({i}))){{{value}}}));"
    text = f"""
    #include "every.h"
    {CHECKS}
    template <class T> static T Of(T value) {{ return value; }}
    int main() {{
      demo::Every e;
      {assignments("e.arg{n}({i}) = {value};", "{{{0}, {1}}}")}
      CHECK(e.Run());
      {checks(is_there, "{0}, {1}")}
      CHECK(e.arg_bf16_in(1) == e.arg18(1));
      return failures;
    }}
    """
    (folder / "main.cc").write_text(text)
    run("g++", "-std=c++11", *STRICT, folder / "main.cc", folder / "every.o", "-lm", "-o",
        folder / "a")  # fmt: skip
    run(folder / "a")


def test_the_functions_of_c_have_them(folder):
    text = f"""
    #include <complex.h>
    #include <stdio.h>
    #include "every.h"
    int main(void) {{
      demo_Every_object e;
      if (!demo_Every_init(&e, true)) return 2;
      {assignments("demo_Every_arg_{name}_in_data(&e)[{i}] = {value};", "{0} + {1} * I")}
      if (!demo_Every_run(&e)) return 3;
      {
        checks(
            "if (demo_Every_result{n}_data(&e)[{i}] != {value}) return puts(__FILE__);",
            "{0} + {1} * I",
        )
    }
      demo_Every_free(&e);
      return 0;
    }}
    """
    (folder / "main.c").write_text(text)
    run("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", folder / "main.c", folder / "every.o",
        "-lm", "-o", folder / "b")  # fmt: skip
    run(folder / "b")


@pytest.mark.slow
@pytest.mark.parametrize(("language", "file"), [("c++", "clang.cc"), ("cc", "clang.c")])
def test_the_header_is_clean_for_clang(folder, language, file):
    (folder / file).write_text('#include "every.h"\nint main(void) { return 0; }\n')
    standard = "-std=c99" if language == "cc" else "-std=c++11"
    run(sys.executable, "-m", "ziglang", language, standard, *STRICT, "-c", folder / file, "-o",
        folder / "clang.o")  # fmt: skip


def rust_array(array: np.ndarray) -> str:
    return f"[{', '.join(elements(bits(array), '[{0:?}, {1:?}]'.replace(':?', '')))}]"


def test_a_rust_module_has_them(folder):
    given = "\n".join(
        f"*e.arg{n}_mut() = {rust_array(array)};" for n, array in enumerate(every_type.given())
    )
    expected = "\n".join(
        f"assert_eq!(*e.result{n}(), {rust_array(array)});"
        for n, array in enumerate(every_type.wanted())
    )
    text = f"""
    mod every;
    use every::Every;
    fn main() -> Result<(), &'static str> {{
        let mut memory = vec![7; Every::MEMORY_BYTES];
        let mut e = Every::new(&mut memory)?;
        {given}
        e.run()?;
        {expected}
        assert_eq!(e.arg_c64_in(), e.arg21());
        assert!(Every::new(&mut [0; 3]).is_err());
        Ok(())
    }}
    """
    (folder / "main.rs").write_text(text)
    run(needed("rustc"), "--edition", "2021", "-D", "warnings", folder / "main.rs",
        f"-Clink-arg={folder / 'every.o'}", "-o", folder / "c")  # fmt: skip
    run(folder / "c")


def test_a_rust_module_needs_no_standard_library(folder):
    text = "#![no_std]\n#![deny(missing_docs)]\n//! A library.\nmod every;\npub use every::Every;\n"
    (folder / "library.rs").write_text(text)
    run(needed("rustc"), "--edition", "2021", "-D", "warnings", "--crate-type", "rlib",
        folder / "library.rs", "-o", folder / "library.rlib")  # fmt: skip


def test_a_python_module_has_them(folder):
    spec = importlib.util.spec_from_file_location("every", folder / "every.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    every: Callable[..., tuple[np.ndarray, ...]] = module.Every()
    given = [bits(a) if a.dtype.name.endswith("int4") else a for a in every_type.given()]
    as_bits = [a if a.dtype == np.float16 else bits(a) for a in given]
    for arrays in (given, as_bits):
        for got, array in zip(every(*arrays), every_type.wanted(), strict=True):
            assert got.tobytes() == bits(array).tobytes(), array.dtype
    wrong = [*given]
    wrong[NAMES.index("s4")] = np.full(SIZE, 8, np.int8)
    with pytest.raises(ValueError, match=r"argument 1 \(s4_in\) is s4: its elements are -8 to 7"):
        every(*wrong)
