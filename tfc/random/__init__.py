"""Random numbers from explicit keys: `tfc.random.normal(key, (3, 4))`, as in jax.random.

A key gives the same numbers whenever it is used, so each use takes a key of its own, from `split`
or `fold_in`. Keys are uint32[2] and the generator is Threefry: the bits, and what follows from
them, are those that JAX draws from the same key. Types are, unless stated, JAX's without its 64-bit
mode: float32, int32 and uint32. May import `tfc.frontend`.
"""

from tfc.random.counts import binomial, multinomial, poisson
from tfc.random.gammas import (
    ball,
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    generalized_normal,
    loggamma,
    t,
)
from tfc.random.integers import bernoulli, categorical, geometric, rademacher, randint
from tfc.random.keys import bits, fold_in, key, key_data, split
from tfc.random.keys import key as PRNGKey
from tfc.random.keys import key_data as wrap_key_data
from tfc.random.multivariate import multivariate_normal, orthogonal
from tfc.random.selection import choice, permutation
from tfc.random.uniforms import (
    cauchy,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    normal,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    uniform,
    wald,
    weibull_min,
)

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
