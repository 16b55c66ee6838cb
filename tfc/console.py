"""What the commands share: errors as one sentence, whole files or none, arguments, results."""

import errno
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import click
import numpy as np

from tfc.errors import InternalError, TfcError
from tfc.files import write_files
from tfc.hlo.fill import random_array
from tfc.hlo.ir import Module
from tfc.hlo.lexer import Lexer
from tfc.hlo.literal_text import parse_literal
from tfc.hlo.shape import Shape, leaves
from tfc.tracebacks import full_tracebacks


class Failure(click.ClickException):
    """An error that ends a command with exit code 1 and a sentence on stderr."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the sentence."""
        click.echo(f"error: {self.message}", file=file or sys.stderr)


class Commands(click.Group):
    """A group of commands whose TfcErrors and OSErrors become Failures, unless --debug is given."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        try:
            with full_tracebacks(bool(ctx.params.get("debug"))):
                return super().invoke(ctx)
        except MemoryError as error:
            raise Failure(f"not enough memory: {error}") from error
        except (TfcError, OSError) as error:
            # Whoever reads our output may stop early, as `head` does: click ends quietly then.
            if ctx.params.get("debug") or getattr(error, "errno", None) == errno.EPIPE:
                raise
            raise Failure(_sentence(error)) from error


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{where}"
    lines = [str(error)]
    for note in getattr(error, "__notes__", ()):
        # Some notes are whole modules, which --debug shows.
        first, more, _ = note.partition("\n")
        lines.append(f"  {first}{' …' if more else ''}")
    if isinstance(error, InternalError):
        lines.append("this is a defect in tfc; `tfc --debug …` shows where")
    return "\n".join(lines)


def write_text(text: str, path: str | None) -> None:
    """Write a text to a file, or to the standard output if there is no path.

    The file appears under its name only when it is complete.
    """
    text = text if text.endswith("\n") else text + "\n"
    if path is None or path == "-":
        click.echo(text, nl=False)
        return
    write_files((Path(path), text.encode()))


# --- Arguments and results ----------------------------------------------------------------------


def arguments_for(module: Module, texts: Sequence[str], seed: int) -> list[np.ndarray]:
    """One array for each leaf of the entry's parameters: those given, then random ones.

    Args:
        texts: .npy files or literals such as "2.5" and "{1, 2}", for the first parameters.

    Raises:
        TfcError: there are too many, or one does not fit its parameter.
    """
    shapes = [s for p in module.entry.parameters for s in leaves(p.shape)]
    if len(texts) > len(shapes):
        raise TfcError(f"{module.name} takes {len(shapes)} arrays, got {len(texts)}")
    given = [_argument(n, text, shape) for n, (text, shape) in enumerate(zip(texts, shapes))]
    generator = np.random.default_rng(seed)
    return given + [random_array(s, generator) for s in shapes[len(given) :]]


def _argument(number: int, text: str, shape: Shape) -> np.ndarray:
    if text.endswith(".npy"):
        return _load(text, shape)
    lexer = Lexer(text, f"--arg {number}")
    literal = parse_literal(lexer, shape)
    if lexer.kind != "end":
        lexer.expected("nothing more")
    return literal.array


def _load(path: str, shape: Shape) -> np.ndarray:
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        message = f"{path} is no .npy file of numbers, or only a part of one"
        raise TfcError(message) from error
    dtype = shape.element_type.dtype
    # NumPy's file format has no name for bf16 and its like: it stores them as opaque bytes.
    return array.view(dtype) if array.dtype == np.dtype(f"V{dtype.itemsize}") else array


def show(number: int, array: np.ndarray, shape: Shape) -> str:
    """A result as text: its number, its shape, and its elements as NumPy shows them."""
    elements = np.array2string(array, separator=" ")
    return f"result {number}: {shape.without_layout()}\n{elements}"
