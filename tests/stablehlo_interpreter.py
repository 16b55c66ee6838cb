"""StableHLO's own interpreter as a further oracle: it runs a program operation by operation."""

from typing import Any

import numpy as np
from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo
from xla_bridge import apart


def interpret_stablehlo(text: str, *arrays: Any) -> list[np.ndarray]:
    """The results of a StableHLO program's @main, interpreted in another process.

    Raises:
        OracleCrash: the interpreter ended its process, as it does for operations that it lacks.
        RuntimeError: it refused the program.
    """
    return apart(_interpret, text, arrays)


def _interpret(text: str, *arrays: Any) -> list[np.ndarray]:
    with ir.Context() as context:
        _stablehlo.register_dialect(context)
        module = ir.Module.parse(text)
        main = next(op for op in module.body.operations if op.name.value == "main")
        given = [_attribute(a, t) for a, t in zip(arrays, main.type.inputs, strict=True)]
        results = _stablehlo.eval_module(module, given)
        return [np.array(r) for r in results]


def _attribute(array: Any, kind: Any) -> Any:
    array = np.ascontiguousarray(array)
    if array.dtype == np.bool_ and array.size:  # packed bits would be ambiguous below a byte
        return ir.DenseElementsAttr.get([ir.BoolAttr.get(bool(b)) for b in array.flat], kind)
    shape = list(kind.shape)
    return ir.DenseElementsAttr.get(array.reshape(shape), type=kind.element_type, shape=shape)
