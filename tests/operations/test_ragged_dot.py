"""Ragged dot: JAX's values in every mode, XLA's text, its expansion, gradient and refusals."""

import re

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from xla_bridge import xla_parse, xla_print

import tfc
import tfc.numpy as tnp
from tfc.errors import ParseError
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor
from tfc.hlo import evaluate, parse
from tfc.hlo.ir import Module
from tfc.hlo.shape import F64, S32
from tfc.passes import parse_passes
from tfc.testing import arguments_for, instructions_of

# (left operand, right, group sizes, batch, contracting, ragged, group dimension)
# fmt: off
MODES = {
    "free": ((6, 3), (2, 3, 4), [2, 3], ([], []), ([1], [1]), 0, [0]),
    "free of a batch": ((5, 6, 3), (2, 5, 3, 4), [4, 1], ([0], [1]), ([2], [2]), 1, [0]),
    "free, sizes of each batch": ((3, 6, 3), (2, 3, 3, 4), [[2, 3], [0, 6], [1, 0]],
                                  ([0], [1]), ([2], [2]), 1, [0]),
    "free, after another": ((2, 6, 3), (4, 3, 3), [[1, 2, 3], [2, 0, 2]],
                            ([], []), ([2], [2]), 1, [1]),
    "contracting": ((6, 5), (5, 4), [2, 0, 2], ([], []), ([1], [0]), 1, []),
    "contracting of a batch": ((3, 6, 5), (3, 5, 4), [[1, 2], [5, 0], [0, 0]],
                               ([0], [0]), ([2], [1]), 2, []),
    "contracting, after another": ((6, 2, 5), (5, 4, 2), [[1, 4], [2, 2]],
                                   ([], []), ([1, 2], [2, 0]), 2, []),
    "batch": ((5, 6, 3), (5, 3, 4), [2, 1], ([0], [0]), ([2], [1]), 0, []),
}
# fmt: on


def module_of(name: str) -> Module:
    """The mode's ragged-dot over parameters."""
    left, right, sizes, batch, contracting, ragged, groups = MODES[name]
    named = {"lhs_batch_dims": batch[0], "lhs_contracting_dims": contracting[0],
             "rhs_batch_dims": batch[1], "rhs_contracting_dims": contracting[1],
             "lhs_ragged_dims": [ragged], "rhs_group_dims": groups}  # fmt: skip
    text = ", ".join(
        f"{k}={{{','.join(map(str, v))}}}" for k, v in named.items() if v or "contracting" in k
    )
    shapes = (f"{t}{list(s)}" for t, s in (("f32", left), ("f32", right), ("s32", np.shape(sizes))))
    x, w, s = (shape.replace(" ", "") for shape in shapes)
    return parse(
        f"ENTRY e {{ x = {x} parameter(0)\n w = {w} parameter(1)\n s = {s} parameter(2)\n"
        f"ROOT d = ragged-dot(x, w, s), {text} }}"
    )


def values_of(name: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    x, w, _ = arguments_for(module_of(name), rng, "whole")
    return [x, w, np.array(MODES[name][2], np.int32)]


@pytest.mark.parametrize("name", MODES)
def test_every_mode_is_jaxs(name: str):
    _, _, _, batch, contracting, ragged, groups = MODES[name]
    numbers = jax.lax.RaggedDotDimensionNumbers((contracting, batch), [ragged], groups)
    module, values = module_of(name), values_of(name)
    expected = np.asarray(jax.lax.ragged_dot_general(*values, numbers))
    np.testing.assert_array_equal(evaluate(module, *values), expected)
    (got,) = tfc.compile(module)(*values)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", MODES)
def test_it_prints_as_xla_prints_it(name: str):
    text = str(module_of(name))
    assert str(parse(text)) == text
    root = re.search(r"ragged-dot\(.*", text)
    assert root is not None
    assert root[0] in xla_print(xla_parse(text))


@settings(max_examples=40)
@given(instructions_of("ragged-dot"))
def test_the_expansion_means_the_same(module: Module):
    """Also for sizes that are negative, or more than there is."""
    (expand,) = parse_passes("expand")
    after = expand(module)
    assert all(i.opcode != "ragged-dot" for i in after.entry.instructions)
    values = arguments_for(module, np.random.default_rng(0), "whole")
    np.testing.assert_array_equal(evaluate(after, *values), evaluate(module, *values))


@settings(max_examples=20)
@given(instructions_of("ragged-dot", (F64, S32)))
def test_gradients_are_exact(module: Module):
    """It is linear in each operand, so along any direction a difference is the value."""
    root, rng = module.entry.root, np.random.default_rng(0)
    if root.operands[0].array_shape.element_type != F64:
        return
    sizes = rng.integers(0, 3, root.operands[2].array_shape.dims).astype(np.int32)
    x, w, u, v = (rng.normal(size=o.array_shape.dims) for o in root.operands[:2] * 2)
    g = rng.normal(size=root.array_shape.dims)

    def weighted(x, w):
        made = operation("ragged-dot", as_tensor(x), as_tensor(w), as_tensor(sizes),
                         **root.attributes)  # fmt: skip
        return tnp.sum(made * g)

    value = tfc.jit(weighted, backend="interpreter")
    of_x, of_w = tfc.jit(tfc.grad(weighted, (0, 1)), backend="interpreter")(x, w)
    np.testing.assert_allclose((of_x * u).sum(), value(u, w), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose((of_w * v).sum(), value(x, v), rtol=1e-9, atol=1e-9)


REFUSED = [
    ("lhs_ragged_dims={0}", "one group dimension of the right operand if a free dimension"),
    ("lhs_ragged_dims={0,1}, rhs_group_dims={0}", "one ragged dimension, got [0, 1]"),
    ("lhs_ragged_dims={2}, rhs_group_dims={0}", "within 0..1"),
    ("lhs_ragged_dims={0}, rhs_group_dims={2}", "contracting dimensions of equal sizes"),
    ("lhs_ragged_dims={0}, rhs_group_dims={1}", "distinct dimensions within 0..2, got [1, 1]"),
]


@pytest.mark.parametrize(("attributes", "message"), REFUSED)
def test_what_does_not_fit_is_refused(attributes: str, message: str):
    with pytest.raises(ParseError, match=re.escape(message)):
        parse(
            "ENTRY e { x = f32[6,3] parameter(0)\n w = f32[2,3,4] parameter(1)\n"
            "s = s32[2] parameter(2)\n ROOT d = ragged-dot(x, w, s), lhs_contracting_dims={1}, "
            f"rhs_contracting_dims={{1}}, {attributes} }}"
        )


@pytest.mark.parametrize("sizes", ["s32[3]", "f32[2]", "s32[6,2]", "s32[]"])
def test_group_sizes_are_integers_one_for_each_group(sizes: str):
    with pytest.raises(ParseError, match=r"ragged-dot requires|contracting dimensions of equal"):
        parse(
            f"ENTRY e {{ x = f32[6,3] parameter(0)\n w = f32[2,3,4] parameter(1)\n"
            f"s = {sizes} parameter(2)\n ROOT d = ragged-dot(x, w, s), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0} }"
        )
