"""JavaScript modules with the code as WebAssembly, in Node."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import every_type
import numpy as np
import pytest

import tfc
import tfc.aot
from tfc.aot.bindings import wasm
from tfc.aot.bindings.javascript import javascript_text, typescript_text
from tfc.aot.signature import CppClass, signature_of
from tfc.errors import TfcError, UnsupportedError
from tfc.hlo import parse

WASM = "wasm32-unknown-unknown"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    return tmp_path


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory, matmul_text: str) -> Path:
    """A folder with the module of a product of matrices."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    made = tmp_path_factory.mktemp("product")
    make(made, parse(matmul_text))
    return made


def make(folder: Path, source: Any, *args: Any, **named: Any) -> None:
    tfc.aot.compile(
        source, *args, cpp_class="demo::Model", out_dir=folder, target=WASM, bindings=["js"],
        **named,
    )  # fmt: skip


def printed(folder: Path, program: str) -> Any:
    """What a program prints that has the class as Model, as JSON."""
    head = 'import { Model } from "./model.mjs";\nimport same from "./model.mjs";\n'
    tail = 'if (same !== Model) throw new Error("the default export is another");\n'
    (folder / "program.mjs").write_text(head + program + tail)
    done = subprocess.run(
        ["node", "program.mjs"], cwd=folder, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def literal(array: np.ndarray) -> str:
    if array.dtype.kind == "c":
        array = array.view(f"f{array.dtype.itemsize // 2}")
    end = "n" if array.dtype.name in ("int64", "uint64") else ""
    return "[" + ", ".join(f"{value!s}{end}".lower() for value in array.tolist()) + "]"


def test_every_type_of_elements_goes_in_and_comes_out(folder):
    make(folder, every_type.every_type())
    values = [literal(every_type.bits(array)) for array in every_type.given()]
    program = "const m = await Model.instantiate();\n"
    program += "".join(f"m.arg{n} = {value};\n" for n, value in enumerate(values))
    program += """m.run();
    const bytes = ({ buffer, byteOffset, byteLength }) =>
      Array.from(new Uint8Array(buffer, byteOffset, byteLength));
    console.log(JSON.stringify(Model.results.map((_, number) => bytes(m.result(number)))));
    """
    for got, array in zip(printed(folder, program), every_type.wanted(), strict=True):
        assert bytes(got) == every_type.bits(array).tobytes(), array.dtype


def test_arrays_are_reached_by_number_and_name_also_after_memory_grew(product):
    shown = printed(product, """
    const m = await Model.instantiate("model.wasm");
    m.arg0 = [1, 2, 3, 4, 5, 6];
    m.setArg("y_hold", Float32Array.of(7, 8, 9, 10, 11, 12));
    m.run();
    const before = m.result0;
    m.memory.grow(5);
    const isGone = before.length === 0;
    const values = [...m.result0];
    m.arg_x_hold[0] = 2;
    m.run();
    // A second object of the same code has memory of its own.
    const code = await Model.compile(new URL("./model.wasm", import.meta.url));
    const other = await Model.instantiate(code);
    other.run();
    console.log(JSON.stringify([isGone, values, [...m.result(0)], [...m.arg("y_hold")],
      [...other.result0], Model.numArgs, Model.args[1]]));
    """)  # fmt: skip
    assert shown == [
        True, [58, 64, 139, 154], [65, 72, 139, 154], [7, 8, 9, 10, 11, 12], [0, 0, 0, 0], 2,
        {"name": "y_hold", "element": "f32", "dims": [3, 2]},
    ]  # fmt: skip


@pytest.mark.slow
def test_state_stays_and_large_arrays_are_moved(folder):
    """Copies of many bytes need no C library, and what is for several threads runs in one."""

    def step(state, x):
        both = tfc.numpy.concatenate([x, state[::-1]])
        return state + x, both

    arrays = [f"f32[{60000}]"] * 2
    make(folder, step, *arrays, state=1, threads=4)
    shown = printed(folder, """
    const m = await Model.instantiate();
    m.arg_x.fill(2);
    m.var_state[0] = 5;
    m.run();
    m.run();
    const both = m.result0;
    console.log(JSON.stringify(
      [m.var_state[0], m.var_state[1], both.length, both[0], both[60000], both[119999]]));
    """)  # fmt: skip
    assert shown == [9, 4, 120000, 2, 2, 7]


def test_what_is_wrong_is_said_in_a_sentence(folder):
    text = """
    ENTRY main {
      x = s4[2] parameter(0)
      y = f32[2] parameter(1)
      z = f32[2] custom-call(y), custom_call_target="outside"
      ROOT r = (s4[2], f32[2]) tuple(x, z)
    }
    """
    make(folder, parse(text))
    (folder / "other.wasm").write_bytes(b"\0asm\1\0\0\0")
    shown = printed(folder, """
    const outside = (memory, out, args) => {
      const [x] = new Uint32Array(memory.buffer, args, 1);
      const values = new Float32Array(memory.buffer, x, 2);
      new Float32Array(memory.buffer, out, 2).set([values[1], values[0]]);
    };
    const m = await Model.instantiate(undefined, { outside });
    m.arg1 = [3, 4];
    m.run();
    const said = [[...m.result1]];
    for (const wrong of [() => { m.arg1 = [1]; }, () => { m.arg1 = 3; }, () => { m.arg0 = [1, 8]; },
                         () => m.arg("z"), () => m.result(2), () => Model.instantiate(),
                         () => Model.instantiate("other.wasm"), () => Model.instantiate("no.wasm"),
                         () => new Model({})]) {
      try { await wrong(); said.push("nothing"); } catch (error) { said.push(error.message); }
    }
    console.log(JSON.stringify(said));
    """)  # fmt: skip
    values, *messages = shown
    assert values == [4, 3]
    expected = [
        "argument 1 (y) takes 2 numbers, got 1",
        "argument 1 (y) takes 2 numbers, got number",
        "argument 0 (x) is s4: its elements are -8 to 7",
        "there is no argument z; there are x, y",
        "there is no result 2; there are 0, 1",
        "the program calls outside(memory, out, args): pass it in calls",
    ]
    assert messages[:6] == expected
    assert messages[6].startswith("the program calls outside")
    assert messages[7].startswith("ENOENT")
    assert messages[8].startswith("this is no module of Model: use Model.instantiate()")


def test_the_types_declare_what_the_class_has(product):
    members = printed(product, """
    const own = Object.getOwnPropertyNames(Model.prototype);
    const fixed = Object.getOwnPropertyNames(Model);
    console.log(JSON.stringify([...own, ...fixed.map((name) => `static ${name}`)]));
    """)  # fmt: skip
    declared = re.findall(
        r"^  (?:private )?(static )?(?:readonly |get )?([\w]+)[:(]",
        (product / "model.d.mts").read_text(),
        re.MULTILINE,
    )
    found = {start + name for start, name in declared} - {"name", "element", "dims"}
    assert found == set(members) - {"static length", "static name", "static prototype"}


def test_texts_say_types_of_elements():
    signature = signature_of(every_type.every_type(), CppClass.parse("demo::Model"))
    text = typescript_text(signature, "model.wasm")
    assert "get arg_s64_in(): BigInt64Array;\n  set arg_s64_in(values: BigInt64Array | " in text
    assert "/** argument 20 (f64_in): f64[3] */" in text
    assert "c64[3], the real part of each element and then the imaginary one" in text
    assert "bf16[3], as the bits of its elements" in text
    assert '"element": "bf16", "dims": [3], "range": null, "length": 3' in javascript_text(
        signature, "model.wasm"
    )


@pytest.mark.parametrize("name", ["WebAssembly", "function", "await", "Float32Array", "source"])
def test_classes_of_a_name_that_the_language_uses_are_refused(name: str, matmul_text):
    signature = signature_of(parse(matmul_text), CppClass.parse(f"demo::{name}"))
    with pytest.raises(TfcError, match=f"must not be called '{name}' in JavaScript"):
        javascript_text(signature, "m.wasm")


def test_code_for_another_machine_is_refused(tmp_path, matmul_text):
    with pytest.raises(UnsupportedError, match="make the code for wasm32-unknown-unknown, not"):
        tfc.aot.compile(parse(matmul_text), cpp_class="C", out_dir=tmp_path, bindings=["js"])
    assert list(tmp_path.iterdir()) == []


def test_a_missing_linker_is_named(tmp_path, matmul_text, monkeypatch):
    monkeypatch.setattr(wasm, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedError, match="run `pip install ziglang`, or install LLVM's lld"):
        make(tmp_path, parse(matmul_text))
    assert list(tmp_path.iterdir()) == []
