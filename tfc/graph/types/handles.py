"""Handles: the values of tensors of dtype resource."""

from dataclasses import dataclass

from tfc.graph.types.dtypes import DType
from tfc.graph.types.shapes import TensorShape


@dataclass(frozen=True)
class Handle:
    """The value of a tensor of dtype resource: names a variable."""

    name: str
    dtype: DType
    shape: TensorShape
