"""docs/aot.md: its files compile, and its commands print what it says."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tfc.aot.tfcompile import tfcompile

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "aot.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with every file that the page shows."""
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for language, text in BLOCKS:
        if language not in ("console", "sh"):
            name, _, rest = text.partition("\n")
            (tmp_path / name.split(maxsplit=1)[1]).write_text(rest, "utf-8")
    return tmp_path


def printed(line: str) -> str:
    """What a command prints; it must succeed."""
    program, *arguments = shlex.split(line)
    if program == "tfcompile":
        made = CliRunner().invoke(tfcompile, arguments)
        assert made.exit_code == 0, f"{line}\n{made.output}"
        return made.output
    if program == "python":
        program = sys.executable
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"] if program in ("cc", "c++") else []
    done = subprocess.run(
        [program, *strict, *arguments], capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def check(block: str) -> None:
    """Run the commands of a block, which print what stands below each."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        assert printed(command) == expected


CONSOLE = [text for language, text in BLOCKS if language == "console"]


def test_the_quick_start_runs(folder: Path):
    check(CONSOLE[0])


@pytest.mark.slow
def test_all_commands_of_the_page_run(folder: Path):
    for block in CONSOLE:
        check(block)


@pytest.mark.slow
def test_the_project_builds_as_the_page_says(tmp_path: Path):
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    (block,) = (text for language, text in BLOCKS if language == "sh" and "cmake" in text)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    done = subprocess.run(
        ["sh", "-e", "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100% tests passed" in done.stdout
    for name in ("mean", "median", "best", "worst", "trimmed"):
        assert re.search(rf"^{name} +[\d.]+ us$", done.stdout, re.M)


def test_every_block_is_run():
    """Each is a file that is compiled or read by a command of the page, or commands."""
    for language, text in BLOCKS:
        if language in ("console", "sh"):
            continue
        name = text.split("\n", 1)[0].split()[-1]
        assert re.search(rf"\b{re.escape(name)}\b", "".join(CONSOLE)), name


def test_links_of_the_page_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
