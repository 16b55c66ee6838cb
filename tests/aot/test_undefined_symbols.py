"""What object files ask of others: names of libc and libm, and no other."""

import shutil
import subprocess

import numpy as np
import pytest

import tfc
import tfc.aot
import tfc.numpy as tnp

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("nm") is None, reason="nm lists symbols"),
]

LIBC = {"memcpy", "memmove", "memset"}
LIBM = {"fmod", "fmodf"}
SQUARE = np.eye(16, dtype=np.float32)


def drawn(x):
    key = tfc.random.key(3)
    return tfc.random.normal(key, x.shape) + x


PROGRAMS = {
    "sort": lambda x: (tnp.sort(x), tnp.argsort(x)),
    "fft": tnp.fft.fft,
    "dot": lambda x: x @ x,
    "convolution": lambda x: tfc.nn.conv(x.reshape(1, 16, 16, 1), SQUARE.reshape(4, 4, 1, 16)),
    "rng": drawn,
    "cholesky": lambda x: tnp.linalg.cholesky(x @ x.T + SQUARE),
    "solve": lambda x: tnp.linalg.solve(x, x),
    "functions": lambda x: tnp.sin(x) + tnp.exp(x) ** x + tnp.log(x) * tnp.arctan2(x, x),
    "halves": lambda x: (x.astype("float16") * 2, x.astype("bfloat16") * 2),
    "doubles": lambda x: tnp.fmod(x.astype("float64"), 0.3) + tnp.cbrt(x),
    "integers": lambda x: x.astype("int64") // 7 % 3,
    "loop": lambda x: tfc.fori_loop(0, 5, lambda i, y: y @ x, x),
    "pool": lambda x: tfc.nn.max_pool(x.reshape(1, 16, 16, 1), 2, 2),
    "scatter": lambda x: x.at[np.array([1, 3])].add(1.0),
    "cumulative": lambda x: tnp.cumsum(x, 0),
}


@pytest.mark.parametrize("target", ["x86_64-linux-gnu", "aarch64-linux-gnu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_objects_ask_for_the_c_library_alone(tmp_path, name, target):
    made = tfc.aot.compile(
        PROGRAMS[name], "f32[16,16]", cpp_class="P", out_dir=tmp_path, target=target
    )
    listed = subprocess.run(
        ["nm", "--undefined-only", "--format=posix", str(made.object)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    asked = {line.split()[0] for line in listed.splitlines()}
    assert asked <= LIBC | LIBM
