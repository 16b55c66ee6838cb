"""Calls: functions that move elements, index them, or write some of them."""

from tfc.testing.jax_programs.program import Name, Ref
from tfc.testing.jax_programs.writer import ANY, FLOAT, INT, NUMBER, REAL, Writer, calls


@calls("jnp.transpose")
def _transpose(w: Writer, name: str) -> None:
    x = w.value(low=2)
    rank = len(w.type_of(x).dims)
    w.call(name, x, tuple(w.rng.sample(range(rank), rank)))


@calls("jnp.swapaxes jnp.moveaxis")
def _two_axes(w: Writer, name: str) -> None:
    x = w.value(low=2)
    w.call(name, x, w.axis(x), w.axis(x))


@calls("jnp.ravel jnp.squeeze jnp.atleast_2d lax.rev")
def _alone(w: Writer, name: str) -> None:
    x = w.value(low=1)
    if name == "lax.rev":
        w.call(name, x, (w.axis(x),))
    else:
        w.call(name, x)


@calls("jnp.fliplr jnp.flipud jnp.rot90 jnp.tril jnp.triu jnp.diagonal jnp.diag jnp.trace")
def _matrix(w: Writer, name: str) -> None:
    x = w.value(NUMBER, low=2)
    if name in ("jnp.rot90", "jnp.tril", "jnp.triu") and w.chance(0.5):
        w.call(name, x, w.rng.randint(-1, 2))
    else:
        w.call(name, x)


@calls("jnp.reshape")
def _reshape(w: Writer, name: str) -> None:
    x = w.value(low=1)
    dims = list(w.type_of(x).dims)
    w.rng.shuffle(dims)
    if len(dims) > 1 and w.chance(0.5):
        dims[:2] = [dims[0] * dims[1]]
    if w.chance(0.3):
        dims.insert(w.rng.randint(0, len(dims)), 1)
    w.call(name, x, tuple(dims))


@calls("lax.reshape")
def _reshape_in_order(w: Writer, name: str) -> None:
    x = w.value(low=2)
    dims = w.type_of(x).dims
    order = tuple(w.rng.sample(range(len(dims)), len(dims)))
    w.call(name, x, (dims[0] * dims[1], *dims[2:]), dimensions=order)


@calls("jnp.flip jnp.expand_dims")
def _one_axis(w: Writer, name: str) -> None:
    x = w.value(low=1)
    w.call(name, x, axis=w.axis(x))


@calls("jnp.roll jnp.repeat")
def _roll(w: Writer, name: str) -> None:
    x = w.value(low=1)
    w.call(name, x, w.rng.randint(1, 3), axis=w.axis(x))


@calls("jnp.tile jnp.resize")
def _tile(w: Writer, name: str) -> None:
    x = w.value(low=1)
    w.call(name, x, tuple(w.rng.randint(1, 3) for _ in w.type_of(x).dims))


@calls("jnp.broadcast_to lax.broadcast_in_dim")
def _broadcast(w: Writer, name: str) -> None:
    x = w.value(high=2)
    dims = w.type_of(x).dims
    if name == "jnp.broadcast_to":
        w.call(name, x, (*w.dims(1, 2), *dims))
        return
    rank = len(dims) + 1
    places = sorted(w.rng.sample(range(rank), len(dims)))
    sizes = [w.pick(w.sizes) for _ in range(rank)]
    for place, size in zip(places, dims):
        sizes[place] = size
    w.call(name, x, tuple(sizes), tuple(places))


@calls("jnp.concatenate jnp.stack jnp.hstack jnp.vstack jnp.dstack jnp.column_stack jnp.append")
def _join(w: Writer, name: str) -> None:
    first = w.value(low=1, high=3)
    others = [w.value(dims=w.type_of(first).dims) for _ in range(w.rng.randint(1, 2))]
    if name == "jnp.append":
        w.call(name, first, others[0], axis=w.axis(first))
    elif name in ("jnp.concatenate", "jnp.stack"):
        w.call(name, [first, *others], axis=w.axis(first))
    else:
        w.call(name, [first, *others])


@calls("jnp.split jnp.array_split")
def _split(w: Writer, name: str) -> None:
    x = w.value(low=1)
    w.call(name, x, w.rng.randint(1, 3), axis=w.axis(x))


@calls("jnp.pad")
def _pad(w: Writer, name: str) -> None:
    x = w.value(low=1, high=2)
    widths = tuple((w.rng.randint(0, 2), w.rng.randint(0, 2)) for _ in w.type_of(x).dims)
    mode = w.pick(("constant", "edge", "reflect", "symmetric", "wrap"))
    w.call(name, x, widths, mode=mode)


@calls("lax.pad")
def _pad_inside(w: Writer, name: str) -> None:
    x = w.value(low=1)
    dtype = w.type_of(x).dtype
    zero = w.call("jnp.zeros", (), Name("jnp.bool_" if dtype == "bool" else f"jnp.{dtype}"))
    numbers = [(w.rng.randint(-1, 2), w.rng.randint(-1, 2), w.rng.randint(0, 1))
               for _ in w.type_of(x).dims]  # fmt: skip
    w.call(name, x, zero, numbers)


@calls("lax.slice")
def _slice(w: Writer, name: str) -> None:
    x = w.value(low=1)
    dims = w.type_of(x).dims
    starts = tuple(w.rng.randrange(n) if n else 0 for n in dims)
    stops = tuple(w.rng.randint(s + (s < n), n) for s, n in zip(starts, dims))
    w.call(name, x, starts, stops, tuple(w.rng.randint(1, 2) for _ in dims))


@calls("helpers.strided")
def _strided(w: Writer, name: str) -> None:
    w.call(name, w.value(low=1), w.rng.randint(0, 1), w.rng.randint(2, 5), w.rng.randint(1, 2))


def _scalars(w: Writer, count: int) -> tuple[Ref, ...]:
    return tuple(w.value(("int",), high=0) for _ in range(count))


@calls("lax.dynamic_slice lax.dynamic_update_slice")
def _dynamic(w: Writer, name: str) -> None:
    x = w.value(low=1, high=3)
    type_ = w.type_of(x)
    starts = _scalars(w, len(type_.dims))
    sizes = tuple(w.rng.randint(1, n) if n else 0 for n in type_.dims)
    if name == "lax.dynamic_slice":
        w.call(name, x, starts, sizes)
    else:
        w.call(name, x, w.call("lax.slice", x, (0,) * len(sizes), sizes), starts)


@calls("lax.dynamic_index_in_dim")
def _index(w: Writer, name: str) -> None:
    x = w.value(low=1)
    w.call(name, x, *_scalars(w, 1), w.axis(x), w.chance(0.5))


@calls("jnp.take")
def _take(w: Writer, name: str) -> None:
    x = w.value(low=1, high=3)
    indices = w.value(("int",), high=2)
    w.call(name, x, indices, axis=w.axis(x), mode=w.pick(("clip", "wrap", "fill")))


@calls("jnp.take_along_axis")
def _take_along(w: Writer, name: str) -> None:
    x = w.value(low=1)
    w.call(name, x, w.value(("int",), dims=w.type_of(x).dims), axis=w.axis(x))


@calls("helpers.rows")
def _rows(w: Writer, name: str) -> None:
    x = w.value(low=1, high=3)
    first = w.value(("int",), high=2)
    if len(w.type_of(x).dims) > 1 and w.chance(0.5):
        w.call(name, x, first, w.value(("int",), dims=w.type_of(first).dims))
    else:
        w.call(name, x, first)


@calls("helpers.last_rows")
def _last_rows(w: Writer, name: str) -> None:
    w.call(name, w.value(low=1, high=3), w.value(("int",), high=2))


@calls("helpers.at_get")
def _at_get(w: Writer, name: str) -> None:
    w.call(name, w.value(REAL, low=1, high=3), w.value(("int",), high=2), 1)


def _method(w: Writer, x: Ref) -> str:
    real = w.type_of(x).dtype.startswith(("int", "uint", "float", "bfloat"))
    # Sums alone do not depend on the order in which equal indices come.
    return w.pick(("add", "max", "min", "add") if real else ("add",))


@calls("helpers.at")
def _at(w: Writer, name: str) -> None:
    x = w.value(NUMBER, low=1, high=3)
    dims = w.type_of(x).dims
    indices = w.value(("int",), high=2)
    update = w.value((*NUMBER,), dims=(*w.type_of(indices).dims, *dims[1:]))
    update = w.call("lax.convert_element_type", update, Name(f"jnp.{w.type_of(x).dtype}"))
    w.call(name, x, _method(w, x), indices, update, w.pick((None, "drop", "clip")))


@calls("helpers.at_last")
def _at_last(w: Writer, name: str) -> None:
    x = w.value(NUMBER, low=1, high=3)
    dims = w.type_of(x).dims
    indices = w.value(("int",), low=1, high=1)
    update = w.value(NUMBER, dims=(*dims[:-1], *w.type_of(indices).dims))
    update = w.call("lax.convert_element_type", update, Name(f"jnp.{w.type_of(x).dtype}"))
    w.call(name, x, _method(w, x), indices, update)


@calls("helpers.at_slice")
def _at_slice(w: Writer, name: str) -> None:
    x = w.value(low=1, high=3)
    start, step = w.rng.randint(0, 1), w.rng.randint(1, 2)
    stop = w.rng.randint(2, 5)
    update = w.call("helpers.strided", w.like(x), start, stop, step)
    w.call(name, x, "set" if w.chance(0.6) else "add", start, stop, step, update)


@calls("jax.ops.segment_sum jax.ops.segment_max jax.ops.segment_min")
def _segments(w: Writer, name: str) -> None:
    x = w.value(REAL, low=1, high=3)
    places = w.value(("int",), dims=w.type_of(x).dims[:1])
    w.call("helpers.segments", Name(name), x, places, w.rng.randint(1, 4))


@calls("jax.nn.one_hot")
def _one_hot(w: Writer, name: str) -> None:
    w.call(name, w.value(INT, high=2), w.rng.randint(1, 4))


@calls("jnp.eye jnp.arange lax.iota jnp.linspace")
def _fresh(w: Writer, name: str) -> None:
    size, dtype = w.pick(w.sizes), w.dtype(REAL)
    match name:
        case "lax.iota":
            w.call("lax.broadcasted_iota", Name(f"jnp.{dtype}"), (size, w.pick(w.sizes)),
                   w.rng.randint(0, 1))  # fmt: skip
        case "jnp.linspace":
            w.call(name, -1.0, 1.0, size, dtype=Name(f"jnp.{w.dtype(FLOAT)}"))
        case _:
            w.call(name, size, dtype=Name(f"jnp.{dtype}"))


@calls("jnp.diff jnp.ediff1d")
def _differences(w: Writer, name: str) -> None:
    x = w.value(NUMBER, low=1)
    if name == "jnp.diff":
        w.call(name, x, axis=w.axis(x))
    else:
        w.call(name, x)


@calls("jnp.meshgrid jnp.broadcast_arrays")
def _grid(w: Writer, name: str) -> None:
    w.call(name, w.value(ANY, low=1, high=1), w.value(ANY, low=1, high=1))
