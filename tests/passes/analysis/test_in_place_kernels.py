"""Writing over operands by kernels with several results and by those that go row by row."""

import numpy as np
import pytest
from row_programs import FLOATS, row_program

from tfc.compiler import compile as compile_module
from tfc.hlo import Module, builder, parse
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import F32, Shape
from tfc.passes.analysis.in_place import overwritable
from tfc.passes.analysis.row_plan import row_plan
from tfc.passes.fusion.fusion import Fusion
from tfc.passes.fusion.multi_output import MultiOutput
from tfc.passes.fusion.rows import RowFusion
from tfc.testing import arguments_for
from tfc.testing.compare import mismatch

HELPERS = """
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
maximum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b) }
"""
PARAMETERS = """x = f32[4,6] parameter(0); y = f32[4,6] parameter(1); z = f32[6] parameter(2);
    v = f32[4] parameter(3); zero = f32[] constant(0); low = f32[] constant(-inf);"""
SUM = "s = f32[4] reduce({}, zero), dimensions={{1}}, to_apply=add;"
WIDE = "w = f32[4,6] broadcast(s), dimensions={0};"


def entry(lines: str) -> Module:
    body = f"{PARAMETERS}{lines}".replace(";", "\n")
    return parse(f"{HELPERS}\nENTRY main {{\n{body}\n}}")


def pairs(fusion: Instruction) -> str:
    """Which operands may become which results, by name and number."""
    return " ".join(f"{fusion.operands[n].name}{result}" for n, result in overwritable(fusion))


def the_fusion(module: Module) -> Instruction:
    (fusion,) = [i for i in module.entry.instructions if i.opcode == "fusion"]
    return fusion


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("a = f32[4,6] add(x, y); b = f32[4,6] multiply(x, y);"
         "ROOT t = (f32[4,6], f32[4,6]) tuple(a, b)", "x0 x1 y0 y1"),
        # What one result reads where another is written stays; and what is of another type.
        ("r = f32[4,6] reverse(x), dimensions={0}; a = f32[4,6] add(r, y);"
         "b = f32[4,6] multiply(x, y); ROOT t = (f32[4,6], f32[4,6]) tuple(a, b)", "y0 y1"),
        ("a = pred[4,6] compare(x, y), direction=LT; b = f32[4,6] multiply(x, y);"
         "ROOT t = (pred[4,6], f32[4,6]) tuple(a, b)", "x1 y1"),
        # Columns are summed in the pass that stores the product.
        ("a = f32[4,6] multiply(x, y); s = f32[6] reduce(a, zero), dimensions={0}, to_apply=add;"
         "ROOT t = (f32[4,6], f32[6]) tuple(a, s)", "x0 y0"),
    ],
)  # fmt: skip
def test_kernels_with_several_results(lines: str, expected: str) -> None:
    assert pairs(the_fusion(MultiOutput()(Fusion()(entry(lines))))) == expected


@pytest.mark.parametrize(
    ("lines", "results", "expected"),
    [
        ("", "n, c", "x0"),
        ("d = f32[4,6] reverse(x), dimensions={1};", "n, c", ""),
        # Rows and columns are summed by loops of their own, one after the other.
        ("d = f32[4,6] negate(n); r = f32[4] reduce(x, zero), dimensions={1}, to_apply=add;",
         "n, c, r", ""),
    ],
)  # fmt: skip
def test_what_is_read_elsewhere_is_kept(lines: str, results: str, expected: str) -> None:
    shapes = {"n": "f32[4,6]", "c": "f32[6]", "r": "f32[4]"}
    shape = ", ".join(shapes[r] for r in results.split(", "))
    column = "d" if "d =" in lines else "n"
    fused = f"""fused {{ x = f32[4,6] parameter(0); zero = f32[] constant(0);
      n = f32[4,6] negate(x); {lines}
      c = f32[6] reduce({column}, zero), dimensions={{0}}, to_apply=add
      ROOT t = ({shape}) tuple({results}) }}
    ENTRY main {{ x = f32[4,6] parameter(0)
      ROOT f = ({shape}) fusion(x), kind=kInput, calls=fused }}"""
    root = parse(HELPERS + fused.replace(";", "\n")).entry.root
    assert pairs(root) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # The last loop reads a row for the last time where it stores it.
        (SUM.format("x") + WIDE + "ROOT r = f32[4,6] divide(x, w)", "x0"),
        (SUM.format("x") + WIDE + "a = f32[4,6] divide(x, w); ROOT r = f32[4,6] add(a, y)",
         "x0 y0"),
        (SUM.format("x") + "ROOT r = f32[4] add(s, v)", "v0"),
        ("r = f32[4,6] reverse(x), dimensions={0};" + SUM.format("r") + WIDE
         + "ROOT d = f32[4,6] divide(y, w)", "y0"),
        # The first loop stores the product, which the sum is of; the second reads x once more.
        ("a = f32[4,6] multiply(x, y);" + SUM.format("a") + WIDE
         + "b = f32[4,6] divide(x, w); ROOT t = (f32[4,6], f32[4,6]) tuple(a, b)", "x1 y0 y1"),
    ],
)  # fmt: skip
def test_row_kernels(lines: str, expected: str) -> None:
    fusion = the_fusion(Fusion()(RowFusion()(entry(lines))))
    assert row_plan(fusion["calls"].root) is not None
    assert pairs(fusion) == expected


def test_a_result_that_holds_what_is_kept_is_no_operand() -> None:
    """Softmax keeps exp(x - m) in its result, and so may lie over x, which is not read again; but
    not with x once more in the last loop."""
    lines = """m = f32[4] reduce(x, low), dimensions={1}, to_apply=maximum;
      b = f32[4,6] broadcast(m), dimensions={0}; d = f32[4,6] subtract(x, b);
      e = f32[4,6] exponential(d);""" + SUM.format("e") + WIDE  # fmt: skip
    softmax = the_fusion(RowFusion()(entry(lines + "ROOT r = f32[4,6] divide(e, w)")))
    assert pairs(softmax) == "x0"
    again = "q = f32[4,6] divide(e, w); ROOT r = f32[4,6] add(q, x)"
    assert pairs(the_fusion(RowFusion()(entry(lines + again)))) == ""


def plane_program(seed: int) -> Module:
    """A random program over arrays of two dimensions, their sums along either, and reversals."""
    rng = np.random.default_rng(seed)
    dims = tuple(int(n) for n in rng.choice([1, 2, 3, 5, 17, 40], 2))
    parameters = [builder.parameter(n, Shape(F32, dims)) for n in range(3)]
    add, zero = builder.scalar_computation("add", F32), builder.constant(0.0, F32)
    full, sums = list(parameters), list[Instruction]()

    def pick() -> Instruction:
        return full[int(rng.integers(len(full), size=2).max())]

    for kind in rng.choice(["binary", "binary", "unary", "reverse", "sum"], rng.integers(4, 14)):
        along = int(rng.integers(2))
        if kind == "binary":
            opcode = str(rng.choice(["add", "subtract", "multiply"]))
            full.append(builder.binary(opcode, pick(), pick()))
        elif kind == "unary":
            full.append(builder.unary(str(rng.choice(["negate", "abs"])), pick()))
        elif kind == "reverse":
            full.append(builder.instruction("reverse", [pick()], dimensions=(along,)))
        else:
            sums.append(builder.reduce(pick(), zero, [along], add))
            full.append(builder.broadcast(sums[-1], dims, (1 - along,)))
    results = [*full[-int(rng.integers(1, 4)) :], *sums[-2:]]
    root = builder.instruction("tuple", results)
    return Module("plane", Computation.make("main", parameters, root))


def run_donated(module: Module, seed: int) -> str | None:
    """What is wrong with the results where every argument may be written over."""
    listed = ", ".join(f"({n}, {{}})" for n in range(len(module.entry.parameters)))
    donating = Module(module.name, module.entry, (("buffer_donor", f"{{ {listed} }}"),))
    arguments = tuple(arguments_for(module, np.random.default_rng(seed), "whole"))
    results = compile_module(donating, backend="cpu")(*(np.array(a) for a in arguments))
    return mismatch(module, arguments, results)


@pytest.mark.parametrize("part", range(4))
def test_random_programs_over_donated_arguments(part: int) -> None:
    for seed in range(500 + part * 6, 506 + part * 6):
        assert run_donated(row_program(seed, FLOATS[part]), seed) is None, seed
        assert run_donated(plane_program(seed), seed) is None, seed
