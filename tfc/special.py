"""Special functions, named as in scipy.special: `tfc.special.gammaln(x)`.

They are computed in f64 and rounded to the operands' type; integers become f64. The accuracy that a
docstring states is that of f64, in units in the last place; f32 is good to one.
"""

from tfc.frontend.special.bessel import i0, i0e, i1, i1e
from tfc.frontend.special.bessel_first_kind import bessel_jn
from tfc.frontend.special.entropy import (
    boxcox,
    boxcox1p,
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
from tfc.frontend.special.exponential import dawsn, exp1, expi, expn, spence
from tfc.frontend.special.gamma import (
    beta,
    betaln,
    comb,
    digamma,
    factorial,
    gamma,
    gammaln,
    gammasgn,
    loggamma,
    multigammaln,
    poch,
    polygamma,
)
from tfc.frontend.special.incomplete_beta import betainc
from tfc.frontend.special.incomplete_gamma import gammainc, gammaincc
from tfc.frontend.special.zeta import bernoulli, zeta

__all__ = [
    "bernoulli",
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "expn",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "poch",
    "polygamma",
    "rel_entr",
    "sinc",
    "softmax",
    "spence",
    "xlog1py",
    "xlogy",
    "zeta",
]
