"""Elementwise functions between the layers of networks, by the names of jax.nn.

Derivatives at corners are those of JAX: 0 for relu at 0, and at both ends of what is cut off.
"""

from math import log as log_of
from math import pi
from math import sqrt as sqrt_of

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import square, where
from tfc.frontend.numpy.comparisons import clip
from tfc.frontend.numpy.functions import as_float, exp, log, log1p, logaddexp, sigmoid, sqrt
from tfc.frontend.numpy.manipulation import normalize_axis
from tfc.frontend.numpy.parts import require_real
from tfc.frontend.promotion import as_tensor, cast, widen
from tfc.frontend.special.error import ndtr_of, ndtr_of_single
from tfc.frontend.tensor import FUNCTIONS, ArrayLike, Tensor, evaluable
from tfc.hlo.shape import F64

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _real(name: str, x: ArrayLike) -> Tensor:
    """The operand as real floats.

    Raises:
        TraceError: it is complex.
    """
    tensor = as_float(x)
    require_real(name, tensor)
    return tensor


@evaluable
def identity(x: ArrayLike) -> Tensor:
    """x itself."""
    return as_tensor(x)


@evaluable
def relu(x: ArrayLike) -> Tensor:
    """The larger of x and 0, NaN for NaN; the derivative at 0 is 0."""
    tensor = as_tensor(x)
    require_real("relu", tensor)
    zero = ops.full_like(0, tensor)
    return ops.select(ops.compare("LE", tensor, zero), zero, tensor)


@evaluable
def relu6(x: ArrayLike) -> Tensor:
    """x within 0 … 6; the derivative at both ends is 0."""
    tensor = relu(_real("relu6", x))
    six = ops.full_like(6, tensor)
    return ops.select(ops.compare("GE", tensor, six), six, tensor)


@evaluable
def softplus(x: ArrayLike) -> Tensor:
    """log(1 + exp(x)) without overflow."""
    return logaddexp(x, 0)


@evaluable
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Tensor:
    """(x + sqrt(x² + b)) / 2: a softplus without exponentials."""
    tensor = _real("squareplus", x)
    return (tensor + sqrt(square(tensor) + b)) / 2


@evaluable
def sparse_plus(x: ArrayLike) -> Tensor:
    """0 up to -1, x from 1 on, (x + 1)² / 4 between."""
    tensor = _real("sparse_plus", x)
    zero = ops.full_like(0, tensor)
    between = square(tensor + 1) / 4
    return where(tensor <= -1, zero, where(tensor >= 1, tensor, between))


@evaluable
def sparse_sigmoid(x: ArrayLike) -> Tensor:
    """(x + 1) / 2 within 0 … 1."""
    return 0.5 * clip(_real("sparse_sigmoid", x) + 1, 0, 2)


@evaluable
def soft_sign(x: ArrayLike) -> Tensor:
    """x / (|x| + 1)."""
    tensor = _real("soft_sign", x)
    return tensor / (abs(tensor) + 1)


@evaluable
def silu(x: ArrayLike) -> Tensor:
    """x sigmoid(x); called swish, too."""
    tensor = _real("silu", x)
    return tensor * sigmoid(tensor)


@evaluable
def mish(x: ArrayLike) -> Tensor:
    """x tanh(softplus(x))."""
    tensor = _real("mish", x)
    return tensor * FUNCTIONS["tanh"](softplus(tensor))


@evaluable
def log_sigmoid(x: ArrayLike) -> Tensor:
    """log(sigmoid(x)) without overflow."""
    return -softplus(-_real("log_sigmoid", x))


def _expm1_below(x: Tensor, scale: ArrayLike = 1) -> Tensor:
    """exp(min(x, 0) / scale) - 1, whose derivative for larger x is 0 and not infinite."""
    below = where(x > 0, ops.full_like(0, x), x)
    return FUNCTIONS["expm1"](below / scale)


@evaluable
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Tensor:
    """x where it is positive, else alpha (exp(x) - 1)."""
    tensor = _real("elu", x)
    return where(tensor > 0, tensor, alpha * _expm1_below(tensor))


@evaluable
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Tensor:
    """x where it is positive, else alpha (exp(x / alpha) - 1)."""
    tensor = _real("celu", x)
    return where(tensor > 0, tensor, alpha * _expm1_below(tensor, alpha))


@evaluable
def selu(x: ArrayLike) -> Tensor:
    """elu with numbers that keep mean 0 and variance 1 from layer to layer."""
    return _SELU_SCALE * elu(_real("selu", x), _SELU_ALPHA)


@evaluable
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> Tensor:
    """x where it is 0 or more, else x times the slope."""
    tensor = _real("leaky_relu", x)
    return where(tensor >= 0, tensor, negative_slope * tensor)


@evaluable
def hard_tanh(x: ArrayLike) -> Tensor:
    """x within -1 … 1."""
    tensor = _real("hard_tanh", x)
    one = ops.full_like(1, tensor)
    return where(tensor > 1, one, where(tensor < -1, -one, tensor))


@evaluable
def hard_sigmoid(x: ArrayLike) -> Tensor:
    """relu6(x + 3) / 6."""
    return relu6(_real("hard_sigmoid", x) + 3) / 6


@evaluable
def hard_silu(x: ArrayLike) -> Tensor:
    """x hard_sigmoid(x); called hard_swish, too."""
    tensor = _real("hard_silu", x)
    return tensor * hard_sigmoid(tensor)


@evaluable
def gelu(x: ArrayLike, approximate: bool = True) -> Tensor:
    """x times the probability that a normal number is below it.

    Args:
        approximate: by the hyperbolic tangent, as networks are often trained; False takes the
            normal distribution, whose digits are right also far to the left. Halves are computed
            in float32.
    """
    given = _real("gelu", x)
    tensor = widen(given)
    if approximate:
        inner = sqrt_of(2 / pi) * (tensor + 0.044715 * (tensor * tensor * tensor))
        share = 0.5 * (1 + FUNCTIONS["tanh"](inner))
    else:
        is_double = tensor.array_shape.element_type == F64
        share = ndtr_of(tensor) if is_double else ndtr_of_single(tensor)
    return cast(tensor * share, given.dtype)


@evaluable
def glu(x: ArrayLike, axis: int = -1) -> Tensor:
    """The first half along an axis times the sigmoid of the second.

    Raises:
        ShapeError: the axis has an odd number of elements, or does not exist.
    """
    tensor = _real("glu", x)
    place = normalize_axis(axis, tensor.ndim)
    size = tensor.shape[place]
    if size % 2:
        raise ShapeError(f"glu requires an even number of elements along its axis, got {size}")
    first, second = (
        ops.slice_along(tensor, place, start, start + size // 2) for start in (0, size // 2)
    )
    return first * sigmoid(second)


@evaluable
def log1mexp(x: ArrayLike) -> Tensor:
    """log(1 - exp(-x)) for x above 0, exact for small and for large ones."""
    tensor = _real("log1mexp", x)
    is_small = tensor < log_of(2)
    # Neither of the two may meet what belongs to the other: derivatives would be NaN.
    small = where(is_small, tensor, ops.full_like(0.5, tensor))
    large = where(is_small, ops.full_like(1, tensor), tensor)
    return where(is_small, log(-FUNCTIONS["expm1"](-small)), log1p(-exp(-large)))


swish, hard_swish = silu, hard_silu
