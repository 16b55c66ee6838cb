"""Functions that make tensors shorter where they are too long."""

from collections.abc import Sequence
from typing import Any

from tfc.errors import ShapeError
from tfc.graph.building import result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.arithmetic import multiply, realdiv
from tfc.graph.functions.reductions import reduce_sum
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The tensor, made so long where it is longer."""
    with get_default_graph().name_scope(name or "clip_by_norm") as scope:
        x = convert_to_tensor(t, name="t")
        limit = convert_to_tensor(clip_norm, x.dtype)
        total = reduce_sum(result("Square", x), axes, keepdims=True)
        is_some = result("Greater", total, result("ZerosLike", total))
        one = result("OnesLike", total)
        length = result("Sqrt", result("Select", is_some, total, one))
        length = result("Select", is_some, length, total)
        made = realdiv(multiply(x, limit), result("Maximum", length, limit))
        return result("Identity", made, name=scope)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The length of all tensors of a list together; None is left out."""
    with get_default_graph().name_scope(name or "global_norm") as scope:
        given = [convert_to_tensor(x) for x in t_list if x is not None]
        halves = result("Pack", *(result("L2Loss", x) for x in given), axis=0, N=len(given))
        total = multiply(reduce_sum(halves), convert_to_tensor(2.0, halves.dtype))
        return result("Sqrt", total, name=scope)


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """(tensors, made so long together where they are longer; how long they were)."""
    with get_default_graph().name_scope(name or "clip_by_global_norm"):
        length = global_norm(t_list) if use_norm is None else convert_to_tensor(use_norm)
        limit = convert_to_tensor(clip_norm, length.dtype)
        one = convert_to_tensor(1.0, length.dtype)
        scale = multiply(
            limit, result("Minimum", result("Reciprocal", length), realdiv(one, limit))
        )
        made = [None if x is None else multiply(convert_to_tensor(x), scale) for x in t_list]
        return made, length


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """The tensor, made so long on average where it is longer."""
    x = convert_to_tensor(t)
    count = x.shape.num_elements()
    if count is None:
        raise ShapeError("clip_by_average_norm takes a tensor of known shape")
    limit = multiply(convert_to_tensor(clip_norm, x.dtype), float(count))
    return clip_by_norm(x, limit, name=name or "clip_by_average_norm")
