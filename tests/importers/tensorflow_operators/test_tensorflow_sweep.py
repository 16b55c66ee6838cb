"""Operators beside TensorFlow itself: what it computes of the samples, and its attributes.

TensorFlow runs in a process of its own.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tensorflow_cases import ARCHIVE, archive, compiled_names, difference, read

from tfc.graph.operators.registry import OPERATORS

HERE = Path(__file__).parent
# What rows need not know: how TensorFlow computes, what inputs tell, and checks of its own.
OF_OTHERS = {
    "T", "N", "Tout", "Treal", "Tcomplex", "dtype", "shape", "use_locking", "use_cudnn_on_gpu",
    "grad_a", "grad_b", "grad_x", "grad_y", "validate_indices", "bad_indices_policy", "message",
    "config", "config_proto", "executor_type", "output_shapes", "parallel_iterations", "container",
    "debug_name", "allowed_devices", "validate_shape", "incompatible_shape_error",
    "sparse_gradient", "recall_target", "a_is_sparse", "b_is_sparse", "precision_config",
    "indices_are_sorted", "sharding", "unspecified_dims", "device_names", "max_iter",
    "out_types", "version", "Sout", "disabled_checks", "use_shardy_partitioner", "element_dtype",
}  # fmt: skip


def run(*arguments: str) -> str:
    made = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    return made.stdout


@pytest.mark.slow
def test_the_archive_is_what_tensorflow_computes(tmp_path: Path, request: pytest.FixtureRequest):
    path = ARCHIVE if request.config.getoption("--bless") else tmp_path / "samples.xz"
    run("recording.py", str(path))
    archive.cache_clear()
    held, made = archive(), read(path)
    assert [case.operator for case in held] == [case.operator for case in made]
    for old, new in zip(held, made):
        assert old.given.keys() == new.given.keys()
        for x, y in zip(old.wanted, new.wanted):
            assert difference(x, y) == "", old.operator


@pytest.fixture(scope="module")
def definitions() -> dict[str, dict[str, object]]:
    """Of each operator its attributes that no input decides, with their defaults."""
    return json.loads(run("definitions.py"))


def test_attributes_left_out_have_tensorflows_defaults(definitions: dict[str, dict[str, object]]):
    wrong = []
    for name, row in OPERATORS.items():
        for attribute, default in definitions.get(name, {}).items():
            if attribute in row.keywords:
                if not agrees(row.default(attribute), default):
                    wrong.append((name, attribute, row.default(attribute), default))
            elif attribute not in OF_OTHERS:
                wrong.append((name, attribute, "is not taken", default))
    assert [*map(str, wrong)] == []


def agrees(stated: object, default: object) -> bool:
    """Whether a row's default is an operator's; None and "" are for what it decides itself."""
    if default is None or stated is None or stated == "":
        return True
    if isinstance(default, list):
        return list(stated) == default  # type: ignore[call-overload]
    if isinstance(default, float):
        return abs(stated - default) <= 1e-7 * abs(default)  # type: ignore[operator]
    return str(default) in str(stated)


def test_the_names_are_those_of_tensorflows_kernels():
    assert run("definitions.py", "names").split() == compiled_names()
