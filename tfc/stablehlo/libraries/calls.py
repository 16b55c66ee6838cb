"""Custom calls to routines of libraries: the function of Tensors that a table has for each."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.errors import UnsupportedError
from tfc.frontend.operations import full
from tfc.frontend.program import Abstract, trace_function
from tfc.frontend.tensor import Tensor
from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.stablehlo.libraries.lapack import CALLERS, LAPACK, OTHERS, Config
from tfc.stablehlo.operations.operation import Operation

# s, d, c, z: the element type, which the operands have, too.
_LAPACK = re.compile(r"lapack_[sdcz](\w+)_ffi")
_OF_GPUS = ("cu", "hip", "rocm")
Routine = Callable[..., Sequence[Tensor | None]]


def _routine(target: str) -> Routine | None:
    found = _LAPACK.fullmatch(target)
    return LAPACK.get(found[1]) if found else OTHERS.get(target)


def is_known(target: str) -> bool:
    """Whether a custom call is of a routine that has a function here."""
    return _routine(target) is not None


def targets() -> list[str]:
    """The names of all routines that have a function here."""
    return [*(f"lapack_{letter}{name}_ffi" for name in LAPACK for letter in "sdcz"), *OTHERS]


def refusal(target: str) -> UnsupportedError:
    """The error for a routine that has no function here."""
    maker = next((maker for stem, maker in CALLERS.items() if stem in target), "")
    says = f", which {maker} calls," if maker else ""
    advice = "compute it outside of the program, and pass what it gives as an argument"
    if target.startswith(_OF_GPUS):
        advice = "export the program with platforms=['cpu']"
    return UnsupportedError(
        f"{target}{says} is a routine of a library that comes with JAX, which tfc has no code for: "
        f"{advice}"
    )


def called(operation: Operation, target: str) -> list[Instruction]:
    """The results of a routine: a call of the computation that its function is traced into.

    Raises:
        UnsupportedError: there is none, or it is asked for something that it cannot do.
    """
    routine = _routine(target)
    if routine is None:
        raise refusal(target)
    config, shapes = _config(operation), [o.shape for o in operation.operands]
    if not all(isinstance(shape, Shape) for shape in (*shapes, *operation.shapes)):
        raise UnsupportedError(f"{target} takes and gives arrays")
    given = [s for s in operation.shapes if isinstance(s, Shape)]
    arguments = [Abstract(s) for s in shapes if isinstance(s, Shape)]

    def results(*operands: Tensor) -> tuple[Tensor, ...]:
        made = routine(config, *operands)
        return tuple(full(0, shape.dims, shape.element_type) if r is None else r
                     for r, shape in zip(made, given, strict=True))  # fmt: skip

    try:
        program = trace_function(target, results, arguments)
    except (TypeError, ValueError, IndexError, KeyError) as error:
        raise UnsupportedError(f"{target} is called with operands that it does not take") from error
    made = [r.array_shape for r in program.results]
    stated = [s.without_layout() for s in given]
    if [s.without_layout() for s in made] != stated:
        got = ", ".join(s.without_layout() for s in made)
        raise UnsupportedError(f"{target} gives ({got}), not ({', '.join(stated)})")
    call = builder.instruction(
        "call", operation.operands, to_apply=program.computation(), metadata=operation.metadata
    )
    return [builder.instruction("get-tuple-element", [call], index=n) for n in range(len(made))]


def _config(operation: Operation) -> Config:
    """The attributes of a call, as JAX states them."""
    if not operation.has("mhlo.backend_config"):
        return Config({})
    given = operation.attribute("mhlo.backend_config")
    return Config({entry.name: _value(entry.attr) for entry in given}
                  if isinstance(given, ir.DictAttr) else {})  # fmt: skip


def _value(attribute: Any) -> Any:
    return attribute.value if hasattr(attribute, "value") else str(attribute)
