"""Special functions, named as in scipy.special: `tfc.special.gammaln(x)`.

They are computed in f64 and rounded to the operands' type; integers become f64. The accuracy that a
docstring states is that of f64, in units in the last place; f32 is good to one.
"""

from tfc.frontend.special.bessel import i0, i0e, i1, i1e
from tfc.frontend.special.entropy import (
    entr,
    expit,
    kl_div,
    log_softmax,
    logit,
    logsumexp,
    rel_entr,
    sinc,
    softmax,
    xlog1py,
    xlogy,
)
from tfc.frontend.special.error import erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri
from tfc.frontend.special.gamma import (
    beta,
    betaln,
    comb,
    digamma,
    factorial,
    gamma,
    gammaln,
    multigammaln,
    polygamma,
)
from tfc.frontend.special.zeta import zeta

__all__ = [
    "beta",
    "betaln",
    "comb",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "expit",
    "factorial",
    "gamma",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "rel_entr",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]
