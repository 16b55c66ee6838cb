"""from_torch and compile_torch, without torch until they are called."""

from importlib import import_module
from typing import Any

from tfc.errors import UnsupportedError
from tfc.importers.model import Shapes
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
            "PyTorch's models need torch, which is not installed: pip install 'tfc[torch]'"
        ) from None
    return import_module(f"tfc.importers.torch.{name}")


@api_boundary
def from_torch(
    source: Any, example_args: Any = None, example_kwargs: Any = None, dynamic_shapes: Any = None,
    shapes: Shapes | None = None, backend: str = "cpu", options: Options | None = None,
) -> Any:  # fmt: skip
    """The function that a PyTorch module is.

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
    return _room("model").read(
        source, example_args, example_kwargs, dynamic_shapes, shapes, backend, options
    )


def compile_torch(module: Any, example_inputs: Any, **named: Any) -> Any:
    """The backend of torch.compile: torch.compile(model, backend="tfc").

    Forward and backward passes are compiled by tfc for the CPU. Random numbers come from tfc's
    generator, whose key is drawn from torch's at every call: torch.manual_seed decides them.

    Raises:
        UnsupportedError: the program has operators without a counterpart, which are all named.
    """
    return _room("backend").compiled(module, example_inputs, **named)
