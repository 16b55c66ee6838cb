"""Functions that programs share are compiled once in a process, and are what their names say."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tests.backends.cpu.test_machine_code import PROGRAMS, compilation, program
from tfc.backends.llvm import code_maker
from tfc.backends.llvm.library import LIBRARY, CodeLibrary
from tfc.backends.llvm.parts import Part, split_ir
from tfc.backends.target import Target
from tfc.options import Options

HOST = Target.host()
NAMES = ("tiles.0123456789abcdef", "pack.0123456789abcdef", "epilogue.fedcba9876543210")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Part]]:
    """What LLVM is given, by a process that has compiled nothing yet."""
    given, optimized = [], code_maker.optimized

    def noted(text: str, *others: object):
        given.append(text)
        return optimized(text, *others)

    monkeypatch.setattr(code_maker, "optimized", noted)
    LIBRARY.clear()
    yield given
    LIBRARY.clear()


def defined(texts: list[str]) -> list[str]:
    """The names of the shared functions that are defined in texts."""
    return re.findall(r"^define [^@]*@([a-z_]+\.[0-9a-f]{16})\(", "\n".join(texts), re.M)


def test_the_tiles_of_a_second_program_are_those_of_the_first(compiled):
    rng = np.random.default_rng(0)
    x, y, z = (rng.standard_normal(dims, np.float32) for dims in ((200, 130), (130, 90), (90, 44)))
    np.testing.assert_allclose(tfc.jit(lambda a, b: a @ b)(x, y), x @ y, rtol=2e-4, atol=1e-4)
    first = defined(compiled)
    assert any(name.startswith("tiles.") for name in first)
    compiled.clear()
    both = tfc.jit(lambda a, b, c: tnp.tanh(a @ b) @ c)
    np.testing.assert_allclose(both(x, y, z), np.tanh(x @ y) @ z, rtol=2e-4, atol=1e-4)
    assert compiled
    second = defined(compiled)
    assert set(first).isdisjoint(second)
    compiled.clear()
    np.testing.assert_allclose(
        tfc.jit(lambda a, b: b.T @ a.T)(x, y), (x @ y).T, rtol=2e-4, atol=1e-4
    )
    assert set(first + second).isdisjoint(defined(compiled))


def found_by_later_processes(compiled: list[str], folder: Path) -> None:
    """Check that functions which a folder has are not compiled again, and damaged ones are."""
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(dims, np.float32) for dims in ((200, 130), (130, 90)))
    tfc.jit(lambda a, b: a @ b)(x, y)
    first = defined(compiled)
    assert first
    LIBRARY.clear()  # as another process has it
    compiled.clear()
    scaled = tfc.jit(lambda a, b: a @ b * 2)
    np.testing.assert_allclose(scaled(x, y), x @ y * 2, rtol=2e-4, atol=2e-4)
    assert compiled
    assert set(first).isdisjoint(defined(compiled))
    for file in folder.iterdir():
        file.write_bytes(b"damaged")
    LIBRARY.clear()
    compiled.clear()
    np.testing.assert_allclose(tfc.jit(lambda a, b: a @ b)(x, y), x @ y, rtol=2e-4, atol=1e-4)
    assert set(first) <= set(defined(compiled))


def test_later_processes_find_what_is_kept_in_the_folder(compiled, tmp_path, monkeypatch):
    monkeypatch.setenv("TFC_CACHE", str(tmp_path / "code"))
    found_by_later_processes(compiled, tmp_path / "code")


def test_without_a_folder_the_users_own_is_taken(compiled, tmp_path, monkeypatch):
    monkeypatch.delenv("TFC_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    found_by_later_processes(compiled, tmp_path / "tfc")
    assert (tmp_path / "tfc").stat().st_mode & 0o77 == 0


@pytest.mark.parametrize("what", ["a file", "others may write"])
def test_a_folder_of_ones_own_that_cannot_be_used_is_worth_no_word(
    what, compiled, tmp_path, monkeypatch, recwarn
):
    monkeypatch.delenv("TFC_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    if what == "a file":
        (tmp_path / "tfc").touch()
    else:
        (tmp_path / "tfc").mkdir()
        (tmp_path / "tfc").chmod(0o777)
    x = np.ones((64, 64), np.float32)
    np.testing.assert_array_equal(tfc.jit(lambda a: a @ a)(x), x @ x)
    assert defined(compiled)
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]
    assert what == "a file" or not list((tmp_path / "tfc").iterdir())


def test_folders_are_the_systems():
    def found(platform: str, **environment: str) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "platform", platform)
            patch.setenv("HOME", "/home/me")
            return Options.from_environment(environment).parts_dir

    assert found("linux") == "/home/me/.cache/tfc"
    assert found("linux", XDG_CACHE_HOME="/cache") == "/cache/tfc"
    assert found("linux", XDG_CACHE_HOME="relative") == "/home/me/.cache/tfc"
    assert found("darwin") == "/home/me/Library/Caches/tfc"
    assert found("win32") == ""
    assert found("linux", TFC_CACHE="") == ""
    assert found("linux", TFC_CACHE="there") == "there"


def test_a_kept_file_is_taken_unless_one_of_its_functions_is_known():
    library, (first, second, third) = CodeLibrary(), NAMES
    files = {first: ([first, second], b"file 1"), third: ([second, third], b"file 2")}
    found = library.look(HOST, files.get)
    assert [found.has(n) for n in (first, second, third)] == [True, True, False]
    assert found.objects == [b"file 1"]
    assert found.taken == [files[first]]


def test_a_file_that_another_process_wrote_meanwhile_has_nothing_that_is_made_here():
    """Two ranks compile the same program: what one looked for in vain the other has kept since."""
    library, (first, second, _) = CodeLibrary(), NAMES
    files: dict[str, tuple[list[str], bytes]] = {}
    found = library.look(HOST, files.get)
    assert not found.has(first)
    files[first] = files[second] = ([first, second], b"of another process")
    assert not found.has(second)
    assert (found.objects, found.taken) == ([], [])


def test_code_of_another_target_is_not_used(compiled):
    (one, *_) = PROGRAMS["products"]
    text = program([one], "f32")
    for processor in ("x86-64-v3", "x86-64-v4"):
        compiled.clear()
        compilation(text, Target.parse(f"x86_64-linux-gnu,{processor}")).machine_code()
        assert defined(compiled)


@pytest.mark.parametrize("processor", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_of_one_name_are_equal_in_all_programs(name: str, processor: str):
    target, known, again = Target.parse(f"x86_64-linux-gnu,{processor}"), dict[str, str](), 0
    for element in ("f32", "f64"):
        for operation in PROGRAMS[name]:
            mlir = str(compilation(program([operation], element), target).emit().module)
            functions = re.split(r"^  (?=func\.func )", mlir, flags=re.M)
            for function in functions:
                if found := re.match(r"func\.func private @([a-z_]+\.[0-9a-f]{16})\(", function):
                    again += found[1] in known
                    assert known.setdefault(found[1], function) == function
    assert again > 3


def test_only_what_needs_nothing_of_its_program_is_shared():
    def function(name: str, body: str = "") -> str:
        return f"define internal void @{name}(ptr %p) #0 {{\n  {body}\n  ret void\n}}\n\n"

    alone, calling, reading = NAMES
    text = (
        '@data = hidden constant [2 x i8] c"ab"\n'
        + function("own")
        + function(alone, "%v = call float @llvm.fabs.f32(float 1.0)\n  store float %v, ptr %p")
        + function(calling, "call void @own(ptr %p)\n  store i8 0, ptr %p")
        + function(reading, "%v = load i8, ptr @data\n  store i8 %v, ptr %p")
        + "declare float @llvm.fabs.f32(float)\nattributes #0 = { noinline }\n"
    )
    assert [p.shared for p in split_ir(text, 1) if p.shared] == [(alone,)]


def test_data_of_a_program_is_in_no_part_that_is_shared():
    call = "  call void @f(ptr %p)\n"
    own = f"define void @own(ptr %p) {{\n{call}  ret void\n}}\n\ndeclare void @f(ptr)\n"
    shared = "".join(
        f"define internal void @{name}(ptr %p) {{\n  {body}\n  ret void\n}}\n\n"
        for name, body in (
            (NAMES[0], "store <4 x float> zeroinitializer, ptr %p"),
            (NAMES[1], "call void @f(ptr %p)"),  # as little effort as the program's own
            (NAMES[2], "store i8 0, ptr %p"),
        )
    )
    data = '@data = hidden constant [2 x i8] c"ab"\n'
    for text in (data + shared + own, data + shared + own.replace(call, "")):
        (home,) = [p for p in split_ir(text, 1) if "@data = " in p.text]
        assert "define void @own" in home.text
        assert home.shared == ()
    parts = split_ir(data + shared + "declare void @f(ptr)\n", 1)
    (home,) = [p for p in parts if "@data = " in p.text]
    assert home.shared == ()
    assert sum(bool(p.shared) for p in parts) == 2


def test_no_function_is_in_two_files_and_who_looked_sees_nothing_later():
    library, (first, second, third) = CodeLibrary(), NAMES
    library.keep(HOST, [first, second], b"file 1")
    before = library.look(HOST)
    library.keep(HOST, [second, third], b"file 2")
    library.keep(HOST, [third], b"file 3")
    assert [before.has(n) for n in (first, second, third)] == [True, True, False]
    assert before.objects == [b"file 1"]
    after = library.look(HOST)
    assert after.has(third)
    assert after.objects == [b"file 3"]
    assert not library.look(Target.parse("x86_64-linux-gnu,x86-64-v2")).has(first)


def test_a_library_that_is_full_begins_anew():
    library, (first, second, third) = CodeLibrary(limit=10), NAMES
    library.keep(HOST, [first], b"12345")
    library.keep(HOST, [second], b"12345")
    assert library.look(HOST).has(first)
    library.keep(HOST, [third], b"1")
    assert [library.look(HOST).has(n) for n in NAMES] == [False, False, True]
