"""tfc.nn computes what jax.nn and formulas in jax.numpy do, derivatives included."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.errors import ShapeError, TfcError

KEY = tfc.random.key(3)
LINE = np.array([-800, -30, -3.2, -1, -0.6, 0, 0.3, 1, 2.7, 6, 40, 800.0])
RNG = np.random.default_rng(2)


def drawn(*dims: int) -> np.ndarray:
    return RNG.normal(size=dims)


ROWS, MASK = drawn(4, 6) * 20, RNG.random((4, 6)) > 0.4
MASK[0] = False
IMAGES = drawn(2, 7, 6, 4)
SHARES = RNG.dirichlet(np.ones(6), 4) * (drawn(4, 6) > -1)
CLASSES = np.array([0, 5, 2, 3], np.int32)
QUERY, KEYS, VALUES = drawn(2, 5, 4, 6), drawn(2, 7, 2, 6), drawn(2, 7, 2, 6)
SEEN = RNG.random((2, 1, 5, 7)) > 0.3
HEADS = {n: drawn(8, w) / 3 for n, w in zip(("query", "key", "value", "output"), (8, 4, 4, 8))}
HEADS["query_bias"] = drawn(8)
CELLS = {
    n: {"input": drawn(3, g * 5) / 2, "recurrent": drawn(5, g * 5) / 2, "bias": drawn(g * 5)}
    for n, g in (("rnn", 1), ("lstm", 4), ("gru", 3))
}


def moments(x, axes, epsilon=1e-5):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)


def grouped(x, scale, offset):
    split = x.reshape(2, 42, 2, 2)
    return moments(split, (1, 3)).reshape(x.shape) * scale + offset


def convolved(x, kernel, groups=1, **named):
    labels = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        x, kernel, (2, 2), "SAME", dimension_numbers=labels, feature_group_count=groups, **named
    )


def pieces(function):
    """Adaptive pooling of [2, 7, 6, 4] to [2, 3, 2, 4], window by window."""

    def pooled(x):
        rows, columns = [(0, 3), (2, 5), (4, 7)], [(0, 3), (3, 6)]
        return jnp.stack(
            [jnp.stack([function(x[:, a:b, c:d], (1, 2)) for c, d in columns], 1) for a, b in rows],
            1,
        )

    return pooled


def heads(parameters, x):
    q, k, v = (x @ parameters[n] for n in ("query", "key", "value"))
    q, k, v = (t.reshape(2, 5, -1, 2) for t in (q + parameters["query_bias"], k, v))
    mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    return mixed.reshape(2, 5, 8) @ parameters["output"]


def turned(x, positions):
    z = x[..., :3] + 1j * x[..., 3:]
    z = z * jnp.exp(1j * positions[:, None, None] * 10000.0 ** (-jnp.arange(3) / 3))
    return jnp.concatenate([z.real, z.imag], -1)


def cell_of(name):
    def rnn(p, h, x):
        h = jnp.tanh(x @ p["input"] + h @ p["recurrent"] + p["bias"])
        return h, h

    def lstm(p, carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x @ p["input"] + h @ p["recurrent"] + p["bias"], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def gru(p, h, x):
        a, b, c = jnp.split(x @ p["input"] + p["bias"], 3, -1)
        d, e, f = jnp.split(h @ p["recurrent"], 3, -1)
        r, z = jax.nn.sigmoid(a + d), jax.nn.sigmoid(b + e)
        h = (1 - z) * jnp.tanh(c + r * f) + z * h
        return h, h

    return {"rnn": rnn, "lstm": lstm, "gru": gru}[name]


def along(name):
    def sequence(p, xs, h):
        carry = (h, 2 * h) if name == "lstm" else h
        return jax.lax.scan(lambda c, x: cell_of(name)(p, c, x), carry, xs)

    return sequence


def ours(name):
    def sequence(p, xs, h):
        return getattr(nn, name)(p, xs, (h, 2 * h) if name == "lstm" else h)

    return sequence


def one_step(function, name):
    return lambda p, h, x: function(p, (h, 2 * h) if name == "lstm" else h, x)


# name: (the call in tfc, the same in JAX, arguments, of which floats have derivatives)
Row = tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]
CALLS: dict[str, Row] = {
    name: (getattr(nn, name), getattr(jax.nn, name), (LINE,))
    for name in (
        "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
        "identity", "leaky_relu", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid",
        "silu", "soft_sign", "softplus", "sparse_plus", "squareplus", "swish",
    )
}  # fmt: skip
DIM = ("NHWC", "HWIO", "NHWC")
CALLS |= {
    "celu of another scale": (lambda x: nn.celu(x, 2.5), lambda x: jax.nn.celu(x, 2.5), (LINE,)),
    "sparse_sigmoid": (nn.sparse_sigmoid, jax.nn.sparse_sigmoid, (LINE + 0.01,)),
    "log1mexp": (nn.log1mexp, jax.nn.log1mexp, (np.array([1e-9, 0.3, 0.69, 0.7, 5, 700]),)),
    "gelu exact": (lambda x: nn.gelu(x, False), lambda x: jax.nn.gelu(x, False), (LINE,)),
    "softmax": (lambda x: nn.softmax(x, 0), lambda x: jax.nn.softmax(x, 0), (ROWS,)),
    "softmax where": (lambda x: nn.softmax(x, where=MASK)[1:],
                      lambda x: jax.nn.softmax(x, where=MASK)[1:], (ROWS,)),
    "log_softmax where": (lambda x: tnp.where(MASK, nn.log_softmax(x, where=MASK), 0)[1:],
                          lambda x: jnp.where(MASK, jax.nn.log_softmax(x, where=MASK), 0)[1:],
                          (ROWS,)),
    "logsumexp": (lambda x, b: nn.logsumexp(x, 1, b), lambda x, b: jax.nn.logsumexp(x, 1, b),
                  (ROWS, np.abs(ROWS[0]))),
    "logsumexp where": (lambda x: nn.logsumexp(x, 1, where=MASK)[1:],
                        lambda x: jax.nn.logsumexp(x, 1, where=MASK)[1:], (ROWS,)),
    "logmeanexp": (lambda x: nn.logmeanexp(x, 0), lambda x: jax.nn.logmeanexp(x, 0), (ROWS,)),
    "logmeanexp where": (lambda x: nn.logmeanexp(x, 1, MASK)[1:],
                         lambda x: jax.nn.logmeanexp(x, 1, MASK)[1:], (ROWS,)),
    "standardize": (nn.standardize, lambda x: jax.nn.standardize(x, algorithm="stable"), (ROWS,)),
    "standardize where": (
        lambda x: nn.standardize(x, where=MASK)[1:],
        lambda x: jax.nn.standardize(x, where=MASK, algorithm="stable")[1:], (ROWS,)),
    "layer_norm": (lambda x, s, o: nn.layer_norm(x, s, o, (-2, -1)),
                   lambda x, s, o: moments(x, (-2, -1)) * s + o, (IMAGES, drawn(4), drawn(6, 4))),
    "rms_norm": (nn.rms_norm, lambda x, s: x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * s,
                 (IMAGES, drawn(4))),
    "group_norm": (lambda x, s, o: nn.group_norm(x, 2, s, o), grouped,
                   (IMAGES, drawn(4), drawn(4))),
    "group_norm of channels first": (
        lambda x, s, o: nn.group_norm(x.transpose(0, 3, 1, 2), 2, s, o, data_format="NCHW"),
        lambda x, s, o: grouped(x, s, o).transpose(0, 3, 1, 2), (IMAGES, drawn(4), drawn(4))),
    "instance_norm": (nn.instance_norm, lambda x, s: moments(x, (1, 2)) * s, (IMAGES, drawn(4))),
    "dense": (nn.dense, lambda x, k, b: x @ k + b, (IMAGES, drawn(4, 3), drawn(3))),
    "embedding": (lambda t: nn.embedding(t, CLASSES), lambda t: t[CLASSES], (drawn(6, 3),)),
    "depthwise_conv": (lambda x, k: nn.depthwise_conv(x, k, 2, rhs_dilation=2),
                       lambda x, k: convolved(x, k.reshape(3, 3, 1, 8), 4, rhs_dilation=(2, 2)),
                       (IMAGES, drawn(3, 3, 4, 2))),
    "separable_conv": (
        lambda x, k, p: nn.separable_conv(x, k, p, 2),
        lambda x, k, p: convolved(x, k.reshape(3, 3, 1, 8), 4) @ p[0, 0],
        (IMAGES, drawn(3, 3, 4, 2), drawn(1, 1, 8, 3))),
    "adaptive_avg_pool": (lambda x: nn.adaptive_avg_pool(x, (3, 2)), pieces(jnp.mean), (IMAGES,)),
    "adaptive_max_pool": (lambda x: nn.adaptive_max_pool(x, (3, 2)), pieces(jnp.max), (IMAGES,)),
    "adaptive_avg_pool to one place": (lambda x: nn.adaptive_avg_pool(x, 1),
                                       lambda x: x.mean((1, 2), keepdims=True), (IMAGES,)),
    "softmax_cross_entropy": (
        nn.softmax_cross_entropy, lambda x, y: -(y * jax.nn.log_softmax(x)).sum(-1),
        (ROWS, SHARES)),
    "softmax_cross_entropy_with_integer_labels": (
        lambda x: nn.softmax_cross_entropy_with_integer_labels(x, CLASSES),
        lambda x: -jax.nn.log_softmax(x)[jnp.arange(4), CLASSES], (ROWS,)),
    "sigmoid_binary_cross_entropy": (
        nn.sigmoid_binary_cross_entropy,
        lambda x, y: -y * jax.nn.log_sigmoid(x) - (1 - y) * jax.nn.log_sigmoid(-x),
        (ROWS, SHARES)),
    "squared_error": (nn.squared_error, lambda x, y: (x - y) ** 2, (ROWS, SHARES)),
    "l2_loss": (nn.l2_loss, lambda x: x**2 / 2, (ROWS,)),
    "absolute_error": (nn.absolute_error, lambda x, y: abs(x - y), (ROWS, SHARES)),
    "huber_loss": (lambda x, y: nn.huber_loss(x, y, 2.0),
                   lambda x, y: jnp.where(abs(x - y) < 2, (x - y) ** 2 / 2, 2 * abs(x - y) - 2),
                   (ROWS / 10, SHARES)),
    "log_cosh": (nn.log_cosh, lambda x: jnp.log(jnp.cosh(x)), (ROWS,)),
    "hinge_loss": (nn.hinge_loss, lambda x, y: jnp.maximum(1 - x * y, 0), (ROWS / 10, SHARES)),
    "kl_divergence": (
        nn.kl_divergence,
        lambda x, y: (y * (jnp.log(jnp.where(y == 0, 1, y)) - x)).sum(-1),
        (ROWS / 9, SHARES + 0.01)),
    "dot_product_attention": (
        lambda q, k, v, b: nn.dot_product_attention(q, k, v, b, SEEN, scale=0.3),
        lambda q, k, v, b: jax.nn.dot_product_attention(q, k, v, b, SEEN, scale=0.3),
        (QUERY, KEYS, VALUES, drawn(1, 4, 5, 7))),
    "dot_product_attention of what is near": (
        lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True, local_window_size=2),
        lambda q, k, v: jax.nn.dot_product_attention(
            q, k, v, is_causal=True, local_window_size=2),
        (QUERY[0], KEYS[0], VALUES[0])),
    "dot_product_attention of lengths": (
        lambda q, k, v: nn.dot_product_attention(
            q, k, v, query_seq_lengths=CLASSES[1:3], key_value_seq_lengths=CLASSES[1:3]),
        lambda q, k, v: jax.nn.dot_product_attention(
            q, k, v, query_seq_lengths=CLASSES[1:3], key_value_seq_lengths=CLASSES[1:3]),
        (QUERY, KEYS, VALUES)),
    "rotary_embedding": (lambda x: nn.rotary_embedding(x, np.arange(3, 8)),
                         lambda x: turned(x, jnp.arange(3, 8)), (QUERY,)),
    "multi_head_attention": (
        lambda p, x: nn.multi_head_attention(p, x, 4, is_causal=True), heads,
        (HEADS, drawn(2, 5, 8))),
    **{f"{n}_cell": (one_step(getattr(nn, f"{n}_cell"), n), one_step(cell_of(n), n),
                     (CELLS[n], drawn(2, 5), drawn(2, 3))) for n in CELLS},
    **{n: (ours(n), along(n), (CELLS[n], drawn(4, 2, 3), drawn(2, 5))) for n in CELLS},
}  # fmt: skip
# What has tests of its own, here or beside.
OTHERS = {
    "avg_pool", "batch_norm_inference", "batch_norm_training", "conv", "conv_transpose", "cummax",
    "cummin", "dropout", "gru_init", "initializers", "log_softmax", "lstm_init", "max_pool",
    "one_hot", "rnn_init", "stop_gradient", "top_k",
}  # fmt: skip


def test_every_function_is_compared():
    assert {name.split()[0] for name in CALLS} | OTHERS == set(nn.__all__)


def both(function: Callable[..., Any], arguments: tuple, transform: Any, sine: Any) -> Any:
    """The results, and the derivatives by all arguments of a sum of functions of them."""
    leaves = jax.tree.leaves
    results = function(*arguments)

    def total(*given: Any) -> Any:
        return sum(sine(leaf).sum() for leaf in leaves(function(*given)))

    return leaves(results), leaves(transform(total, tuple(range(len(arguments))))(*arguments))


# The others are run with the tests that take longer: most of the time is JAX's.
QUICK = {
    "gelu", "elu", "softmax where", "layer_norm", "group_norm of channels first", "depthwise_conv",
    "softmax_cross_entropy", "dot_product_attention", "rotary_embedding", "lstm",
}  # fmt: skip
CASES = [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in CALLS]


@cache
def expected(quick: bool) -> dict[str, Any]:
    """JAX's results, from one program."""
    arguments = {name: row[2] for name, row in CALLS.items() if (name in QUICK) == quick}

    def run(given: dict[str, Any]) -> dict[str, Any]:
        return {n: both(CALLS[n][1], row, jax.grad, jnp.sin) for n, row in given.items()}

    with jax.enable_x64(True):
        quickly = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
        program = jax.jit(run).lower(arguments).compile(compiler_options=quickly)
        return jax.tree.map(np.asarray, program(arguments))


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_are_jaxs(name: str):
    function, _, arguments = CALLS[name]
    got = tfc.jit(lambda *given: both(function, given, tfc.grad, tnp.sin))(*arguments)
    for parts, wanted in zip(got, expected(name in QUICK)[name]):
        assert len(parts) == len(wanted)
        for part, want in zip(parts, wanted):
            # JAX's attention computes its softmax in float32 whatever it is given.
            rtol = 2e-4 if "attention" in name else 1e-9
            assert part.dtype == want.dtype
            np.testing.assert_allclose(part, want, rtol, atol=rtol)


@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "instance_norm"])
def test_stated_derivatives_of_norms_are_those_of_both_modes_and_orders(name: str):
    """Tangents agree with cotangents, and what is differentiated again with finite differences."""
    function, _, arguments = CALLS[name]
    slopes = tuple(drawn(*np.shape(a)) for a in arguments)
    _, tangent = tfc.jvp(lambda *a: tnp.sin(function(*a)).sum(), arguments, slopes)

    def along(step: float) -> float:
        moved = [a + step * s for a, s in zip(arguments, slopes)]
        gradients = tfc.grad(lambda *a: tnp.sin(function(*a)).sum(), range(len(moved)))(*moved)
        return sum((g * s).sum() for g, s in zip(gradients, slopes))

    np.testing.assert_allclose(tangent, along(0), 1e-9)
    second = tfc.jit(tfc.grad(along))(0.0)
    np.testing.assert_allclose(second, (along(1e-5) - along(-1e-5)) / 2e-5, 1e-5)


def test_losses_are_stable_where_formulas_overflow():
    logits = np.array([[1000.0, 0.0], [-np.inf, 0.0]], np.float32)
    labels = np.array([[1, 0], [0, 1]], np.float32)
    np.testing.assert_array_equal(nn.softmax_cross_entropy(logits, labels), [0, 0])
    np.testing.assert_array_equal(nn.softmax_cross_entropy(logits[:1], labels[1:]), [1000])
    found = nn.softmax_cross_entropy_with_integer_labels(logits, np.array([1, 1]))
    np.testing.assert_array_equal(found, [1000, 0])
    even = tfc.grad(lambda x: nn.softmax_cross_entropy(x, labels[1]))(np.zeros(2, np.float32))
    np.testing.assert_allclose(even, [0.5, -0.5])
    found = nn.sigmoid_binary_cross_entropy(np.array([1000.0, -1000.0]), np.array([0.0, 0.0]))
    np.testing.assert_array_equal(found, [1000, 0])
    found = nn.kl_divergence(np.log(np.array([0.5, 0.5])), np.array([0.0, 1.0]))
    np.testing.assert_allclose(found, np.log(2))
    out = nn.softmax_cross_entropy_with_integer_labels(logits, np.array([2, -1]))
    assert np.isnan(out).all()


SMOOTH = {
    "softplus": (nn.softplus, 1 / 4), "silu": (nn.silu, 1 / 2), "mish": (nn.mish, None),
    "log_sigmoid": (nn.log_sigmoid, -1 / 4), "gelu": (nn.gelu, 2 * np.sqrt(2 / np.pi) / 2),
    "logaddexp": (lambda x: tnp.logaddexp(x + 2.0, 2.0 - x), 1),
    "logaddexp2": (lambda x: tnp.logaddexp2(x, 3 * x), np.log(2)),
    "log_cosh": (nn.log_cosh, 1),
    "sigmoid_binary_cross_entropy": (lambda x: nn.sigmoid_binary_cross_entropy(x, 0.3), 1 / 4),
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_what_is_smooth_has_its_second_derivative_where_its_parts_meet(name: str):
    function, second = SMOOTH[name]
    slope = tfc.grad(function)
    h = 1e-5
    np.testing.assert_allclose(slope(0.0), (function(h) - function(-h)) / (2 * h), atol=1e-9)
    if name == "mish":
        second = (slope(h) - slope(-h)) / (2 * h)
    np.testing.assert_allclose(tfc.jvp(slope, (0.0,), (1.0,))[1], second, rtol=1e-8)
    np.testing.assert_allclose(tfc.grad(slope)(0.0), second, rtol=1e-8)


def test_what_a_mask_leaves_out_entirely_is_zero_and_has_no_derivative():
    value, slope = tfc.value_and_grad(lambda x: nn.softmax(x, where=False).sum())(ROWS)
    assert value == 0
    assert not slope.any()
    assert (nn.log_softmax(ROWS, where=MASK)[0] == -np.inf).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_halves_are_normalized_and_attended_to_in_float32(dtype: type):
    x = (drawn(2, 8, 4, 4) * 30).astype(dtype)
    wide = x.astype(np.float64)
    for function in (nn.layer_norm, nn.rms_norm, nn.gelu, nn.rotary_embedding,
                     lambda a: nn.dot_product_attention(a, a, a),
                     lambda a: nn.group_norm(a, 2)):  # fmt: skip
        got = function(x)
        assert got.dtype == dtype
        rtol = 4e-3 if dtype == np.float16 else 2e-5
        np.testing.assert_allclose(got, function(wide), rtol, atol=rtol)


def test_dropout_keeps_a_share_and_its_mean():
    x = np.ones((50, 80), np.float32)
    got = nn.dropout(KEY, x, 0.25)
    np.testing.assert_array_equal(got, np.where(jax.random.bernoulli(KEY, 0.75, x.shape), 4 / 3, 0)
                                  .astype(np.float32))  # fmt: skip
    slope = tfc.grad(lambda a: nn.dropout(KEY, a, 0.25).sum())(x)
    np.testing.assert_array_equal(slope, got)
    assert nn.dropout(KEY, x, 0.25, deterministic=True) is not None
    np.testing.assert_array_equal(nn.dropout(KEY, x, 0.25, deterministic=True), x)


INITIALIZERS = [
    ("zeros", None), ("ones", None), ("constant", (0.5,)), ("uniform", (0.1,)),
    ("normal", (0.1,)), ("truncated_normal", (0.1,)), ("glorot_uniform", ()),
    ("glorot_normal", ()), ("lecun_uniform", ()), ("lecun_normal", ()), ("he_uniform", ()),
    ("he_normal", ()),
    ("orthogonal", (2.0, 1)), ("variance_scaling", (2.0, "fan_geo_avg", "normal", 0, 1)),
    ("variance_scaling", (2.0, "fan_out", "uniform", 0, 1, (2,))),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arguments"), INITIALIZERS)
def test_initializers_draw_what_jaxs_do(name: str, arguments: tuple | None):
    made = [getattr(m.initializers, name) for m in (nn, jax.nn)]
    got, want = (
        (m if arguments is None else m(*arguments))(KEY, (3, 5, 7), np.float32) for m in made
    )
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-7)


def test_a_kernel_begins_as_jaxs():
    made = [m.initializers.glorot_uniform()(KEY, (3, 5), np.float32) for m in (nn, jax.nn)]
    np.testing.assert_allclose(*made, rtol=1e-6)


def test_cells_begin_with_parameters_that_fit():
    x = np.ones((6, 2, 3), np.float32)
    for name in ("rnn", "lstm", "gru"):
        parameters = getattr(nn, f"{name}_init")(KEY, 3, 5)
        carry, outputs = getattr(nn, name)(parameters, x)
        assert (outputs.shape, outputs.dtype) == ((6, 2, 5), np.float32)
        last = carry[0] if name == "lstm" else carry
        np.testing.assert_array_equal(last, outputs[-1])
        backwards = getattr(nn, name)(parameters, x, reverse=True)[1]
        np.testing.assert_allclose(backwards[::-1], outputs, rtol=1e-6)


def test_what_does_not_fit_is_refused():
    for call, words in (
        (lambda: nn.glu(np.ones(3)), "an even number of elements along its axis, got 3"),
        (lambda: nn.dropout(KEY, ROWS, 1.0), "a rate of 0 or more, below 1, got 1.0"),
        (lambda: nn.group_norm(IMAGES, 3), "channels in equal groups, got 4 in 3"),
        (lambda: nn.adaptive_avg_pool(IMAGES, 8), r"requires 1 … \[7, 6\] places, got \[8, 8\]"),
        (lambda: nn.depthwise_conv(IMAGES, drawn(3, 3, 5, 2)), r"a kernel of \[\*window, 4, mult"),
        (lambda: nn.dot_product_attention(QUERY, KEYS[:, :, :, :3], VALUES), "requires a query"),
        (lambda: nn.rotary_embedding(drawn(2, 3, 5)), "of an even size, got"),
        (lambda: nn.multi_head_attention(HEADS, drawn(2, 5, 8), 3), "cannot split 8 features"),
        (lambda: nn.softmax_cross_entropy_with_integer_labels(ROWS, ROWS), r"integers \[4\]"),
        (lambda: nn.initializers.he_normal()(KEY, (3,)), "a shape of 2 dimensions or more"),
        (lambda: nn.initializers.variance_scaling(1, "fan", "normal"), "one of fan_in, fan_out"),
        (lambda: nn.lstm(CELLS["lstm"], np.ones(3)), r"a sequence is \[T, ..., features\]"),
    ):  # fmt: skip
        with pytest.raises(ShapeError, match=words):
            call()
    with pytest.raises(TfcError, match="complex"):
        nn.gelu(np.ones(3, np.complex64))
