"""Writing over operands: which kernels may, that values stay right, and that loops copy nothing."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counting import AS_STEPS, copies_in_loops
from hypothesis import given, settings
from jax import lax

import tfc
import tfc.numpy as tnp
from tfc.compiler import emit_text
from tfc.hlo import Module, evaluate, parse
from tfc.hlo.shape import F32, PRED, S32
from tfc.passes.analysis.in_place import overwritable
from tfc.passes.fusion.fusion import Fusion
from tfc.testing import arguments_for, modules

HELPERS = """
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT }
"""
PARAMETERS = """x = f32[4,6] parameter(0); y = f32[4,6] parameter(1); v = f32[6] parameter(2);
    i = s32[] parameter(3); u = f32[1,6] parameter(4); z = s32[] constant(0);"""


def entry(lines: str, parameters: str = PARAMETERS) -> Module:
    body = f"{parameters}{lines}".replace(";", "\n")
    return parse(f"{HELPERS}\nENTRY main {{\n{body}\n}}")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("ROOT r = f32[4,6] add(x, y)", "x y"),
        ("n = f32[4,6] negate(x); ROOT r = f32[4,6] multiply(n, x)", "x"),
        ("b = f32[4,6] broadcast(v), dimensions={1}; ROOT r = f32[4,6] add(x, b)", "x"),
        # Through two transposes every element is back in its place; through one it is not.
        ("t = f32[6,4] transpose(x), dimensions={1,0}; n = f32[6,4] negate(t);"
         "ROOT r = f32[4,6] transpose(n), dimensions={1,0}", "x"),
        ("t = f32[4,6] reverse(x), dimensions={0}; ROOT r = f32[4,6] add(t, y)", "y"),
        ("t = f32[4,6] reverse(x), dimensions={0}; ROOT r = f32[4,6] add(t, x)", ""),
        ("s = f32[3,6] slice(x), slice={[1:4], [0:6]}; k = f32[] constant(0);"
         "ROOT r = f32[4,6] pad(s, k), padding=1_0x0_0", "x"),
        ("s = f32[3,6] slice(x), slice={[0:3], [0:6]}; k = f32[] constant(0);"
         "ROOT r = f32[4,6] pad(s, k), padding=1_0x0_0", ""),
        ("ROOT r = f32[4,6] dynamic-update-slice(x, u, i, z)", "x"),
        # What is read at the place that is written is read before; elsewhere, perhaps after.
        ("s = f32[1,6] dynamic-slice(x, i, z), dynamic_slice_sizes={1,6}; a = f32[1,6] add(s, u);"
         "ROOT r = f32[4,6] dynamic-update-slice(x, a, i, z)", "x"),
        ("s = f32[1,6] dynamic-slice(x, z, z), dynamic_slice_sizes={1,6}; a = f32[1,6] add(s, u);"
         "ROOT r = f32[4,6] dynamic-update-slice(x, a, i, z)", ""),
        ("n = f32[4,6] add(x, y); s = f32[1,6] slice(x), slice={[1:2], [0:6]};"
         "ROOT r = f32[4,6] dynamic-update-slice(n, s, i, z)", "y"),
        ("a = f32[4,6] dynamic-update-slice(x, u, i, z);"
         "ROOT r = f32[4,6] dynamic-update-slice(a, u, z, i)", "x"),
        ("s = f32[1,6] dynamic-slice(x, i, z), dynamic_slice_sizes={1,6};"
         "a = f32[4,6] dynamic-update-slice(x, u, z, z); n = f32[1,6] add(s, u);"
         "ROOT r = f32[4,6] dynamic-update-slice(a, n, i, z)", ""),
        ("ROOT r = pred[4,6] compare(x, y), direction=LT", ""),
        ("ROOT r = f32[4,6] sort(x), dimensions={1}, to_apply=less", "x"),
        ("ROOT r = f32[4,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}", ""),
        ("j = s32[1] reshape(i); ROOT r = f32[4,6] scatter(x, j, v), update_window_dims={0},"
         " inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=0,"
         " to_apply=add", "x"),
    ],
)  # fmt: skip
def test_what_may_be_overwritten(lines: str, expected: str) -> None:
    module = Fusion()(entry(lines))
    root = module.entry.root
    assert " ".join(root.operands[n].name for n, _ in overwritable(root)) == expected


def on_cpu(module: Module, donated: str = "") -> list[np.ndarray]:
    """Run on the CPU with all arguments that fit donated, and compare with the evaluator."""
    stated = (("buffer_donor", donated),) if donated else ()
    donating = Module(module.name, module.entry, stated)
    arguments = arguments_for(module, np.random.default_rng(0), "whole")
    expected = evaluate(module, *arguments)
    given_ = [np.array(a) for a in arguments]
    results = tfc.compile(donating)(*given_)
    for a, b in zip(expected if isinstance(expected, tuple) else [expected], results):
        np.testing.assert_array_equal(a, b)
    if not donated:
        for a, b in zip(arguments, given_):
            np.testing.assert_array_equal(a, b)
    return results


LINES = [
    "a = f32[4,6] dynamic-update-slice(x, u, i, z);"
    "ROOT r = f32[4,6] dynamic-update-slice(a, u, z, i)",
    "s = f32[1,6] dynamic-slice(x, i, z), dynamic_slice_sizes={1,6}; n = f32[1,6] add(s, u);"
    "a = f32[4,6] dynamic-update-slice(x, n, i, z);"
    "ROOT r = f32[4,6] dynamic-update-slice(a, u, z, i)",
    "s = f32[1,6] dynamic-slice(x, i, z), dynamic_slice_sizes={1,6};"
    "a = f32[4,6] dynamic-update-slice(x, u, z, z); n = f32[1,6] add(s, u);"
    "ROOT r = f32[4,6] dynamic-update-slice(a, n, i, z)",
    "ROOT r = f32[4,6] dynamic-update-slice(x, u, i, z)",
    "s = f32[1,6] dynamic-slice(x, i, z), dynamic_slice_sizes={1,6}; a = f32[1,6] add(s, u);"
    "ROOT r = f32[4,6] dynamic-update-slice(x, a, i, z)",
    "s = f32[1,6] dynamic-slice(x, z, z), dynamic_slice_sizes={1,6}; a = f32[1,6] add(s, u);"
    "ROOT r = f32[4,6] dynamic-update-slice(x, a, i, z)",
    "n = f32[4,6] add(x, y); s = f32[1,6] slice(x), slice={[1:2], [0:6]};"
    "ROOT r = f32[4,6] dynamic-update-slice(n, s, i, z)",
    "t = f32[4,6] reverse(x), dimensions={0}; ROOT r = f32[4,6] add(t, x)",
    "r = (f32[4,6], f32[4,6]) sort(x, y), dimensions={0}, to_apply=less2;"
    "ROOT a = f32[4,6] get-tuple-element(r), index=1",
]


@pytest.mark.parametrize("donated", ["", "{ (0, {}) }", "{ (0, {}), (1, {}) }"])
@pytest.mark.parametrize("lines", LINES)
def test_kernels_over_donated_arguments_are_right(lines: str, donated: str) -> None:
    less2 = """less2 { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] parameter(2)
      d = f32[] parameter(3)\n ROOT l = pred[] compare(a, b), direction=LT }\n"""
    body = f"{PARAMETERS}{lines}".replace(";", "\n")
    on_cpu(parse(f"{less2}ENTRY main {{\n{body}\n}}"), donated)


@settings(max_examples=15)
@given(modules(12, element_types=(F32, S32, PRED)))
def test_random_modules_with_donated_arguments(module: Module) -> None:
    fits = [n for n, p in enumerate(module.entry.parameters) if hasattr(p.shape, "dims")]
    arguments = arguments_for(module, np.random.default_rng(0), "whole")
    if any(isinstance(a, tuple) for a in arguments) or not fits:
        return
    listed = ", ".join(f"({n}, {{}})" for n in fits)
    donating = Module(module.name, module.entry, (("buffer_donor", f"{{ {listed} }}"),))
    expected = tfc.compile(module)(*arguments)
    got = tfc.compile(donating)(*(np.array(a) for a in arguments))
    for a, b in zip(expected, got):
        np.testing.assert_array_equal(a, b)


# --- loops ---------------------------------------------------------------------------------------


def test_copies_in_loops_are_counted() -> None:
    swap = tfc.jit(lambda x, y: tfc.fori_loop(0, 30, lambda i, s: (s[1], s[0]), (x, y)))
    x = np.ones(3, np.float32)
    assert copies_in_loops(swap.lower(x, x).hlo) == 3


def loops():
    x, n = np.arange(12, dtype=np.float32).reshape(3, 4), np.float32(3)

    def rows(x, n):
        return tfc.fori_loop(0, 20, lambda i, a: tnp.where(a > 3, a * 2, a + n), x)

    def total(x, n):
        step = lambda s: (s[0] + 1, s[1] * 2 + x, s[2] + s[1].sum())  # noqa: E731
        return tfc.while_loop(lambda s: s[0] < n, step, (0, x, np.float32(0)))

    def nested(x, n):
        inner = lambda i, a: tfc.fori_loop(0, i, lambda j, b: b * 2 + n, a)  # noqa: E731
        return tfc.fori_loop(0, 12, inner, x)

    # The inner loop begins with its counter, each time from the constant.
    return [(rows, 0, x, n), (total, 0, x, n), (nested, 1, x, n)]


@pytest.mark.parametrize(("function", "copies", "x", "n"), loops(), ids=["rows", "total", "nested"])
def test_loops_keep_their_state_in_place(function, copies, x, n) -> None:
    f = tfc.jit(function)
    assert copies_in_loops(f.lower(x, n).hlo) == copies
    expected = tfc.jit(function, backend="interpreter")(x, n)
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(f(x, n))):
        np.testing.assert_array_equal(a, b)


def update_rows(array, row):
    def step(i, s):
        updated = lax.dynamic_slice(s, (i, 0), (1, s.shape[1])) * 2 + row
        return lax.dynamic_update_slice(s, updated, (i, 0))

    return lax.fori_loop(0, 100, step, array)


def test_updating_rows_writes_rows() -> None:
    """The stores of the loop's kernels are for the rows, not for the array."""
    shapes = jnp.zeros((700, 50)), jnp.zeros((1, 50))
    function = tfc.from_stablehlo(jax.jit(update_rows).lower(*shapes).as_text())
    assert copies_in_loops(function.hlo) == 0
    text = emit_text(function.hlo, "mlir", options=AS_STEPS)
    written = re.findall(r"memref\.store [^:]*: memref<35000xf32>", text)
    assert written
    for kernel in re.findall(r"func\.func private.*?\n  }\n", text, re.DOTALL):
        if "memref<35000xf32>" in kernel and "memref.store" in kernel:
            assert "arith.constant 50 : index" in kernel
            assert "constant 35000 : index" not in kernel
            assert "constant 700 : index" not in kernel
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s.shape, np.float32) for s in shapes]
    np.testing.assert_allclose(function(*arrays), update_rows(*arrays), rtol=1e-6)
