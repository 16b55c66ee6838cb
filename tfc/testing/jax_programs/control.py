"""Calls: branches, loops, transformations of functions, and random numbers."""

from tfc.testing.jax_programs.program import Ref, Type
from tfc.testing.jax_programs.writer import ANY, FLOAT, INT, NUMBER, REAL, Writer, calls, listed

# What has a derivative everywhere, or nearly.
SMOOTH = listed("""jnp.sin jnp.cos jnp.tanh jnp.multiply jnp.add jnp.subtract jax.nn.sigmoid
    jax.nn.softmax jnp.transpose jnp.sum jnp.cumsum jnp.sort jnp.matmul jnp.flip jnp.roll jnp.take
    jnp.where
    jnp.concatenate jnp.pad jnp.reshape jnp.exp2 jnp.square jnp.einsum jax.nn.softplus jnp.max
    lax.dynamic_slice jnp.mean helpers.rows jnp.tril jnp.expand_dims lax.dynamic_update_slice
    helpers.at_last lax.slice jnp.broadcast_to jnp.swapaxes""")


@calls("lax.cond")
def _cond(w: Writer, name: str) -> None:
    flag = w.call("helpers.truth", w.any())
    xs = [w.value() for _ in range(w.rng.randint(1, 2))]
    types = [w.type_of(x) for x in xs]
    wanted = w.pick(types)
    branches = [w.function(types, [wanted]) for _ in range(2)]
    w.call(name, flag, *branches, *xs)


@calls("lax.switch")
def _switch(w: Writer, name: str) -> None:
    x = w.value()
    type_ = w.type_of(x)
    branches = [w.function([type_], [type_], size=2) for _ in range(3)]
    w.call(name, w.value(("int",), high=0), branches, x)


@calls("lax.fori_loop")
def _fori(w: Writer, name: str) -> None:
    x = w.value()
    counter = Type((), "int64" if "int64" in w.dtypes else "int32")
    body = w.function([counter, w.type_of(x)], [w.type_of(x)])
    w.call(name, 0, w.rng.randint(0, 3), body, x)


@calls("helpers.while_below")
def _while(w: Writer, name: str) -> None:
    x = w.value()
    body = w.function([w.type_of(x)], [w.type_of(x)])
    w.call(name, body, w.rng.randint(0, 3), x)


@calls("helpers.while_pair")
def _while_pair(w: Writer, name: str) -> None:
    xs = [w.value(), w.value()]
    types = [w.type_of(x) for x in xs]
    w.call(name, w.function(types, types, as_tuple=True), w.rng.randint(0, 3), *xs)


@calls("lax.scan")
def _scan(w: Writer, name: str) -> None:
    carry, xs = w.value(), w.value(low=1)
    row = Type(w.type_of(xs).dims[1:], w.type_of(xs).dtype)
    body = w.function([w.type_of(carry), row], [w.type_of(carry), row], as_tuple=True)
    w.call(name, body, carry, xs, reverse=w.chance(0.3))


@calls("lax.map")
def _map(w: Writer, name: str) -> None:
    xs = w.value(low=1)
    row = Type(w.type_of(xs).dims[1:], w.type_of(xs).dtype)
    w.call(name, w.function([row]), xs)


@calls("jax.vmap")
def _vmap(w: Writer, name: str) -> None:
    x = w.value(low=1, high=3)
    dims, axis = w.type_of(x).dims, w.axis(x)
    rest = Type(dims[:axis] + dims[axis + 1 :], w.type_of(x).dtype)
    xs, axes, types = [x], [axis], [rest]
    if w.chance(0.5):
        other = w.value()
        xs, axes, types = [x, other], [axis, None], [rest, w.type_of(other)]
    w.call("helpers.mapped", w.function(types), tuple(axes), w.rng.randint(0, 1), *xs)


@calls("jax.grad")
def _grad(w: Writer, name: str) -> None:
    x = w.value(FLOAT, low=1, high=3)
    xs = [x, w.value(FLOAT)] if w.chance(0.4) else [x]
    body = w.function([w.type_of(v) for v in xs], names=SMOOTH)
    w.call("helpers.gradient", body, *xs)


@calls("helpers.gradient_of_scan")
def _gradient_of_scan(w: Writer, name: str) -> None:
    carry, xs = w.value(FLOAT), w.value(FLOAT, low=1)
    row = Type(w.type_of(xs).dims[1:], w.type_of(xs).dtype)
    types = [w.type_of(carry), row]
    w.call(name, w.function(types, types, names=SMOOTH, as_tuple=True), carry, xs, w.chance(0.3))


@calls("jax.jvp jax.jacfwd jax.checkpoint")
def _derivative(w: Writer, name: str) -> None:
    x = w.value(FLOAT, low=1, high=2)
    body = w.function([w.type_of(x)], names=SMOOTH)
    match name:
        case "jax.jvp":
            w.call("helpers.tangent", body, x, w.like(x))
        case "jax.jacfwd":
            w.call("helpers.jacobian", body, x)
        case _:
            w.call("helpers.rematerialized", body, x)


@calls("jax.jit")
def _jit(w: Writer, name: str) -> None:
    xs = [w.value() for _ in range(w.rng.randint(1, 2))]
    w.call("helpers.called", w.function([w.type_of(x) for x in xs]), *xs)


def _key(w: Writer) -> Ref:
    if w.chance(0.5):
        return w.call("jax.random.PRNGKey", w.rng.randint(0, 9))
    return w.call("helpers.key_of", w.value(INT, high=0))


@calls("jax.random.split")
def _split_key(w: Writer, name: str) -> None:
    w.call(name, _key(w), w.rng.randint(1, 3))


@calls("""jax.random.uniform jax.random.normal jax.random.gumbel jax.random.exponential
    jax.random.laplace jax.random.logistic jax.random.truncated_normal jax.random.rademacher
    jax.random.cauchy jax.random.bernoulli""")
def _random(w: Writer, name: str) -> None:
    dims = w.dims(0, 2)
    if name.endswith("truncated_normal"):
        w.call(name, _key(w), -1.0, 1.0, dims)
    elif name.endswith("bernoulli"):
        w.call(name, _key(w), 0.4, dims)
    else:
        w.call(name, _key(w), dims)


@calls("jax.random.randint jax.random.bits")
def _random_int(w: Writer, name: str) -> None:
    dims = w.dims(0, 2)
    if name.endswith("bits"):
        w.call(name, _key(w), dims)
    else:
        w.call(name, _key(w), dims, 0, w.rng.randint(1, 9))


@calls("jax.random.permutation")
def _permutation(w: Writer, name: str) -> None:
    x = w.value(ANY, low=1)
    w.call(name, _key(w), x, axis=w.axis(x), independent=w.chance(0.6))


@calls("jax.random.choice")
def _choice(w: Writer, name: str) -> None:
    x = w.value(REAL, low=1)
    w.call(name, _key(w), x, (w.rng.randint(1, 3),), axis=w.axis(x))


@calls("jax.random.categorical")
def _categorical(w: Writer, name: str) -> None:
    x = w.value(FLOAT, low=1)
    w.call(name, _key(w), x, axis=w.axis(x))


@calls("jnp.select")
def _several(w: Writer, name: str) -> None:
    x = w.value(NUMBER)
    dims = w.type_of(x).dims
    conditions = [w.value(("bool",), dims=dims) for _ in range(2)]
    w.call("jnp.select", conditions, [x, w.like(x)], 0)
