"""TensorFlow and tfc in one process, in either order: both bring an LLVM."""

import subprocess
import sys

import pytest

IMPORTS = ("import tensorflow as tf", "import tfc; assert tfc.jit(lambda x: x + 1)(1) == 2")
USES = """
import numpy as np
x = np.ones((2, 2), np.float32)
assert np.allclose(tfc.jit(lambda x: tfc.numpy.exp(x @ x))(x), np.exp(x @ x))
assert tf.function(lambda x: x @ x, jit_compile=True)(x).numpy()[0, 0] == 2
"""


@pytest.mark.parametrize("order", [1, -1])
def test_both_compile_whichever_is_imported_first(order: int):
    program = "\n".join([*IMPORTS[::order], USES])
    made = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=300
    )
    assert made.returncode == 0, made.stderr[-2000:]
