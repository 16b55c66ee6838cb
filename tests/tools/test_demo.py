"""The demo: a classifier trained in Python gives the same answers in a C++ program."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from tfc.cli import tfc as command


def test_demo_trains_exports_builds_and_agrees(tmp_path: Path):
    made = CliRunner().invoke(command, ["demo", "--out-dir", str(tmp_path), "--epochs", "25"])
    assert made.exit_code == 0, made.output
    assert {"classifier.o", "classifier.h", "main.cc"} <= {p.name for p in tmp_path.iterdir()}
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("no C++ compiler")
    assert "360 of 360 agree" in made.output


def test_demo_fails_if_the_classifier_is_poor(tmp_path: Path):
    made = CliRunner().invoke(command, ["demo", "--out-dir", str(tmp_path), "--epochs", "1"])
    assert made.exit_code == 1
    assert "train for more epochs" in made.output
    assert not list(tmp_path.iterdir())


def test_demo_ends_with_the_artefacts_where_there_is_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    made = CliRunner().invoke(command, ["demo", "--out-dir", str(tmp_path / "out")])
    assert made.exit_code == 0, made.output
    assert "no C++ compiler was found" in made.output
    assert (tmp_path / "out" / "classifier.o").exists()
