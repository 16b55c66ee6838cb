"""Who is measured: tfc, and TensorFlow's tfcompile, IREE and ONNX Runtime where they are installed.

`build` compiles a program for a batch into a folder, and says what came of it. Each of them is run
with a Python that has it.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.ahead.building import Built, compiling_seconds, libraries, link, run, sizes_of
from benchmarks.ahead.programs import Program
from benchmarks.protocol import BenchmarkError
from tfc.backends.target import Target


class Contender(Protocol):
    """A compiler, and how it is asked."""

    @property
    def name(self) -> str:
        """In the table."""
        ...

    def absent(self) -> str:
        """Why it cannot be measured; "" if it can."""
        ...

    def build(self, program: Program, batch: int, result_bytes: int, folder: Path) -> Built:
        """Compile a program.

        Raises:
            BenchmarkError: it cannot.
        """
        ...


@dataclass(frozen=True)
class Tfc:
    """tfc's tfcompile with these flags."""

    name: str
    flags: tuple[str, ...] = ()

    def absent(self) -> str:
        """It is always there."""
        return ""

    def build(self, program: Program, batch: int, result_bytes: int, folder: Path) -> Built:
        (folder / "model.py").write_text(
            "from benchmarks.ahead.in_tfc import function\n"
            f'run = function("{program.key}", {batch})\n'
        )
        command = [sys.executable, "-c", "from tfc.aot.tfcompile import main; main()",
                   "--graph", "model.py:run", "--cpp_class", "Computation",
                   "--out_header", "model.h", "--out_function_object", "model.o",
                   *self.flags]  # fmt: skip
        seconds = compiling_seconds(command, folder)
        sizes = (program.argument(batch).nbytes, result_bytes)
        made = link(folder, "model.h", "Computation", sizes, ["model.o"], ["-std=c++11"])
        written = sizes_of(folder, ["model.h", "model.o"])
        return Built((str(made),), True, seconds, written, made.stat().st_size, libraries(made))


# Of the sources that the wheel has, those that these programs need; the first for images alone.
_CONVOLUTIONS = "xla/backends/cpu/runtime/convolution_lib_f32_2d.cc"
_RUNTIME = (
    "xla/backends/cpu/runtime/dot_lib_f32.cc",
    "xla/backends/cpu/runtime/rng_state_lib.cc",
    "xla/executable_run_options.cc",
    "xla/service/custom_call_status.cc",
    "xla/tsl/concurrency/async_value.cc",
    "xla/tsl/concurrency/async_value_ref.cc",
    "xla/tsl/framework/contraction/eigen_contraction_kernel.cc",
    "xla/tsl/platform/default/env_time.cc",
    "tensorflow/compiler/tf2xla/allocator.cc",
    "tensorflow/compiler/tf2xla/xla_compiled_cpu_function.cc",
)


@dataclass(frozen=True)
class Tensorflow:
    """`saved_model_cli aot_compile_cpu`, and the sources that it needs at run time.

    python: that has TensorFlow. cpu: LLVM's name of the processor, "" for the command's default.
    march: for the sources. cache: where what is made of the sources stays from run to run.
    """

    name: str
    python: str
    cpu: str
    march: tuple[str, ...]
    cache: Path

    def absent(self) -> str:
        return "" if version(self.python, "tensorflow", "tensorflow_cpu") else "not installed"

    def build(self, program: Program, batch: int, result_bytes: int, folder: Path) -> Built:
        saved = folder.parent / f"{program.key}-{batch}-saved"
        if not saved.exists():
            code = [self.python, "-m", "benchmarks.ahead.in_tensorflow"]
            run([*code, program.key, str(batch), str(saved)], folder)
        command = [
            self.python, "-m", "tensorflow.python.tools.saved_model_cli", "aot_compile_cpu",
            "--dir", str(saved), "--tag_set", "serve", "--signature_def_key", "serving_default",
            "--output_prefix", "model", "--cpp_class", "Computation",
            *(["--target_cpu", self.cpu] if self.cpu else []),
        ]  # fmt: skip
        seconds = compiling_seconds(command, folder)
        written = ["model.h", "model.o", "model_constants.o", "model_metadata.o"]
        # The metadata repeats the weights, and Run() does not need it.
        objects = ["model.o", "model_constants.o", *map(str, self._runtime(program.images))]
        package = self._package()
        flags = ["-std=c++17", f"-I{package / 'include'}", *self.march, f"-L{package}",
                 "-l:libtensorflow_framework.so.2", f"-Wl,-rpath,{package}",
                 "-Wl,--allow-shlib-undefined"]  # fmt: skip
        sizes = (program.argument(batch).nbytes, result_bytes)
        made = link(folder, "model.h", "Computation", sizes, objects, flags)
        return Built(
            (str(made),), True, seconds, sizes_of(folder, written), made.stat().st_size,
            libraries(made),
        )  # fmt: skip

    def _package(self) -> Path:
        code = "import importlib.util as u; print(u.find_spec('tensorflow').origin)"
        command = [self.python, "-c", code]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        return Path(shown.stdout.strip()).parent

    def _runtime(self, images: bool) -> list[Path]:
        """The objects of the sources; those that are there are not made again."""
        kind = "-".join(["tensorflow", version(self.python, "tensorflow", "tensorflow_cpu"),
                         *(m.removeprefix("-march=") for m in self.march)])  # fmt: skip
        folder = self.cache / kind
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            sources = [*([_CONVOLUTIONS] if images else []), *_RUNTIME]
            return list(pool.map(lambda source: self._object(source, folder), sources))

    def _object(self, source: str, folder: Path) -> Path:
        package, made = self._package(), folder / f"{Path(source).stem}.o"
        sources = package / "xla_aot_runtime_src"
        if not made.exists():
            command = ["c++", "-std=c++17", "-O3", "-DNDEBUG", "-w", "-ffunction-sections",
                       "-fdata-sections", f"-I{package / 'include'}", f"-I{sources}"]  # fmt: skip
            part = made.with_suffix(".part")
            flags = ["-c", str(sources / source), "-o", str(part)]
            try:
                run([*command, *self.march, *flags], folder)
            except BenchmarkError:
                # Eigen's convolutions are ambiguous to some compilers for AVX-512.
                run([*command, *(["-march=x86-64-v3"] if self.march else []), *flags], folder)
            part.rename(made)
        return made


@dataclass(frozen=True)
class Iree:
    """iree-compile for this processor, given tfc's StableHLO; measured with its own program."""

    name: str
    python: str

    def absent(self) -> str:
        return "" if version(self.python, "iree-base-compiler") else "not installed"

    def build(self, program: Program, batch: int, result_bytes: int, folder: Path) -> Built:
        code = (
            "import tfc\nfrom pathlib import Path\n"
            "from benchmarks.ahead.in_tfc import function\n"
            "from benchmarks.ahead.programs import PROGRAMS\n"
            f'x = PROGRAMS["{program.key}"].argument({batch})\n'
            f'lowered = tfc.jit(function("{program.key}", {batch})).lower(x)\n'
            'Path("model.mlir").write_text(lowered.as_text("stablehlo"))\n'
        )
        run([sys.executable, "-c", code], folder)
        compiler = str(Path(self.python).parent / "iree-compile")
        command = [compiler, "model.mlir", "-o", "model.vmfb", "--iree-input-type=stablehlo",
                   "--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host",
                   "--iree-opt-level=O3"]  # fmt: skip
        seconds = compiling_seconds(command, folder)
        served = (self.python, "-m", "benchmarks.ahead.in_iree", str(folder / "model.vmfb"))
        return Built(served, False, seconds, sizes_of(folder, ["model.vmfb"]), None,
                     ("IREE's runtime",))  # fmt: skip


@dataclass(frozen=True)
class OnnxRuntime:
    """ONNX Runtime in one thread, from Python with arguments and results bound once."""

    name: str
    python: str

    def absent(self) -> str:
        there = version(self.python, "onnxruntime") and version(self.python, "onnx")
        return "" if there else "not installed"

    def build(self, program: Program, batch: int, result_bytes: int, folder: Path) -> Built:
        command = [self.python, "-m", "benchmarks.ahead.in_onnx"]
        run([*command, "save", program.key, str(batch), "model.onnx"], folder)
        return Built((*command, str(folder / "model.onnx")), False, 0.0,
                     sizes_of(folder, ["model.onnx"]), None, ("libonnxruntime",))  # fmt: skip


def version(python: str, *packages: str) -> str:
    """That of the first of these that a Python has; "" if it has none."""
    code = (
        "import sys\nfrom importlib.metadata import PackageNotFoundError, version\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n        print(version(name))\n        break\n"
        "    except PackageNotFoundError:\n        pass\n"
    )
    shown = subprocess.run([python, "-c", code, *packages], capture_output=True, text=True,
                           check=False)  # fmt: skip
    return shown.stdout.strip()


def contenders(tensorflow: str, iree: str, onnxruntime: str, cache: Path) -> list[Contender]:
    """All of them, in the order of the table; the first are tfc's."""
    return [
        Tfc("tfc"),
        Tfc("tfc, native", ("--target_cpu", "native")),
        Tensorflow("tfcompile", tensorflow, "", (), cache),
        Tensorflow("tfcompile, native", tensorflow, Target.host().cpu, ("-march=native",), cache),
        Iree("IREE", iree),
        OnnxRuntime("ONNX Runtime", onnxruntime),
    ]
