"""XLA as the second oracle: it parses what tfc prints, and computes what the evaluator says.

Conversely JAX's HLO text parses, verifies, and evaluates to what JAX computes.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import OracleCrash
from special_values import ulps
from strategies import EXACT
from xla_bridge import run_hlo_text, run_hlo_text_apart, xla_parse, xla_print

from tfc.hlo import builder, evaluate, parse
from tfc.hlo.ir import Computation, Module
from tfc.hlo.op import OPS
from tfc.hlo.ops.elementwise.selection import COMPARISONS
from tfc.hlo.shape import BF16, F16, F32, F64, PRED, S8, S32, S64, U8, U32, ElementType, Shape
from tfc.testing import ELEMENT_TYPES, OPCODES, arguments_for, instructions_of, modules

INTEGERS = [S8, U8, S32, U32, S64]
# What XLA's CPU backend has no code for; what StableHLO, which the bridge goes through, refuses.
UNIMPLEMENTED = ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh")
SIGNED_ONLY = ("abs", "sign")
# Where XLA itself is further off: ulps allowed. Its f16 logistic overflows on the way to 0.
XLA_ERROR = {("tanh", F64): 8, ("log-plus-one", F64): 64, ("logistic", F16): np.inf}
UNARY_FLOAT = [op.name for op in OPS.values()
               if op.elementwise and op.arity == 1 and "float" in op.domain
               and not op.needs_shape and not any(a.required for a in op.attributes)
               and op.name not in UNIMPLEMENTED]  # fmt: skip
BINARY_FLOAT = [op.name for op in OPS.values()
                if op.elementwise and op.arity == 2 and "float" in op.domain
                and op.name not in ("compare", "complex", "stochastic-convert")]  # fmt: skip
INTEGER_CASES = [(op.name, t) for op in OPS.values() for t in INTEGERS
                 if op.elementwise and "signed" in op.domain and not op.needs_shape
                 and op.name not in ("compare", "select", "clamp", "mulhi")
                 and not (t.kind == "unsigned" and op.name in SIGNED_ONLY)]  # fmt: skip


@pytest.mark.parametrize("opcode", [*OPCODES, "parameter", "get-tuple-element"])
@settings(max_examples=10)
@given(data=st.data())
def test_xla_parses_what_tfc_prints_of_every_op(opcode: str, data: st.DataObject):
    single = opcode if opcode in OPCODES else "tuple"
    text = str(data.draw(instructions_of(single)))
    again = parse(xla_print(xla_parse(text)))
    assert str(parse(str(again))) == str(again)


@settings(max_examples=100)
@given(modules(element_types=ELEMENT_TYPES))
def test_xla_prints_random_modules_as_tfc_does(module: Module):
    """Up to names, which XLA makes unique over the whole module, and -0.0, which it prints -0."""

    def anonymous(text: str) -> list[str]:
        # XLA prints what can be reached in its own order; a computation is compared as a set.
        text = re.sub(r"%[\w.\-]+|\b[\w.\-]+: ", "%", text.replace("-0.0", "-0"))
        return sorted(line.strip() for line in text.split("\n") if line.strip())

    text = str(module)
    assert anonymous(xla_print(xla_parse(text))) == anonymous(text)


@settings(max_examples=100)
@given(modules(element_types=(F32, S32, PRED), opcodes=EXACT, max_instructions=8))
def test_xla_computes_what_the_evaluator_says_on_whole_numbers(module: Module):
    """Bit for bit: whole numbers are exact whatever the order of a sum."""
    arrays = arguments_for(module, np.random.default_rng(0), "whole")
    try:
        got = run_hlo_text_apart(str(module), *arrays)
    except OracleCrash:
        return  # above all on programs without elements
    for a, b in zip(as_tuple(got), as_tuple(evaluate(module, *arrays))):
        np.testing.assert_array_equal(a, b)


def as_tuple(value: object) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def module_of(opcode: str, element_type: ElementType, count: int, **attributes: str) -> Module:
    """One elementwise op over parameters of `count` elements."""
    arity = OPS[opcode].arity
    assert arity is not None
    parameters = [builder.parameter(i, Shape(element_type, (count,))) for i in range(arity)]
    root = builder.instruction(opcode, parameters, **attributes)
    return Module(opcode, Computation.make("main", parameters, root))


def special_floats(element_type: ElementType) -> np.ndarray:
    """Zeros, infinities, NaN, powers of two over the range, and ordinary values of both signs."""
    rng = np.random.default_rng(0)
    positive = [0.0, np.inf, np.nan, 1e-3, 0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, 80.0, 700.0]
    positive += [*rng.uniform(0, 1, 40), *rng.uniform(0, 20, 40), *10 ** rng.uniform(-4, 4, 40)]
    with np.errstate(over="ignore"):
        return np.array([*positive, *(-v for v in positive)]).astype(element_type.dtype)


@pytest.mark.parametrize("element_type", [F32, F64, F16, BF16], ids=str)
@pytest.mark.parametrize("opcode", UNARY_FLOAT)
def test_unary_functions_agree_with_xla_within_4_ulp(opcode: str, element_type: ElementType):
    x = special_floats(element_type)
    module = module_of(opcode, element_type, len(x))
    got, expected = run_hlo_text(str(module), x), evaluate(module, x)
    assert_close(got, expected, opcode, x, allowed=XLA_ERROR.get((opcode, element_type), 4))


@pytest.mark.parametrize("element_type", [F32, F64, BF16], ids=str)
@pytest.mark.parametrize("opcode", BINARY_FLOAT)
def test_binary_functions_agree_with_xla_within_4_ulp(opcode: str, element_type: ElementType):
    values = special_floats(element_type)[::3]
    x, y = (g.reshape(-1) for g in np.meshgrid(values, values))
    module = module_of(opcode, element_type, len(x))
    got, expected = run_hlo_text(str(module), x, y), evaluate(module, x, y)
    assert_close(got, expected, opcode, x, y)


def assert_close(
    got: np.ndarray, expected: np.ndarray, opcode: str, *inputs: np.ndarray, allowed: float = 4
) -> None:
    assert got.dtype == expected.dtype
    if got.dtype.kind == "c":
        for part in (np.real, np.imag):
            assert_close(part(got), part(expected), opcode, *inputs, allowed=allowed)
        return
    if got.dtype == np.bool_:
        np.testing.assert_array_equal(got, expected)
        return
    # XLA flushes denormal results of some functions to zero.
    tiny = np.finfo(np.float32).tiny if got.dtype.itemsize < 8 else np.finfo(np.float64).tiny
    with np.errstate(invalid="ignore"):
        small = np.abs(expected.astype(np.float64) - got.astype(np.float64)) <= tiny
    wrong = np.flatnonzero((ulps(got, expected) > allowed) & ~small)
    shown = [(*(float(v[i]) for v in inputs), float(got[i]), float(expected[i])) for i in wrong[:5]]
    assert not len(wrong), f"{opcode}: (inputs, xla, evaluator) {shown}"


@pytest.mark.parametrize(("opcode", "element_type"), INTEGER_CASES, ids=str)
def test_integer_ops_agree_with_xla_on_every_edge(opcode: str, element_type: ElementType):
    """Division by zero, INT_MIN / -1, shifts by the width and more, overflow: the same bits."""
    limits = np.iinfo(element_type.dtype)
    small = [0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64]
    negative = [] if limits.min == 0 else [-v for v in small[1:]]
    values = np.array([*small, *negative, limits.min, limits.max, limits.max - 1, limits.max // 2],
                      element_type.dtype)  # fmt: skip
    arity = OPS[opcode].arity or 1
    inputs = [g.reshape(-1) for g in np.meshgrid(*[values] * arity)]
    module = module_of(opcode, element_type, len(inputs[0]))
    got, expected = run_hlo_text(str(module), *inputs), evaluate(module, *inputs)
    differs = got != expected
    if opcode == "power":
        # XLA looks at the low 6 bits of the exponent only: 3^64 is 1 there.
        differs &= inputs[1].astype(np.float64) < 64
    wrong = np.flatnonzero(differs)
    shown = [(*(int(v[i]) for v in inputs), int(got[i]), int(expected[i])) for i in wrong[:5]]
    assert not len(wrong), f"{opcode}: (inputs, xla, evaluator) {shown}"


@pytest.mark.parametrize("start", [(0, 0), (1, 2), (-3, 9), (7, -1)])
def test_dynamic_slices_agree_with_xla(start: tuple[int, int]):
    text = """
ENTRY main {
  x = f32[3,5] parameter(0)
  i = s32[] parameter(1)
  j = s32[] parameter(2)
  window = f32[2,3] dynamic-slice(x, i, j), dynamic_slice_sizes={2,3}
  negated = f32[2,3] negate(window)
  updated = f32[3,5] dynamic-update-slice(x, negated, j, i)
  ROOT both = (f32[2,3], f32[3,5]) tuple(window, updated)
}"""
    values = np.arange(15, dtype=np.float32).reshape(3, 5), *(np.int32(s) for s in start)
    module = parse(text)
    for got, expected in zip(evaluate(module, *values), run_hlo_text(str(module), *values)):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("element_type", [F32, S32, U8, PRED], ids=str)
@pytest.mark.parametrize("direction", COMPARISONS)
def test_comparisons_agree_with_xla(direction: str, element_type: ElementType):
    values = np.array([0, 1], bool)
    if element_type == F32:
        values = special_floats(F32)[::5]
    elif element_type != PRED:
        values = np.arange(0 if element_type == U8 else -3, 4).astype(element_type.dtype)
    x, y = (g.reshape(-1) for g in np.meshgrid(values, values))
    module = module_of("compare", element_type, len(x), direction=direction)
    np.testing.assert_array_equal(run_hlo_text(str(module), x, y), evaluate(module, x, y))


CONVERTIBLE = [PRED, S8, U8, S32, U32, S64, F16, BF16, F32, F64]


@pytest.mark.parametrize("source", CONVERTIBLE, ids=str)
@pytest.mark.parametrize("target", CONVERTIBLE, ids=str)
def test_conversions_agree_with_xla(source: ElementType, target: ElementType):
    """Rounding, saturation, wrapping and NaN, between all pairs of types."""
    if source.is_float:
        x = np.array([*special_floats(source), 127.5, -128.5, 255.9, 256.0, 3e9, -3e9, 65519.0])
        with np.errstate(over="ignore"):
            x = x.astype(source.dtype)
    elif source == PRED:
        x = np.array([False, True])
    else:
        limits = np.iinfo(source.dtype)
        x = np.array([0, 1, 2, 100, limits.min, limits.max, limits.max - 1], source.dtype)
    parameter = builder.parameter(0, Shape(source, (len(x),)))
    root = builder.convert(parameter, target)
    module = Module("convert", Computation.make("main", [parameter], root))
    got, expected = run_hlo_text(str(module), x), evaluate(module, x)
    wrong = np.flatnonzero(~((got == expected) | ((got != got) & (expected != expected))))
    assert not len(wrong), [(x[i], got[i], expected[i]) for i in wrong[:5]]


def jax_text(function, *arguments) -> str:
    return jax.jit(function).lower(*arguments).compiler_ir("hlo").as_hlo_text(True)


def mlp_loss(weights, x, labels):
    hidden = jnp.tanh(x @ weights["w1"] + weights["b1"])
    logits = hidden @ weights["w2"] + weights["b2"]
    logp = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, logits.shape[1]) * logp, axis=1))


def mlp_with_gradient(w1, b1, w2, b2, x, labels):
    weights = {"w1": w1, "b1": b1, "w2": w2, "b2": b2}
    return jax.value_and_grad(mlp_loss)(weights, x, labels)


def newton_root(x):
    return jax.lax.while_loop(
        lambda s: (s[0] < 20) & (jnp.abs(s[1] * s[1] - x) > 1e-6).any(),
        lambda s: (s[0] + 1, 0.5 * (s[1] + x / s[1])),
        (0, x),
    )


def powers(x):
    return jax.lax.fori_loop(0, 5, lambda i, v: v * x + i.astype(x.dtype), jnp.ones_like(x))


def choose(flag, index, x):
    first = jax.lax.cond(flag > 0, jnp.sin, lambda v: v * 2, x)
    return jax.lax.switch(index, [jnp.cos, jnp.exp, lambda v: -v], first)


def shuffle(x, y):
    product = jnp.einsum("bij,bjk->bik", x, y).transpose(2, 0, 1)
    joined = jnp.concatenate([product.reshape(-1, 2), jnp.flip(x[:, 1:3, ::2]).reshape(-1, 2)])
    return jnp.pad(joined, ((1, 2), (0, 1)), constant_values=-1.0)[1:-1]


def layer_norm_gelu(x, scale, offset):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    y = (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + offset
    return 0.5 * y * (1 + jax.lax.erf(y / jnp.sqrt(2.0))) + jax.nn.sigmoid(y) + jnp.log1p(y * y)


def whole_numbers(x, y):
    bits = (x ^ (y << 3)) & ~y | (x >> 2)
    mask = (x < y) | (x % 3 == 0)
    return jnp.where(mask, bits, jnp.clip(x * y, -100, 100)), mask.any(), (x // jnp.abs(y)).sum()


def largest_index(x):
    return jnp.argmax(x, axis=1), x.max(axis=1), jnp.argmin(x)


PLACES = np.array([[0, 5], [-1, 9], [2, 2]], np.int32)  # some beyond the bounds of 6 × 5


def windows(x, places):
    return jax.vmap(lambda at: jax.lax.dynamic_slice(x, (at[0], at[1]), (2, 3)))(places)


def table_with_gradient(x, places):
    return jax.grad(lambda t: (jnp.take(t, places, axis=0, mode="clip") ** 2).sum())(x)


def updates(x, places):
    rows = places[:, 0]
    return (x.at[rows].add(1.5), x.at[rows, 2].set(7.0), x.at[places].multiply(3.0),
            x.at[rows, 1:3].max(0.2), x[rows, places[:, 1] % 5])  # fmt: skip


def rows_of_a_batch(x, places):
    at = places.reshape(-1)
    ones = jnp.ones(2, jnp.float32)
    read = jax.vmap(lambda row, i: jax.lax.dynamic_slice(row, (i,), (2,)))
    written = jax.vmap(lambda row, i: jax.lax.dynamic_update_slice(row, ones, (i,)))
    return read(x, at), written(x, at)


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.normal(size=s).astype(np.float32) for s in shapes]


PROGRAMS = {
    "mlp_with_gradient": (mlp_with_gradient, [*arrays((5, 8), (8,), (8, 3), (3,), (4, 5)),
                                              np.array([0, 2, 1, 1], np.int32)]),
    "newton_root": (newton_root, [np.array([2.0, 9.0, 100.0], np.float32)]),
    "powers": (powers, arrays((2, 3))),
    "choose": (choose, [np.float32(1), np.int32(1), *arrays((4,))]),
    "shuffle": (shuffle, arrays((2, 3, 4), (2, 4, 5))),
    "layer_norm_gelu": (layer_norm_gelu, arrays((3, 8), (8,), (8,))),
    "whole_numbers": (whole_numbers, [np.arange(-8, 8, dtype=np.int32),
                                      np.array([1, -2, 3, 5] * 4, np.int32)]),
    "largest_index": (largest_index, arrays((4, 7))),
    "windows": (windows, [*arrays((6, 5)), PLACES]),
    "table_with_gradient": (table_with_gradient, [*arrays((6, 5)), PLACES]),
    "updates": (updates, [*arrays((6, 5)), PLACES]),
    "rows_of_a_batch": (rows_of_a_batch, [*arrays((6, 5)), PLACES]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_jax_programs_parse_and_evaluate_to_what_jax_computes(name: str):
    function, values = PROGRAMS[name]
    text = jax_text(function, *values)
    module = parse(text)
    leaves = jax.tree_util.tree_leaves(jax.jit(function)(*values))
    got = as_tuple(evaluate(module, *values))
    assert len(got) == len(leaves)
    for value, leaf in zip(got, leaves):
        expected = np.asarray(leaf)
        assert value.dtype == expected.dtype
        np.testing.assert_allclose(value, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_jax_programs_print_as_xla_prints_them_and_round_trip(name: str):
    function, values = PROGRAMS[name]
    text = str(parse(jax_text(function, *values)))
    assert str(parse(text)) == text
    assert parse(xla_print(xla_parse(text))).entry.root.shape == parse(text).entry.root.shape


def test_optimised_modules_with_layout_tables_and_fusions_parse():
    """What XLA's CPU compiler leaves: scheduled, fused, with stack-frame tables and metadata."""
    x = np.ones((4, 8), np.float32)
    text = jax.jit(lambda v: jnp.exp(v) * 2 + v.sum()).lower(x).compile().as_text()
    module = parse(text)
    assert {"is_scheduled", "FileNames", "StackFrames"} <= {name for name, _ in module.attributes}
    assert any(i.opcode == "fusion" for i in module.entry.instructions)
    assert str(parse(str(module))) == str(module)
    np.testing.assert_allclose(evaluate(module, x), np.exp(x) * 2 + 32, rtol=1e-6)
    assert "stack_frame_id" in xla_print(xla_parse(str(module)))
