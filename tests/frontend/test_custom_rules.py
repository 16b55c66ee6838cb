"""custom_vjp, custom_jvp, custom_gradient: values, nesting and refusals, against JAX's."""

import pickle
import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gradient_checks import jit

import tfc
import tfc.numpy as tnp
from tfc.errors import TraceError, UnsupportedError

X = np.linspace(-1.5, 2.0, 6)


def libraries(case, *arguments):
    """What a case gives with tfc, evaluated and compiled, and with JAX."""
    with jax.enable_x64(True):
        want = jax.tree.map(np.asarray, jax.jit(partial(case, jax, jnp))(*arguments))
    ours = partial(case, tfc, tnp)
    return ours(*arguments), jit(ours)(*arguments), want


def clipped(lib, np_):
    """A function whose cotangent is clipped to bounds that are arguments, too."""

    @lib.custom_vjp
    def clip_gradient(low, high, x):
        return x * 1.0

    def fwd(low, high, x):
        return x * 1.0, {"bounds": (low, high)}

    def bwd(residuals, g):
        low, high = residuals["bounds"]
        return None, None, np_.clip(g, low, high)

    clip_gradient.defvjp(fwd, bwd)
    return clip_gradient


def stable(lib, np_):
    """log(1 + eˣ) with a derivative that does not overflow."""

    @lib.custom_jvp
    def log1pexp(x):
        return np_.log(1.0 + np_.exp(x))

    @log1pexp.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return log1pexp(x), (1 - 1 / (1 + np_.exp(x))) * t

    return log1pexp


def parted(lib, np_):
    """A rule for each argument, of which the last has none."""

    @lib.custom_jvp
    def f(x, y, z):
        return {"a": np_.sin(x) * y, "b": z}

    f.defjvps(
        lambda t, result, x, y, z: {"a": 3 * t * y, "b": 0 * t},
        lambda t, result, x, y, z: {"a": result["a"] / y * t, "b": t},
        None,
    )
    return f


def fixed(lib, np_):
    """A Python function and a number that are not differentiated by, first and last."""

    def make(kind):
        @lambda f: kind(f, nondiff_argnums=(0, 2))
        def apply(f, x, n=3):
            return f(x) * n

        return apply

    reverse, forward = make(lib.custom_vjp), make(lib.custom_jvp)
    reverse.defvjp(lambda f, x, n: (f(x) * n, np_.cos(x)), lambda f, n, c, g: (c * g * n * n,))

    @forward.defjvp
    def rule(f, n, primals, tangents):
        return f(primals[0]) * n, n * n * tangents[0] * np_.cos(primals[0])

    return reverse, forward


def returned(lib, np_):
    """A function that returns how to go back, as in the documents' examples."""

    @lib.custom_gradient
    def log1pexp(x):
        e = np_.exp(x)
        return np_.log(1 + e), lambda g: g * (1 - 1 / (1 + e))

    @lib.custom_gradient
    def product(x, y):
        return (x * y, x + y), lambda g: (g[0] * y * 2, g[1] + g[0] * x)

    return log1pexp, product


CASES = {
    "vjp": lambda lib, np_, x: lib.grad(
        lambda v: np_.sum(np_.exp(clipped(lib, np_)(-1.0, 2.0, v))))(x),
    "vjp by a bound": lambda lib, np_, x: lib.grad(
        lambda low: np_.sum(clipped(lib, np_)(low, 2.0, x)) + low)(-1.0),
    "vjp pulled back": lambda lib, np_, x: lib.vjp(
        lambda v: clipped(lib, np_)(-1.0, 2.0, v), x)[1](x * 3)[0],
    "gradient of the gradient by vjp": lambda lib, np_, x: lib.grad(lambda v: np_.sum(
        lib.grad(lambda u: np_.sum(np_.sin(clipped(lib, np_)(-0.5, 0.5, u * u))))(v) ** 2))(x),
    "jvp": lambda lib, np_, x: lib.jvp(stable(lib, np_), (x,), (x,)),
    "gradient by jvp": lambda lib, np_, x: lib.grad(stable(lib, np_))(x[0] * 900),
    "second derivative by jvp": lambda lib, np_, x: lib.grad(
        lib.grad(stable(lib, np_)))(x[1]),
    "third derivative by jvp": lambda lib, np_, x: lib.grad(lib.grad(
        lib.grad(stable(lib, np_))))(x[1]),
    "tangent of the gradient by jvp": lambda lib, np_, x: lib.jvp(
        lib.grad(stable(lib, np_)), (x[1],), (1.0,)),
    "linearized": lambda lib, np_, x: lib.linearize(stable(lib, np_), x)[1](x),
    "rules of arguments": lambda lib, np_, x: lib.jvp(
        parted(lib, np_), (x, x + 3, x), (x, x * 2, x * 3)),
    "gradient by rules of arguments": lambda lib, np_, x: lib.grad(
        lambda *a: np_.sum(parted(lib, np_)(*a)["a"]), (0, 1))(x, x + 3, x),
    "fixed arguments of vjp": lambda lib, np_, x: lib.grad(
        lambda v: np_.sum(fixed(lib, np_)[0](np_.sin, v, 5)))(x),
    "fixed arguments of jvp": lambda lib, np_, x: lib.grad(
        lambda v: np_.sum(fixed(lib, np_)[1](np_.sin, v)))(x),
    "custom gradient": lambda lib, np_, x: lib.grad(returned(lib, np_)[0])(x[0] * 100),
    "custom gradient, again": lambda lib, np_, x: lib.grad(
        lib.grad(returned(lib, np_)[0]))(x[0]),
    "custom gradient of two": lambda lib, np_, x: lib.grad(
        lambda a, b: np_.sum(returned(lib, np_)[1](a, b)[0] * 3), (0, 1))(x, x + 1),
    "in a jitted function": lambda lib, np_, x: lib.grad(
        lambda v: np_.sum(lib.jit(clipped(lib, np_))(-1.0, 2.0, v) ** 2))(x),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rules_do_what_they_do_in_jax(name):
    *ours, want = libraries(CASES[name], X)
    for got in ours:
        jax.tree.map(lambda g, w: np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-14),
                     got, want)  # fmt: skip


def scanned(lib, np_, f, x):
    """What a scan of f gives; JAX has its scan elsewhere."""
    scan = jax.lax.scan if lib is jax else lib.scan
    carry, ys = scan(lambda c, v: (f(c) * v, f(c)), x[0], x)
    return np_.sum(ys) + carry


LOOPS = {
    "gradient by vjp": lambda lib, np_, x: lib.grad(
        lambda v: scanned(lib, np_, partial(clipped(lib, np_), -0.3, 0.3), v))(x),
    "gradient by jvp": lambda lib, np_, x: lib.grad(
        lambda v: scanned(lib, np_, stable(lib, np_), v))(x),
    "tangent by jvp": lambda lib, np_, x: lib.jvp(
        lambda v: scanned(lib, np_, stable(lib, np_), v), (x,), (x,)),
    "checkpoint": lambda lib, np_, x: lib.grad(
        lambda v: scanned(lib, np_, lib.checkpoint(lambda u: np_.sin(u) * u), v))(x),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_rules_hold_in_loops(name):
    _, got, want = libraries(LOOPS[name], X)
    jax.tree.map(lambda g, w: np.testing.assert_allclose(g, w, rtol=1e-11), got, want)


@pytest.mark.parametrize("branch", [True, False])
def test_rules_hold_in_a_conditional(branch):
    custom = clipped(tfc, tnp)

    def f(x, pred):
        return tfc.cond(pred, lambda v: tnp.sum(custom(-1.0, 2.0, v) * 5), tnp.sum, x)

    np.testing.assert_array_equal(jit(tfc.grad(f))(X, branch), np.full(6, 2.0 if branch else 1.0))
    slope = jit(
        lambda x, p: tfc.jvp(
            lambda v: tfc.cond(p, lambda u: tnp.sum(stable(tfc, tnp)(u)), tnp.sum, v), (x,), (x,)
        )
    )
    want = X @ (1 - 1 / (1 + np.exp(X))) if branch else X.sum()  # fmt: skip
    np.testing.assert_allclose(slope(X, branch)[1], want)


def test_values_in_a_loop_are_those_of_the_function():
    f = stable(tfc, tnp)
    got = jit(lambda x: tfc.fori_loop(0, 3, lambda _, v: f(v), x))(X)
    want = X
    for _ in range(3):
        want = np.log1p(np.exp(want))
    np.testing.assert_allclose(got, want)


def test_fixed_arguments_may_be_named():
    f = tfc.custom_jvp(lambda x, mode: x * 1.0, nondiff_argnames="mode")
    f.defjvp(lambda mode, primals, tangents: (primals[0] * 1.0, tangents[0] * len(mode)))
    assert tfc.grad(lambda x: f(x, mode="three"))(2.0) == 5
    with pytest.raises(TraceError, match=r"nondiff_argnames of .* must be among its arguments"):
        tfc.custom_vjp(f.fun, nondiff_argnames=("other",))


def test_the_forward_rule_gives_the_value_where_a_gradient_is_taken():
    f = tfc.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x + 100.0, None), lambda _, g: (g,))
    assert f(1.0) == 1
    assert tfc.value_and_grad(f)(1.0) == (101, 1)


def test_a_module_has_no_trace_of_the_rules():
    """Its text is that of a jitted function called so, and so the same in every process."""

    def log1pexp(p0):
        return tnp.log(1.0 + tnp.exp(p0))

    def text(f):
        lowered = tfc.jit(lambda x: f(x) * 2).lower(X)
        return re.sub(r", metadata=\{[^}]*\}", "", lowered.as_text())

    assert text(stable(tfc, tnp)) == text(tfc.jit(log1pexp))
    assert "call(" in text(stable(tfc, tnp))


def test_a_lowered_function_is_pickled_without_the_rules():
    lowered = tfc.jit(stable(tfc, tnp)).lower(X)
    again = pickle.loads(pickle.dumps(lowered))
    np.testing.assert_allclose(again.compile()(X), np.log1p(np.exp(X)))


def test_integers_and_nested_arguments_get_no_cotangents():
    f = tfc.custom_vjp(lambda p, n: p["w"] * p["deep"][0] * n)
    f.defvjp(
        lambda p, n: (p["w"] * p["deep"][0] * n, (p, n)),
        lambda r, g: ({"w": g * 2, "deep": [None]}, np.zeros((), [("float0", np.void, 0)])),
    )
    got = tfc.grad(lambda p: f(p, 3))({"w": 2.0, "deep": [5.0]})
    assert got == {"w": 2, "deep": [0]}


def test_derivatives_by_closed_over_values_are_refused():
    def through(kind):
        def f(x, y):
            g = kind(lambda v: v * y)
            if kind is tfc.custom_vjp:
                g.defvjp(lambda v: (v * 2, None), lambda _, c: (c,))
            else:
                g.defjvp(lambda p, t: (p[0] * 2, t[0]))
            return g(x)

        return f

    for kind in (tfc.custom_vjp, tfc.custom_jvp):
        assert tfc.grad(through(kind))(2.0, 3.0) == 1
        with pytest.raises(TraceError, match=r"with respect to a closed-over value.*as an arg"):
            tfc.grad(through(kind), 1)(2.0, 3.0)
    with pytest.raises(TraceError, match="closed-over value"):
        tfc.jvp(through(tfc.custom_jvp), (2.0, 3.0), (1.0, 1.0))


def broken(fwd=None, bwd=None):
    f = tfc.custom_vjp(lambda x: x * 1.0)
    f.defvjp(fwd or (lambda x: (x, None)), bwd or (lambda _, g: (g,)))
    return lambda: tfc.grad(lambda x: tnp.sum(f(x)))(np.ones(2))


def broken_jvp(rule):
    f = tfc.custom_jvp(lambda x: x * 1.0)
    f.defjvp(rule)
    return lambda: tfc.grad(lambda x: tnp.sum(f(x)))(np.ones(2))


# fmt: off
REFUSALS = {
    "fwd without residuals": (broken(fwd=lambda x: x), r"must produce a pair \(list or tuple of"),
    "another structure": (broken(fwd=lambda x: ((x,), 0)), r"structure \*, got structure \(\*,\)"),
    "another shape": (broken(fwd=lambda x: (x[0], 0)), r"with f64\[2\], got f64\[\]"),
    "no tuple": (broken(bwd=lambda _, g: g), r"number of arguments.* got bwd output structure \*"),
    "too many": (broken(bwd=lambda _, g: (g, g)), r"structure \(\*, \*\) for primal input"),
    "cotangent's shape": (broken(bwd=lambda _, g: (g[0],)),
                          r"at output\[0\] it produced f64\[\] for an input of f64\[2\]"),
    "no VJP": (lambda: tfc.custom_vjp(lambda x: x)(1.0), "no VJP defined for custom_vjp function"),
    "no JVP": (lambda: tfc.custom_jvp(lambda x: x)(1.0), "no JVP defined for custom_jvp function"),
    "no tangent": (broken_jvp(lambda p, t: p), "a pair .* representing primal and tangent outputs"),
    "tangent's structure": (broken_jvp(lambda p, t: (p[0], t)), r"got \* and \(\*,\)"),
    "tangent's dtype": (broken_jvp(lambda p, t: (p[0], t[0].astype(np.float32))),
                        r"expected f64\[2\], got f32\[2\]"),
    "forward mode": (lambda: tfc.jvp(clipped(tfc, tnp), (0.0, 1.0, 2.0), (0.0, 0.0, 1.0)),
                     r"can't apply forward-mode differentiation \(jvp\) to a custom_vjp function"),
    "forward mode of a gradient": (lambda: tfc.jvp(returned(tfc, tnp)[0], (1.0,), (1.0,)),
                                   "to a custom_gradient function"),
    "a Tensor that is not differentiated by": (
        lambda: jit(lambda x: fixed(tfc, tnp)[0](tnp.sin, x, x))(1.0),
        "found a Tensor passed as argument 2 to the custom_vjp function apply"),
    "a keyword": (lambda: clipped(tfc, tnp)(0.0, 1.0, y=2.0), "resolved to positional-only"),
    "no function to go back": (lambda: tfc.custom_gradient(lambda x: x)(1.0),
                               r"to return \(result, function of its cotangent\)"),
}
# fmt: on


@pytest.mark.parametrize("name", REFUSALS)
def test_rules_that_cannot_be_used_are_refused(name):
    run, message = REFUSALS[name]
    with pytest.raises(TraceError, match=message):
        run()


def test_symbolic_zeros_are_refused():
    with pytest.raises(UnsupportedError, match="symbolic_zeros: leave it out"):
        tfc.custom_vjp(abs).defvjp(abs, abs, symbolic_zeros=True)


def test_defjvps_takes_no_fixed_arguments():
    with pytest.raises(TraceError, match="can't use defjvps with nondiff_argnums"):
        tfc.custom_jvp(abs, nondiff_argnums=0).defjvps(None)
