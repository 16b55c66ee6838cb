"""Large constants lie in object files byte by byte, though they never travel as text."""

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfc.aot
import tfc.numpy as tnp
from tfc.backends.cpu.runtime.abi import constant_pool, with_constants
from tfc.errors import InternalError

random = np.random.default_rng(4)
TABLE = random.integers(1, 1 << 20, (300, 100)).astype(np.int32)  # no element is 0
OTHER = random.standard_normal((200, 100)).astype(np.float32)


def looked_up(i: Any, x: Any) -> Any:
    table = tnp.asarray(TABLE)
    return table[i], x @ OTHER, table[7, 3] + table[250, 99]


@pytest.mark.parametrize(
    "target",
    [
        None, "native", "x86_64-pc-windows-msvc,x86-64", "arm64-apple-darwin,apple-m1",
        "armv7-linux-gnueabihf,cortex-a9", "wasm32-unknown-unknown,generic",
        "riscv64-linux-gnu,generic-rv64",
    ],
)  # fmt: skip
def test_their_bytes_are_in_the_object_once(target: str | None, tmp_path: Path):
    arguments = np.int32(0), np.zeros(200, np.float32)
    made = tfc.aot.compile(
        looked_up, *arguments, cpp_class="demo::Large", out_dir=tmp_path, target=target
    )
    code = made.object.read_bytes()
    assert code.count(TABLE.tobytes()) == 1
    assert code.count(OTHER.tobytes()) == 1


def test_code_reads_them_and_no_zeros_in_their_place(tmp_path: Path):
    arguments = np.int32(0), np.zeros(200, np.float32)
    made = tfc.aot.compile(looked_up, *arguments, cpp_class="demo::Large", out_dir=tmp_path)
    library = tmp_path / "large.so"
    subprocess.run(["cc", "-shared", "-o", library, made.object, "-lm"], check=True)
    entry = getattr(ctypes.CDLL(str(library)), made.signature.entry_point)
    x = random.standard_normal(200).astype(np.float32)
    passed = np.array([150], np.int32), x
    results = np.zeros(100, np.int32), np.zeros(100, np.float32), np.zeros(1, np.int32)
    arena = np.zeros(1 << 20, np.uint8)
    aligned = arena.ctypes.data + -arena.ctypes.data % 64

    def table(arrays: Any) -> Any:
        return (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])

    assert entry(table(passed), table(results), ctypes.c_void_p(aligned)) == 0
    np.testing.assert_array_equal(results[0], TABLE[150])
    np.testing.assert_allclose(results[1], x @ OTHER, rtol=1e-4, atol=1e-4)
    assert results[2][0] == TABLE[7, 3] + TABLE[250, 99]


def test_an_object_without_the_place_of_its_constants_is_an_error():
    constants = random.bytes(1 << 17)
    text = constant_pool("pool", constants)
    assert len(text) < 1000
    assert "externally_initialized" in text  # else LLVM would read the zeros
    with pytest.raises(InternalError, match="lost the place"):
        with_constants(b"nothing", [constants])
    digits = text.partition('c"')[2].partition('"')[0].split("\\")[1:]
    mark = bytes(int(pair, 16) for pair in digits)
    with pytest.raises(InternalError, match="several pieces"):
        with_constants(mark + b"\1" * (1 << 17), [constants])
    assert with_constants(b"as it is", [b"small"]) == b"as it is"
