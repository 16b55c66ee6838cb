"""The example that trains on several processes: values, and a restart after one was killed."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from distributed.launching import HERE, command, environment, mpiexec

pytestmark = pytest.mark.slow
EXAMPLE = HERE.parents[1] / "examples" / "data_parallel.py"


def losses(text: str) -> dict[int, str]:
    return {int(n): loss for n, loss in re.findall(r"^step +(\d+)  loss (\S+)$", text, re.M)}


def test_losses_and_weights_of_four_processes_are_those_of_one():
    job = mpiexec(4, EXAMPLE, "--check", "--steps", 20, seconds=200)
    assert "losses and weights are those of one process, of 20 steps" in job.stdout, job.stderr


@pytest.mark.parametrize("processes", [2, 4])
def test_a_layer_divided_among_processes_is_that_of_one(processes: int):
    """Values and gradients, by hand and by shardings: --check fails beyond 1e-5."""
    job = mpiexec(processes, EXAMPLE.with_name("tensor_parallel.py"), "--check", seconds=200)
    assert job.returncode == 0, job.stderr
    assert job.stdout.count(f"{processes} devices, ") == 2


def test_training_goes_on_after_a_process_was_killed(tmp_path: Path):
    """The losses are digit by digit those of a training that was not ended."""
    whole = losses(
        mpiexec(2, EXAMPLE, "--steps", 30, "--checkpoint", tmp_path / "whole.npz").stdout
    )
    assert sorted(whole) == list(range(1, 31))
    words = [EXAMPLE, "--steps", "30", "--checkpoint", tmp_path / "kept.npz"]
    with subprocess.Popen(command(2, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=environment()) as job:  # fmt: skip
        assert job.stdout is not None
        text = ""
        for line in job.stdout:
            text += line
            if line.startswith("step   5 "):
                (process,) = re.findall(r"rank 1 of 2 is process (\d+)", text)
                os.kill(int(process), signal.SIGKILL)
                break
        _, error = job.communicate(timeout=30)
    assert "rank 1 was killed or crashed" in error
    assert job.returncode != 0
    again = mpiexec(2, *words)
    begin = int(re.findall(r"goes on at step (\d+)", again.stdout)[0])
    assert 5 <= begin < 30
    rest = losses(again.stdout)
    assert rest == {n: loss for n, loss in whole.items() if n > begin}
