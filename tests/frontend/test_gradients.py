"""Gradients: each rule against finite differences, whole functions against JAX, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from elementwise_ops import points
from gradient_checks import check, jit

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend.differentiation import reverse
from tfc.frontend.numpy import sorting
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor
from tfc.hlo.op import OPS
from tfc.hlo.shape import F32, F64, S32

RNG = np.random.default_rng(1)


def binary(opcode, x=(-1.5, 0.3, 2.0, 0.7), y=(0.4, 1.3, -0.6, 2.5)):
    return lambda: check(lambda s, t: operation(opcode, s, t), np.array(x), np.array(y))


def elementwise(op):
    """The check of an op of one or two floats, where it has finite values."""
    if op.arity == 2:
        return binary(op.name)
    return lambda: check(lambda t: operation(op.name, t), points(op))


def is_plain(op):
    """True for what is differentiable and needs no row of its own."""
    takes_floats = op.elementwise and "float" in op.domain and not (op.attributes or op.needs_shape)
    other = {"clamp", "complex", "imag", "real", "select"}
    return takes_floats and op.name not in reverse.NONDIFFERENTIABLE | other


def reduction(opcode, init, dimensions):
    x = RNG.permutation(24).reshape(2, 3, 4) / 7.0 - 1.2
    return lambda: check(lambda t: ops.reduce(t, opcode, init, dimensions), x)


def dot(left, right, contracting, batch=((), ())):
    x, y = RNG.standard_normal(left), RNG.standard_normal(right)
    return lambda: check(lambda a, b: ops.dot(a, b, contracting, batch), x, y)


def movement(function, *shapes):
    return lambda: check(function, *(RNG.standard_normal(s) for s in shapes))


def padded(x, v):
    return ops.pad(x, ops.reshape(v, []), [(1, 2, 1), (-1, 1, 0)])


def clamped(x):
    low, high = ops.constant(-0.5), ops.constant(0.5)
    return operation("clamp", low, x, high)


def chosen(x, y):
    pred = ops.compare("GT", x, ops.full_like(0, x))
    return ops.select(pred, x * y, y * y)


def branching(x, y):
    return tfc.cond(y > 0, lambda v: v * y, tnp.sin, x)


# fmt: off
def starts(*values: int):
    """Start indices, some of which must be clamped."""
    return [ops.constant(v, S32) for v in values]


INDICES = np.array([[1, 0], [4, 1], [1, 9]], np.int32)  # the second and third go beyond


def windows(x, at):
    """A 2 × 2 window at each pair of start indices, clamped."""
    return operation("gather", x, ops.constant(at), offset_dims=(1, 2), collapsed_slice_dims=(),
                     start_index_map=(0, 1), index_vector_dim=1, slice_sizes=(2, 2))  # fmt: skip


def added(x, at, updates):
    """2 × 2 windows added at pairs of start indices; those that do not fit are left out."""
    return operation("scatter", x, ops.constant(at), updates, update_window_dims=(1, 2),
                     inserted_window_dims=(), scatter_dims_to_operand_dims=(0, 1),
                     index_vector_dim=1, to_apply=ops.scalar_computation("add", F64))  # fmt: skip


def sorted_by(x, y):
    """x and y in the order of x."""
    return tuple(sorting.sorted_together([x, y], 0))


def positive(x):
    """A positive definite matrix for each matrix."""
    return ops.dot(x, x, ([2], [2]), ([0], [0])) + np.eye(x.shape[-1])


def factored(lower):
    """The Cholesky factor of matrices that need not be symmetric: one triangle is read."""
    return lambda x: operation("cholesky", positive(x) + 0.1 * x, lower=lower)


def solved(left, lower, unit, transpose):
    def solve(a, b):
        diagonal = a + 3 * np.eye(3)
        return operation("triangular-solve", diagonal, b, left_side=left, lower=lower,
                         unit_diagonal=unit, transpose_a=transpose)  # fmt: skip

    return movement(solve, (2, 3, 3), (2, 3, 2) if left else (2, 2, 3))


RULES = {
    **{op.name: elementwise(op) for op in OPS.values() if is_plain(op)},
    "power": binary("power", (1.5, 0.3, 2.0, 0.9)),
    "power of 0": binary("power", (0.0, 0.0), (2.0, 1.0)),
    "select": lambda: check(chosen, [1.0, -1.0, 2.0], [0.5, 0.7, -0.3]),
    "clamp": lambda: check(clamped, [-1.0, 0.2, 0.9]),
    "clamp bounds": lambda: check(lambda *a: operation("clamp", *a),
                                  [0.0, 0, 0.5, 0], [-1.0, 0.2, 0.9, 2], [1.0, 1, 0.1, 1]),
    "scalar bounds": lambda: check(lambda *a: operation("clamp", *a), -0.5, [-1.0, 0.2, 0.9], 0.5),
    "convert": lambda: check(lambda x: ops.convert(ops.convert(x, F32), F64), [1.0, 2.0],
                             tolerance=0.05),
    "broadcast": movement(lambda x: ops.broadcast(x, (3, 2, 4), (1, 2)), (2, 4)),
    "broadcast in another order": movement(lambda x: ops.broadcast(x, (3, 2, 4), (2, 0)), (4, 3)),
    "reshape": movement(lambda x: ops.reshape(x, (4, 6)), (2, 3, 4)),
    "transpose": movement(lambda x: ops.transpose(x, (2, 0, 1)), (2, 3, 4)),
    "reverse": movement(lambda x: ops.reverse(x, (1,)), (2, 3)),
    "slice": movement(lambda x: ops.slice_(x, [(1, 6, 2), (0, 3, 3)]), (7, 3)),
    "slice of nothing": movement(lambda x: ops.slice_(x, [(1, 1, 1)]), (3,)),
    "concatenate": movement(lambda x, y: ops.concatenate([x, y, x], 1), (2, 3), (2, 1)),
    "pad": movement(padded, (2, 3), (1,)),
    "copy": movement(lambda x: operation("copy", x), (2,)),
    "dynamic-slice": movement(lambda x: ops.dynamic_slice(x, starts(1, 9), (3, 2)), (5, 4)),
    "dynamic-update-slice": movement(
        lambda x, y: ops.dynamic_update_slice(x, y, starts(-3, 1)), (5, 4), (3, 2)),
    "gather": movement(lambda x: tnp.take(
        x, tnp.array(np.array([[3, 0], [0, -1], [9, 1]])), axis=1), (2, 4)),
    "gather of windows": movement(lambda x: windows(x, INDICES), (5, 4)),
    "scatter": movement(lambda x, y: added(x, INDICES, y), (5, 4), (3, 2, 2)),
    "sort": movement(lambda x: tnp.sort(x, 1, descending=True), (3, 5, 2)),
    "sort with others": movement(sorted_by, (4, 3), (4, 3)),
    "topk": movement(lambda x: nn.top_k(x, 2)[0], (3, 5)),
    "topk of the smallest": movement(
        lambda x: ops.elements(operation("topk", x, k=3, largest=False))[0], (5,)),
    "cholesky": movement(factored(True), (2, 3, 3)),
    "cholesky of the upper triangle": movement(factored(False), (2, 3, 3)),
    "triangular-solve": solved(True, True, False, "NO_TRANSPOSE"),
    "triangular-solve transposed": solved(True, False, True, "TRANSPOSE"),
    "triangular-solve on the right": solved(False, True, True, "NO_TRANSPOSE"),
    "triangular-solve on the right transposed": solved(False, False, False, "ADJOINT"),
    "dot": dot((2, 3), (3, 4), ([1], [0])),
    "dot of vectors": dot((3,), (3,), ([0], [0])),
    "dot batched": dot((5, 2, 3), (5, 3, 4), ([2], [1]), ([0], [0])),
    "dot of odd dimensions": dot((3, 5, 2, 4), (4, 6, 3, 5), ([0, 3], [2, 0]), ([1], [3])),
    "dot batched apart": dot((4, 2, 3, 5), (3, 5, 4, 6), ([0], [2]), ([3, 2], [1, 0])),
    "convolution": movement(lambda x, k: nn.conv(x, k, 2, "SAME"), (2, 5, 3), (3, 3, 4)),
    "ragged-dot": movement(lambda x, w: operation(
        "ragged-dot", x, w, ops.constant(np.array([2, 3], np.int32)), lhs_contracting_dims=(1,),
        rhs_contracting_dims=(1,), lhs_ragged_dims=(0,), rhs_group_dims=(0,)), (6, 3), (2, 3, 4)),
    "outer product": dot((2, 3), (4,), ([], [])),
    "reduce add": reduction("add", 0, (0, 2)), "reduce multiply": reduction("multiply", 1, (1,)),
    "reduce multiply in two dimensions": reduction("multiply", 2, (2, 0)),
    "reduce maximum": reduction("maximum", -np.inf, (1, 2)),
    "reduce minimum": reduction("minimum", np.inf, (0,)),
    "products with zeros": lambda: check(tnp.prod, [0.0, 2, 3]),
    "products with two zeros": lambda: check(lambda x: x.prod(1), [[0.0, 2, 0], [1.0, 0, 2]]),
    "opt-barrier": movement(lambda x: operation("opt-barrier", x), (2,)),
    "add-dependency": movement(lambda x: operation("add-dependency", x, operation("after-all")),
                               (2,)),
    "domain": movement(lambda x: operation("domain", x, domain="{}"), (2,)),
    "set-dimension-size": movement(
        lambda x: operation("set-dimension-size", x, *starts(2), dimensions=(0,)), (2,)),
    "call": movement(lambda x: tfc.jit(lambda v: v * v)(x) + x, (3,)),
    "conditional": lambda: check(branching, [2.0, 1], -0.5),
    "conditional, other side": lambda: check(branching, [2.0, 1], 0.5),
}
# fmt: on


@pytest.mark.parametrize("name", RULES)
def test_rules_agree_with_finite_differences(name):
    RULES[name]()


def test_every_op_has_a_rule_or_is_listed_as_nondifferentiable():
    assert reverse.missing_rules() == []


def test_a_missing_rule_is_named_with_what_to_do(monkeypatch):
    rules = {k: v for k, v in reverse.RULES.items() if k != "rsqrt"}
    monkeypatch.setattr(reverse, "RULES", rules)
    assert reverse.missing_rules() == [
        "rsqrt has no gradient: add a rule in frontend/differentiation/vjp.py "
        "or list it as nondifferentiable."
    ]


def test_every_rule_is_of_an_op():
    assert set(reverse.RULES) <= set(OPS)


def test_differentiable_rules_are_tested():
    """Each op with a rule that lets something flow has a row above (its name starts the row's)."""
    flat = {"tuple", "get-tuple-element", "fusion", "while", "reduce"}
    flat |= {"reduce-window", "select-and-scatter", "map", "scan"}  # test_gradients_windows.py
    flat |= {"real", "imag", "complex", "reduce-precision"}  # test_complex.py
    flat |= {"batch-norm-training", "batch-norm-inference", "batch-norm-grad", "rng", "fft"}
    flat |= {"custom-call"}  # test_callbacks.py: always refused, but for test_shard_map.py's
    flat |= {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute"}
    for opcode, rule in reverse.RULES.items():
        none = opcode in reverse.NONDIFFERENTIABLE or "refused" in rule.__qualname__
        if not none and opcode not in flat:
            assert opcode in RULES, f"{opcode} has no test of its gradient"


def test_a_scatter_that_combines_in_another_way_has_no_gradient():
    def largest(x):
        return tnp.sum(operation(
            "scatter", x, ops.constant(INDICES), tnp.ones((3, 2, 2)), update_window_dims=(1, 2),
            inserted_window_dims=(), scatter_dims_to_operand_dims=(0, 1), index_vector_dim=1,
            to_apply=ops.scalar_computation("subtract", F64)))  # fmt: skip

    with pytest.raises(TraceError, match="scatter of one array that sets, adds"):
        tfc.jit(tfc.grad(largest))(np.ones((5, 4)))


FUNCTIONS = {
    "mlp": lambda np_, p: np_.mean(np_.tanh(p["x"] @ p["w"] + p["b"]) ** 2),
    "log of sums": lambda np_, p: np_.sum(np_.log(np_.sum(np_.exp(p["w"]), axis=0))),
    "normalised": lambda np_, p: np_.sum(
        ((p["x"] - p["x"].mean(1, keepdims=True)) / p["x"].std() ** 3) ** 2
    ),
    "extremes": lambda np_, p: np_.max(p["x"]) + np_.min(p["w"], axis=0).sum(),
    "ties": lambda np_, p: np_.max(np_.stack([p["b"], p["b"], p["b"] * 2 - p["b"]])) * p["b"][0],
    "maximum ties": lambda np_, p: np_.sum(np_.maximum(p["b"], p["b"] * 1.0) * p["b"]),
    "indexing": lambda np_, p: np_.sum(p["w"][1:, ::-2] * p["w"][0, None, 1]) + p["x"][-1, 0],
    "einsum": lambda np_, p: np_.sum(np_.einsum("ij,jk,lk->il", p["x"], p["w"], p["w"]) ** 2),
    "powers": lambda np_, p: np_.sum(abs(p["x"]) ** 1.5 + p["x"] ** 3 + 2.0 ** p["x"]),
    "floored": lambda np_, p: np_.sum((p["x"] % 0.7) * p["x"] + p["x"] // 0.3),
    "where": lambda np_, p: np_.sum(np_.where(p["x"] > 0, np_.sqrt(abs(p["x"])), p["x"] * 2)),
    "products": lambda np_, p: np_.prod(p["w"], axis=1).sum() * np_.prod(p["b"]),
    "joined": lambda np_, p: np_.sum(np_.concatenate([p["x"], p["x"] * 2], 1)[:, 2:5] ** 2),
    "padded": lambda np_, p: np_.sum(np_.pad(p["x"], 1, constant_values=2) ** 2),
    "triangles": lambda np_, p: (
        np_.sum(np_.tril(p["x"]) * np_.triu(p["x"], -1)) + np_.trace(p["x"])
    ),
    "hypot": lambda np_, p: np_.sum(np_.hypot(p["x"], 0.5) + np_.arctan2(p["x"], 1.3)),
}


def parameters():
    rng = np.random.default_rng(3)
    return {"x": rng.standard_normal((5, 3)), "w": rng.standard_normal((3, 4)),
            "b": rng.standard_normal(4)}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_functions_are_jaxs(name):
    function, p = FUNCTIONS[name], parameters()
    with jax.enable_x64(True):
        expected = jax.value_and_grad(lambda q: function(jnp, q))(p)
    value, got = jit(tfc.value_and_grad(lambda q: function(tnp, q)))(p)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    for key in p:
        assert got[key].dtype == np.float64
        np.testing.assert_allclose(got[key], expected[1][key], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["mlp", "log of sums", "einsum", "products", "powers"])
def test_second_derivatives_are_jaxs(name):
    function, p = FUNCTIONS[name], parameters()

    def curvature(np_, gradient):
        def slope(q):
            first = gradient(lambda r: function(np_, r))(q)
            return sum(np_.sum(first[key] ** 2) for key in first)

        return gradient(slope)

    with jax.enable_x64(True):
        expected = curvature(jnp, jax.grad)(p)
    got = jit(curvature(tnp, tfc.grad))(p)
    for key in p:
        np.testing.assert_allclose(got[key], expected[key], rtol=1e-8, atol=1e-9)


def test_softmax_cross_entropy_is_jaxs():
    logits, labels = RNG.standard_normal((4, 6)) * 30, np.eye(6)[[1, 0, 5, 2]]
    with jax.enable_x64(True):
        expected = jax.grad(lambda z: -(jax.nn.log_softmax(z) * labels).sum())(logits)
    losses = [
        lambda z: -tnp.sum(nn.log_softmax(z) * labels),
        lambda z: tnp.sum(nn.logsumexp(z, axis=-1) - tnp.sum(z * labels, axis=-1)),
    ]
    for loss in losses:
        got = jit(tfc.grad(loss))(logits)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
    with jax.enable_x64(True):
        expected = jax.grad(lambda z: (jax.nn.softmax(z) ** 2).sum())(logits)
    got = jit(tfc.grad(lambda z: tnp.sum(nn.softmax(z) ** 2)))(logits)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_higher_order_at_a_point():
    third = tfc.grad(tfc.grad(tfc.grad(tnp.sin)))
    np.testing.assert_allclose(third(2.0), -np.cos(2.0), rtol=1e-14)
    product = tfc.grad(lambda x: tfc.grad(tnp.prod)(x)[0])
    np.testing.assert_array_equal(product(np.array([0.0, 0.0, 3.0])), [0, 3, 0])


def test_nan_on_the_side_not_chosen_does_not_leak():
    safe = tfc.grad(lambda x: tnp.sum(tnp.where(x > 0, x * 2, x)))
    np.testing.assert_array_equal(safe(np.array([-1.0, np.nan, 1.0])), [1, 1, 2])
    assert tfc.grad(nn.relu)(0.0) == 0
    assert tfc.grad(lambda x: tfc.cond(x > 0, tnp.log, lambda v: v, x))(-1.0) == 1


def test_stop_gradient_and_unused_arguments_give_zeros():
    f = tfc.grad(lambda x, y: tnp.sum(nn.stop_gradient(x) * x), (0, 1))
    by_x, by_y = f(np.array([2.0, 3.0]), np.ones((2, 2), np.float32))
    np.testing.assert_array_equal(by_x, [2, 3])
    np.testing.assert_array_equal(by_y, np.zeros((2, 2)))
    assert by_y.dtype == np.float32


def test_results_that_pass_through_integers_have_no_gradient():
    np.testing.assert_array_equal(
        tfc.grad(lambda x: tnp.sum(x.astype(int) * 1.5 + tnp.floor(x) + x))(np.array([1.5, 2.5])),
        [1, 1],
    )
    largest = tfc.grad(lambda x: tnp.sum(nn.one_hot(tnp.argmax(x), 3, np.float64) * x))
    np.testing.assert_array_equal(largest(np.array([1.0, 3, 2])), [0, 1, 0])


def test_the_gradient_has_the_arguments_structure_and_dtypes():
    arguments = {"w": np.ones(2, np.float32), "deep": [(np.float64(2), None)]}
    value, got = tfc.value_and_grad(lambda p: tnp.sum(p["w"]) * p["deep"][0][0])(arguments)
    assert value == 4
    assert got["w"].dtype == np.float32
    assert got["deep"][0][0] == 2
    assert got["deep"][0][1] is None


def test_aux_is_passed_along():
    f = lambda x, n: (x * x, {"seen": x + 1, "n": n})  # noqa: E731
    (value, aux), slope = tfc.value_and_grad(f, has_aux=True)(3.0, 7)
    assert (value, slope, aux["seen"], aux["n"]) == (9, 6, 4, 7)
    slope, aux = tfc.grad(f, has_aux=True)(3.0, 7)
    assert (slope, aux["n"]) == (6, 7)


def test_several_and_negative_argnums():
    f = lambda x, y, z: x * y + z  # noqa: E731
    assert tfc.grad(f, (2, 0))(2.0, 3.0, 4.0) == (1, 3)
    assert tfc.grad(f, -2)(2.0, 3.0, 4.0) == 2


@pytest.mark.parametrize("inside", [False, True])
def test_vjp_takes_cotangents_of_any_shape_back(inside):
    x, y = RNG.standard_normal((2, 3)), RNG.standard_normal((3, 2))
    cotangent = RNG.standard_normal((2, 2))

    def pull(x, y, g):
        value, pullback = tfc.vjp(lambda a, b: {"p": a @ b, "n": 3}, x, y)
        return value["p"], *pullback({"p": g, "n": 0})

    value, by_x, by_y = jit(pull)(x, y, cotangent) if inside else pull(x, y, cotangent)
    np.testing.assert_allclose(value, x @ y)
    np.testing.assert_allclose(by_x, cotangent @ y.T)
    np.testing.assert_allclose(by_y, x.T @ cotangent)


def test_a_pullback_works_inside_a_branch_and_twice():
    @jit
    def f(x, flag):
        value, pullback = tfc.vjp(lambda v: v * v, x)
        inside = tfc.cond(flag, lambda: pullback(2.0)[0], lambda: value)
        return inside, pullback(1.0)[0]

    assert f(3.0, True) == (12, 6)
    assert f(3.0, False) == (9, 6)


def test_gradients_of_functions_that_use_tensors_around_them():
    @jit
    def f(x, y):
        return tfc.grad(lambda v: v * v * y + x)(x), tfc.grad(
            lambda v: tfc.grad(lambda u: u * v)(x)
        )(y)

    assert f(3.0, 5.0) == (30, 1)


def test_gradients_show_the_line_that_is_differentiated():
    def f(x):
        return tnp.tanh(x)

    module = jit(tfc.grad(f)).lower(1.0).hlo
    lines = {i.metadata.source_line for i in module.entry.instructions if i.opcode == "multiply"}
    assert lines == {f.__code__.co_firstlineno + 1}


def test_a_loop_outside_the_way_to_the_argument_may_be_there():
    f = lambda x: x * tfc.fori_loop(0, 3, lambda i, v: v * 2.0, 1.0)  # noqa: E731
    assert tfc.grad(f)(5.0) == 8


def test_gradients_of_a_conditional_by_index_with_its_own_operands():
    """From HLO: three branches with operands of their own; an operand gets its cotangent once."""

    def f(x, y, index):
        branches = tuple(branch(name) for name in ("sine", "negate", "exponential"))
        return operation("conditional", index, x, y, x, branch_computations=branches) * 3

    for index, expected in [(0, (3 * np.cos(0.5), 0)), (1, (0, -3)), (2, (3 * np.exp(0.5), 0))]:
        got = jit(tfc.grad(f, (0, 1)))(np.float64(0.5), np.float64(2), np.int32(index))
        np.testing.assert_allclose(got, expected, rtol=1e-15)


def branch(opcode):
    entry = tfc.jit(lambda x: operation(opcode, x)).lower(np.float64(0)).hlo.entry
    root = entry.root.operands[0]
    return type(entry).make(opcode, entry.parameters, root)


def test_narrow_dots_with_a_wide_result():
    def f(x, y):
        made = ops.dot(as_tensor(x), as_tensor(y), ([1], [0]), result=F32)
        return tnp.sum(made)

    x, y = np.ones((2, 3), np.float16), np.full((3, 4), 2, np.float16)
    by_x, by_y = jit(tfc.grad(f, (0, 1)))(x, y)
    assert by_x.dtype == by_y.dtype == np.float16
    np.testing.assert_array_equal(by_x, np.full((2, 3), 8))
    np.testing.assert_array_equal(by_y, np.full((3, 4), 2))
