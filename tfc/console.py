"""What the commands share: errors as one sentence, whole files or none, arguments, results."""

import math
import os
import signal
import statistics
import sys
import time
import warnings
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from io import TextIOWrapper
from pathlib import Path
from threading import Thread
from tokenize import TokenError
from typing import IO, Any
from zipfile import BadZipFile

import click
import numpy as np

from tfc.errors import InternalError, TfcError
from tfc.files import STANDARD_OUTPUT, abandon, write_files
from tfc.hlo.ir import Module
from tfc.hlo.lexer import Lexer
from tfc.hlo.shape import Shape, leaves
from tfc.hlo.text.fill import random_array
from tfc.hlo.text.literal_text import parse_literal
from tfc.tracebacks import full_tracebacks

INTERRUPTED = 130  # the exit code after Ctrl-C, as shells have it
# Elements of a result: from how many on it is summed up, or not shown whole; those shown then.
_FEW, _MANY, _FIRST = 16, 1000, 8
_SHOW_CURSOR = "\x1b[?25h"  # which progress on a terminal hides


class Failure(click.ClickException):
    """An error that ends a command with exit code 1 and a sentence on stderr."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the sentence."""
        click.echo(f"error: {self.message}", file=file, err=True)


def duration(_: click.Context, __: click.Parameter, seconds: float) -> float:
    """Check an option that is a number of seconds.

    Raises:
        click.BadParameter: it is not above 0, infinite, or not a number.
    """
    if not 0 < seconds < math.inf:
        raise click.BadParameter(f"{seconds} is no time: give a number of seconds above 0")
    return seconds


class Command(click.Command):
    """A command whose errors become Failures."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _one_sentence():
            return super().invoke(ctx)


class Commands(click.Group):
    """A group of commands whose errors become Failures, unless --debug is given."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        with _one_sentence(bool(ctx.params.get("debug"))):
            return super().invoke(ctx)


@contextmanager
def _one_sentence(debug: bool = False) -> Iterator[None]:
    """Have errors that are the user's or the machine's end the command with a sentence."""
    try:
        with full_tracebacks(debug):
            yield
    except KeyboardInterrupt:
        raise click.exceptions.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # Whoever reads our output may stop early, as `head` does: click ends quietly then.
        raise
    except (TfcError, OSError, MemoryError) as error:
        if debug:
            raise
        raise Failure(_sentence(error)) from error


def build_folders(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that print where the package's files for other build systems are."""
    shared = Path(__file__).parent / "share"

    def say(folder: Path) -> Callable[..., None]:
        def callback(context: click.Context, _: click.Parameter, asked: bool) -> None:
            if asked and not context.resilient_parsing:
                click.echo(str(folder))
                context.exit()

        return callback

    for flag, folder, what in (
        ("--pkgconfigdir", shared / "pkgconfig", "pkg-config's file"),
        ("--mpidir", shared / "mpi", "tfc_mpi.h, for programs with collectives"),
        ("--cmakedir", shared / "cmake" / "tfc", "the files for CMake, Make and Bazel"),
    ):
        command = click.option(
            flag, is_flag=True, is_eager=True, expose_value=False, callback=say(folder),
            help=f"Print the folder of {what}, and exit.",
        )(command)  # fmt: skip
    return command


def run_command(command: click.Command, name: str) -> None:
    """Run a command as a process: it ends with its exit code, and quietly after Ctrl-C."""
    code: Any = INTERRUPTED
    try:
        _heed_interrupts()
        _print_anything()
        warnings.showwarning = _show_warning
        command.main(prog_name=name)
    except KeyboardInterrupt:
        pass
    except SystemExit as ended:
        code = ended.code
    sys.exit(code or _flush())


def _print_anything() -> None:
    """Have names of files that are no text come out as they are, and no character be an error."""
    if isinstance(sys.stdout, TextIOWrapper):
        is_utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
        sys.stdout.reconfigure(errors="surrogateescape" if is_utf8 else "backslashreplace")


def _show_warning(message: Warning | str, *_: Any) -> None:
    """A warning as a sentence, without the line of code that it comes from."""
    click.echo(f"warning: {message}", err=True)


def _flush() -> int:
    """Write what was printed; the exit code if that cannot be done."""
    printed = sys.stdout
    if printed is None:
        return 0
    try:
        printed.flush()
    except OSError as error:
        # What is left would be tried once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), printed.fileno())
        if not isinstance(error, BrokenPipeError):
            click.echo(f"error: {_sentence(error)}", err=True)
        return 1
    return 0


def _heed_interrupts() -> None:
    """Have Ctrl-C end the process wherever it is, leaving no file half-written.

    An exception would not do: compiled code that runs on and on never gets to see it, and libraries
    in the middle of something take it badly. So a thread waits for the signal, which Python notes
    in a pipe.
    """
    if os.name != "posix" or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, lambda *_: None)
    Thread(target=_end_when_interrupted, args=(reading,), daemon=True).start()


def _end_when_interrupted(signals: int) -> None:
    while number := os.read(signals, 1):
        if number[0] == signal.SIGINT:
            abandon()
            if sys.stderr is not None and sys.stderr.isatty():
                os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
            os._exit(INTERRUPTED)


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError) and not isinstance(error, TfcError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
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

    Raises:
        TfcError: it cannot be written, or the standard output is closed.
    """
    text = text if text.endswith("\n") else text + "\n"
    path = STANDARD_OUTPUT if path is None else path
    if path == STANDARD_OUTPUT and sys.stdout is not None:
        click.echo(text, nl=False)
        return
    write_files((Path(path), text.encode()))


# --- Reading files ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """How a command's file is to be read, as far as it is open.

    fill_constants: what to put in place of constants that HLO text leaves out.
    shapes, fixed: sizes and values of a model's inputs.
    outputs: what of a graph is computed. signature, tags: which graph of a SavedModel is.
    inputs: the values of a graph that are given, instead of what its file says.
    """

    fill_constants: str | None = None
    shapes: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    signature: str | None = None
    tags: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how its file is read, as one parameter `reading`."""

    @click.option(
        "--shape",
        "sizes",
        multiple=True,
        metavar="NAME=1,3,224,224",
        help="The sizes of a model's input that are open in its file, or one open size by name.",
    )
    @click.option(
        "--fix",
        "fixed",
        multiple=True,
        metavar="NAME=VALUE|FILE.npy",
        help="A value for a model's input, which then is none any more.",
    )
    @click.option(
        "--outputs",
        default="",
        metavar="NODE,NODE:1,…",
        help="What of a TensorFlow graph to compute.",
    )
    @click.option(
        "--inputs",
        default="",
        metavar="NODE,NODE:1,…",
        help="The values of a TensorFlow graph that are given; what is before them is left out.",
    )
    @click.option("--signature", metavar="NAME", help="Which function of a SavedModel is meant.")
    @click.option(
        "--tag", "tags", multiple=True, metavar="TAG", help="Which graph of a SavedModel is meant."
    )
    @click.option(
        "--fill-constants",
        is_flag=False,
        flag_value="random",
        metavar="[random[:SEED]|zeros|iota]",
        help="Make up the constants that the text leaves out as {...}: random ones by default.",
    )
    @wraps(command)
    def reading(
        *args: Any, sizes: Sequence[str], fixed: Sequence[str], fill_constants: Any,
        inputs: str, outputs: str, signature: str | None, tags: tuple[str, ...], **named: Any,
    ) -> Any:  # fmt: skip
        given = Reading(
            fill_constants, dict(map(sizes_given, sizes)), dict(_value(text) for text in fixed),
            tuple(name for name in outputs.split(",") if name), signature, tags,
            tuple(name for name in inputs.split(",") if name),
        )  # fmt: skip
        return command(*args, reading=given, **named)

    return reading


def sizes_given(text: str) -> tuple[str, Any]:
    """An input's name with its sizes, or a size's with its number.

    Raises:
        click.BadParameter: the text is no such pair.
    """
    name, _, listed = text.rpartition("=")
    sizes: tuple[int, ...] = ()
    with suppress(ValueError):
        sizes = tuple(int(n) for n in listed.split(",")) if listed else ()
        if name:
            return name, sizes[0] if len(sizes) == 1 else sizes
    raise click.BadParameter(f"--shape takes NAME=1,3,224,224, got {text}")


def _value(text: str) -> tuple[str, Any]:
    """An input's name with its value.

    Raises:
        click.BadParameter: the text is no such pair.
    """
    name, _, given = text.rpartition("=")
    if name and given.endswith(".npy"):
        return name, _array(given)
    try:
        if name:
            return name, literal_eval(given)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    raise click.BadParameter(f"--fix takes NAME=VALUE, a number, a list or a .npy file, got {text}")


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


def _array(path: str) -> np.ndarray:
    """The array in a .npy file.

    Raises:
        TfcError: it has none.
    """
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, BadZipFile, TokenError):  # the last is of a damaged header
        array = None
    if not isinstance(array, np.ndarray):  # an archive of several has the same beginning as a zip
        raise TfcError(f"{path} is no .npy file of numbers, or only a part of one")
    return array


def _load(path: str, shape: Shape) -> np.ndarray:
    array = _array(path)
    dtype = shape.element_type.dtype
    # NumPy's file format has no name for bf16 and its like: it stores them as opaque bytes.
    return array.view(dtype) if array.dtype == np.dtype(f"V{dtype.itemsize}") else array


def report(
    executable: Any, arguments: Sequence[np.ndarray], compiled: float, calls: int | None
) -> Iterator[str]:
    """What a run gives, as lines: each result, then how long compiling and running took.

    Args:
        compiled: the seconds that compiling took.
        calls: how often to time the program, which else is run once.
    """
    start = time.perf_counter()
    results = executable(*arguments)
    ran = f"ran in {(time.perf_counter() - start) * 1e3:.3f} ms"
    for number, (array, shape) in enumerate(zip(results, executable.result_shapes)):
        yield show(number, array, shape)
    yield (
        f"compiled in {compiled * 1e3:.1f} ms; "
        f"{_timed(executable, arguments, calls) if calls else ran}"
    )


def _timed(run: Callable[..., Any], arguments: Sequence[np.ndarray], calls: int) -> str:
    """How long calls take, as a sentence."""
    seconds = []
    for _ in range(calls):
        start = time.perf_counter()
        run(*arguments)
        seconds.append(time.perf_counter() - start)
    median, least = (f(seconds) * 1e6 for f in (statistics.median, min))
    return f"{calls} calls: median {median:.2f} µs, least {least:.2f} µs"


def show(number: int, array: np.ndarray, shape: Shape) -> str:
    """A result as text: its number, its shape, and its elements as NumPy shows them.

    Of many elements, their range and mean come first; of very many, only the first ones follow.
    """
    title = f"result {number}: {shape.without_layout()}"
    if array.size > _FEW:
        title += f"\n{_summary(array)}"
    if array.size > _MANY:
        first = np.array2string(array.reshape(-1)[:_FIRST], separator=" ")
        return f"{title}\nfirst: {first[:-1]} ...]"
    return f"{title}\n{np.array2string(array, separator=' ')}"


def _summary(array: np.ndarray) -> str:
    """The range and the mean of the elements, of complex ones their magnitudes'."""
    is_complex = array.dtype.kind == "c"
    numbers = np.abs(array) if is_complex else array.astype(np.float64)
    known = numbers[~np.isnan(numbers)]
    missing = f", {array.size - known.size} NaN" if known.size < array.size else ""
    if not known.size:
        return f"all {array.size} are NaN"
    with np.errstate(all="ignore"):
        mean = known.mean()
    what = "magnitudes: " if is_complex else ""
    return f"{what}min {known.min():g}, max {known.max():g}, mean {mean:g}{missing}"
