"""erf for f32 and f64, in straight-line code without a library.

Below one, erf(x) = x + x·E(x²); above, erf(x) = 1 - exp(G(x - 1)), where G approximates the
logarithm of the complementary error function. It matters less the larger x is, and the fit was
weighted so.

Coefficients were computed for tfc as those of `exponential`.
"""

from dataclasses import dataclass

from tfc.backends.mlir.arithmetic.exponential import exp_normal
from tfc.backends.mlir.arithmetic.floating import (
    absolute,
    at_most,
    copy_sign,
    format_of,
    polynomial,
)
from tfc.backends.mlir.arithmetic.value import Scalar, multiply_add, select
from tfc.hlo.shape import F32, F64


@dataclass(frozen=True)
class _ErrorFunction:
    """Constants of one format."""

    small: tuple[float, ...]
    """erf(x)/x - 1 in x²  for |x| ≤ 1."""
    log_complement: tuple[float, ...]
    """log(1 - erf(1 + u)) in u  up to `one`."""
    one: float
    """erf rounds to one from here on."""


# fmt: off
_CONSTANTS = {
    F32: _ErrorFunction(
        small=(  # error 2^-29.5
            0.12837916612625122, -0.3761262893676758, 0.11283618211746216, -0.026855124160647392,
            0.005190725903958082, -0.000803065428044647, 7.919901690911502e-05,
        ),
        log_complement=(  # error of erf 2^-26.9
            -1.8496055603027344, -2.638965368270874, -0.843132495880127, -0.04143562540411949,
            0.009722891263663769, -0.0015698621282353997, -3.9014317735563964e-05,
            0.0001024035009322688, -1.8535958588472567e-05,
        ),
        one=4.0,
    ),
    F64: _ErrorFunction(
        small=(  # error 2^-56.2
            0.1283791670955126, -0.37612638903183876, 0.11283791670958783, -0.026866170645631897,
            0.00522397762924565, -0.0008548327199358272, 0.00012055338161400656,
            -1.4925748180206354e-05, 1.6463247307130268e-06, -1.6372371891698225e-07,
            1.4798357234369911e-08, -1.1876555591839105e-09, 6.762801638832501e-11,
        ),
        log_complement=(  # error of erf 2^-59.0
            -1.8496055099332482, -2.638967514234793, -0.8431072563584053, -0.041561098048180596,
            0.010033825453594306, -0.001977903162829549, 0.00023732541307769977,
            2.6267873148338402e-05, -2.7134582778001717e-05, 9.564490733512085e-06,
            -1.999288878995833e-06, 8.010394861651335e-08, 1.4759010186212197e-07,
            -8.279656499346296e-08, 2.947972729820362e-08, -8.154116832284168e-09,
            1.8256113119204639e-09, -3.2800148817863264e-10, 4.5471671107540324e-11,
            -4.5332808798216705e-12, 2.867282530011877e-13, -8.574925396592907e-15,
        ),
        one=6.0,
    ),
}
# fmt: on


def erf(x: Scalar) -> Scalar:
    """The error function, f32 or f64."""
    constants = _CONSTANTS[format_of(x).element_type]
    magnitude = absolute(x)
    small = multiply_add(x, polynomial(x * x, constants.small), x)
    exponent = polynomial(at_most(magnitude, constants.one) - 1.0, constants.log_complement)
    large = copy_sign(1.0 - exp_normal(exponent), x)
    return select(magnitude < 1.0, small, large)
