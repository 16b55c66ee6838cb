"""The examples that learn and draw run, and find what they say."""

import re
import runpy
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parent.parent / "examples"


def printed(name: str, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What an example prints, run as a program."""
    before, sys.argv = sys.argv, [name, *arguments]
    try:
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    finally:
        sys.argv = before
    return capsys.readouterr().out


def test_chains_draw_from_the_posterior(capsys: pytest.CaptureFixture[str]):
    shown = printed("hmc", capsys, "--steps", "400", "--chains", "16")
    rows = re.findall(r"^ +\d +\S+ +(\S+) +(\S+) +(\S+) +(\S+)$", shown, re.MULTILINE)
    assert len(rows) == 4
    for mean, exact_mean, deviation, exact_deviation in rows:
        assert abs(float(mean) - float(exact_mean)) < 0.02
        assert abs(float(deviation) / float(exact_deviation) - 1) < 0.1


def test_a_filter_learns_how_large_noise_is(capsys: pytest.CaptureFixture[str]):
    shown = printed("kalman", capsys, "--steps", "50", "--length", "100")
    losses = [float(loss) for loss in re.findall(r"loss (\S+)", shown)]
    assert losses[-1] < losses[0] - 2
    sighted, filtered = map(float, re.findall(r"true place.*: (\S+)", shown))
    assert filtered < 0.8 * sighted


def test_a_transformer_learns_to_write(capsys: pytest.CaptureFixture[str]):
    shown = printed("train_transformer", capsys, "--steps", "150")
    assert "the loss on unseen text is below 2.3" in shown
    assert len(shown.split("---\n")[1].rstrip("\n")) > 250


def test_an_imported_model_is_tuned_and_runs_in_a_cpp_program(capsys: pytest.CaptureFixture[str]):
    shown = printed("fine_tune", capsys, "--steps", "60")
    before, after = (float(n) for n in re.findall(r": (\S+) of unseen digits right", shown))
    assert before < 0.6
    assert after > 0.93
    assert "C++ and Python agree on 397 of 397 images" in shown or "no C++ compiler" in shown


def test_a_layer_on_several_devices_is_that_on_one(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        printed("tensor_parallel", capsys, "--check")
    assert ended.value.code == 0
    assert capsys.readouterr().out.count("2 all-reduces, 0 all-gathers") == 4
