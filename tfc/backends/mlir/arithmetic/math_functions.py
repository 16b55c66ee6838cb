"""The mathematical functions of f32 and f64 Scalars: the names that the emitters use.

Every function is straight-line code of arithmetic, bit operations and selects, with no call, no
branch and no table in memory: loops around it vectorise, GPUs run the same code, and objects need
no library. Errors are below 2 units in the last place over the whole range, subnormal numbers
included; special values are those of C99 Annex F. Narrower floats convert to f32 and back.
"""

from tfc.backends.mlir.arithmetic.error_function import erf
from tfc.backends.mlir.arithmetic.exponential import exp, expm1, logistic, tanh
from tfc.backends.mlir.arithmetic.floating import sqrt
from tfc.backends.mlir.arithmetic.hyperbolic import acosh, asinh, atanh, cosh, sinh
from tfc.backends.mlir.arithmetic.inverse_trigonometry import acos, asin, atan, atan2
from tfc.backends.mlir.arithmetic.logarithm import log, log1p
from tfc.backends.mlir.arithmetic.power import cbrt, rsqrt
from tfc.backends.mlir.arithmetic.power import power as pow
from tfc.backends.mlir.arithmetic.trigonometry import cos, sin, tan

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "erf",
    "exp",
    "expm1",
    "log",
    "log1p",
    "logistic",
    "pow",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
