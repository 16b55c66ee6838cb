"""Arithmetic on the elements of triangular matrices, real or complex."""

from tfc.backends.mlir.arithmetic.complex_arithmetic import COMPLEX_ARITHMETIC
from tfc.backends.mlir.arithmetic.value import Scalar, imaginary_part, make_complex, real_part
from tfc.hlo.shape import F32, ElementType


def computed_in(element_type: ElementType) -> ElementType:
    """The type that matrices of a type are computed in: f32 for narrower floats."""
    return F32 if element_type.is_float and element_type.bits < 32 else element_type


def conjugate(x: Scalar) -> Scalar:
    """The complex conjugate; a real number itself."""
    if not x.element_type.is_complex:
        return x
    return make_complex(real_part(x), -imaginary_part(x))


def real(x: Scalar) -> Scalar:
    """The real part; a real number itself."""
    return real_part(x) if x.element_type.is_complex else x


def divide_by_real(x: Scalar, divisor: Scalar) -> Scalar:
    """The quotient by a real number."""
    if not x.element_type.is_complex:
        return x / divisor
    return make_complex(real_part(x) / divisor, imaginary_part(x) / divisor)


def quotient(x: Scalar, y: Scalar) -> Scalar:
    """x / y of real or complex numbers."""
    return COMPLEX_ARITHMETIC["divide"](x, y) if x.element_type.is_complex else x / y
