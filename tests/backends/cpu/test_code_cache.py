"""Machine code kept for later processes: found again, told apart, not trusted when damaged."""

import errno
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfc
from tfc.backends.cache import code_cache, private_folder
from tfc.backends.cache.code_cache import CodeCache, code_key
from tfc.backends.cpu import compiler
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
    monkeypatch.setattr(code_cache, "_warned", set())
    return tmp_path / "code"


def test_what_was_compiled_before_is_not_compiled_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = tfc.compile(module())(X)
    assert len(list(folder.iterdir())) == 1

    def never(*_: object) -> None:
        raise AssertionError("compiled again")

    with monkeypatch.context() as without:
        without.setattr(compiler, "CodeMaker", never)
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


def planted(folder: Path) -> Path:
    """An entry that holds the code of another program, under the name of the one of number 1."""
    tfc.compile(module(1))
    (entry,) = folder.iterdir()
    cache = CodeCache(folder)
    good = cache.get(entry.stem)
    assert good is not None
    tfc.compile(module(2))
    (other,) = set(folder.iterdir()) - {entry}
    wrong = cache.get(other.stem)
    assert wrong is not None
    other.unlink()
    cache.put(entry.stem, wrong)
    return entry


def computes(number: float) -> None:
    np.testing.assert_array_equal(tfc.compile(module(number))(X)[0], X + np.float32(number))


def give_away(path: Path) -> str:
    """Make a file or folder one that another user decides about; what the warning says of it."""
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
        return "belongs to another user"
    path.chmod(path.stat().st_mode | 0o020)
    return "can be written by other users"


def warnings_of(caught: pytest.WarningsRecorder) -> list[str]:
    return [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]


def test_what_is_believed_is_run(folder: Path) -> None:
    """Or else the tests that follow prove nothing."""
    planted(folder)
    assert not np.array_equal(tfc.compile(module(1))(X)[0], X + 1)


def test_an_entry_of_another_user_is_not_run(folder: Path) -> None:
    entry = planted(folder)
    said = give_away(entry)
    with pytest.warns(RuntimeWarning, match=f"{entry.name} {said}.*chmod go-w") as caught:
        computes(1)
    assert len(warnings_of(caught)) == 1
    assert (entry.stat().st_uid, entry.stat().st_mode & 0o777) == (os.geteuid(), 0o600)


def test_what_others_can_write_is_not_run_and_said_once(folder: Path) -> None:
    planted(folder).chmod(0o620)
    with pytest.warns(RuntimeWarning, match="can be written by other users"):
        computes(1)
    folder.chmod(0o777)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        computes(1)
        computes(3)
    assert len(list(folder.iterdir())) == 1  # nothing is put where others could change it


def test_a_folder_of_another_user_is_not_used(folder: Path) -> None:
    planted(folder)
    said = give_away(folder)
    with pytest.warns(RuntimeWarning, match=said):
        computes(1)


def test_links_are_not_followed_out_of_the_folder(folder: Path, tmp_path: Path) -> None:
    entry = planted(folder)
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(RuntimeWarning, match="links"):
        computes(1)
    assert not entry.is_symlink()


def test_an_entry_is_good_under_its_own_name_only(folder: Path) -> None:
    tfc.compile(module(2))
    (other,) = folder.iterdir()
    tfc.compile(module(1))
    (entry,) = set(folder.iterdir()) - {other}
    other.rename(entry)
    computes(1)


def test_entries_and_folders_are_private(folder: Path) -> None:
    before = os.umask(0)
    try:
        tfc.compile(module())
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


def fail(number: int) -> Callable[..., Any]:
    def failing(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return failing


@pytest.mark.parametrize("function", ["replace", "unlink", "listdir", "utime", "fstat", "open"])
@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_a_cache_that_fails_stops_no_program(
    folder: Path, monkeypatch: pytest.MonkeyPatch, function: str, number: int
) -> None:
    monkeypatch.setattr(private_folder, "os", Overlaid(**{function: fail(number)}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        computes(1)
        computes(1)
    assert len(caught) == (function not in ("utime", "unlink"))
    assert all(os.strerror(number) in str(w.message) for w in caught)
    assert not list(folder.glob("*.part"))


class Overlaid:
    """The module os with other functions in the place of some."""

    def __init__(self, **functions: Callable[..., Any]):
        self.functions = functions

    def __getattr__(self, name: str) -> Any:
        return self.functions.get(name, getattr(os, name))


def test_a_folder_that_cannot_be_made_stops_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TFC_CACHE", str(tmp_path / "file" / "code"))
    with pytest.warns(RuntimeWarning, match="Not a directory; make it readable and writable"):
        computes(1)


def test_without_owners_a_folder_is_used_by_its_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, where functions take no folder's descriptor."""
    monkeypatch.setattr(private_folder, "_HAS_OWNERS", False)
    cache = CodeCache(folder, limit=100)
    cache.put("a", [b"one"])
    assert cache.get("a") == [b"one"]
    cache.put("b", [bytes(80)])
    assert cache.get("a") is None


def test_only_files_of_the_cache_are_removed_from_its_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    mine = [tmp_path / "thesis.txt", tmp_path / "film.part", tmp_path / f"a.code.{'0' * 32}.part"]
    for path in mine:
        path.write_bytes(bytes(1000))
    CodeCache(tmp_path, limit=500).put("b", [b"code"])
    assert [path.exists() for path in mine] == [True, True, False]


def test_the_environment_names_the_folder() -> None:
    assert Options.from_environment({"TFC_CACHE": "code"}).cache_dir == "code"
    assert Options.from_environment({}).cache_dir == ""
