"""Calls of StableHLO programs, as files have them that were exported from JAX."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

import tfc.frontend.operations as ops
from tfc.errors import UnsupportedError
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import evaluable
from tfc.graph.operators.registry import operator
from tfc.hlo.ir import Module
from tfc.hlo.shape import Shape, TupleShape, element_type_of
from tfc.imported import read_stablehlo

_PLATFORM = "CPU"


@lru_cache(maxsize=16)
def _module(content: bytes, shapes: tuple[Shape, ...]) -> Module:
    return read_stablehlo(content, "XlaCallModule", shapes)


@operator("XlaCallModule", types="")
def call_module(
    *args: Any,
    module: str | bytes,
    platforms: Sequence[str] = (),
    dim_args_spec: Sequence[str] = (),
    function_list: Sequence[Any] = (),
    has_token_input_output: bool = False,
) -> Any:
    """What a StableHLO program gives; one for several platforms is told which it is on.

    Raises:
        UnsupportedError: it calls functions of TensorFlow, passes tokens, or is not for CPUs.
    """
    if dim_args_spec:
        raise UnsupportedError("XlaCallModule that is given sizes as arguments is not offered")
    if function_list or has_token_input_output:
        raise UnsupportedError("XlaCallModule that calls functions of TensorFlow is not offered")
    if platforms and _PLATFORM not in platforms:
        raise UnsupportedError(
            f"XlaCallModule holds a program for {', '.join(platforms)}: export it for CPUs as well"
        )
    given = list(args)
    if len(platforms) > 1:
        given.insert(0, np.int32(list(platforms).index(_PLATFORM)))
    shapes = tuple(Shape(element_type_of(x.dtype), tuple(x.shape)) for x in given)
    content = module.encode() if isinstance(module, str) else module
    entry = _module(content, shapes).entry

    def called(*values: Any) -> Any:
        made = ops.inlined(entry, [as_tensor(x) for x in values])
        is_tuple = isinstance(made.instruction.shape, TupleShape)
        return tuple(ops.elements(made)) if is_tuple else (made,)

    return evaluable(called)(*given)
