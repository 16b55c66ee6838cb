"""State that does not begin with zeros, in each language."""

import json
import shutil
import subprocess
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import tfc.aot
from tfc.aot.interface import Interface
from tfc.aot.state import with_state

FIRST = np.array([1, -2, 3], np.float32)


def moved(state: dict, x):
    """A state of two arrays, of which one begins as FIRST, and a result of the old one."""
    new = {"count": state["count"] + 1, "total": state["total"] + x}
    return new, state["total"] * 2


def program() -> Interface:
    state = {"count": np.zeros((), np.int32), "total": FIRST}
    found = with_state(moved, (state, FIRST), 1)
    count, total = found.states
    seven = np.array(7, np.int32).tobytes()
    states = (replace(count, initial=seven), replace(total, initial=FIRST.tobytes()))
    return replace(found, states=states)


def run(*command: str, folder: Path) -> list[list[float]]:
    """What a program prints of two objects: count and total at first, then after a run of each."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout or "[]")


BEFORE, AFTER = [7, 1, -2, 3], [8, 11, 8, 13]


def test_in_python(tmp_path, monkeypatch):
    tfc.aot.compile(program(), cpp_class="M", name="begun", out_dir=tmp_path, bindings=["python"])
    monkeypatch.syspath_prepend(str(tmp_path))
    first, second = (import_module("begun").M() for _ in range(2))
    np.testing.assert_array_equal(first(np.full(3, 10, np.float32)), 2 * FIRST)
    for model, wanted in ((first, AFTER), (second, BEFORE)):
        count, total = model.variables.values()
        assert [int(count), *total] == wanted


def test_in_javascript(tmp_path):
    wasm = "wasm32-unknown-unknown"
    tfc.aot.compile(
        program(), cpp_class="M", name="m", out_dir=tmp_path, target=wasm, bindings=["js"]
    )
    (tmp_path / "main.mjs").write_text("""
    import { M } from "./m.mjs";
    const objects = [await M.instantiate(), await M.instantiate()];
    const [first] = objects;
    first.arg_x = [10, 10, 10];
    first.run();
    const state = objects.map((m) => [m.var_state_count[0], ...m.var_state_total]);
    console.log(JSON.stringify([...state, [...first.result0]]));
    """)
    assert run("node", "main.mjs", folder=tmp_path) == [AFTER, BEFORE, [2, -4, 6]]


@pytest.mark.slow
def test_in_rust(tmp_path):
    tfc.aot.compile(program(), cpp_class="M", name="m", out_dir=tmp_path, bindings=["rust"])
    (tmp_path / "main.rs").write_text("""
    mod m;
    fn main() -> Result<(), &'static str> {
        let mut memory = vec![0; m::M::MEMORY_BYTES];
        for _ in 0..2 {
            let mut one = m::M::new(&mut memory)?;
            println!("[[{}, {:?}],", one.var_state_count()[0], one.var_state_total());
            one.arg_x_mut().copy_from_slice(&[10.0; 3]);
            one.run()?;
            assert_eq!(*one.result0(), [2.0, -4.0, 6.0]);
            assert_eq!((one.var_state_count()[0], *one.var_state_total()), (8, [11.0, 8.0, 13.0]));
        }
        Ok(())
    }
    """)
    flags = ["--edition", "2021", "-D", "warnings", "main.rs", "-Clink-arg=m.o", "-o", "main"]
    run("rustc", *flags, folder=tmp_path)
    done = subprocess.run(
        [tmp_path / "main"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[[7, [1.0, -2.0, 3.0]],\n" * 2
