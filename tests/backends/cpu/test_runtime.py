"""The runtime's C files: their LLVM IR is what clang makes of them, for every machine."""

import re

import pytest

from tfc.backends.cpu.runtime.bytecode_interpreter import interpreter
from tfc.backends.cpu.runtime.generated import FOLDER, constant, runtime_ir
from tfc.backends.cpu.runtime.regenerate import regenerated
from tfc.backends.llvm.compilation import compile_ir
from tfc.backends.target import Target

# Machines for which clang is not asked; the interpreter is part of their object files, too.
OTHERS = ["aarch64-linux-gnu", "riscv64-linux-gnu", "aarch64-apple-darwin"]
NARROW = ["i386-linux-gnu", "armv7-linux-gnueabihf", "wasm32-unknown-unknown"]


def test_the_llvm_ir_is_what_clang_makes_of_the_c_files():
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.ll")}
    assert there == regenerated(), "run `python -m tfc.backends.cpu.runtime.regenerate`"


def test_the_llvm_ir_names_no_machine():
    for path in FOLDER.glob("*.ll"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^(target|attributes)|target-cpu|dso_local|x86(?!_64_sysvcc)", text)


@pytest.mark.parametrize("target", [*OTHERS, *NARROW])
def test_other_machines_have_code_of_it(target: str):
    machine = Target.parse(target)
    names = [f"bytecode_interpreter.{machine.pointer_bits}"]
    if machine.pointer_bits == 64:
        names += ["python_entry", "pool"]
    for name in names:
        assert compile_ir(runtime_ir(name, {}), machine, optimise=False).object_code


def test_what_is_defined_elsewhere_may_lie_anywhere():
    """It is reached through tables of addresses, which lie beside the code."""
    code = compile_ir(runtime_ir("python_entry", {}), Target.host(), optimise=False).assembly
    for name in ("PyArray_Type", "_Py_NotImplementedStruct", "tfc_most_kept"):
        assert re.search(rf"\b{name}@GOT|:got:{name}\b", code), name


def test_definitions_take_the_place_of_declarations():
    text = runtime_ir("python_entry", {"tfc_most_kept": constant("tfc_most_kept", 7, 64)})
    assert "@tfc_most_kept = internal constant i64 7\n" in text
    assert "@tfc_most_kept = external" not in text
    assert "@tfc_huge_page_advice = external" in text


def test_there_is_one_interpreter_in_a_process():
    assert interpreter() is interpreter()
