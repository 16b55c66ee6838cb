"""The demo: train a classifier of handwritten digits in Python, then run it inside a C++ program.

scikit-learn's digits ─► tfc.jit(train step) ─► weights ─► object file + header ─► C++ program
                                                   └► the same predictions ◄──────────┘
"""

import subprocess
import time
from dataclasses import dataclass
from importlib import import_module, resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import tfc.aot
import tfc.numpy as tnp
from tfc import nn
from tfc.errors import TfcError
from tfc.files import write_files
from tfc.frontend.differentiation.gradient import value_and_grad
from tfc.jitted import jit
from tfc.tools.doctor import cxx_compilers

ACCURACY = 0.95
BATCH = 128
LEARNING_RATE = 0.003

Parameters = dict[str, Any]


@dataclass(frozen=True)
class Digits:
    """Images of 8×8 pixels between 0 and 1, a row each, and what they show."""

    images: np.ndarray
    labels: np.ndarray


def demonstrate(out_dir: Path, epochs: int, cxx: str, console: Console) -> bool:
    """Train, compile, build and compare; True if the classifier is good and C++ agrees.

    Args:
        cxx: a C++ compiler to try before the usual ones.

    Raises:
        TfcError: scikit-learn is not installed, or the C++ program cannot be built or run.
    """
    training, held_out = load_digits()
    out_dir.mkdir(parents=True, exist_ok=True)  # what cannot be written is known before the work
    parameters = train(training, epochs, console)
    classify = jit(lambda images: classes(parameters, images))
    predicted = np.asarray(classify(held_out.images))
    accuracy = float(np.mean(predicted == held_out.labels))
    console.print(
        f"accuracy on {len(predicted)} images kept from training: [bold]{accuracy:.4f}[/bold]"
    )
    if accuracy < ACCURACY:
        console.print(f"[red]the classifier should reach {ACCURACY}: train for more epochs[/red]")
        return False

    files = export(parameters, held_out, predicted, out_dir)
    program = build(out_dir, cxx)
    if program is not None:
        files["program"] = program
    console.print(_table(files))
    if program is None:
        console.print(
            "no C++ compiler was found (c++, g++, clang++ or --cxx), so the demo ends here: "
            "the object file and the header are ready to be linked into a program"
        )
        return True
    return _compare(program, files["images"], predicted, console)


# --- The model ----------------------------------------------------------------------------------


def load_digits() -> tuple[Digits, Digits]:
    """Four fifths of scikit-learn's digits to train with, and the rest to test with.

    Raises:
        TfcError: scikit-learn is not installed.
    """
    try:
        dataset: Any = import_module("sklearn.datasets").load_digits()
    except ModuleNotFoundError as error:
        raise TfcError(
            "the demo's images come with scikit-learn: run `pip install 'tfc[demo]'`"
        ) from error
    images = (dataset.data / 16).astype(np.float32)
    labels = dataset.target.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(images))
    first = len(order) * 4 // 5
    train, test = order[:first], order[first:]
    return Digits(images[train], labels[train]), Digits(images[test], labels[test])


def initial_parameters(sizes: tuple[int, ...] = (64, 64, 10)) -> Parameters:
    """Weights and biases of dense layers between the given sizes."""
    generator = np.random.default_rng(1)
    parameters = {}
    for n, (rows, columns) in enumerate(pairwise(sizes)):
        weights = generator.standard_normal((rows, columns)) * np.sqrt(2 / rows)
        parameters[f"w{n}"] = weights.astype(np.float32)
        parameters[f"b{n}"] = np.zeros(columns, np.float32)
    return parameters


def scores(parameters: Parameters, images: Any) -> Any:
    """One number a class for each image, larger where the class is likelier."""
    hidden = nn.relu(images @ parameters["w0"] + parameters["b0"])
    return hidden @ parameters["w1"] + parameters["b1"]


def classes(parameters: Parameters, images: Any) -> Any:
    """The likeliest class of each image."""
    return tnp.argmax(scores(parameters, images), axis=-1).astype(np.int32)


def loss(parameters: Parameters, images: Any, labels: Any) -> Any:
    """The cross-entropy of the classes that the scores stand for, with a little weight decay."""
    right = nn.one_hot(labels, 10) * nn.log_softmax(scores(parameters, images))
    decay = sum(tnp.sum(parameters[name] ** 2) for name in ("w0", "w1"))
    return -tnp.sum(right) / images.shape[0] + 1e-4 * decay


def adam(state: dict[str, Parameters], step: Any, images: Any, labels: Any) -> Any:
    """One step of Adam: the new state, and the loss before it."""
    value, gradients = value_and_grad(loss)(state["parameters"], images, labels)
    new: dict[str, Parameters] = {"parameters": {}, "mean": {}, "square": {}}
    for name, gradient in gradients.items():
        mean = 0.9 * state["mean"][name] + 0.1 * gradient
        square = 0.999 * state["square"][name] + 0.001 * gradient**2
        size = (mean / (1 - 0.9**step)) / (tnp.sqrt(square / (1 - 0.999**step)) + 1e-8)
        new["parameters"][name] = state["parameters"][name] - LEARNING_RATE * size
        new["mean"][name], new["square"][name] = mean, square
    return new, value


def train(digits: Digits, epochs: int, console: Console) -> Parameters:
    """The weights and biases after so many times through the images."""
    parameters = initial_parameters()
    zeros = {name: np.zeros_like(value) for name, value in parameters.items()}
    state = {"parameters": parameters, "mean": zeros, "square": zeros}
    step_function = jit(adam)
    generator = np.random.default_rng(2)
    start, step, value = time.perf_counter(), 0, np.float32(0)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("training", total=epochs)
        for _ in range(epochs):
            order = generator.permutation(len(digits.labels))
            # The last images of an epoch that fill no batch take their turn in another.
            for first in range(0, len(order) - BATCH + 1, BATCH):
                chosen = order[first : first + BATCH]
                step += 1
                state, value = step_function(
                    state, np.float32(step), digits.images[chosen], digits.labels[chosen]
                )
            progress.update(task, advance=1, description=f"training, loss {float(value):.3f}")
    seconds = time.perf_counter() - start
    console.print(f"trained in {seconds:.1f} s: {step} steps, loss {float(value):.4f}")
    return state["parameters"]


# --- The C++ program ----------------------------------------------------------------------------


def export(
    parameters: Parameters, held_out: Digits, predicted: np.ndarray, out_dir: Path
) -> dict[str, Path]:
    """Write the compiled model, the images, Python's predictions, and the C++ program's text."""
    image = np.zeros(64, np.float32)
    tfc.aot.compile(
        lambda pixels: classes(parameters, pixels),
        image,
        cpp_class="digits::Classifier",
        out_dir=str(out_dir),
        name="classifier",
    )
    files = {
        "object file": out_dir / "classifier.o",
        "header": out_dir / "classifier.h",
        "images": out_dir / "images.bin",
        "predictions": out_dir / "predictions.txt",
        "C++ source": out_dir / "main.cc",
    }
    write_files(
        (files["images"], held_out.images.tobytes()),
        (files["predictions"], "".join(f"{p}\n" for p in predicted).encode()),
        (files["C++ source"], resources.files("tfc.tools").joinpath("demo_main.cc").read_bytes()),
    )
    return files


def build(out_dir: Path, cxx: str) -> Path | None:
    """The C++ program, built; None if there is no compiler.

    Raises:
        TfcError: the compiler refuses.
    """
    compilers = cxx_compilers(cxx)
    if not compilers:
        return None
    command = [compilers[0], "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror"]
    _run([*command, "-o", "digits", "main.cc", "classifier.o"], out_dir)
    return out_dir / "digits"


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        raise TfcError(f"`{' '.join(command)}` failed:\n{error.stderr}") from error


def _compare(program: Path, images: Path, predicted: np.ndarray, console: Console) -> bool:
    """Whether the C++ program sees the same digits."""
    done = _run([str(program.absolute()), images.name], program.parent)
    seen = np.array(done.stdout.split(), np.int64)
    same = int(np.sum(seen == predicted)) if seen.shape == predicted.shape else 0
    colour = "green" if same == len(predicted) else "red"
    console.print(f"[{colour}]C++ and Python: {same} of {len(predicted)} agree[/{colour}]")
    console.print(f"in C++: {done.stderr.strip()}")
    return same == len(predicted)


def _table(files: dict[str, Path]) -> Table:
    table = Table("made", "file", box=None)
    table.add_column("bytes", justify="right")
    for what, path in files.items():
        table.add_row(what, str(path), f"{path.stat().st_size:,}")
    return table
