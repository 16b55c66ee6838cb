"""Row kernels on the CPU: the values of the reference, in how many kernels, and how they go."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from row_programs import FLOATS, row_program

import tfc
from tfc import nn
from tfc import numpy as tnp
from tfc.hlo import Module, parse
from tfc.hlo.ir import Computation
from tfc.hlo.shape import BF16, F16, F32, F64, ElementType
from tfc.passes.analysis.row_plan import RowPlan, row_plan
from tfc.passes.fusion.rows import RowFusion
from tfc.testing import arguments_for
from tfc.testing.fuzz import problem

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax


def layer_norm(x: Any, scale: Any, offset: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + offset


def cross_entropy(x: Any, labels: Any) -> Any:
    picked = jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], -1)
    return -picked.mean()


def one_hot_cross_entropy(x: Any, labels: Any) -> Any:
    return -(jax.nn.one_hot(labels, x.shape[-1]) * jax.nn.log_softmax(x)).sum(-1).mean()


def group_norm(x: Any, scale: Any) -> Any:
    mean, variance = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale[:, None]


def softmax_gradient(y: Any, g: Any) -> Any:
    return y * (g - (g * y).sum(-1, keepdims=True))


def embedded(table: Any, tokens: Any, scale: Any) -> Any:
    return layer_norm(table[tokens], scale, scale)


def data(*dims: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(dims, np.float32)


X, S, LABELS = data(6, 33), data(33, seed=1), np.arange(6, dtype=np.int32) * 5
MASK = np.where(np.arange(17) < 12, 0, -np.inf).astype(np.float32)[None, None, None]

# fmt: off
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
    "softmax": (jax.nn.softmax, (X,), 1),
    "softmax of bf16": (jax.nn.softmax, (X.astype(jnp.bfloat16),), 1),
    "log-softmax": (jax.nn.log_softmax, (X,), 1),
    "log of a sum of exponentials": (lambda x: jax.nn.logsumexp(x, -1), (X,), 1),
    "layer norm": (layer_norm, (X, S, S), 1),
    "layer norm of embeddings": (embedded, (X, LABELS % 6, S), 1),
    "RMS norm": (lambda x, s: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * s, (X, S), 1),
    "group norm": (group_norm, (data(3, 4, 5), data(4)), 1),
    "L2 normalisation": (lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True), (X,), 1),
    "standardisation": (
        lambda x: (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True), (X,), 1),
    "argmax": (lambda x: jnp.argmax(x, -1), (X,), 1),
    "mean and variance": (lambda x: (x.mean(-1), x.var(-1)), (X,), 1),
    "largest of a row": (lambda x: jax.nn.one_hot(jnp.argmax(x, -1), 33) * x, (X,), 1),
    "attention": (lambda s, m: jax.nn.softmax(s * 0.125 + m), (data(2, 3, 5, 17), MASK), 1),
    "softmax gradient": (softmax_gradient, (X, X + 1), 1),
    "softmax and its gradient": (lambda x, g: jax.vjp(jax.nn.softmax, x)[1](g), (X, X + 1), 1),
    "layer norm's gradient": (
        lambda x, g: jax.vjp(lambda x: layer_norm(x, S, S), x)[1](g), (X, X + 1), 1),
    "cross-entropy": (cross_entropy, (X, LABELS), 2),
    "cross-entropy with one-hot labels": (one_hot_cross_entropy, (X, LABELS), 2),
    "cross-entropy and its gradient": (jax.value_and_grad(one_hot_cross_entropy), (X, LABELS), 2),
}
# fmt: on


def kernel_count(module: Module) -> int:
    silent = ("parameter", "constant", "tuple", "get-tuple-element", "reshape")
    return sum(i.opcode not in silent for i in module.entry.instructions)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_jax(name: str) -> None:
    function, arguments, most = PROGRAMS[name]
    jitted = jax.jit(function)
    made = tfc.from_stablehlo(jitted.lower(*arguments).as_text())
    assert kernel_count(parse(made.compile().as_text("optimized"))) <= most
    results = jax.tree_util.tree_leaves(made(*arguments))
    expected = jax.tree_util.tree_leaves(jitted(*arguments))
    tolerance = 2e-2 if "bf16" in name else 2e-5
    for got, want in zip(results, expected, strict=True):
        got, want = (np.asarray(v).astype(np.float64) for v in (got, want))
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_functions_of_tfc(name: str) -> None:
    compiled = tfc.jit(lambda x: getattr(nn, name)(x, -1)).lower(X).compile()
    assert kernel_count(compiled.hlo) == 1
    expected = getattr(jax.nn, name)(X, -1)
    np.testing.assert_allclose(compiled(X), expected, rtol=2e-5, atol=2e-6)


def test_gradient_of_a_loss_of_tfc() -> None:
    def loss(x: Any) -> Any:
        return -tnp.mean(tnp.sum(tnp.asarray(X > 1) * nn.log_softmax(x, -1), -1))

    def reference(x: Any) -> Any:
        return -jnp.mean(jnp.sum((X > 1) * jax.nn.log_softmax(x), -1))

    np.testing.assert_allclose(tfc.grad(loss)(X), jax.grad(reference)(X), rtol=1e-4, atol=1e-6)


def test_special_rows() -> None:
    inf, nan = np.inf, np.nan
    rows = [[1, 2, 3], [nan, 2, 3], [inf, 2, 3], [-inf, 2, 3], [-inf, -inf, -inf],
            [inf, inf, 0], [0, -0.0, 0], [1e38, -1e38, 3e38], [inf, -inf, nan]]  # fmt: skip
    for repeat in (1, 7):
        x = np.tile(np.array(rows, np.float32), repeat)
        for name in ("softmax", "log_softmax"):
            jitted = jax.jit(getattr(jax.nn, name))
            made = tfc.from_stablehlo(jitted.lower(x).as_text())
            np.testing.assert_allclose(made(x), jitted(x), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_signs_of_zeros_are_lost_only_where_nothing_shows_them(dtype: Any) -> None:
    """Exponentials of differences from the largest do not show its sign; the largest does."""
    rows = [[0, -0.0] * 20, [-0.0, 0] * 20, [-0.0] * 40, [0] * 40, [-1, -0.0] * 20]
    zeros = np.array(rows, dtype)

    def both(x: Any) -> Any:
        top = tnp.max(x, axis=1, keepdims=True)
        return tnp.sum(tnp.exp(x - top), axis=1), top

    def hidden(x: Any) -> Any:
        top = tnp.max(x, axis=1, keepdims=True)
        return tnp.log(tnp.sum(tnp.exp(x - top), axis=1)), tnp.argmax(x, axis=1)

    for function in (both, hidden):
        module = tfc.jit(function).lower(zeros).hlo
        for got, want in zip(tfc.compile(module)(zeros), tfc.hlo.evaluate(module, zeros)):
            np.testing.assert_allclose(got, want, rtol=1e-3)
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
    with_nan = np.where(np.arange(40) == 7, np.array(np.nan, dtype), zeros)
    np.testing.assert_array_equal(tfc.jit(hidden)(with_nan)[1], 7)
    assert np.isnan(tfc.jit(hidden)(with_nan)[0]).all()


@pytest.mark.parametrize("length", [2, 3, 7, 16, 17])
def test_the_largest_and_least_of_few_are_exact_however_they_meet(length: int) -> None:
    special = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan], np.float32)
    weights = [3, 3, 1, 1, 0.2, 1, 0.1]
    x = np.random.default_rng(length).choice(special, (60, length), p=weights / np.sum(weights))

    def ends(a: Any) -> Any:
        rows = tnp.max(a, axis=1, keepdims=True), tnp.min(a, axis=1, keepdims=True)
        columns = tnp.max(a.T, axis=0), tnp.min(a.T, axis=0)
        return rows[0] * a, rows[1], *columns, tnp.max(tnp.exp(a).T, axis=0)

    module = tfc.jit(ends).lower(x).hlo
    with np.errstate(invalid="ignore"):
        wanted = tfc.hlo.evaluate(module, x)
    for got, want in zip(tfc.compile(module)(x), wanted):
        np.testing.assert_array_equal(got, want)
        numbers = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))


@pytest.mark.parametrize("length", [2048, 4608])
def test_long_rows_of_large_arrays_which_are_fetched_ahead(length: int) -> None:
    x = data((16 << 20) // (4 * length) + 1, length)
    largest = tfc.jit(lambda a: (tnp.argmax(a, axis=1), tfc.nn.logsumexp(a, -1)))
    places, logs = largest(x)
    np.testing.assert_array_equal(places, x.argmax(1))
    top = x.max(1, keepdims=True)
    wanted = np.log(np.exp((x - top).astype(np.float64)).sum(1)) + top[:, 0]
    np.testing.assert_allclose(logs, wanted, rtol=1e-6)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 8, 31, 4095, 4097, 10000])
def test_lengths(length: int) -> None:
    x = data(3, length)
    made = tfc.from_stablehlo(jax.jit(jax.nn.softmax).lower(x).as_text())
    shifted = np.exp(x.astype(np.float64) - x.max(-1, initial=-9, keepdims=True))
    expected = shifted / shifted.sum(-1, keepdims=True)
    np.testing.assert_allclose(made(x), expected, rtol=1e-5)


@pytest.mark.parametrize("rows", [0, 1])
def test_numbers_of_rows(rows: int) -> None:
    x = data(rows, 9)
    np.testing.assert_allclose(
        tfc.jit(lambda a: nn.log_softmax(a, -1))(x), jax.nn.log_softmax(x), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("part", range(4))
def test_random_programs(part: int) -> None:
    for seed in range(100 + part * 4, 104 + part * 4):
        module = row_program(seed, FLOATS[seed % 4] if part else F32)
        kind = ("normal", "special", "whole")[seed % 3]
        arguments = tuple(arguments_for(module, np.random.default_rng(seed), kind))
        with np.errstate(all="ignore"):
            assert problem(module, arguments, "cpu") is None, seed


# --- plans ----------------------------------------------------------------------------------------


def plan_of(function: Callable[..., Any], *arguments: Any) -> RowPlan:
    """The plan of the one row kernel that a function of JAX becomes."""
    made = tfc.from_stablehlo(jax.jit(function).lower(*arguments).as_text())
    module = parse(made.compile().as_text("optimized"))
    (fusion,) = [i for i in module.entry.instructions if i.opcode == "fusion"]
    called: Computation = fusion["calls"]
    plan = row_plan(called.root)
    assert plan is not None
    return plan


def loops(plan: RowPlan) -> list[str]:
    return [" ".join(i.opcode for i in (*loop.reduces, *loop.stored)) for loop in plan.loops]


def test_the_exponentials_of_a_softmax_are_kept_in_its_result() -> None:
    plan = plan_of(jax.nn.softmax, X)
    assert loops(plan) == ["reduce", "reduce exponential", "divide"]
    assert not plan.scratch
    assert [where.opcode for where in plan.kept.values()] == ["divide"]


def test_differences_from_the_mean_are_computed_anew() -> None:
    plan = plan_of(layer_norm, X, S, S)
    assert loops(plan) == ["reduce", "reduce", "add"]
    assert not plan.kept


def test_what_no_result_has_room_for_lies_in_scratch_memory_of_one_row() -> None:
    plan = plan_of(
        lambda x: jnp.exp(x).sum(-1) * (jnp.exp(x) - x.mean(-1, keepdims=True)).max(-1), X
    )
    assert [str(s) for s in plan.scratch] == ["f32[33]{0}"]


def test_results_of_other_types_hold_nothing() -> None:
    plan = plan_of(jax.nn.softmax, X.astype(np.float16))
    kept = [value.array_shape.element_type for value in plan.kept]
    assert kept == [F16]
    widened = plan_of(lambda x: jax.nn.softmax(x.astype(np.float32)).astype(np.float16), X)
    assert len(widened.scratch) == 1


def test_reductions_that_go_element_by_element_have_loops_of_their_own() -> None:
    def both(x: Any) -> Any:
        return jnp.argmax(x, -1), x.sum(-1), jnp.max(x, -1, keepdims=True) - x

    assert loops(plan_of(both, X)) == ["reduce reduce", "reduce", "subtract"]


@pytest.mark.parametrize("element_type", [F16, BF16, F32, F64])
def test_the_larger_of_floats_vectorises(element_type: ElementType) -> None:
    name = element_type.name
    text = f"""
        max {{ x = {name}[] parameter(0)
          y = {name}[] parameter(1)
          ROOT m = {name}[] maximum(x, y) }}
        ENTRY main {{ x = {name}[4,64] parameter(0)
          low = {name}[] constant(-inf)
          m = {name}[4] reduce(x, low), dimensions={{1}}, to_apply=max
          t = {name}[4,64] broadcast(m), dimensions={{0}}
          ROOT d = {name}[4,64] subtract(x, t) }}
        """
    plan = row_plan(RowFusion()(parse(text)).entry.root["calls"].root)
    assert plan is not None
    assert loops(plan) == ["reduce", "subtract"]
    assert plan.loops[0].level == 1


def test_a_computation_that_is_no_row_region_has_no_plan() -> None:
    text = """
        add { x = f32[] parameter(0)
          y = f32[] parameter(1)
          ROOT s = f32[] add(x, y) }
        ENTRY main { x = f32[4,8] parameter(0)
          zero = f32[] constant(0)
          s = f32[4] reduce(x, zero), dimensions={1}, to_apply=add
          r = f32[4] reverse(s), dimensions={0}
          t = f32[4,8] broadcast(r), dimensions={0}
          ROOT d = f32[4,8] subtract(x, t) }
        """
    assert row_plan(parse(text).entry.root) is None
