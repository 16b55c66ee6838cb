"""Calls: functions that work element by element, and comparisons, choices and conversions."""

from tfc.testing.jax_programs.program import Name
from tfc.testing.jax_programs.writer import (
    ANY,
    FLOAT,
    INEXACT,
    INT,
    NUMBER,
    REAL,
    Writer,
    calls,
)

_FLOATS_TO = ("bfloat16", "float16", "float32")


@calls("""jnp.sin jnp.cos jnp.tan jnp.arctan jnp.sinh jnp.cosh jnp.tanh jnp.arcsinh jnp.exp jnp.exp2
    jnp.expm1 jnp.cbrt jnp.rint jnp.floor jnp.ceil jnp.trunc jnp.sinc jnp.deg2rad jnp.rad2deg
    jnp.isfinite jnp.isinf jnp.isnan jnp.signbit jnp.nan_to_num jnp.i0 lax.erf lax.erfc lax.logistic
    lax.bessel_i1e lax.lgamma lax.digamma jax.nn.relu jax.nn.gelu jax.nn.silu jax.nn.softplus
    jax.nn.elu jax.nn.selu jax.nn.sigmoid jax.nn.hard_tanh jax.nn.log_sigmoid jax.nn.leaky_relu
    jax.nn.relu6 jax.nn.soft_sign jax.nn.hard_sigmoid jax.scipy.special.ndtr
    jax.scipy.special.expit lax.round lax.is_finite""")
def _float(w: Writer, name: str) -> None:
    w.call(name, w.value(FLOAT))


@calls("""jnp.log jnp.log2 jnp.log10 jnp.log1p jnp.sqrt lax.rsqrt jax.scipy.special.entr""")
def _positive(w: Writer, name: str) -> None:
    w.call(name, w.call("jnp.abs", w.value(FLOAT)))


@calls("jnp.arcsin jnp.arccos jnp.arctanh lax.erf_inv jnp.arccosh jax.scipy.special.logit")
def _bounded(w: Writer, name: str) -> None:
    w.call(name, w.call("jax.nn.sigmoid", w.value(FLOAT)))


@calls("""jnp.negative jnp.abs jnp.sign jnp.square jnp.conjugate jnp.real jnp.imag jnp.positive
    jnp.angle jnp.reciprocal""")
def _number(w: Writer, name: str) -> None:
    w.call(name, w.value(NUMBER))


@calls("jnp.bitwise_not lax.population_count lax.clz")
def _bits(w: Writer, name: str) -> None:
    w.call(name, w.value(INT))


def _pair(w: Writer, name: str, kinds: tuple[str, ...]) -> None:
    """Two operands: of one type, or of types that broadcast, or a number as the second."""
    first = w.value(kinds)
    type_ = w.type_of(first)
    if w.chance(0.5):
        second = w.value(kinds, dims=type_.dims)
    elif type_.dims and w.chance(0.5):
        second = w.value(kinds, dims=type_.dims[1:])
    else:
        second = w.value(kinds)
    w.call(name, *([first, second] if w.chance(0.7) else [second, first]))


@calls("jnp.add jnp.subtract jnp.multiply")
def _ring(w: Writer, name: str) -> None:
    _pair(w, name, NUMBER)


@calls("jnp.maximum jnp.minimum jnp.remainder jnp.fmod jnp.floor_divide jnp.true_divide")
def _real_pair(w: Writer, name: str) -> None:
    _pair(w, name, REAL)


@calls("""jnp.arctan2 jnp.hypot jnp.logaddexp jnp.copysign jnp.nextafter jnp.heaviside jnp.fmax
    jnp.fmin""")
def _float_pair(w: Writer, name: str) -> None:
    _pair(w, name, FLOAT)


@calls("jnp.bitwise_and jnp.bitwise_or jnp.bitwise_xor jnp.left_shift jnp.right_shift jnp.gcd")
def _int_pair(w: Writer, name: str) -> None:
    _pair(w, name, INT)


@calls("lax.shift_right_logical lax.shift_left lax.rem lax.max lax.min")
def _strict_pair(w: Writer, name: str) -> None:
    first = w.value(INT)
    w.call(name, first, w.like(first))


@calls("jnp.equal jnp.not_equal jnp.less jnp.less_equal jnp.greater jnp.greater_equal")
def _compare(w: Writer, name: str) -> None:
    _pair(w, name, REAL)


@calls("jnp.logical_and jnp.logical_or jnp.logical_xor")
def _logical(w: Writer, name: str) -> None:
    _pair(w, name, ANY)


@calls("jnp.logical_not")
def _not(w: Writer, name: str) -> None:
    w.call(name, w.value(ANY))


@calls("lax.integer_pow jnp.power")
def _power(w: Writer, name: str) -> None:
    w.call(name, w.value(INEXACT if w.chance(0.7) else INT), w.rng.randint(0, 4))


@calls("jnp.where")
def _where(w: Writer, name: str) -> None:
    first = w.value()
    dims = w.type_of(first).dims
    condition = w.value(("bool",), dims=dims if w.chance(0.6) else dims[1:])
    w.call(name, condition, first, w.value(dims=dims) if w.chance(0.7) else 0)


@calls("lax.select")
def _select(w: Writer, name: str) -> None:
    first = w.value()
    w.call(name, w.value(("bool",), dims=w.type_of(first).dims), first, w.like(first))


@calls("jnp.clip lax.clamp")
def _clip(w: Writer, name: str) -> None:
    x = w.value(REAL)
    if name == "lax.clamp":
        w.call(name, w.like(x), x, w.like(x))
    else:
        w.call(name, x, w.rng.randint(-2, 0), w.rng.randint(0, 3))


@calls("lax.convert_element_type")
def _convert(w: Writer, name: str) -> None:
    # Programs are all in one precision, unless the arguments say otherwise.
    w.call(name, w.value(), Name(f"jnp.{_scalar(w.dtype())}"))


def _scalar(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


@calls("lax.bitcast_convert_type")
def _bitcast(w: Writer, name: str) -> None:
    w.call(name, w.value(INT), Name(f"jnp.{w.dtype(INT)}"))


@calls("lax.reduce_precision")
def _precision(w: Writer, name: str) -> None:
    w.call(name, w.value(FLOAT), w.rng.randint(4, 8), w.rng.randint(3, 12))


@calls("lax.complex")
def _complex(w: Writer, name: str) -> None:
    first = w.value(FLOAT)
    w.call(name, first, w.like(first))
