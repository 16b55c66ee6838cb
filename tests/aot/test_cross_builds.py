"""Objects for other machines: linked by zig's compiler, run by an emulator or Node, and compared
with what this machine's code computes.

Machines without fused multiply-adds are compared with x86-64 without them, whose sums round alike.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import tfc
import tfc.aot
import tfc.numpy as tnp
from tfc.backends.target import Target

pytestmark = pytest.mark.slow

FUSED, ROUNDED = "x86_64-linux-gnu,x86-64-v3", "x86_64-linux-gnu,x86-64"


@dataclass(frozen=True)
class Machine:
    """How an object is made, linked and run, and whose values it must have.

    emulator: the command before the program; "node" for WebAssembly.
    """

    target: str
    zig: str
    emulator: str
    like: str


MACHINES = {
    "aarch64": Machine("aarch64-linux-gnu", "aarch64-linux-musl", "qemu-aarch64", FUSED),
    "riscv64": Machine("riscv64-linux-gnu", "riscv64-linux-musl", "qemu-riscv64", FUSED),
    "riscv64 with vectors": Machine(
        "riscv64-linux-gnu,generic-rv64,+m,+a,+f,+d,+c,+v",
        "riscv64-linux-musl",
        "qemu-riscv64 -cpu rv64,v=true,vlen=128",
        FUSED,
    ),
    "armv7": Machine("armv7-linux-gnueabihf", "arm-linux-musleabihf", "qemu-arm", ROUNDED),
    "wasm": Machine("wasm32-unknown-unknown,generic,+simd128", "wasm32-wasi", "node", ROUNDED),
}
BARE_METAL = "thumbv7em-none-eabihf,cortex-m7"

RUN_BY_NODE = """
const { WASI } = require("wasi"), fs = require("fs");
const wasi = new WASI({ version: "preview1", args: [], env: {} });
WebAssembly.instantiate(fs.readFileSync(process.argv[2]), wasi.getImportObject())
  .then(({ instance }) => process.exit(wasi.start(instance)));
"""


def weights(seed: int, *sizes: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.3, sizes).astype(np.float32)


def matmul(x, y):
    return x @ y


def mlp(x):
    hidden = tnp.tanh(tnp.tanh(x @ weights(1, 64, 48)) @ weights(2, 48, 32))
    logits = hidden @ weights(3, 32, 10)
    return logits, tfc.nn.softmax(logits)


def cnn(x):
    x = tfc.nn.max_pool(tfc.nn.relu(tfc.nn.conv(x, weights(4, 3, 3, 3, 8))), 2, 2)
    return tnp.mean(tfc.nn.relu(tfc.nn.conv(x, weights(5, 3, 3, 8, 16))), axis=(1, 2))


def lstm(xs):
    def step(state, x):
        hidden, cell = state
        gates = tnp.concatenate([x, hidden], -1) @ weights(6, 32, 64)
        taken, kept, shown, new = tnp.split(gates, 4, -1)
        cell = tfc.nn.sigmoid(kept) * cell + tfc.nn.sigmoid(taken) * tnp.tanh(new)
        hidden = tfc.nn.sigmoid(shown) * tnp.tanh(cell)
        return (hidden, cell), hidden

    start = tnp.zeros((2, 16), np.float32)
    return tfc.scan(step, (start, start), xs)[1]


def sort(x):
    return tnp.sort(x), tnp.argsort(x)


PROGRAMS = {
    matmul: [(17, 33), (33, 25)],
    mlp: [(8, 64)],
    cnn: [(2, 12, 12, 3)],
    lstm: [(12, 2, 16)],
    sort: [(300,)],
}
SOFTMAX = 2  # this result's rows are summed in as many lanes as the machine has
ARGUMENTS = {f: [weights(7, *s) for s in sizes] for f, sizes in PROGRAMS.items()}


def expected(like: str) -> list[np.ndarray]:
    """What this machine computes with the code of another x86-64 processor."""
    results = []
    for function, arguments in ARGUMENTS.items():
        module = tfc.jit(function).lower(*arguments).hlo
        results += tfc.compile(module, target=Target.parse(like))(*arguments)
    return [np.asarray(r) for r in results]


def main_of(folder: Path, target: str) -> tuple[str, list[str]]:
    """A C program that calls all objects and writes their results, and the objects."""
    head, body, objects = "#include <stdio.h>\n", "", []
    for number, (function, arguments) in enumerate(ARGUMENTS.items()):
        name = function.__name__
        made = tfc.aot.compile(
            function, *arguments, cpp_class="M", name=name, out_dir=folder, target=target,
            entry_point=name,
        )  # fmt: skip
        objects.append(str(made.object))
        sizes = [leaf.shape.byte_size for leaf in made.signature.results]
        for n, array in enumerate(arguments):
            data = ", ".join(map(str, array.tobytes()))
            head += f"static _Alignas(64) unsigned char in{number}_{n}[] = {{{data}}};\n"
        for n, size in enumerate(sizes):
            head += f"static _Alignas(64) unsigned char out{number}_{n}[{size}];\n"
        head += (
            f"static _Alignas(64) unsigned char arena{number}[{made.signature.arena_size + 64}];\n"
            f"int {name}(void *const *, void *const *, void *);\n"
        )
        ins = ", ".join(f"in{number}_{n}" for n in range(len(arguments)))
        outs = ", ".join(f"out{number}_{n}" for n in range(len(sizes)))
        body += (
            f"  {{ void *ins[] = {{{ins}}}, *outs[] = {{{outs}}};\n"
            f"    if ({name}(ins, outs, arena{number}) != 0) return 1; }}\n"
        )
        for n in range(len(sizes)):
            body += f"  fwrite(out{number}_{n}, 1, sizeof out{number}_{n}, stdout);\n"
    return f"{head}int main(void) {{\n{body}  return 0;\n}}\n", objects


def zig(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ziglang", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def results_of(folder: Path, machine: Machine, wanted: list[np.ndarray]) -> list[np.ndarray]:
    """What the programs give on a machine, as arrays like those that are wanted."""
    text, objects = main_of(folder, machine.target)
    (folder / "main.c").write_text(text)
    program = str(folder / "program.wasm")
    zig("cc", "-target", machine.zig, "-O1", "-static", str(folder / "main.c"), *objects,
        "-o", program)  # fmt: skip
    command = [*machine.emulator.split(), program]
    if machine.emulator == "node":
        (folder / "run.js").write_text(RUN_BY_NODE)
        command = ["node", "--no-warnings", str(folder / "run.js"), program]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    found, at = [], 0
    for array in wanted:
        found.append(np.frombuffer(done.stdout, array.dtype, array.size, at).reshape(array.shape))
        at += array.nbytes
    assert at == len(done.stdout)
    return found


@pytest.mark.parametrize("name", MACHINES)
def test_programs_compute_there_what_they_do_here(name: str, tmp_path: Path):
    machine = MACHINES[name]
    if shutil.which(machine.emulator.split()[0]) is None:
        pytest.skip(f"{machine.emulator} is not installed")
    wanted = expected(machine.like)
    for number, (got, array) in enumerate(zip(results_of(tmp_path, machine, wanted), wanted)):
        if array.dtype == np.float32:
            np.testing.assert_array_max_ulp(got, array, maxulp=4 if number == SOFTMAX else 2)
        else:
            np.testing.assert_array_equal(got, array)


def test_programs_without_an_operating_system(tmp_path: Path):
    """Nothing but memcpy and memset is asked of others; the code runs where Thumb code does."""
    _, objects = main_of(tmp_path, BARE_METAL)
    listed = subprocess.run(
        ["nm", "--undefined-only", "--format=posix", *objects],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    asked = {line.split()[0] for line in listed.splitlines() if not line.rstrip().endswith(":")}
    assert asked <= {"memcpy", "memset"}
    if shutil.which("qemu-arm") is None:
        pytest.skip("qemu-arm is not installed")
    machine = Machine(BARE_METAL, "arm-linux-musleabihf", "qemu-arm", ROUNDED)
    wanted = expected(ROUNDED)
    for got, array in zip(results_of(tmp_path, machine, wanted), wanted):
        np.testing.assert_allclose(got, array, rtol=1e-6, atol=1e-6)


BATCHES = """
#include <stdio.h>
#include "rows.h"

int main(int count, char** arguments) {
  Rows_object rows;
  size_t n, i;
  if (count != 2 || !Rows_init(&rows, true) || !Rows_load_weights(&rows, arguments[1])) return 1;
  for (i = 0; i < 7 * 64; ++i) Rows_arg_x_data(&rows)[i] = (float)(i % 9) / 8;
  for (n = 1; n <= 7; ++n) {
    if (!Rows_set_batch_size(&rows, n) || !Rows_run(&rows)) return 2;
    fwrite(Rows_result1_data(&rows), sizeof(float), n * 10, stdout);
  }
  Rows_free(&rows);
  return 0;
}
"""


@pytest.mark.parametrize("name", ["aarch64", "armv7"])
def test_batches_and_weights_in_a_file_there(name: str, tmp_path: Path):
    machine = MACHINES[name]
    if shutil.which(machine.emulator) is None:
        pytest.skip(f"{machine.emulator} is not installed")
    made = tfc.aot.compile(
        mlp, "f32[?,64]", cpp_class="Rows", out_dir=tmp_path, target=machine.target,
        dynamic_batch=7, weights="file",
    )  # fmt: skip
    source, program = str(tmp_path / "main.c"), str(tmp_path / "program")
    Path(source).write_text(BATCHES)
    strict = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-static")
    zig("cc", "-target", machine.zig, *strict, source, str(made.object), "-o", program)
    done = subprocess.run(
        [machine.emulator, program, str(made.weights)], capture_output=True, check=True, timeout=60
    )
    x = (np.arange(7 * 64) % 9 / np.float32(8)).astype(np.float32).reshape(7, 64)
    wanted = np.asarray(mlp(x)[1])
    found = np.frombuffer(done.stdout, np.float32).reshape(-1, 10)
    parts = [wanted[:n] for n in range(1, 8)]
    np.testing.assert_allclose(found, np.concatenate(parts), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "target",
    ["x86_64-pc-windows-msvc", "x86_64-pc-windows-gnu", "aarch64-apple-macosx",
     "x86_64-apple-macosx", "aarch64-linux-android"],
)  # fmt: skip
def test_objects_are_of_the_format_of_their_system(target: str, tmp_path: Path):
    _, objects = main_of(tmp_path, target)
    starts = {"windows": b"\x64\x86", "apple": b"\xcf\xfa\xed\xfe", "android": b"\x7fELF"}
    start = next(bytes_ for system, bytes_ in starts.items() if system in target)
    assert all(Path(path).read_bytes().startswith(start) for path in objects)
