"""What the README shows works as it stands: its Python runs, its commands succeed."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tfc.aot.tfcompile import tfcompile
from tfc.cli import tfc as tfc_command

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = {"tfc": tfc_command, "tfcompile": tfcompile}


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_python_of_the_readme_runs():
    """In one process and in order, as a reader would type it."""
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks("python"))], cwd=ROOT,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "(3, 2) (2,)" in done.stdout
    assert "ENTRY %layer" in done.stdout
    assert "[0. 1. 4. 9.]" in done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples, where the commands may write."""
    path = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "examples", path / "examples")
    (path / "build").mkdir()
    return path


def test_commands_of_the_readme_succeed(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    printed = ""
    expected = []
    for line in "".join(blocks("console")).splitlines():
        if not line.startswith("$ "):
            expected.append(line)
            continue
        program, *arguments = shlex.split(line[2:])
        if program in COMMANDS:
            made = CliRunner().invoke(COMMANDS[program], arguments)
            assert made.exit_code == 0, f"{line}\n{made.output}"
        elif program == "c++" and shutil.which("c++") is None:
            pytest.skip("no C++ compiler")
        else:
            done = subprocess.run([program, *arguments], capture_output=True, text=True,
                                  check=False)  # fmt: skip
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            printed += done.stdout
    assert printed.splitlines() == expected


def test_set_up_commands_are_two():
    commands = re.findall(r"^    (pip .*)$", README, re.M)
    assert commands == [
        "pip install -e '.[demo]' && tfc demo",
        "pip install -e '.[test]' && python -m pytest -n auto",
    ]
