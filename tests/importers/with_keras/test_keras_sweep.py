"""Every layer in several configurations, and whole networks, as Keras computes them.

Keras runs in a process of its own: TensorFlow and LLVM do not live in one.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from keras_results import compare

FAMILIES = ("attention", "conv", "dense", "merge", "network", "normalization", "operation",
            "recurrent", "shape", "structure")  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_of_layers_computes_what_keras_computes(family: str, tmp_path: Path):
    script = Path(__file__).with_name("cases.py")
    subprocess.run([sys.executable, str(script), str(tmp_path), family], check=True)
    wrong, files = [], []
    for values in sorted(tmp_path.glob("*.npz")):
        files += [f for f in (values.with_suffix(".keras"), values.with_suffix(".h5"))
                  if f.exists()]  # fmt: skip
    for file in files:
        try:
            compare(file)
        except Exception as error:
            wrong.append(f"{file.name}: {type(error).__name__}: {error}"[:300])
    assert files
    assert not wrong, "\n".join(wrong)
    assert not list(tmp_path.glob("*.txt")), "cases that Keras itself refuses"
