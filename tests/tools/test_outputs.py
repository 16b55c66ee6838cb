"""What commands write: files whole or not at all, into devices and pipes; nothing after Ctrl-C."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tfc.aot.tfcompile import tfcompile
from tfc.cli import tfc as command
from tfc.errors import TfcError
from tfc.files import write_files

ROOT = Path(__file__).parents[2]
SOFTMAX = str(ROOT / "examples" / "softmax.hlo")
TEXT = "ENTRY e { ROOT x = f32[2] parameter(0) }\n"
ENDLESS = """
condition { s = s32[] parameter(0)
 ROOT more = pred[] constant(true) }
body { s = s32[] parameter(0)
 ROOT next = s32[] negate(s) }
ENTRY main { x = s32[] parameter(0)
 ROOT loop = s32[] while(x), condition=condition, body=body }
"""
# What runs in the background of a script ignores Ctrl-C, and so do the processes it starts.
FOREGROUND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tfc.cli import main
main()
"""
FULL = [device for device in ("/dev/full",) if os.path.exists(device)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, program: str = TEXT) -> Result:
    return CliRunner().invoke(command, arguments, input=program)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_device_that_is_written_to_stays_a_device(folder: Path):
    try:
        os.mknod("n", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        made, read = stat.S_ISCHR, None
    except PermissionError:  # only root makes devices
        os.mkfifo("n")
        made = stat.S_ISFIFO
        read = threading.Thread(target=lambda: Path("n").read_bytes())
        read.start()
    assert run("emit", SOFTMAX, "--stage", "asm", "-o", "n").exit_code == 0
    if read:
        read.join()
    assert made(os.stat("n").st_mode)
    assert names(folder) == ["n"]


def test_a_pipe_is_written_into(folder: Path):
    os.mkfifo("pipe")
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_text()))
    reader.start()
    assert run("emit", "-", "--stage", "hlo", "-o", "pipe").exit_code == 0
    reader.join()
    assert "parameter(0)" in got[0]
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


@pytest.mark.parametrize("folder_of", [f for f in ("/dev/fd", "/proc/self/fd") if os.path.isdir(f)])
def test_an_open_file_is_written_where_it_stands(folder: Path, folder_of: str):
    with open("log", "ab") as log:
        log.write(b"before\n")
        log.flush()
        os.symlink(f"{folder_of}/{log.fileno()}", "link")
        write_files((Path(f"{folder_of}/{log.fileno()}"), b"one\n"))
        write_files((Path("link"), b"two\n"))
    assert Path("log").read_text() == "before\none\ntwo\n"
    assert names(folder) == ["link", "log"]


def test_links_are_followed_to_the_file_or_to_where_it_would_be(folder: Path):
    Path("file").write_text("old")
    os.symlink("file", "link")
    os.symlink("new/dangling", "dangling")
    os.symlink("itself", "itself")
    for name in ("link", "dangling"):
        assert run("emit", "-", "--stage", "hlo", "-o", name).exit_code == 0
        assert os.path.islink(name)
    assert "parameter(0)" in Path("file").read_text()
    assert "parameter(0)" in Path("new/dangling").read_text()
    assert "cannot write itself: " in run("emit", "-", "--stage", "hlo", "-o", "itself").stderr


def test_permissions_are_those_of_the_file_before_or_of_the_umask(folder: Path):
    Path("private").write_text("old")
    os.chmod("private", 0o600)
    before = os.umask(0o027)
    try:
        write_files((Path("private"), b"new"), (Path("fresh"), b"new"))
    finally:
        os.umask(before)
    assert [stat.S_IMODE(os.stat(n).st_mode) for n in ("private", "fresh")] == [0o600, 0o640]
    assert Path("private").read_text() == "new"


def test_what_is_read_only_is_not_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch):
    Path("kept").write_text("old")
    os.chmod("kept", 0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything
    with pytest.raises(TfcError, match="cannot write kept: Permission denied"):
        write_files((Path("kept"), b"new"))
    assert Path("kept").read_text() == "old"
    assert names(folder) == ["kept"]


def test_an_owner_keeps_a_file_that_another_replaces(folder: Path):
    Path("file").write_text("old")
    if os.geteuid() == 0:  # who else cannot give files away
        os.chown("file", 65534, 65534)
    owner = os.stat("file").st_uid
    write_files((Path("file"), b"new"))
    assert (os.stat("file").st_uid, Path("file").read_text()) == (owner, "new")


def test_missing_folders_are_made(folder: Path):
    made = run("compile", SOFTMAX, "--cpp-class", "a::B", "--out-dir", "x/y")
    assert made.exit_code == 0, made.output
    assert names(folder / "x" / "y") == ["b.h", "b.o"]
    assert run("ops", "-o", "z/ops.txt").exit_code == 0
    assert Path("z/ops.txt").exists()


def compiled(*arguments: str) -> Result:
    return CliRunner().invoke(tfcompile, ["--graph", SOFTMAX, "--cpp_class", "a::B", *arguments])


def test_a_dash_is_the_standard_output(folder: Path):
    made = compiled("--out_header", "-", "--out_object", "o/b.o")
    assert made.exit_code == 0
    assert made.stdout.startswith("// Generated by tfc")
    assert compiled("--out_header", "b.h", "--out_object", "-").stdout_bytes[:4] == b"\x7fELF"
    assert run("opt", "-", "--passes", "dce", "-o", "-").stdout.startswith("HloModule")
    assert run("profile", SOFTMAX, "-n", "1", "--trace", "-").stdout.startswith("{")
    assert names(folder) == ["b.h", "o"]


@pytest.mark.parametrize(
    "places", [("-", "-"), ("-", "/dev/stdout"), ("x", "./x"), ("x", "link"), ("p", "p")]
)
def test_two_outputs_are_not_one_file(folder: Path, places: tuple[str, str]):
    os.symlink("x", "link")
    os.mkfifo("p")
    made = compiled("--out_header", places[0], "--out_object", places[1])
    assert made.exit_code == 1
    assert "the outputs must be different files" in made.stderr
    assert names(folder) == ["link", "p"]


def test_both_outputs_can_be_thrown_away():
    assert compiled("--out_header", os.devnull, "--out_object", os.devnull).exit_code == 0


@pytest.mark.parametrize("second", ["folder", "file/x", "x" * 300, *FULL])
def test_files_are_written_together_or_not_at_all(folder: Path, second: str):
    Path("first").write_text("old")
    Path("file").write_text("old")
    Path("folder").mkdir()
    with pytest.raises(TfcError, match="cannot write "):
        write_files((Path("first"), b"new"), (Path(second), b"new"))
    assert Path("first").read_text() == "old"
    assert names(folder) == ["file", "first", "folder"]


def test_names_may_be_as_long_as_the_system_lets_them(folder: Path):
    write_files((Path("x" * 250), b"new"))
    assert names(folder) == ["x" * 250]


# --- Processes ----------------------------------------------------------------------------------


def shell(script: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(["bash", "-c", script.replace("TFC", f"{sys.executable} -m tfc")],
                          env=environment, capture_output=True, text=True, check=False,
                          timeout=100)  # fmt: skip


def test_pipes_of_the_shell(folder: Path):
    """A substituted process reads; one that stops early ends the command without a word."""
    done = shell(
        f"TFC emit {SOFTMAX} --stage hlo -o >(cat >copy); echo $?; "
        f"TFC opt --list | true; echo ${{PIPESTATUS[0]}}; "
        "while [ ! -s copy ]; do sleep 0.1; done"
    )
    assert done.stderr == ""
    assert done.stdout.split() in (["0", "1"], ["0", "0"])
    assert "softmax" in Path("copy").read_text()


def test_names_that_are_no_text_are_printed_as_they_are(folder: Path):
    """Where a locale is strict about it, and where there are no such characters."""
    Path("good.hlo").write_text(TEXT)
    done = subprocess.run(
        ["bash", "-c", "for encoding in utf-8:strict latin-1:strict; do PYTHONIOENCODING=$encoding "
         f"{sys.executable} -m tfc compile good.hlo --cpp-class A --out-dir $'o\\xff€'; done"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.stderr == b""
    assert [line.partition(b"/")[0] for line in done.stdout.splitlines()[::2]] == [
        b"o\xff\xe2\x82\xac",
        b"o\\udcff\\u20ac",
    ]


def test_closed_streams_are_one_sentence(folder: Path):
    done = shell("TFC emit - --stage hlo <&-; TFC ops >&-; TFC run none.hlo 2>&-; echo $?")
    assert done.stderr == (
        "error: the standard input, which is to be read, is closed\n"
        "error: cannot write -: Bad file descriptor\n"
    )
    assert done.stdout == "1\n"


@pytest.mark.parametrize("device", FULL)
def test_a_full_disk_is_one_sentence(device: str):
    done = shell(f"TFC ops >{device}")
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")


def test_interrupted_commands_end_without_a_trace(folder: Path):
    """While they read, while compiled code runs that never ends, and between random programs."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name in ("read", "endless"):
        os.mkfifo(name)
    started = {
        name: subprocess.Popen([sys.executable, "-c", FOREGROUND, *arguments], env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for name, arguments in {
            "read": ["compile", "read", "--cpp-class", "A", "--out-dir", "read.d"],
            "endless": ["run", "endless"],
            "fuzz": ["fuzz", "--seconds", "60", "--out-dir", "fuzz.d"],
        }.items()
    }  # fmt: skip
    try:
        with open("read", "w") as held, open("endless", "w") as text:  # once both are read from
            text.write(ENDLESS)
            text.close()
            while not list(folder.glob("fuzz.d/running*")) and started["fuzz"].poll() is None:
                time.sleep(0.05)
            for process in started.values():
                process.send_signal(signal.SIGINT)
            ended = {name: process.communicate(timeout=60) for name, process in started.items()}
            held.close()
        assert ended == dict.fromkeys(started, (b"", b""))
        assert {process.returncode for process in started.values()} == {130}
        assert names(folder) == ["endless", "fuzz.d", "read"]
        assert not list(folder.glob("fuzz.d/*"))
    finally:
        for process in started.values():
            process.kill()
