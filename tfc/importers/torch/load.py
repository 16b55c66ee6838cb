"""from_torch and compile_torch, without torch until a call needs it."""

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tfc.errors import UnsupportedError
from tfc.importers.graph import all_needed_nodes
from tfc.importers.model import Shapes
from tfc.importers.table import unknown_operators
from tfc.importers.torch.model import TorchModel
from tfc.importers.torch.program import Program
from tfc.importers.torch.pt2.program import read_program
from tfc.importers.torch.table import TABLE
from tfc.options import Options
from tfc.tracebacks import api_boundary


def _room(name: str) -> Any:
    """A module of this room that imports torch.

    Raises:
        UnsupportedError: torch is not there.
    """
    try:
        import_module("torch")
    except ModuleNotFoundError:
        raise UnsupportedError(
            "PyTorch's modules need torch, which is not installed: pip install 'tfc[torch]'"
        ) from None
    return import_module(f"tfc.importers.torch.{name}")


@api_boundary
def from_torch(
    source: Any, example_args: Any = None, example_kwargs: Any = None, dynamic_shapes: Any = None,
    shapes: Shapes | None = None, backend: str = "cpu", options: Options | None = None,
) -> Any:  # fmt: skip
    """The function that a PyTorch module is.

    Files are read without torch. Where it is installed, it rewrites those with operators of which
    tfc has no row.

    Args:
        source: a torch.nn.Module, what torch.export.export returns, or the path of a .pt2 file,
            or its bytes.
        example_args, example_kwargs: arguments that a module is exported with: a tuple, a dict.
        dynamic_shapes: which sizes may differ from the example's, as torch.export takes it; calls
            are compiled once for each size.
        shapes: sizes that are open, by the names of inputs or of sizes, as for `tfc.from_onnx`.
        backend, options: where and how calls are compiled, as for `tfc.jit`.

    Raises:
        UnsupportedError: torch is not installed or cannot export the module, or the module has
            operators without a counterpart, which are all named.
        ModelFileError: the file is no exported program.
        TfcError: the file cannot be read.
    """
    if isinstance(source, (str, bytes, os.PathLike)):
        file, program = _from_file(source)
    else:
        file, program = _room("exported").read(source, example_args, example_kwargs, dynamic_shapes)
    return TorchModel(file, program, shapes, backend, options)


def _from_file(source: "str | bytes | os.PathLike[str]") -> tuple[str, Program]:
    """What to call a file, and its program; torch reads what tfc does not, if it is there."""
    file = "the bytes" if isinstance(source, bytes) else os.fspath(source)
    try:
        program = read_program(source if isinstance(source, bytes) else file, file)
        unknown = unknown_operators(list(all_needed_nodes([program.graph])), TABLE, {}, file)
        if unknown is None:
            return file, program
        raise UnsupportedError(
            f"{unknown}; where torch is installed, its definitions of operators are used as well"
        )
    except UnsupportedError:
        if find_spec("torch") is None:
            raise
        return _room("exported").read(source, None, None, None)


def compile_torch(module: Any, example_inputs: Any, **named: Any) -> Any:
    """The backend of torch.compile: torch.compile(model, backend="tfc").

    Forward and backward passes are compiled by tfc for the CPU. Random numbers come from tfc's
    generator, whose key is drawn from torch's at every call: torch.manual_seed decides them.

    Raises:
        UnsupportedError: the program has operators without a counterpart, which are all named.
    """
    return _room("backend").compiled(module, example_inputs, **named)
