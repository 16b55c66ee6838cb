"""Sample arguments of every function of tfc.numpy: what tests call, and the page's table.

A sample says how a function is called in a module (numpy, jax.numpy, tfc.numpy), of which arrays:
by the letters of their dimensions, whose sizes are drawn, the kinds of dtype that the function
takes, and the interval of their numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.frontend.program import Abstract, trace_function
from tfc.frontend.tensor import Tensor
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.shape import Shape, element_type_of

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Sample:
    """How a function is called.

    name: the function's.
    dims: the dimensions of each array, by letters: "mk kn"; "." is a scalar.
    call: (module, *arrays) -> result.
    kinds: of which dtypes the arrays are, by NumPy's letters b, i, u, f, c.
    low, high: between what their numbers lie.
    smooth: whether it has a gradient at almost all points that is not zero.
    of_numpy, of_jax: whether a function of that name there gives the same of these arguments.
    traced: whether it takes Tensors; else its results' shapes depend on values alone.
    """

    name: str
    dims: str
    call: Callable[..., Any]
    kinds: str = "iuf"
    low: float = -3.0
    high: float = 3.0
    smooth: bool = True
    of_numpy: bool = True
    of_jax: bool = True
    traced: bool = True

    def arrays(self, rng: np.random.Generator, dtype: np.dtype) -> Arrays:
        """Arrays to call it with: their sizes and numbers are drawn."""
        sizes = {letter: int(rng.integers(2, 5)) for letter in sorted(set(self.dims))}
        shapes = [[sizes[x] for x in dims if x != "."] for dims in self.dims.split()]
        return [self.array(rng, shape, dtype) for shape in shapes]

    def array(self, rng: np.random.Generator, shape: list[int], dtype: np.dtype) -> np.ndarray:
        """Numbers within the interval, as far as the dtype has them; no two of an array alike."""
        kind = "f" if dtype.kind == "V" else dtype.kind
        count = int(np.prod(shape))
        if kind == "b":
            return rng.integers(0, 2, shape).astype(bool)
        if kind in "iu":
            low = max(self.low * 2, 0 if kind == "u" else -100)
            return rng.integers(round(low), round(self.high * 2) + 1, shape).astype(dtype)
        places = (rng.permutation(count) + rng.uniform(0.2, 0.8, count)) / max(count, 1)
        values = (self.low + (self.high - self.low) * places).reshape(shape)
        if kind == "c":
            values = values + 1j * rng.permutation(values.ravel()).reshape(shape)
        return values.astype(dtype)


def of(name: str, dims: str, kinds: str = "iuf", **options: Any) -> Sample:
    """A sample that calls the function with the arrays, and what `given` names beside them."""
    given = options.pop("given", {})
    after = options.pop("after", ())
    call = options.pop("call", None) or (
        lambda m, *arrays: getattr(m, name)(*arrays, *after, **given)
    )
    return Sample(name, dims, call, kinds, **options)


def each(names: str, dims: str, kinds: str = "iuf", **options: Any) -> list[Sample]:
    """One sample for each of several functions that are called alike."""
    return [of(name, dims, kinds, **options) for name in names.split()]


def joined(names: str, **options: Any) -> list[Sample]:
    """Functions of a list of arrays."""
    return [
        of(name, "mn mn", "biufc", call=lambda m, *xs, f=name: getattr(m, f)(list(xs)), **options)
        for name in names.split()
    ]


def made(name: str, call: Callable[[Any], Any]) -> Sample:
    """Functions that make arrays of nothing."""
    return Sample(name, "", call, "f", smooth=False, of_jax=name != "promote_types")


def every_other(x: Any) -> np.ndarray:
    """True for every second element."""
    return (np.arange(x.size) % 2 == 1).reshape(x.shape)


def flat(results: Any) -> list[Any]:
    """The results of a function: one, or several."""
    return list(results) if isinstance(results, (list, tuple)) else [results]


def sized(m: Any, count: int) -> dict[str, int]:
    """How many elements come back, which NumPy finds out and traced functions are told."""
    return {} if m is np else {"size": count}


# fmt: off
ALL: list[Sample] = [
    # Elementwise functions of one array.
    *each("abs absolute negative positive square", "mn", "iufc"),
    *each("exp expm1 sin cos tan tanh sinh", "mn", "iufc", low=-1.4, high=1.4),
    *each("cosh arctan atan arcsinh asinh sigmoid logistic erf sinc i0 cbrt fabs deg2rad rad2deg "
          "radians degrees exp2 nan_to_num", "mn", "f"),
    *each("arcsin asin arccos acos arctanh atanh", "mn", "f", low=-0.9, high=0.9),
    *each("arccosh acosh", "mn", "f", low=1.1), *each("log1p", "mn", "iuf", low=-0.4),
    *each("log log2 log10 sqrt rsqrt reciprocal", "mn", "f", low=0.2, high=4.0),
    *each("ceil floor trunc fix rint round around sign spacing", "mn", "f", smooth=False),
    *each("signbit isnan isinf isfinite isposinf isneginf", "mn", "f", smooth=False),
    *each("isreal iscomplex logical_not", "mn", "biufc", smooth=False),
    *each("invert bitwise_not bitwise_invert bitwise_count", "mn", "biu", smooth=False),
    *each("real conj conjugate", "mn", "iufc"), of("imag", "mn", "iufc", smooth=False),
    of("angle", "mn", "fc", smooth=False),
    of("frexp", "mn", "f", call=lambda m, x: m.frexp(x)),
    of("modf", "mn", "f"),
    # Of two arrays.
    *each("add subtract multiply", "mn n", "iufc"),
    *each("divide true_divide", "mn n", "fc", low=0.5),
    *each("maximum minimum fmax fmin", "mn n", "iuf"),
    *each("arctan2 atan2 hypot logaddexp logaddexp2 copysign", "mn n", "f", low=0.3),
    *each("power pow float_power", "mn n", "uf", low=0.3, high=2.2),
    *each("fmod mod remainder divmod", "mn n", "f", low=0.6, high=5.0),
    of("floor_divide", "mn n", "f", low=0.6, smooth=False),
    of("heaviside", "mn n", "f", smooth=False), of("nextafter", "mn n", "f", smooth=False),
    of("ldexp", "mn", "f", call=lambda m, x: m.ldexp(x, 3)),
    *each("equal not_equal less less_equal greater greater_equal", "mn n", "biuf", smooth=False),
    *each("logical_and logical_or logical_xor", "mn n", "biuf", smooth=False),
    *each("bitwise_and bitwise_or bitwise_xor", "mn n", "biu", smooth=False),
    *each("left_shift right_shift bitwise_left_shift bitwise_right_shift", "mn n", "iu", low=0,
          high=2, smooth=False),
    *each("gcd lcm", "mn n", "iu", smooth=False),
    *each("isclose allclose array_equal array_equiv", "mn mn", "f", smooth=False),
    of("where", "mn n", "iufc", call=lambda m, x, y: m.where(x.real > 0, x, y)),
    of("clip", "mn", "iuf", call=lambda m, x: m.clip(x, 1, 2)),
    of("packbits", "mn", "bu", given={"axis": 1}, smooth=False),
    of("unpackbits", "mn", "iu", smooth=False, call=lambda m, x: m.unpackbits(
        m.astype(x, m.uint8), axis=0)),
    # Reductions, running totals, statistics.
    *each("sum prod mean", "kmn", "iufc", given={"axis": (0, 2)}),
    *each("var std", "kmn", "fc", given={"axis": 1, "ddof": 1}),
    *each("max min amax amin ptp nanmax nanmin", "kmn", "iuf", given={"axis": 1}),
    *each("nansum nanprod nanmean", "kmn", "iuf", given={"axis": 0}),
    *each("nanvar nanstd", "kmn", "f", given={"axis": 0}),
    *each("median nanmedian", "kmn", "f", given={"axis": (0, 1)}),
    *each("all any", "kmn", "biuf", given={"axis": 1}, smooth=False),
    *each("count_nonzero argmax argmin nanargmax nanargmin", "kmn", "biuf", given={"axis": 1},
          smooth=False),
    *each("cumsum cumprod nancumsum nancumprod cumulative_sum cumulative_prod", "kmn", "iufc",
          given={"axis": 1}),
    *each("quantile nanquantile", "mn", "f", after=(np.array([0.2, 0.7]),), given={"axis": 0}),
    *each("percentile nanpercentile", "mn", "f", after=(30.0,), given={"axis": 1}),
    of("average", "mn n", "f", low=0.2, call=lambda m, x, w: m.average(x, axis=1, weights=w)),
    *each("cov corrcoef", "mn", "f", low=-2),
    of("trace", "mm", "iufc"), of("trapezoid", "mn n", "f"), of("ediff1d", "mn", "if"),
    of("diff", "mn", "if", given={"n": 2, "axis": 0}), of("gradient", "mn", "f"),
    of("unwrap", "mn", "f", low=-9, high=9),
    # Rearranging.
    of("permute_dims", "mn", "biufc", after=((1, 0),)),
    *each("ravel transpose matrix_transpose fliplr flipud flip array copy asarray "
          "asanyarray ascontiguousarray atleast_1d atleast_2d atleast_3d squeeze rot90 "
          "tril triu diagonal diag diagflat", "mn", "biufc"),
    of("reshape", "mn", "biufc", after=(-1,)), of("expand_dims", "mn", "biufc", after=(1,)),
    of("moveaxis", "kmn", "biufc", after=(0, 2)), of("swapaxes", "kmn", "biufc", after=(0, 2)),
    of("rollaxis", "kmn", "biufc", after=(2, 1)), of("roll", "mn", "biufc", after=(2, 1)),
    of("repeat", "mn", "biufc", after=(3,), given={"axis": 0}),
    of("tile", "mn", "biufc", after=((2, 1),)), of("resize", "mn", "biufc", after=((3, 7),)),
    of("pad", "mn", "iuf", after=(2, "reflect")), of("vander", "n", "if", after=(3,)),
    of("broadcast_to", "mn", "biufc", after=((2, 1, 1),), call=lambda m, x: m.broadcast_to(
        x, (2, *x.shape))),
    of("broadcast_arrays", "mn n", "biufc"), of("meshgrid", "m n", "biufc"),
    *joined("concatenate concat stack hstack vstack dstack column_stack"),
    of("append", "mn n", "iuf"), of("block", "mn mn", "iuf", call=lambda m, x, y: m.block(
        [[x, y], [y, x]])),
    of("unstack", "mn", "biufc", given={"axis": 1}),
    of("split", "mn", "biufc", after=([1],)), of("array_split", "mn", "biufc", after=(3, 1)),
    *each("hsplit vsplit", "mn", "biufc", after=([1],)), of("dsplit", "kmn", "biufc", after=([1],)),
    of("astype", "mn", "biuf", call=lambda m, x: m.astype(x, np.float64)),
    # Products.
    *each("dot matmul", "mk kn", "iufc"), *each("inner", "mk nk", "iufc"),
    *each("vdot vecdot", "n n", "iufc"), of("outer", "m n", "iufc"),
    of("tensordot", "mk kn", "iufc", given={"axes": 1}), of("kron", "mk kn", "iufc"),
    of("matvec", "mk k", "iufc"), of("vecmat", "m mk", "iufc"), of("cross", "mx mx", "f",
        call=lambda m, x, y: m.cross(np.ones((1, 3)) * x[:, :1], np.arange(3.0) * y[:, :1])),
    of("einsum", "mk kn", "iufc", call=lambda m, x, y: m.einsum("mk,kn->nm", x, y)),
    of("einsum_path", "mk kn", "f", call=lambda m, x, y: m.einsum_path("mk,kn", x, y)[0],
       smooth=False, of_jax=False),
    of("convolve", "m n", "if"), of("correlate", "m n", "if"),
    # Polynomials.
    *each("polyadd polysub polymul", "m n", "if"), of("polyval", "m nk", "if"),
    of("polydiv", "m n", "f", low=0.5, of_jax=False),
    of("polyder", "m", "if"), of("polyint", "m", "f"),
    of("poly", "m", "f"), of("polyfit", "n", "f", call=lambda m, y: m.polyfit(
        np.arange(float(len(y))), m.astype(y, np.float64), 1)),
    of("roots", "", "f", call=lambda m: m.roots(np.array([1.0, -3, 2])), smooth=False),
    # Creation.
    made("zeros", lambda m: m.zeros((2, 3), m.float32)), made("ones", lambda m: m.ones(3)),
    made("empty", lambda m: m.zeros_like(m.empty((2, 2)))), made("eye", lambda m: m.eye(3, 4, 1)),
    made("identity", lambda m: m.identity(3)), made("tri", lambda m: m.tri(3, 4, -1)),
    made("arange", lambda m: m.arange(2, 9, 3)),
    made("fromfunction", lambda m: m.fromfunction(lambda i, j: i * 2 + j, (2, 3))),
    *(made(name, lambda m, f=name: getattr(m, f)(7)) for name in (
        "bartlett", "blackman", "hamming", "hanning")),
    of("kaiser", ".", "f", low=1, call=lambda m, b: m.kaiser(6, b)),
    of("full", ".", "iuf", call=lambda m, x: m.full((2, 3), x)),
    *each("zeros_like ones_like", "mn", "biufc", smooth=False),
    of("empty_like", "mn", "f", call=lambda m, x: m.zeros_like(m.empty_like(x)), smooth=False),
    of("full_like", "mn .", "iuf"),
    *each("linspace geomspace", "n n", "f", low=0.5, after=(4,)),
    of("logspace", "n n", "f", low=0.1, high=1.2, after=(4,)),
    # Ordering and indexing.
    *each("sort", "mn", "iuf", given={"axis": 0}), of("argsort", "mn", "f", smooth=False),
    of("searchsorted", "m n", "f", call=lambda m, x, y: m.searchsorted(m.sort(x), y),
       smooth=False),
    of("take", "mn", "biufc", after=(np.array([1, 0, 1]),), given={"axis": 1}),
    # What is known without values.
    *(of(name, "mn", "biufc", smooth=False) for name in (
        "ndim", "shape", "size", "isrealobj", "iscomplexobj", "isscalar", "result_type")),
    *(made(name, call) for name, call in {
        "finfo": lambda m: float(m.finfo(m.float32).eps), "iinfo": lambda m: m.iinfo(m.int8).max,
        "isdtype": lambda m: m.isdtype(m.dtype("float32"), "numeric"),
        "issubdtype": lambda m: m.issubdtype(m.float32, m.floating),
        "can_cast": lambda m: m.can_cast(m.int32, m.int8),
        "promote_types": lambda m: m.promote_types(m.int32, m.float32),
        "broadcast_shapes": lambda m: m.broadcast_shapes((2, 1), (3,)),
        "from_dlpack": lambda m: m.from_dlpack(np.arange(3)),
    }.items()),
    # Indexing that is not NumPy's own syntax.
    of("take_along_axis", "mn", "biufc", call=lambda m, x: m.take_along_axis(
        x, np.arange(x.shape[1])[None] % 2, 0)),
    of("put_along_axis", "mn", "iuf", of_numpy=False, call=lambda m, x: m.put_along_axis(
        x, np.arange(x.shape[1])[None] % 2, 7, 0, inplace=False)),
    of("put", "mn", "iuf", of_numpy=False, call=lambda m, x: m.put(
        x, np.array([1, 2]), 7, inplace=False)),
    of("at", "mn", "iuf", of_numpy=False, call=lambda m, x: m.at(x)[0].set(7)),
    of("fill_diagonal", "mm", "iuf", of_numpy=False, call=lambda m, x: m.fill_diagonal(
        x, 7, inplace=False)),
    of("place", "mn", "iuf", of_numpy=False, call=lambda m, x: m.place(
        x, every_other(x), np.array([7]), inplace=False)),
    of("delete", "mn", "biufc", after=(1,), given={"axis": 0}),
    of("insert", "mn mn", "iufc", call=lambda m, x, y: m.insert(x, 1, y[0], axis=0)),
    of("choose", "mn mn", "iuf", call=lambda m, x, y: m.choose(
        np.arange(x.shape[1]) % 2, [x, y])),
    of("select", "mn mn", "iuf", call=lambda m, x, y: m.select([x > 1, x > 0], [x, y], 5)),
    of("piecewise", "mn", "f", call=lambda m, x: m.piecewise(
        x, [x > 1, x < 0], [lambda v: v * 2, 3, lambda v: -v])),
    of("compress", "mn", "biufc", call=lambda m, x: m.compress(
        np.arange(x.shape[1]) % 2 == 0, x, axis=1)),
    of("extract", "mn", "iuf", call=lambda m, x: m.extract(
        every_other(x), x, **sized(m, x.size // 2))),
    of("interp", "m n", "f", call=lambda m, x, y: m.interp(
        x, np.linspace(-3, 3, y.shape[0]), y)),
    of("ix_", "m n", "i", smooth=False),
    *(of(name, "mn", "f", smooth=False, call=lambda m, x, f=name: getattr(m, f)(
        m.where(every_other(x), 1.0, 0.0) * m.exp(x), **sized(m, x.size // 2)))
      for name in ("nonzero", "flatnonzero", "argwhere")),
    *(of(name, "mn", "f", smooth=name in ("unique", "unique_values"), of_jax=name != "unique_all",
         call=lambda m, x, f=name: tuple(flat(getattr(m, f)(x, **sized(m, x.size)))))
      for name in ("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values")),
    *(of(name, "n", "f", call=lambda m, x, f=name: getattr(m, f)(
        x, x[:1], **sized(m, x.size + (f == "union1d") - 1)))
      for name in ("setdiff1d", "setxor1d", "union1d")),
    of("intersect1d", "n", "f", call=lambda m, x: m.intersect1d(x, x[1:], **sized(m, x.size - 1))),
    of("isin", "mn n", "iuf", call=lambda m, x, y: m.isin(x, m.concatenate([y, x[0]])),
       smooth=False),
    of("trim_zeros", "n", "f", traced=False, call=lambda m, x: m.trim_zeros(
        np.concatenate([[0.0, 0], x, [0]]))),
    # Counting, ordering and places.
    of("bincount", "n", "u", smooth=False, call=lambda m, x: m.bincount(
        x, minlength=7) if m is np else m.bincount(x, length=7)),
    of("digitize", "mn", "f", after=(np.array([-1.0, 0, 2]),), smooth=False),
    of("histogram", "mn", "f", after=(4,), given={"range": (-3.0, 3.0)}, smooth=False),
    of("histogram_bin_edges", "mn", "f", after=(5,), smooth=False),
    of("histogram2d", "n n", "f", given={"bins": [np.array([-3.0, 0, 3]), np.array([-3.0, 3])]},
       smooth=False),
    of("histogramdd", "nk", "f", smooth=False, call=lambda m, x: [m.histogramdd(
        x[:, :2], bins=(2, 3), range=[[-3, 3], [-3, 3]])[0]]),
    of("lexsort", "mn", "f", smooth=False, call=lambda m, x: m.lexsort((x[1], m.sign(x[0])))),
    of("sort_complex", "n", "fc", smooth=False),
    of("partition", "mn", "iuf", call=lambda m, x: m.partition(x, 1, axis=1)[:, 1]),
    of("argpartition", "mn", "f", smooth=False, call=lambda m, x: m.argpartition(
        x, 1, axis=1)[:, 1]),
    of("unravel_index", "n", "u", smooth=False, call=lambda m, x: m.unravel_index(x, (3, 4))),
    of("ravel_multi_index", "n n", "u", smooth=False, call=lambda m, x, y: m.ravel_multi_index(
        (x, y), (9, 9), mode="clip")),
    made("indices", lambda m: m.indices((2, 3))), made("diag_indices", lambda m: m.diag_indices(3)),
    made("tril_indices", lambda m: m.tril_indices(3, 1)),
    made("triu_indices", lambda m: m.triu_indices(3, 1, 4)),
    made("mask_indices", lambda m: m.mask_indices(3, np.triu, 1)),
    *(of(name, "mm", "f", smooth=False) for name in (
        "diag_indices_from", "tril_indices_from", "triu_indices_from")),
    # Functions of functions.
    of("apply_along_axis", "kmn", "f", call=lambda m, x: m.apply_along_axis(
        lambda row: m.stack([m.sum(row), m.max(row)]), 1, x)),
    of("apply_over_axes", "kmn", "iuf", call=lambda m, x: m.apply_over_axes(m.sum, x, [0, 2])),
    of("vectorize", "mn n", "iuf", call=lambda m, x, y: m.vectorize(
        lambda a, b: a * b + 1)(x, y)),
]
# fmt: on
SAMPLES = [sample for sample in ALL if sample.name in tnp.__all__]


def functions_of(module: Any) -> set[str]:
    """The public names that are functions."""
    return {n for n in module.__all__ if isinstance(getattr(module, n), FunctionType)}


def evaluated(sample: Sample, arrays: Arrays) -> Any:
    """What the function gives of traced arrays: evaluated without compiling."""
    return evaluate(lambda *xs: sample.call(tnp, *xs), arrays)


def evaluate(function: Callable[..., Any], arrays: Arrays) -> Any:
    """The results of a function of Tensors, traced, and evaluated if they are Tensors."""
    given = [Abstract(Shape(element_type_of(x.dtype), x.shape)) for x in arrays]
    known: list[Any] = []

    def tensors(*xs: Any) -> list[Any]:
        known[:] = flat(function(*xs))
        return [x for x in known if isinstance(x, Tensor)]

    program = trace_function("sample", tensors, given)
    values = iter(evaluate_computation(program.computation(), arrays))
    return [next(values) if isinstance(x, Tensor) else x for x in known]
