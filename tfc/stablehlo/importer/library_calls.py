"""Custom calls of routines that come with JAX: computed by tfc's own operations, or refused."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfc.hlo.ir import Instruction
from tfc.runtime.later import later
from tfc.stablehlo.operations.custom_calls import CUSTOM_CALL
from tfc.stablehlo.operations.operation import Operation, Reader, text_of

if TYPE_CHECKING:
    from tfc.stablehlo.libraries import calls
else:
    calls = later("tfc.stablehlo.libraries.calls")  # few programs need them

# How routines of LAPACK, BLAS and their like are named, and others that only JAX's runtime has.
LIBRARIES = ("lapack_", "blas_", "cusolver_", "cublas_", "cu_", "hip", "xla_python_", "xla_ffi_",
             "Qr", "Eigh", "ProductOfElementary", "LuDecomposition",
             "tridiagonal_solve")  # fmt: skip


def _custom_call(operation: Operation) -> Instruction | Sequence[Instruction]:
    target = operation.text("call_target_name")
    if target.startswith(LIBRARIES):
        return calls.called(operation, target)
    return CUSTOM_CALL.read(operation)


def refused_target(mlir: Any) -> str:
    """The target of a custom call of a library's routine that has no function; else ""."""
    if mlir.name != "stablehlo.custom_call" or "call_target_name" not in mlir.attributes:
        return ""
    target = text_of(mlir.attributes["call_target_name"])
    return target if target.startswith(LIBRARIES) and not calls.is_known(target) else ""


READERS: dict[str, Reader] = {"stablehlo.custom_call": _custom_call}
