"""The one place that finds the MLIR Python bindings, without loading them.

The upstream bindings come as the package `mlir`, where somebody built LLVM with them, and inside
torch-mlir, which is what `pip install tfc` brings.
"""

from importlib.util import find_spec

from tfc.errors import UnsupportedError


def _has_bindings(package: str) -> bool:
    """Whether `package` is installed and is more than a placeholder (it must have `.ir`)."""
    try:
        return find_spec(f"{package}.ir") is not None
    except ModuleNotFoundError:  # not installed, or a single-file module
        return False


def _find_provider() -> str:
    """The package that carries the bindings; the real `mlir` is preferred."""
    for package in ("mlir", "torch_mlir"):
        if _has_bindings(package):
            return package
    raise UnsupportedError(
        "tfc generates code through the MLIR Python bindings, which are not installed: "
        "run `pip install torch-mlir`"
    )


PROVIDER: str = _find_provider()
"""The package whose bindings are in use: "mlir" or "torch_mlir"."""
