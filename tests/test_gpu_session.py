"""A session on a GPU: each step has its time, results are few files, nothing is left running."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu_session import Step, run_steps, session, steps_of


def test_a_step_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path):
    """Here a shell waits for what it has started."""
    marked = tmp_path / "started"
    late = Step("late", ["sh", "-c", f"sleep 1000 & echo $! > {marked}; wait"], 1.0)
    with (tmp_path / "log.txt").open("w") as log:
        ended = run_steps(
            [late, Step("next", [sys.executable, "-c", "print('said'); exit(3)"], 60.0)], log
        )
    assert ended["late"].startswith("ended after its time")
    assert ended["next"].startswith("exit code 3")
    assert "said" in (tmp_path / "log.txt").read_text()
    state = Path(f"/proc/{marked.read_text().strip()}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_steps_take_less_than_nine_minutes_and_write_few_files(tmp_path: Path):
    steps = steps_of(tmp_path, tmp_path / "out", 500.0)
    assert sum(step.seconds for step in steps) <= 500
    named = [a for s in steps for a in s.command if a.endswith(".json")]
    assert len(named) == len(set(named)) == 3
    for step in steps:
        assert float(step.command[-1]) < step.seconds


@pytest.mark.slow
def test_without_a_gpu_a_session_says_so_and_leaves_its_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    built = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu_session", "--build", str(tmp_path / "built"),
         "--small", "--only", "random-bits", "--scale", "0.1"],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    assert "pack: " in built.stdout
    assert session(tmp_path / "built", tmp_path / "out", 200.0) == 2
    assert "nothing could be run here" in capsys.readouterr().err
    assert json.loads((tmp_path / "out" / "facts.json").read_text())["cpus"] > 0
    text = (tmp_path / "out" / "log.txt").read_text()
    assert text.count("exit code 2") == 3
    assert "Traceback" not in text
    assert len(list((tmp_path / "out").iterdir())) <= 8
