"""Tables of speeds that are measured: links by hand, the whole table as the simulator reads it."""

import json
from pathlib import Path

import pytest

from tfc.errors import TfcError
from tfc.tools.simulation.measuring import Reduced, measured_table, reduced_of_job
from tfc.tools.simulation.speeds import parse_speeds


def test_latency_and_bandwidth_are_those_of_a_ring():
    latency, bandwidth, ranks = 2e-6, 1e9, 4
    sizes = (1000, 1_000_000)
    short, long = (2 * (ranks - 1) * (latency + b / ranks / bandwidth) for b in sizes)
    found = Reduced(ranks, sizes, (short, long)).link()
    assert found == pytest.approx((latency, bandwidth))


def write(folder: Path, text: str) -> str:
    path = folder / "collectives.json"
    path.write_text(text)
    return str(path)


def test_timings_of_a_job_are_read(tmp_path: Path):
    timings = [
        {"collective": kind, "bytes": size, "seconds": size / 1e9}
        for kind in ("all-reduce", "all-to-all") for size in (4096, 1024)
    ]  # fmt: skip
    found = reduced_of_job(write(tmp_path, json.dumps({"ranks": 2, "timings": timings})))
    assert found == Reduced(2, (1024, 4096), (1024 / 1e9, 4096 / 1e9))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is nothing that `tfc bench-collectives --json` wrote"),
        ("[1]", "is nothing that `tfc bench-collectives --json` wrote"),
        ('{"ranks": 2, "timings": []}', "has no all-reduces of two sizes"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str):
    with pytest.raises(TfcError, match=message):
        reduced_of_job(write(tmp_path, text))


@pytest.mark.slow
def test_what_is_measured_is_a_table():
    found = parse_speeds(measured_table(), "measured")
    assert found.matrix["f32"] > 1e8
    assert 0 < found.launch < 1e-3
    assert found.links[0].bandwidth > 1e6
    assert found.processors is not None
    assert found.processors >= 1
