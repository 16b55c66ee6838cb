"""Machine code kept for later processes: found again, told apart, not trusted when damaged."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tfc
from tfc.backends.cpu import compiler
from tfc.backends.cpu.code_cache import CodeCache, code_key
from tfc.errors import TfcError
from tfc.options import Options

PROGRAM = """ENTRY main {
  x = f32[64] parameter(0)
  c = f32[64] constant({%s})
  ROOT y = f32[64] add(x, c)
}"""
X = np.arange(64, dtype=np.float32)


def module(number: float = 1.0) -> tfc.hlo.Module:
    return tfc.hlo.parse(PROGRAM % ", ".join([str(number)] * 64))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TFC_CACHE", str(tmp_path / "code"))
    return tmp_path / "code"


def test_what_was_compiled_before_is_not_compiled_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = tfc.compile(module())(X)
    assert len(list(folder.iterdir())) == 1

    def never(*_: object) -> None:
        raise AssertionError("compiled again")

    with monkeypatch.context() as without:
        without.setattr(compiler, "ObjectMaker", never)
        again = tfc.compile(module())
    np.testing.assert_array_equal(again(X), expected)
    assert "define" in again.as_text("llvm")


def test_other_constants_are_other_code(folder: Path) -> None:
    for number in (1.0, 2.0):
        np.testing.assert_array_equal(tfc.compile(module(number))(X)[0], X + np.float32(number))
    assert len(list(folder.iterdir())) == 2


def test_keys_differ_with_the_module_and_with_all_that_is_stated() -> None:
    keys = [code_key(module(1)), code_key(module(2)), code_key(module(1), "avx2")]
    assert len(set(keys)) == 3
    assert code_key(module(1), "avx2") == keys[2]


@pytest.mark.parametrize("damage", ["cut off", "empty", "a bit", "other bytes"])
def test_damaged_files_are_as_good_as_none(folder: Path, damage: str) -> None:
    tfc.compile(module())
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes({
        "cut off": whole[:middle],
        "empty": b"",
        "a bit": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "other bytes": bytes(1000),
    }[damage])  # fmt: skip
    np.testing.assert_array_equal(tfc.compile(module())(X)[0], X + 1)
    assert path.read_bytes() == whole


def test_processes_share_a_folder(folder: Path) -> None:
    code = (
        "import numpy as np, tfc, sys\n"
        "x = np.arange(64, dtype=np.float32)\n"
        "for n in range(1, 4):\n"
        "    text = sys.argv[1] % ', '.join([str(float(n))] * 64)\n"
        "    np.testing.assert_array_equal(tfc.compile(tfc.hlo.parse(text))(x)[0], x + n)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, PROGRAM]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len([p for p in folder.iterdir() if p.suffix == ".code"]) == 3


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache = CodeCache(tmp_path, limit=320)
    for number, key in enumerate("abc"):
        cache.put(key, [bytes(50), b"ab"])
        os.utime(tmp_path / f"{key}.code", (number, number))
    assert cache.get("a") == [bytes(50), b"ab"]
    cache.put("d", [bytes(60)])
    assert [cache.get(key) is None for key in "abcd"] == [False, True, False, False]


def test_a_folder_that_cannot_be_made_is_an_error_of_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TfcError, match="cannot make the folder"):
        CodeCache(tmp_path / "file" / "code").put("a", [b"code"])


def test_the_environment_names_the_folder() -> None:
    assert Options.from_environment({"TFC_CACHE": "code"}).cache_dir == "code"
    assert Options.from_environment({}).cache_dir == ""
