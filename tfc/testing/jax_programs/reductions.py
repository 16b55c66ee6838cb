"""Calls: reductions, scans, sorts, products and windows."""

from tfc.testing.jax_programs.program import Name, Ref, Type
from tfc.testing.jax_programs.writer import (
    ANY,
    FLOAT,
    INEXACT,
    NUMBER,
    REAL,
    RefusedByJax,
    Writer,
    calls,
)


def _reduced(w: Writer, name: str, x: Ref) -> None:
    rank = len(w.type_of(x).dims)
    axes = w.rng.sample(range(rank), w.rng.randint(0, min(rank, 2)))
    axis = None if not axes else axes[0] if len(axes) == 1 else tuple(axes)
    w.call(name, x, axis=axis, keepdims=w.chance(0.3))


@calls("jnp.sum jnp.prod")
def _sum(w: Writer, name: str) -> None:
    _reduced(w, name, w.value(NUMBER, low=1))


@calls("jnp.max jnp.min jnp.ptp")
def _max(w: Writer, name: str) -> None:
    _reduced(w, name, w.value(REAL, low=1))


@calls("""jnp.mean jnp.var jnp.std jnp.nansum jnp.nanmax jnp.nanmin jnp.nanmean
    jax.nn.logsumexp jnp.median""")
def _mean(w: Writer, name: str) -> None:
    _reduced(w, name, w.value(FLOAT, low=1))


@calls("jnp.any jnp.all jnp.count_nonzero")
def _any(w: Writer, name: str) -> None:
    _reduced(w, name, w.value(ANY, low=1))


@calls("jnp.argmax jnp.argmin")
def _argmax(w: Writer, name: str) -> None:
    x = w.value(REAL, low=1)
    w.call(name, x, axis=w.axis(x), keepdims=w.chance(0.3))


@calls("jax.nn.softmax jax.nn.log_softmax jax.nn.standardize jnp.linalg.norm")
def _softmax(w: Writer, name: str) -> None:
    x = w.value(FLOAT, low=1)
    w.call(name, x, axis=w.axis(x))


@calls("lax.reduce")
def _reduce(w: Writer, name: str) -> None:
    x = w.value(REAL, low=1)
    w.call("helpers.reduced", x, w.pick(("add", "max", "min")), (w.axis(x),))


@calls("jnp.cumsum jnp.cumprod jnp.nancumsum")
def _cumulative(w: Writer, name: str) -> None:
    x = w.value(REAL, low=1)
    w.call(name, x, axis=w.axis(x))


@calls("lax.cummax lax.cummin lax.cumsum lax.cumlogsumexp")
def _cumulative_max(w: Writer, name: str) -> None:
    x = w.value(FLOAT if "log" in name else REAL, low=1)
    w.call(name, x, axis=w.axis(x), reverse=w.chance(0.5))


@calls("lax.associative_scan")
def _scan(w: Writer, name: str) -> None:
    x = w.value(REAL, low=1)
    w.call(name, Name(w.pick(("jnp.add", "jnp.maximum"))), x, axis=w.axis(x))


@calls("jnp.sort")
def _sort(w: Writer, name: str) -> None:
    x = w.value(REAL, low=1)
    w.call(name, x, axis=w.axis(x), descending=w.chance(0.3))


@calls("jnp.argsort")
def _argsort(w: Writer, name: str) -> None:
    x = w.value(REAL, low=1)
    w.call(name, x, axis=w.axis(x), descending=w.chance(0.3))


@calls("lax.sort")
def _sort_several(w: Writer, name: str) -> None:
    x = w.value(REAL, low=1)
    dims = w.type_of(x).dims
    others = [w.value(REAL, dims=dims) for _ in range(w.rng.randint(1, 2))]
    keys = w.rng.randint(1, 1 + len(others))
    w.call(name, (x, *others), dimension=w.axis(x), is_stable=True, num_keys=keys)


@calls("lax.top_k")
def _top_k(w: Writer, name: str) -> None:
    x = w.value(REAL, low=1)
    size = w.type_of(x).dims[-1]
    w.call(name, x, w.rng.randint(1, max(size, 1)))


@calls("jnp.lexsort")
def _lexsort(w: Writer, name: str) -> None:
    x = w.value(REAL, low=1)
    w.call(name, (x, w.value(REAL, dims=w.type_of(x).dims)), axis=w.axis(x))


@calls("jnp.partition jnp.quantile")
def _partition(w: Writer, name: str) -> None:
    x = w.value(FLOAT, low=1)
    axis = w.axis(x)
    place = 0 if name == "jnp.partition" else w.pick((0.25, 0.5))
    w.call(name, x, place, axis=axis)


@calls("jnp.searchsorted jnp.digitize jnp.interp")
def _search(w: Writer, name: str) -> None:
    table = w.call("jnp.sort", w.value(FLOAT, low=1, high=1))
    x = w.value(FLOAT)
    match name:
        case "jnp.searchsorted":
            w.call(name, table, x, side=w.pick(("left", "right")))
        case "jnp.digitize":
            w.call(name, x, table)
        case _:
            w.call(name, x, table, w.value(FLOAT, dims=w.type_of(table).dims))


@calls("jnp.bincount jnp.nonzero jnp.unique")
def _counted(w: Writer, name: str) -> None:
    if name == "jnp.bincount":
        w.call(name, w.call("jnp.abs", w.value(("int",), low=1, high=1)), length=4)
    else:
        x = w.value(("int", "bool") if name == "jnp.nonzero" else REAL, low=1)
        w.call(name, x, size=w.rng.randint(1, 5), fill_value=0)


@calls("jnp.matmul jnp.dot jnp.inner jnp.outer jnp.vdot jnp.kron jnp.tensordot")
def _product(w: Writer, name: str) -> None:
    x = w.value(NUMBER, low=1, high=3)
    dims = w.type_of(x).dims
    match name:
        case "jnp.matmul" | "jnp.dot":
            y = w.value(NUMBER, dims=(dims[-1], *w.dims(0, 1)))
        case "jnp.inner":
            y = w.value(NUMBER, dims=(*w.dims(0, 1), dims[-1]))
        case "jnp.tensordot":
            y = w.value(NUMBER, dims=(*dims[-1:], *w.dims(0, 1)))
            return void(w.call(name, x, y, axes=1))
        case "jnp.vdot":
            y = w.value(NUMBER, dims=dims)
        case _:
            y = w.value(NUMBER, low=1, high=2)
    w.call(name, x, y)


def void(_: object) -> None:
    """Nothing, whatever is given."""


@calls("jnp.einsum")
def _einsum(w: Writer, name: str) -> None:
    matrix = w.value(NUMBER, low=2, high=2)
    rows, columns = w.type_of(matrix).dims
    formula, dims = w.pick((
        ("ij,jk->ik", (columns, w.pick(w.sizes))), ("ij,kj->ki", (w.pick(w.sizes), columns)),
        ("ij,ik->jk", (rows, w.pick(w.sizes))), ("ij,ij->i", (rows, columns)),
        ("ij,ji->", (columns, rows)), ("ij,j->ji", (columns,)), ("ij,ij->ji", (rows, columns)),
        ("ij,ijk->ik", (rows, columns, w.pick(w.sizes))),
    ))  # fmt: skip
    w.call(name, formula, matrix, w.value(NUMBER, dims=dims))


@calls("lax.dot_general")
def _dot_general(w: Writer, name: str) -> None:
    x = w.value(NUMBER, low=2, high=3)
    dims = w.type_of(x).dims
    y = w.value(NUMBER, dims=dims)
    y = w.call("lax.convert_element_type", y, Name(f"jnp.{w.type_of(x).dtype}"))
    contracted = w.axis(x)
    batch = (w.axis(x),) if w.chance(0.5) else ()
    if contracted in batch:
        raise RefusedByJax
    w.call(name, x, y, (((contracted,), (contracted,)), (batch, batch)))


@calls("jnp.convolve jnp.correlate jnp.polyval jnp.cross jnp.vecdot jnp.vander jnp.trapezoid")
def _vectors(w: Writer, name: str) -> None:
    x = w.value(FLOAT, low=1, high=1)
    if name in ("jnp.vander", "jnp.trapezoid"):
        w.call(name, x)
    elif name in ("jnp.cross", "jnp.vecdot"):
        w.call(name, x, w.like(x))
    else:
        w.call(name, x, w.value(FLOAT, low=1, high=1))


@calls("lax.conv_general_dilated")
def _convolution(w: Writer, name: str) -> None:
    n, c, o = (w.rng.randint(1, 3) for _ in range(3))
    dtype = w.dtype(FLOAT)
    spatial = tuple(w.rng.randint(3, 6) for _ in range(w.rng.randint(1, 2)))
    x = w.new(Type((n, c, *spatial), dtype))
    kernel = w.new(Type((o, c, *(w.rng.randint(1, 3) for _ in spatial)), dtype))
    strides = tuple(w.rng.randint(1, 2) for _ in spatial)
    dilation = tuple(w.rng.randint(1, 2) for _ in spatial)
    w.call("helpers.convolved", x, kernel, strides, w.pick(("SAME", "VALID")), dilation)


@calls("lax.reduce_window")
def _window(w: Writer, name: str) -> None:
    x = w.value(REAL, low=1, high=3)
    rank = len(w.type_of(x).dims)
    size, strides = (tuple(w.rng.randint(1, 2) for _ in range(rank)) for _ in range(2))
    method, padding = w.pick(("add", "max", "min")), w.pick(("SAME", "VALID"))
    w.call("helpers.window", x, method, size, strides, padding)


@calls("""jnp.fft.fft jnp.fft.ifft jnp.fft.rfft jnp.fft.irfft jnp.fft.fft2 jnp.fft.fftshift""")
def _fft(w: Writer, name: str) -> None:
    dtypes = [d for d in ("float32", "complex64") if d in w.dtypes]
    if not dtypes:
        raise RefusedByJax
    x = w.value(INEXACT, low=2 if "2" in name else 1, high=3)
    if w.type_of(x).dtype not in (*dtypes, "float64", "complex128"):
        raise RefusedByJax
    w.call(name, x)


@calls("jax.scipy.linalg.solve_triangular jnp.linalg.matrix_power jax.scipy.linalg.toeplitz")
def _linear(w: Writer, name: str) -> None:
    size, dtype = w.pick((2, 3)), w.dtype(FLOAT)
    if dtype not in ("float32", "float64"):
        raise RefusedByJax
    if name.endswith("toeplitz"):
        w.call(name, w.value(FLOAT, low=1, high=1))
        return
    a = w.value((*FLOAT,), dims=(size, size))
    if name.endswith("power"):
        w.call(name, a, w.rng.randint(0, 3))
        return
    eye = w.call("jnp.eye", size, dtype=Name(f"jnp.{w.type_of(a).dtype}"))
    # XLA multiplies by inverses of blocks, zeros included: what is infinite becomes NaN elsewhere.
    a = w.call("jnp.nan_to_num", w.call("jnp.sin", a))
    a = w.call("jnp.add", a, w.call("jnp.multiply", eye, 4.0))
    b = w.value(FLOAT, dims=(size, *w.dims(0, 1)))
    b = w.call("jnp.nan_to_num", w.call("jnp.sin", b))
    b = w.call("lax.convert_element_type", b, Name(f"jnp.{w.type_of(a).dtype}"))
    w.call(name, a, b, lower=w.chance(0.5))


@calls("""jnp.linalg.inv jnp.linalg.det jnp.linalg.solve jnp.linalg.cholesky jnp.linalg.eigvalsh
    jnp.linalg.svdvals jnp.linalg.pinv jax.scipy.linalg.expm""")
def _factored(w: Writer, name: str) -> None:
    """Of matrices that are far from singular, stacked or not."""
    size, dtype = w.pick((2, 3)), w.dtype(FLOAT)
    if dtype not in ("float32", "float64"):
        raise RefusedByJax
    a = w.value(FLOAT, dims=(*w.dims(0, 1), size, size))
    a = w.call("jnp.nan_to_num", w.call("jnp.sin", a))
    if name.endswith(("cholesky", "eigvalsh")):
        a = w.call("jnp.matmul", a, w.call("jnp.matrix_transpose", a))
    eye = w.call("jnp.eye", size, dtype=Name(f"jnp.{w.type_of(a).dtype}"))
    a = w.call("jnp.add", a, w.call("jnp.multiply", eye, 4.0))
    if not name.endswith("solve"):
        w.call(name, a)
        return
    b = w.call("jnp.nan_to_num", w.call("jnp.sin", w.value(FLOAT, dims=(size, 2))))
    w.call(name, a, w.call("lax.convert_element_type", b, Name(f"jnp.{w.type_of(a).dtype}")))
