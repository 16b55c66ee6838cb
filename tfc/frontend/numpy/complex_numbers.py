"""Complex numbers in the NumPy namespace: parts, conjugate, angle."""

from tfc.frontend import operations as ops
from tfc.frontend.numpy.functions import arctan2, as_float
from tfc.frontend.numpy.parts import is_complex, parts
from tfc.frontend.operations import full_like, operation
from tfc.frontend.promotion import as_tensor, dtype_of
from tfc.frontend.tensor import ArrayLike, Tensor, alias, traceable
from tfc.hlo.shape import element_type_of


@traceable
def real(x: ArrayLike, /) -> Tensor:
    """The real part; of a real array the array itself."""
    tensor = as_tensor(x)
    return operation("real", tensor) if is_complex(tensor) else tensor


@traceable
def imag(x: ArrayLike, /) -> Tensor:
    """The imaginary part; of a real array zeros of its type."""
    tensor = as_tensor(x)
    return operation("imag", tensor) if is_complex(tensor) else full_like(0, tensor)


@alias("conjugate")
def conj(x: ArrayLike, /) -> Tensor:
    """The complex conjugate; of a real array the array itself."""
    tensor = as_tensor(x)
    if not is_complex(tensor):
        return tensor
    along, across = parts(tensor)
    return operation("complex", along, operation("negate", across))


@traceable
def angle(x: ArrayLike, deg: bool = False) -> Tensor:
    """The argument, in -π … π or in degrees; of a negative real number π."""
    tensor = as_float(x)
    if not is_complex(tensor):
        tensor = ops.stop_gradient(tensor)  # of real numbers it is one of two constants
    turned = arctan2(imag(tensor), real(tensor))
    return turned * full_like(180 / 3.141592653589793, turned) if deg else turned


def iscomplexobj(x: ArrayLike, /) -> bool:
    """True if the dtype is complex, whatever the values."""
    return element_type_of(dtype_of(x)).is_complex
