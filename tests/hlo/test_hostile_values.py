"""Hostile values at the command line: whatever is wrong is one sentence and a non-zero exit code.

Every command and option is given what it is not made for. Nothing may end in a traceback, a defect
or the end of the process; commands run inside this process, so any of these fails the test.
"""

import io
import os
import sys
from codecs import BOM_UTF8
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import tfc
from tfc.aot.tfcompile import tfcompile
from tfc.cli import tfc as command
from tfc.errors import KindError, ParseError, TfcError, UnsupportedError
from tfc.options import Options

TEXT = "ENTRY e {\n  x = f32[3] parameter(0)\n  ROOT y = f32[3] add(x, x)\n}\n"
STABLEHLO = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.add %x, %x : tensor<3xf32>
  return %y : tensor<3xf32>
}"""
PYTHON = """
def endless(x):
    return endless(x)

def text(x):
    return "text"

def steps(x):
    yield x

def leave(x):
    raise SystemExit(0)

number = 3
"""
JUNK = bytes(range(256)) * 8


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory):
    """A current folder with good files and bad ones of every kind."""
    made = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        patch.setattr(sys, "path", list(sys.path))
        patch.setattr(sys, "dont_write_bytecode", True)
        write(made)
        yield made


def write(folder: Path) -> None:
    contents = {
        "good.hlo": TEXT.encode(), "with space\n.hlo": TEXT.encode(), "empty.hlo": b"",
        "marked.hlo": BOM_UTF8 + TEXT.encode(), "marked.mlir": BOM_UTF8 + STABLEHLO.encode(),
        "marked.txt": BOM_UTF8 + STABLEHLO.encode(), "wide.hlo": TEXT.encode("utf-16"),
        "junk.hlo": JUNK, "junk.mlir": JUNK, "junk.mlirbc": JUNK, "short.mlirbc": b"ML\xefR",
        "functions_of_hostile.py": PYTHON.encode(), "junk_of_hostile.py": JUNK, "junk.npy": JUNK,
        "token.hlo": b"ENTRY e { ROOT c = token[] constant(0) }",
    }  # fmt: skip
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    (folder / "folder.mlir").mkdir()
    os.symlink("loop", folder / "loop")
    (folder / os.fsdecode(b"no\xfftext.hlo")).write_text(TEXT)
    np.save(folder / "doubles.npy", np.zeros(3))
    np.save(folder / "objects.npy", np.array([object()]), allow_pickle=True)
    np.save(folder / "words.npy", np.array(["a", "b", "c"]))
    np.save(folder / "records.npy", np.zeros(3, [("a", "f4")]))
    archive, array = io.BytesIO(), io.BytesIO()
    np.savez(archive, x=np.zeros(3))
    np.save(array, np.zeros(3, np.float32))
    (folder / "archive.npy").write_bytes(archive.getvalue())
    (folder / "cut_archive.npy").write_bytes(archive.getvalue()[:50])
    (folder / "cut.npy").write_bytes(array.getvalue()[:-1])
    claimed = array.getvalue().replace(b"(3,), }             ", b"(9999999999999,), }")
    (folder / "huge.npy").write_bytes(claimed)


def run(*arguments: str) -> Result:
    program = tfcompile if arguments[0] == "tfcompile" else command
    rest = arguments[1:] if arguments[0] == "tfcompile" else arguments
    return CliRunner().invoke(program, list(rest), input=b"")


def refused(*arguments: str) -> str:
    """The sentence that a command line is refused with."""
    made = run(*arguments)
    assert made.exit_code in (1, 2), made.output
    assert isinstance(made.exception, SystemExit), made.exception
    said = made.stderr
    assert said.startswith("error: " if made.exit_code == 1 else "Usage: ")
    assert "Traceback" not in said
    assert "defect in tfc" not in said
    return said


READERS = {
    "run": ["run", "{}"],
    "opt": ["opt", "{}"],
    "emit": ["emit", "{}", "--stage", "hlo"],
    "profile": ["profile", "{}", "-n", "1"],
    "explore": ["explore", "{}", "-n", "1", "-o", "out/page.html"],
    "compile": ["compile", "{}", "--cpp-class", "A", "--out-dir", "out"],
    "tfcompile": ["tfcompile", "--graph", "{}", "--cpp_class", "A", "--out_header", "out/h",
                  "--out_object", "out/o"],
}  # fmt: skip
FILES = [
    "", "-", "none.hlo", ".", "folder", "folder.mlir", "junk.hlo", "junk.mlir", "junk.mlirbc",
    "short.mlirbc", "empty.hlo", "wide.hlo", "token.hlo", "loop", "good.hlo/x", "x" * 5000,
    "doubles.npy", "graph.pb", "é", os.devnull,
]  # fmt: skip
FUNCTIONS = [
    ":", ":f", "json:", "a:b:c", "none.py:f", "folder:f", "no.such.module:f", "json:none",
    "functions_of_hostile.py:none", "functions_of_hostile.py:number", "junk_of_hostile.py:f",
    "functions_of_hostile.py:endless", "functions_of_hostile.py:text", "sys:exit", "math:sin",
    "functions_of_hostile.py:steps", "functions_of_hostile.py:leave", "builtins:input",
]  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_files_that_are_no_programs(reader: str):
    for file in FILES:
        said = refused(*(part.replace("{}", file) for part in READERS[reader]))
        assert len(said.splitlines()) <= 4, said
    assert not Path("out").exists()


@pytest.mark.parametrize("reader", ["emit", "compile"])
def test_functions_that_are_none(reader: str):
    for name in FUNCTIONS:
        refused(*(part.replace("{}", name) for part in READERS[reader]), "--arg", "f32[3]")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "file",
    ["marked.hlo", "marked.mlir", "marked.txt", "with space\n.hlo",
     os.fsdecode(b"no\xfftext.hlo")],
)  # fmt: skip
def test_files_of_strange_names_and_beginnings_are_read(file: str):
    made = run("run", file, "--arg", "{1, 2, 3}")
    assert made.output.startswith("result 0: f32[3]\n[2. 4. 6.]\ncompiled in ")


def test_what_is_no_text_is_named():
    assert "wide.hlo is not text in UTF-8 but in UTF-16" in refused("run", "wide.hlo")
    assert "junk.hlo is not text: " in refused("run", "junk.hlo")
    assert "there is no constant token" in refused("run", "token.hlo")


VALUES = {
    ("run", "good.hlo", "--arg"): [
        "", "{", "}", "{1}", "{1,2,x}", "nan", "{" * 1000, "(1,2)", "{(1,2),3,4}", "é", "9" * 5000,
        "{1,2,3}x", "doubles.npy", "objects.npy", "words.npy", "records.npy", "archive.npy",
        "cut_archive.npy", "cut.npy", "huge.npy", "junk.npy", "none.npy", "folder/.npy", ".npy",
    ],
    ("run", "good.hlo", "--seed"): ["-1", "", "nan", "1e3", "0x10", "1.5"],
    ("profile", "good.hlo", "--seed"): ["-1", "nan"],
    ("run", "good.hlo", "--time"): ["0", "-1", "nan", ""],
    ("profile", "good.hlo", "--runs"): ["0", "-1", "nan", "", "inf"],
    ("explore", "good.hlo", "--runs"): ["0", "-1", "nan"],
    ("run", "good.hlo", "--backend"): ["", "tpu", "CPU", "cpu ", "é", "../cpu", "gpu"],
    ("opt", "good.hlo", "--backend"): ["", "tpu"],
    ("run", "good.hlo", "--fill-constants"): ["ones", "random:x", "random:-1", "zeros:1"],
    ("emit", "good.hlo", "--stage"): ["", "none", "HLO"],
    ("emit", "good.hlo", "--stage", "asm", "--target"): [
        "x", ",", "x86_64-linux-gnu,none", "x86_64-linux-gnu,x86-64-v3,+none", "é", "\udcff",
        "x86_64-linux-gnu,x86-64-v3,avx2", "avr", "nvptx64-nvidia-cuda", "a\nb", "x" * 5000,
    ],
    ("emit", "functions_of_hostile.py:text", "--stage", "hlo", "--arg"): [
        "", "f32", "f32[", "f32[-1]", "f32[1e9]", "token[]", "(f32[3])", "q8[3]", "f32[3]{5}",
        "f32[<=3]", "f32[]f32[]", "é", "f32[99999999999999999999]", "x" * 1000,
    ],
    ("emit", "good.hlo", "--stage", "hlo", "-o"): [
        "", "folder", "good.hlo/x", "/proc/none/x", "x" * 300, "loop", "/dev/fd/99",
    ],
    ("profile", "good.hlo", "-n", "1", "--trace"): ["folder", "good.hlo/x"],
    ("explore", "good.hlo", "-n", "1", "-o"): ["", "folder"],
    ("ops", "-o"): ["", "folder", "good.hlo/x"],
    ("opt", "good.hlo", "--passes"): [
        "none", "fusion{", "fusion{max_instructions}", "fusion{max_instructions=x}", "repeat",
        "repeat(simplify)", "é", "fusion}", "{}",
    ],
    ("opt", "good.hlo", "--dump-dir"): ["good.hlo", "good.hlo/x", "loop"],
    ("opt", "good.hlo", "--dump-as"): ["none", "text,none"],
    ("compile", "good.hlo", "--out-dir", "out", "--cpp-class"): [
        "", "::", "a::", "a b", "1", "é", "class", "a::NULL", "calloc::B", "free", "std::A", "Run",
        "a::std", "\udcff", "arg0",
    ],
    ("compile", "good.hlo", "--cpp-class", "A", "--out-dir"): ["good.hlo", "loop", "good.hlo/x"],
    ("compile", "good.hlo", "--cpp-class", "A", "--out-dir", "out", "--target"): ["é", "avr"],
    (*READERS["tfcompile"][:2], "good.hlo", *READERS["tfcompile"][3:], "--entry_point"): [
        "", "free", "main", "int", "a b", "é", "NULL", "memcpy", "A", "__x", "read",
    ],
    (*READERS["tfcompile"][:2], "good.hlo", *READERS["tfcompile"][3:], "--target_triple"): [
        "none", "é", "avr", "nvptx64-nvidia-cuda", "x86_64-linux-gnu,none",
    ],
    (*READERS["tfcompile"][:2], "good.hlo", *READERS["tfcompile"][3:], "--target_cpu"): [
        "none", "é", "help",
    ],
    (*READERS["tfcompile"][:2], "good.hlo", *READERS["tfcompile"][3:], "--target_features"): [
        "none", "é", "+none", "avx2",
    ],
    ("demo", "--epochs"): ["0", "-1", "nan", ""],
    ("demo", "--out-dir"): ["good.hlo", "loop"],
}  # fmt: skip


@pytest.mark.parametrize("options", VALUES, ids=" ".join)
def test_values_of_options(options: tuple[str, ...]):
    for value in VALUES[options]:
        refused(*options, value)
    assert not Path("out").exists()


def test_empty_features_of_a_target_are_none():
    """LLVM would end the process."""
    made = run("emit", "good.hlo", "--stage", "asm", "--target", "x86_64-linux-gnu,,,")
    assert made.exit_code == 0, made.output
    assert made.output == run("emit", "good.hlo", "--stage", "asm", "--target",
                              "x86_64-linux-gnu").output  # fmt: skip


def test_compilers_that_are_none_are_passed_over():
    for program in ("", "none", ".", "good.hlo", "c++ -O3", os.devnull):
        assert run("doctor", "--cxx", program).exit_code == 0


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("TFC_TIME", ["2", "maybe", "é"]),
        ("TFC_VERIFY", ["maybe"]),
        ("TFC_TUNED", ["2", "é"]),
        ("TFC_THREADS", ["0", "-1", "x", "1e3", "9" * 5000, "1.5"]),
        ("TFC_MEMORY_LIMIT", ["-1", "1T", "nan", "9" * 5000, "1.5M", "²"]),
        ("TFC_DISABLE", ["none", "fusion,none"]),
        ("TFC_DUMP", ["good.hlo", "loop"]),
        ("TFC_TRACEBACK", ["1", "é"]),
        ("TFC_DUMP_AS", ["none", "text,none"]),
    ],
)
def test_variables_of_the_environment(
    name: str, values: list[str], monkeypatch: pytest.MonkeyPatch
):
    for value in values:
        monkeypatch.setenv(name, value)
        refused("run", "good.hlo")


def test_every_variable_is_among_those_tried():
    """All that Options reads; a cache that cannot be used costs time only (test_code_cache.py)."""
    asked: list[str] = []

    class Watched(dict[str, str]):
        def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
            asked.append(name)
            return default

    Options.from_environment(Watched())
    tried = {"TFC_TIME", "TFC_VERIFY", "TFC_THREADS", "TFC_MEMORY_LIMIT", "TFC_DISABLE"}
    tried |= {"TFC_DUMP", "TFC_DUMP_AS", "TFC_TRACEBACK", "TFC_TUNED"}
    assert set(asked) == tried | {"TFC_CACHE", "XDG_CACHE_HOME"}


@pytest.mark.parametrize("value", ["text", b"bytes", Path("p"), None, 3, abs, tfc.jit(abs)])
def test_what_is_no_module_is_not_compiled(value: object):
    with pytest.raises(KindError, match=r"expected a tfc.hlo.Module .*tfc.(hlo.parse|jit)") as made:
        tfc.compile(value)  # type: ignore[arg-type]
    assert isinstance(made.value, TypeError)
    with pytest.raises(TfcError):
        tfc.hlo.evaluate(value)  # type: ignore[arg-type]
    if not isinstance(value, str):
        with pytest.raises(KindError, match="takes HLO text as a str"):
            tfc.hlo.parse(value)  # type: ignore[arg-type]


def test_a_mark_before_a_text_is_no_part_of_it():
    assert str(tfc.hlo.parse("\ufeff" + TEXT)) == str(tfc.hlo.parse(TEXT))
    with pytest.raises(ParseError, match=":1:1:"):
        tfc.hlo.parse("\ufeff?")
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(tfc.from_stablehlo("\ufeff" + STABLEHLO)(x), x + x)


def test_arrays_that_numpy_cannot_have_are_refused():
    text = "ENTRY e {{ ROOT x = f32[{}] parameter(0) }}"
    tfc.hlo.parse(text.format(",".join(["1"] * 64)))
    with pytest.raises(ParseError, match="at most 64 dimensions, got 65"):
        tfc.hlo.parse(text.format(",".join(["1"] * 65)))
    with pytest.raises(ParseError, match=r"fewer than 2\^63 bytes"):
        tfc.hlo.parse(text.format("0,99999999999,99999999999"))


def test_calls_that_nest_deeper_than_pythons_are_refused_by_the_evaluator():
    body = "{{ x = f32[2] parameter(0)\n ROOT r = f32[2] call(x), to_apply={} }}\n"
    text = "c0 { x = f32[2] parameter(0)\n ROOT r = f32[2] negate(x) }\n"
    text += "".join(f"c{n} {body.format(f'c{n - 1}')}" for n in range(1, 600))
    module = tfc.hlo.parse(f"{text}ENTRY e {body.format('c599')}")
    with pytest.raises(UnsupportedError, match="nest deeper than those of Python"):
        tfc.hlo.evaluate(module, np.ones(2, np.float32))


def test_backends_are_named_when_there_is_none():
    with pytest.raises(UnsupportedError, match="the backends are cpu"):
        tfc.compile(tfc.hlo.parse(TEXT), "\udcff")
