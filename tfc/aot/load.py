"""What a command line names: a file of any kind that tfc reads, or a Python function."""

import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, TypeVar

from tfc.aot.batches.options import report_batches
from tfc.aot.batches.programs import Asked, Make, programs
from tfc.aot.batches.sources import batched_model, batched_source
from tfc.aot.formats import AS_IT_IS, accepted, read_module, read_program
from tfc.aot.interface import Batched
from tfc.aot.source import described_arguments, module_of
from tfc.console import Reading
from tfc.errors import TfcError
from tfc.hlo.ir import Module

Found = TypeVar("Found")
_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_FUNCTION = re.compile(rf"(?:{_DOTTED}|.+\.py):{_DOTTED}")


def load(graph: str, args: Sequence[Any] = (), reading: Reading = AS_IT_IS) -> Module:
    """The module that a text names, its arrays row-major.

    Args:
        graph: a file of a kind that has a row in formats.py, "-" for the standard input, or a
            function as module:function or file.py:function; Python modules are also looked for in
            the current folder.
        args: the function's arguments, as `module_of` takes them. If there are none, and the
            defaults of its parameters are descriptions of arrays, it is those.
        reading: how to read a file, as far as it is open.

    Raises:
        TfcError: it is of no accepted kind, cannot be read or traced, or does not fit.
    """
    if _is_function(graph):
        return _run(graph, lambda: _traced(_function(graph), args))
    return module_of(_read(graph, lambda: read_module(graph, reading)), args)


def load_sized(
    graph: str, args: Sequence[Any], asked: Asked | None, reading: Reading = AS_IT_IS
) -> Module | Batched:
    """The programs of what a text names for sizes of batch; as `load` if none are asked for.

    Args:
        graph, args, reading: as for `load`; first dimensions that are the batch are open, in
            arguments as in f32[?,8], or in the file.

    Raises:
        TfcError: as there; or no first dimension is open.
    """
    if asked is None:
        return load(graph, args, reading)
    return report_batches(programs(_maker(graph, args, reading), asked))


def _maker(graph: str, args: Sequence[Any], reading: Reading) -> Make:
    """What makes the program for a size of batch."""
    if _is_function(graph):
        function = _run(graph, lambda: _function(graph))
        make = batched_source(function, args or described_arguments(function))
        return lambda size: _run(graph, lambda: make(size))
    program = _read(graph, lambda: read_program(graph, reading))
    if isinstance(program, Module):
        return batched_source(program, args)
    if args:
        raise TfcError(f"{graph} says itself what it takes: leave the arguments out")
    return batched_model(program)


def _is_function(graph: str) -> bool:
    return _FUNCTION.fullmatch(graph) is not None and not os.path.exists(graph)


def _read(graph: str, read: Callable[[], Found]) -> Found:
    """What reading a file gives.

    Raises:
        TfcError: the system has no such file.
    """
    try:
        return read()
    except OSError as error:
        raise TfcError(f"cannot read {graph}: {error.strerror}; pass {_accepted()}") from error


def _accepted() -> str:
    return f"a file of {accepted()}, or a Python function as module:function or file.py:function"


def _traced(function: Callable[..., Any], args: Sequence[Any]) -> Module:
    return module_of(function, args or described_arguments(function))


def _function(graph: str) -> Callable[..., Any]:
    """The function named as module:function or file.py:function."""
    name, _, path = graph.rpartition(":")
    if name.endswith(".py"):
        found = _module_in(Path(name))
    else:
        # As with `python -m`, the current folder counts.
        if "" not in sys.path:
            sys.path.insert(0, "")
        found: Any = import_module(name)
    for attribute in path.split("."):
        if not hasattr(found, attribute):
            raise TfcError(f"the Python module {name} has no '{path}'")
        found = getattr(found, attribute)
    return found


def _module_in(path: Path) -> Any:
    """The Python module in a file, which finds others beside it, as a script does."""
    folder = str(path.parent.absolute())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None  # its name ends with .py
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def _run(graph: str, action: Callable[[], Found]) -> Found:
    """Run the user's Python, whose every exception becomes one sentence."""
    try:
        return action()
    except TfcError:
        raise
    except (Exception, SystemExit) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        inside = not where.filename.startswith("<frozen ")
        place = f" at {where.filename}:{where.lineno}" if inside else ""
        raise TfcError(f"{graph} raised {type(error).__name__}: {error}{place}") from error
