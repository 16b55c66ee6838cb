"""Functions and sums that torch defines by others, as files have them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn, special
from tfc.errors import UnsupportedError
from tfc.importers.torch.operators.distances import norms
from tfc.importers.torch.operators.products import add_product
from tfc.importers.torch.operators.reductions import variance
from tfc.importers.torch.table import (
    ATEN,
    COMPOSITE,
    Call,
    axes_of,
    axis_of,
    cast,
    composite,
    wide,
)

# Other names of operators.
_ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctanh": "atanh", "clip": "clamp", "concat": "cat", "concatenate": "cat",
    "divide": "div", "fix": "trunc", "greater": "gt", "greater_equal": "ge", "less": "lt",
    "less_equal": "le", "multiply": "mul", "negative": "neg", "not_equal": "ne",
    "special_expit": "sigmoid", "special_erf": "erf", "special_erfc": "erfc",
    "special_erfinv": "erfinv", "special_exp2": "exp2", "special_expm1": "expm1",
    "special_log1p": "log1p", "special_gammaln": "lgamma", "special_digamma": "digamma",
    "special_round": "round", "subtract": "sub", "true_divide": "div", "arctan2": "atan2",
    "swapaxes": "transpose", "swapdims": "transpose", "__and__": "bitwise_and",
    "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__iand__": "bitwise_and",
    "__ior__": "bitwise_or", "__ixor__": "bitwise_xor",
}  # fmt: skip
_TURNED = {"transpose.int": "default"}  # overloads that the other name has by another name


def enter_aliases() -> None:
    """Enter the rows of operators under their other names, once all are there."""
    for name, same in _ALIASES.items():
        for label, row in list(ATEN.items()):
            own, _, overload = label.partition(".")
            if own == same:
                COMPOSITE[f"{name}.{_TURNED.get(label, overload)}"] = row


# Functions of floats, computed in the dtype of the result.
_UNARY: dict[str, Callable[..., Any]] = {
    "deg2rad": tnp.deg2rad, "frac": lambda x: x - tnp.trunc(x), "rad2deg": tnp.rad2deg,
    "sinc": tnp.sinc, "i0": tnp.i0, "special_i0": tnp.i0, "special_i0e": special.i0e,
    "special_i1": special.i1, "special_i1e": special.i1e, "special_entr": special.entr,
    "special_erfcx": special.erfcx, "special_ndtr": special.ndtr, "special_ndtri": special.ndtri,
    "special_log_ndtr": special.log_ndtr, "special_sinc": tnp.sinc, "special_psi": special.digamma,
    "log_sigmoid": nn.log_sigmoid, "selu": nn.selu,
    "celu": lambda x, alpha=1.0: nn.celu(x, alpha),
    "softshrink": lambda x, bound=0.5: tnp.where(
        x > bound, x - bound, tnp.where(x < -bound, x + bound, 0 * x)),
    "hardshrink": lambda x, bound=0.5: tnp.where((x >= -bound) & (x <= bound), 0 * x, x),
    "threshold": lambda x, bound, value: tnp.where(x <= bound, cast(value, x.dtype), x),
    "softplus": lambda x, beta=1, threshold=20: tnp.where(
        x * beta > threshold, x, nn.softplus(tnp.minimum(x * beta, threshold)) / beta),
    "nan_to_num": lambda x, nan=None, posinf=None, neginf=None: tnp.nan_to_num(
        x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf),
}  # fmt: skip
_TESTS: dict[str, Callable[[Any], Any]] = {
    "isfinite": tnp.isfinite, "isneginf": tnp.isneginf, "isposinf": tnp.isposinf,
    "isreal": tnp.isreal, "signbit": tnp.signbit,
}  # fmt: skip
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "float_power": tnp.power, "floor_divide": tnp.floor_divide, "rsub": lambda a, b: b - a,
    "xlogy": special.xlogy, "special_xlogy": special.xlogy, "special_xlog1py": special.xlog1py,
    "ldexp": lambda a, b: a * tnp.exp2(b), "lcm": tnp.lcm, "max": tnp.maximum, "min": tnp.minimum,
}  # fmt: skip


def _enter_unary(name: str, function: Callable[..., Any]) -> None:
    @composite(f"{name}.default")
    def row(x: Any, *given: Any, node: Call, **named: Any) -> Any:
        return function(wide(cast(x, node.dtype)), *given, **named)


def _enter_test(name: str, function: Callable[[Any], Any]) -> None:
    @composite(f"{name}.default")
    def row(x: Any) -> Any:
        return function(x)


def _enter_binary(name: str, function: Callable[[Any, Any], Any]) -> None:
    overloads = ("default", "Tensor", "Scalar", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor",
                 "Scalar_Self", "Scalar_Other", "self_scalar", "other_scalar", "other")  # fmt: skip
    if name in ("max", "min"):
        overloads = ("other",)

    @composite(*[f"{name}.{overload}" for overload in overloads])
    def row(a: Any, b: Any, alpha: Any = 1, *, node: Call) -> Any:
        a, b = cast(a, node.dtype), cast(b, node.dtype)
        return function(a if alpha == 1 else a * cast(alpha, node.dtype), b)


for _name, _function in _UNARY.items():
    _enter_unary(_name, _function)
for _name, _test in _TESTS.items():
    _enter_test(_name, _test)
for _name, _pair in _BINARY.items():
    _enter_binary(_name, _pair)


@composite("logit.default", "special_logit.default")
def logit(x: Any, eps: float | None = None, *, node: Call) -> Any:
    """log(x / (1 - x)), of numbers that eps keeps away from the ends."""
    x = cast(x, node.dtype)
    x = x if eps is None else tnp.clip(x, eps, 1 - eps)
    return tnp.log(x / (1 - x))


@composite("glu.default")
def glu(x: Any, dim: int = -1) -> Any:
    """One half of a dimension by the sigmoid of the other."""
    return nn.glu(x, axis_of(dim, x.ndim))


@composite("prelu.default", "_prelu_kernel.default")
def prelu(x: Any, weight: Any) -> Any:
    """x, or where it is negative a weight of its channel by x."""
    if weight.ndim == 1:
        weight = tnp.reshape(weight, (-1, *[1] * (x.ndim - 2)) if x.ndim > 1 else [1] * x.ndim)
    return tnp.where(x > 0, x, weight * x)


@composite("rrelu.default")
def rrelu(x: Any, lower: float = 0.125, upper: float = 1 / 3, training: bool = False) -> Any:
    """x, or where it is negative the mean of two slopes by x."""
    if training:
        raise UnsupportedError("rrelu draws its slopes: call .eval() before the export")
    return tnp.where(x >= 0, x, x * ((lower + upper) / 2))


@composite("addcmul.default")
def addcmul(x: Any, a: Any, b: Any, *, value: Any = 1, node: Call) -> Any:
    """x + value · a · b."""
    return x + cast(value, node.dtype) * a * b


@composite("addcdiv.default")
def addcdiv(x: Any, a: Any, b: Any, *, value: Any = 1, node: Call) -> Any:
    """x + value · a / b."""
    return x + cast(value, node.dtype) * a / b


@composite("lerp.Scalar", "lerp.Tensor")
def lerp(a: Any, b: Any, weight: Any, *, node: Call) -> Any:
    """From a to b, as far as a weight says."""
    return a + cast(weight, node.dtype) * (b - a)


@composite("isclose.default")
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Which elements are near each other."""
    return tnp.isclose(a, b, rtol, atol, equal_nan)


@composite("where.Scalar", "where.ScalarSelf", "where.ScalarOther")
def where(test: Any, yes: Any, no: Any, *, node: Call) -> Any:
    """One of two values, by a test."""
    return tnp.where(test, cast(yes, node.dtype), cast(no, node.dtype))


@composite("var.default", "var.dim", "std.default", "std.dim", "std.correction")
def spread(
    x: Any, dim: Any = None, unbiased: Any = True, keepdim: bool = False, *, correction: Any = 1,
    is_root: bool = False,
) -> Any:  # fmt: skip
    """The variances over dimensions."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    count = 1 if correction is None else correction
    return variance(x, dim, correction=count if unbiased else 0, keepdim=keepdim)


def _enter_spreads() -> None:
    def root(x: Any, *given: Any, **named: Any) -> Any:
        return tnp.sqrt(spread(x, *given, **named))

    def both(function: Callable[..., Any]) -> Callable[..., Any]:
        def row(x: Any, dim: Any = None, *given: Any, **named: Any) -> Any:
            axes = axes_of(None if isinstance(dim, bool) else dim, x.ndim)
            keeps = named.get("keepdim", given[1] if len(given) > 1 else False)
            return function(x, dim, *given, **named), tnp.mean(x, axis=axes, keepdims=keeps)

        return row

    for overload in ("default", "dim", "correction"):
        COMPOSITE[f"std.{overload}"] = root
        COMPOSITE[f"std_mean.{overload}"] = both(root)
    for overload in ("default", "dim"):
        COMPOSITE[f"var_mean.{overload}"] = both(spread)


_enter_spreads()


@composite("logsumexp.default", "special_logsumexp.default")
def logsumexp(x: Any, dim: Any, keepdim: bool = False, *, node: Call) -> Any:
    """The logarithm of the sum of exponentials."""
    axes = axes_of(dim, x.ndim)
    return nn.logsumexp(wide(cast(x, node.dtype)), axes, keepdims=keepdim) if x.ndim else x


@composite("norm.Scalar", "norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype",
           "norm.ScalarOpt_dtype")  # fmt: skip
def norm(x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
         node: Call) -> Any:  # fmt: skip
    """The p-norm over dimensions."""
    return vector_norm(x, 2 if p is None else p, dim, keepdim, node=node)


@composite("linalg_vector_norm.default")
def vector_norm(
    x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, node: Call
) -> Any:
    """The p-norm over dimensions, as of a vector."""
    x = wide(x if np.dtype(x.dtype).kind == "c" else cast(x, node.dtype))
    axes = axes_of(dim, x.ndim)
    order = [d for d in range(x.ndim) if d not in axes] + list(axes)
    kept = tuple(x.shape[d] for d in order[: x.ndim - len(axes)])
    flat = tnp.reshape(tnp.transpose(x, tuple(order)), (*kept, -1))
    found = tnp.min(tnp.absolute(flat), axis=-1) if p == -np.inf else norms(flat, p)
    return tnp.expand_dims(found, axes) if keepdim else found


@composite("frobenius_norm.dim")
def frobenius_norm(x: Any, dim: Any, keepdim: bool = False, *, node: Call) -> Any:
    """The root of the sum of squares over dimensions."""
    return vector_norm(x, 2, dim, keepdim, node=node)


@composite("linalg_norm.default")
def linalg_norm(
    x: Any, p: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, node: Call
) -> Any:
    """The norm of a vector, or of a matrix for an order that is given."""
    axes = axes_of(dim, x.ndim)
    if p is None or len(axes) == 1:
        return vector_norm(x, 2 if p is None else p, dim, keepdim, node=node)
    return tnp.linalg.norm(cast(x, node.dtype), p, axes, keepdims=keepdim)


@composite("count_nonzero.default", "count_nonzero.dim_IntList")
def count_nonzero(x: Any, dim: Any = None) -> Any:
    """How many elements are not zero."""
    return tnp.sum(cast(x != 0, np.int64), axis=axes_of(dim, x.ndim))


@composite("aminmax.default")
def extremes(x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest and the largest elements."""
    axes = axes_of(dim, x.ndim)
    return tnp.min(x, axis=axes, keepdims=keepdim), tnp.max(x, axis=axes, keepdims=keepdim)


@composite("nansum.default")
def nansum(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, node: Call) -> Any:
    """The sums over dimensions of what is a number."""
    return tnp.nansum(cast(x, node.dtype), axis=axes_of(dim, x.ndim), keepdims=keepdim)


@composite("nanmean.default")
def nanmean(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The means over dimensions of what is a number."""
    return tnp.nanmean(x, axis=axes_of(dim, x.ndim), keepdims=keepdim)


@composite("trace.default")
def trace(x: Any) -> Any:
    """The sum of a matrix's diagonal."""
    return tnp.trace(x)


@composite("diff.default")
def diff(x: Any, n: int = 1, dim: int = -1, *_: Any) -> Any:
    """The differences of neighbours along a dimension."""
    return tnp.diff(x, n, axis_of(dim, x.ndim))


@composite("baddbmm.default")
def baddbmm(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1, node: Call) -> Any:
    """beta · c + alpha · a @ b, of matrices one by one."""
    return add_product(c, a, b, beta=beta, alpha=alpha, node=node)


@composite("addbmm.default")
def addbmm(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta · c + alpha · the sum of the products of matrices."""
    made = tnp.sum(tnp.matmul(a, b), axis=0) * cast(alpha, c.dtype)
    return made if beta == 0 else made + c * cast(beta, c.dtype)


@composite("addr.default")
def addr(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta · c + alpha · the outer product of two vectors."""
    made = tnp.outer(a, b) * cast(alpha, c.dtype)
    return made if beta == 0 else made + c * cast(beta, c.dtype)


@composite("outer.default", "ger.default")
def outer(a: Any, b: Any) -> Any:
    """The products of each element with each other."""
    return tnp.outer(a, b)


@composite("inner.default")
def inner(a: Any, b: Any) -> Any:
    """The products along the last dimensions."""
    return tnp.inner(a, b)


@composite("vdot.default", "linalg_vecdot.default")
def vecdot(a: Any, b: Any, *, dim: int = -1) -> Any:
    """The products of vectors."""
    return tnp.sum(tnp.conj(a) * b, axis=dim)


@composite("einsum.default")
def einsum(equation: str, operands: Sequence[Any], *, path: Any = None) -> Any:
    """The sum of products that an equation says."""
    return tnp.einsum(equation.replace(" ", ""), *operands)


@composite("tensordot.default")
def tensordot(a: Any, b: Any, dims: Any, others: Any) -> Any:
    """The products over some dimensions of both."""
    return tnp.tensordot(a, b, (tuple(dims), tuple(others)))


@composite("kron.default")
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product."""
    return tnp.kron(a, b)


@composite("bilinear.default")
def bilinear(a: Any, b: Any, weight: Any, bias: Any = None) -> Any:
    """aᵀ weight b for each output, plus a bias."""
    made = tnp.einsum("...i,oij,...j->...o", a, weight, b)
    return made if bias is None else made + bias


@composite("cosine_similarity.default")
def cosine_similarity(a: Any, b: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosines of the angles between vectors."""
    sizes = [tnp.maximum(tnp.sqrt(tnp.sum(v * v, axis=dim, keepdims=True)), eps) for v in (a, b)]
    return tnp.sum(a / sizes[0] * (b / sizes[1]), axis=dim)


@composite("pairwise_distance.default")
def pairwise_distance(
    a: Any, b: Any, p: float = 2, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The distances of vectors."""
    found = norms(a - b + eps, p)
    return found[..., None] if keepdim else found


@composite("cdist.default")
def cdist(a: Any, b: Any, p: float = 2, compute_mode: Any = None) -> Any:
    """The distance of each row of a from each row of b."""
    return norms(a[..., :, None, :] - b[..., None, :, :], p)


@composite("cross.default", "linalg_cross.default")
def cross(a: Any, b: Any, dim: Any = None) -> Any:
    """The cross products along a dimension of three."""
    axis = a.shape.index(3) if dim is None else dim
    return tnp.cross(a, b, axis=axis)
