"""Models that Keras saved, beside what it computes: name.keras, name.h5, name.npz.

`with_keras/cases.py` and, for those of Keras 2, `with_keras/old_cases.py` make them.
"""

from pathlib import Path

import numpy as np

import tfc


def arrays(path: Path, prefix: str) -> list[np.ndarray]:
    """Those of a .npz file whose names are the prefix and a number."""
    with np.load(path) as found:
        count = sum(name.startswith(prefix) for name in found)
        return [found[f"{prefix}{n}"] for n in range(count)]


def compare(file: Path) -> None:
    """Check that tfc computes of a file what Keras does, to the last bits of its dtype."""
    values = file.with_suffix(".npz")
    model = tfc.from_keras(file, backend="interpreter")
    found = model(*arrays(values, "in"))
    results = found if isinstance(found, tuple) else (found,)
    expected = arrays(values, "out")
    assert len(results) == len(expected)
    for got, want in zip(results, expected):
        got = np.asarray(got)
        if got.dtype.name == "bfloat16":  # which .npz files have no name for
            got = got.astype(np.float32)
        assert got.dtype == want.dtype
        half = got.dtype == np.float16 or "float16" in file.stem
        np.testing.assert_allclose(
            got, want, rtol=3e-2 if half else 2e-4, atol=2e-2 if half else 2e-5
        )
