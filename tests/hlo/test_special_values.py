"""Every elementwise operation on every element type: XLA, the evaluator and the CPU on a grid of
special values, pairwise.

Where tfc differs from XLA on purpose, a row of DIFFERS says why; docs/semantics.md tells the user.
Many operations are one program, since compiling takes longer than running.
"""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from special_values import same_sign_of_zero, special_values, ulps
from xla_bridge import run_hlo_text

import tfc
from tfc.hlo import builder, evaluate, parse
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.op import OPS
from tfc.hlo.ops.elementwise.selection import COMPARISONS
from tfc.hlo.shape import ELEMENT_TYPES, ElementType, Shape

TYPES = list(ELEMENT_TYPES.values())
# What XLA's CPU backend, or StableHLO on the way to it, refuses, whatever the type.
NOT_IN_XLA = {"acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh", "mulhi"}
REFUSED = {
    ("abs", "unsigned"), ("sign", "unsigned"), ("bitcast-convert", "complex"),
    ("remainder", "complex"), ("cbrt", "complex"),
}  # fmt: skip
COMPLEX_FUNCTIONS = (
    "abs", "atan2", "cosine", "divide", "exponential", "exponential-minus-one", "log",
    "log-plus-one", "logistic", "multiply", "power", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh",
)  # fmt: skip
# (operation, kind of type or type): what XLA does differently.
DIFFERS = {
    ("power", "unsigned"): "XLA looks at the low 6 bits of an integer exponent only: 3^64 is 1",
    ("power", "signed"): "XLA looks at the low 6 bits of an integer exponent only: 3^64 is 1",
    ("reduce-precision", "f8"): "XLA rounds an 8-bit float as the f16 that it computes in",
    ("popcnt", "s4"): "XLA counts the copies of the sign in the byte, too",
    ("cbrt", "bf16"): "XLA is off by orders of magnitude for denormal numbers",
    **{
        (name, "complex"): "XLA loses digits where a part cancels, and has NaN beside infinities; "
        "tests/operations/test_complex.py compares with exact arithmetic"
        for name in COMPLEX_FUNCTIONS
    },
}
COMPARED = [
    op.name for op in OPS.values()
    if op.elementwise and op.name not in NOT_IN_XLA and op.name not in ("complex", "clamp")
]  # fmt: skip


def is_f8(element_type: ElementType) -> bool:
    return element_type.is_float and element_type.bits == 8


def results(opcode: str, x: Instruction, y: Instruction) -> list[Instruction]:
    """The operation in every way that its attributes and types allow."""
    shape = x.array_shape
    element_type = shape.element_type
    match opcode:
        case "compare":
            directions = ["EQ", "NE"] if element_type.is_complex else COMPARISONS
            kinds = [{}, {"type": "TOTALORDER"}] if element_type.is_float else [{}]
            return [builder.instruction(opcode, [x, y], direction=d, **k)
                    for d in directions for k in kinds]  # fmt: skip
        case "select":
            return [builder.instruction(opcode, [builder.compare("EQ", x, y), x, y])]
        case "convert":
            # XLA's CPU compiler ends the process on a conversion from complex to pred.
            targets = [t for t in TYPES if t.kind != "pred" or not element_type.is_complex]
            return [builder.convert(x, t) for t in targets if t != element_type]
        case "bitcast-convert":
            return [builder.instruction(opcode, [x], shape=shape.with_element_type(t))
                    for t in TYPES if t.bits == element_type.bits and t != element_type
                    and not {"pred", "complex"} & {t.kind, element_type.kind}]  # fmt: skip
        case "reduce-precision":
            return [builder.instruction(opcode, [x], exponent_bits=e, mantissa_bits=m)
                    for e, m in ((8, 7), (5, 10), (2, 1), (11, 52), (8, 0))]  # fmt: skip
        case "stochastic-convert":
            return []  # its random bits are operands of their own: test_stochastic_convert
        case _:
            return [builder.instruction(opcode, [x, y][: OPS[opcode].arity])]


def operations(element_type: ElementType) -> list[str]:
    return [
        name for name in COMPARED
        if element_type.kind in OPS[name].domain and (name, element_type.kind) not in REFUSED
    ]  # fmt: skip


def grid(element_type: ElementType) -> tuple[np.ndarray, np.ndarray]:
    values = special_values(element_type)
    x, y = np.meshgrid(values[::3] if element_type.is_complex else values, values, indexing="ij")
    return x.reshape(-1), y.reshape(-1)


def parts(x: np.ndarray) -> list[np.ndarray]:
    return [np.real(x), np.imag(x)] if x.dtype.kind == "c" else [x]


def denormal(x: np.ndarray) -> np.ndarray:
    """Where XLA, but not tfc, has a zero: f32, f64 and bf16 numbers below the normal ones."""
    if x.dtype.kind not in "fc" and x.dtype.name != "bfloat16":
        return np.zeros(x.shape, bool)
    if x.dtype == np.float16:
        return np.zeros(x.shape, bool)
    wide = [np.abs(p.astype(np.float64)) for p in parts(x)]
    tiny = float(ml_dtypes.finfo(parts(x)[0].dtype).tiny)
    return np.any([(w > 0) & (w < tiny) for w in wide], axis=0)


def differs(opcode: str, element_type: ElementType) -> str | None:
    """The reason why XLA may differ on all values, if there is one."""
    kinds = [element_type.name, element_type.kind, "f8" if is_f8(element_type) else ""]
    return next((DIFFERS[opcode, k] for k in kinds if (opcode, k) in DIFFERS), None)


def wrong(opcode: str, ours: np.ndarray, xla: np.ndarray, x: np.ndarray, y: np.ndarray):
    """Where the two disagree without a reason."""
    differ = np.zeros(x.shape, bool)
    for a, b in zip(parts(ours), parts(xla)):
        if a.dtype.kind in "iub" or a.dtype.name in ("int4", "uint4"):
            differ |= a != b
        else:
            a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
            differ |= (ulps(a, b) > 4) | ~same_sign_of_zero(a, b)
    if opcode in ("maximum", "minimum", "clamp"):  # XLA: not always NaN, and zeros are equal
        differ &= ~(np.isnan(ours) | (ours == 0) & (xla == 0)) if x.dtype.kind in "fV" else True
    return differ & ~denormal(x) & ~denormal(y) & ~denormal(ours)


QUICK_TYPES = ("pred", "u4", "s32", "f8e4m3fn", "f16")


@pytest.mark.parametrize(
    "element_type",
    [pytest.param(t, marks=[] if t.name in QUICK_TYPES else [pytest.mark.slow]) for t in TYPES],
    ids=str,
)
def test_xla_agrees_on_special_values(element_type: ElementType):
    x, y = grid(element_type)
    operands = [builder.parameter(n, Shape(element_type, x.shape)) for n in range(2)]
    named = [(o, r) for o in operations(element_type) if not differs(o, element_type)
             for r in results(o, *operands)]  # fmt: skip
    root = builder.instruction("tuple", [r for _, r in named])
    module = Module("ops", Computation.make("main", operands, root))
    expected, got = evaluate(module, x, y), run_hlo_text(str(module), x, y)
    for (opcode, made), ours, xla in zip(named, expected, got):
        with np.errstate(all="ignore"):
            at = np.flatnonzero(wrong(opcode, ours, xla, x, y))
        shown = [(x[i], y[i], ours[i], xla[i]) for i in at[:4]]
        message = f"{opcode} {dict(made.attributes)} -> {made.shape.element_type}"
        assert not len(at), f"{message}: (x, y, ours, XLA) {shown}"


ROW = re.compile(r"`(\w+) ([\w-]+)\((.*?)\)((?:, \w+=\w+)*) = ([^`]+)`")
OPERAND = re.compile(r"(\w+) (\([^)]*\)|[^,()]+)")
EXAMPLES = ROW.findall((Path(__file__).parents[2] / "docs" / "semantics.md").read_text())


def test_every_example_of_the_page_is_read():
    page = (Path(__file__).parents[2] / "docs" / "semantics.md").read_text()
    assert len(EXAMPLES) == page.count("` · `") + len(re.findall(r"\| `.*` \|$", page, re.M)) > 60


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e[1]}({e[2]}{e[3]})")
def test_the_page_of_semantics_is_true(example: tuple[str, ...]):
    result, opcode, given, attributes, value = example
    operands = OPERAND.findall(given)
    lines = [f"  p{n} = {t}[] parameter({n})" for n, (t, _) in enumerate(operands)]
    names = ", ".join(f"p{n}" for n in range(len(operands)))
    text = "\n".join([
        "ENTRY main {", *lines, f"  want = {result}[] constant({value})",
        f"  r = {result}[] {opcode}({names}){attributes}",
        f"  ROOT both = ({result}[], {result}[]) tuple(r, want)", "}",
    ])  # fmt: skip
    module = parse(text)
    values = [constant(t, v) for t, v in operands]
    for got, want in (evaluate(module, *values), tfc.compile(module)(*values)):
        for a, b in zip(parts(np.asarray(got)), parts(np.asarray(want))):
            if a.dtype.kind in "fV" and a.dtype.name not in ("int4", "uint4"):
                a, b = a.astype(np.float64), b.astype(np.float64)
                assert np.isnan(a) == np.isnan(b)
                assert np.isnan(a) or (a == b and np.signbit(a) == np.signbit(b))
            else:
                assert a == b


def constant(element_type: str, value: str) -> np.ndarray:
    """A literal as an array."""
    text = f"ENTRY main {{ ROOT r = {element_type}[] constant({value}) }}"
    return np.asarray(evaluate(parse(text)))
