"""Shapes as the runtime sees them, which knows dtypes, dimensions and strides but no HLO."""

from tfc.hlo.shape import AnyShape, Shape
from tfc.runtime.arrays import ArraySpec, Spec


def spec_of(shape: AnyShape) -> Spec:
    """The spec of values of a shape, laid out as it says; a token is the empty tuple."""
    if not isinstance(shape, Shape):
        return tuple(spec_of(s) for s in shape.elements)
    strides = tuple(s * shape.element_type.bytes for s in shape.strides)
    return ArraySpec(shape.element_type.dtype, shape.dims, strides)
