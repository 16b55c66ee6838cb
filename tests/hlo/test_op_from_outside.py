"""An elementwise op is three rows, and whoever has them has everything: text, values, optimiser,
code, gradients, a NumPy function, costs, a page of the reference and random programs.

The op is defined here, as a package outside of tfc would, and forgotten again.
"""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfc
import tfc.numpy as tnp
from tfc.backends.mlir.arithmetic.elemental import EMISSION, on_floats
from tfc.backends.mlir.arithmetic.floating import absolute
from tfc.errors import InternalError, UnsupportedError
from tfc.frontend.differentiation.reverse import RULES
from tfc.frontend.differentiation.vjp import derivative
from tfc.frontend.operations import operation
from tfc.hlo import evaluate, parse, verify
from tfc.hlo.op import OPS, Op, movement, op_named, provisional, register
from tfc.hlo.ops.elementwise.families import FLOAT, binary, function, unary
from tfc.hlo.shape import F32, F64
from tfc.hlo.traits import Accuracy, Algebra, Category, Cost
from tfc.passes.analysis.cost import cost_analysis
from tfc.passes.simplify.simplify import Simplify
from tfc.testing import arguments_for, instructions_of
from tfc.testing.fuzz import problem
from tfc.testing.generators.modules import modules
from tfc.tools import catalogue

NAME = "softsign"
TEXT = """HloModule outside

ENTRY main {
  x = f32[5] parameter(0)
  ROOT y = f32[5] softsign(x)
}
"""


def softsign(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.abs(x))


@pytest.fixture(scope="module", autouse=True)
def _definition() -> Iterator[None]:
    """The three rows."""
    with provisional():
        unary(NAME, FLOAT, softsign, Cost.MODERATE, Accuracy.APPROXIMATE,
              "The operand over one more than its magnitude.", numpy=(NAME, "elliot"),
              stablehlo=None)  # fmt: skip
        derivative(NAME, lambda x, y: (1 - operation("abs", y)) ** 2)
        EMISSION[NAME] = on_floats(lambda x: x / (absolute(x) + 1.0))
        yield
    del RULES[NAME], EMISSION[NAME]
    with pytest.raises(UnsupportedError, match="unknown operation 'softsign'"):
        op_named(NAME)
    with pytest.raises(AttributeError, match="softsign"):
        _ = tnp.softsign
    assert NAME not in dir(tnp)
    assert NAME not in catalogue.reference_page()


def test_text_comes_back_and_is_verified():
    module = parse(TEXT)
    verify(module)
    assert str(parse(str(module))) == str(module)
    assert f"f32[5]{{0}} {NAME}(" in str(module)


def test_a_wrong_type_is_refused_by_name():
    with pytest.raises(tfc.errors.ParseError, match="softsign requires operands of type float"):
        parse(TEXT.replace("f32", "s32"))


def test_the_evaluator_and_the_cpu_agree_with_numpy():
    x = np.array([-3, -0.5, 0, 2, np.inf], np.float32)
    module = parse(TEXT)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(evaluate(module, x), softsign(x))
    assert problem(module, [x], "cpu") is None
    assert problem(parse(TEXT.replace("f32", "bf16")), [x.astype("bfloat16")], "cpu") is None


def test_the_optimiser_knows_that_it_is_elementwise():
    text = """ENTRY main {
      x = f32[] parameter(0)
      wide = f32[3,4] broadcast(x), dimensions={}
      ROOT y = f32[3,4] softsign(wide)
    }"""
    root = Simplify()(parse(text)).entry.root
    assert (root.opcode, root.operands[0].opcode) == ("broadcast", NAME)


def test_it_fuses_with_what_is_around_it():
    compiled = tfc.jit(lambda x: tnp.sum(operation(NAME, x * 2) + 1))
    x = np.linspace(-2, 2, 300)
    np.testing.assert_allclose(compiled(x), np.sum(softsign(2 * x) + 1))
    assert compiled.lower(x).compile().as_text().count("fusion(") == 1


def test_its_gradient_agrees_with_differences():
    x = np.array([-2.0, -0.3, 0.4, 5])
    got = tfc.grad(lambda t: tnp.sum(tnp.softsign(t) * t))(x)
    step = 1e-6
    differences = (softsign(x + step) * (x + step) - softsign(x - step) * (x - step)) / (2 * step)
    np.testing.assert_allclose(got, differences, rtol=1e-6)


def test_it_is_mapped_without_a_rule():
    x, scale = np.linspace(-3, 3, 12).reshape(4, 3), np.arange(3.0)
    got = tfc.vmap(lambda t, s: tnp.softsign(t * s), in_axes=(0, None))(x, scale)
    np.testing.assert_allclose(got, softsign(x * scale))


def test_it_has_a_function_of_numpys_namespace():
    assert NAME in dir(tnp)
    assert tnp.softsign.__doc__ == OPS[NAME].description
    np.testing.assert_allclose(tnp.elliot([1, -3]), [0.5, -0.75])
    assert tnp.softsign(np.array([1], np.int16)).dtype == np.float32
    with pytest.raises(tfc.errors.TraceError, match="softsign"):
        tnp.softsign(np.array([1j]))


def test_stablehlo_has_no_such_operation_and_export_says_so():
    with pytest.raises(UnsupportedError, match=NAME):
        tfc.jit(tnp.softsign).lower(np.ones(3, np.float32)).as_text("stablehlo")


def test_its_cost_is_counted():
    cost = cost_analysis(parse(TEXT))
    assert (cost.flops, cost.transcendentals) == (5, 0)


def test_the_reference_has_an_entry_with_an_example():
    page = catalogue.reference_page()
    entry = page[page.index("## softsign") :].partition("\n## ")[0]
    for part in ("`softsign(x)`", "The operand over one more than its magnitude.", "Gradient: a "
                 "rule. CPU: element.", "gives `{0.2, 0.333333343, 0.428571433}`."):  # fmt: skip
        assert part in entry
    assert f"\n{NAME} " in catalogue.coverage()


@settings(max_examples=15)
@given(data=st.data(), seed=st.integers(0, 100))
def test_random_programs_draw_it(data: st.DataObject, seed: int):
    if seed % 2:
        module = data.draw(instructions_of(NAME))
    else:
        module = data.draw(modules(6, (F32, F64), (NAME, "add", "reduce", "transpose")))
    arguments = arguments_for(module, np.random.default_rng(seed), "special")
    assert problem(module, arguments, "cpu") is None


def test_a_definition_that_lacks_a_trait_fails_by_name():
    with provisional():
        with pytest.raises(InternalError, match="op bare does not state its cost, accuracy, desc"):
            unary("bare", FLOAT, softsign)
        with pytest.raises(InternalError, match="op shrug does not state its algebra"):
            binary("shrug", FLOAT, np.add, Cost.CHEAP, Accuracy.ROUNDED, description="Words.")
        with pytest.raises(InternalError, match="op wave does not state its cost"):
            function("wave", FLOAT, np.sin, description="Words.")
        with pytest.raises(InternalError, match="op shuffle does not state its moved"):
            movement("shuffle", 1, OPS["copy"].infer, OPS["copy"].evaluate, lambda *_: [])
        with pytest.raises(InternalError, match="op mystery does not state its category, cost"):
            register(Op("mystery", 1, OPS["copy"].infer, OPS["copy"].evaluate))


def test_what_follows_from_traits():
    lookup = lambda **traits: {n for n, op in OPS.items() if all(  # noqa: E731
        getattr(op, k) == v for k, v in traits.items())}  # fmt: skip
    assert lookup(folds=True) == {"add", "and", "maximum", "minimum", "multiply", "or", "xor"}
    assert lookup(commutative=True) == lookup(folds=True) | {"mulhi"}
    assert {n for n in lookup(folds=True) if Algebra.IDEMPOTENT in OPS[n].algebra} == {
        "and", "maximum", "minimum", "or",
    }  # fmt: skip
    assert lookup(category=Category.CONSTANT) == {"constant"}
    assert lookup(is_fixed_movement=True) == {
        "broadcast", "concatenate", "copy", "pad", "reshape", "reverse", "slice", "transpose",
    }  # fmt: skip
