"""Samples of operators on elements."""

from collections.abc import Iterator

import numpy as np
from operator_samples import (
    COMPLEX,
    DTYPES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    Sample,
    edges,
    known,
    of,
    pairs,
    some,
)

INF = np.inf
# Functions of floats and the bounds of what they are given.
OF_FLOATS = {
    "Acos": (-1, 1), "Acosh": (1, 1e4), "Asin": (-1, 1), "Asinh": (-1e4, 1e4),
    "Atan": (-INF, INF), "Atanh": (-1, 1), "BesselI0": (-30, 30), "BesselI1": (-30, 30),
    "Dawsn": (-30, 30), "Expint": (0.01, 30), "Spence": (0, 30), "BesselI0e": (-30, 30),
    "BesselI1e": (-30, 30),
    "Ceil": (-INF, INF), "Cos": (-1e4, 1e4), "Cosh": (-30, 30), "Digamma": (0.25, 1e4),
    "Erf": (-30, 30), "Erfc": (-30, 30), "Erfinv": (-1, 1), "Exp": (-INF, INF),
    "Expm1": (-INF, INF), "Floor": (-INF, INF), "IsFinite": (-INF, INF), "IsInf": (-INF, INF),
    "IsNan": (-INF, INF), "Lgamma": (-3.5, 1e4), "Log": (0, INF), "Log1p": (-1, INF),
    "Ndtri": (0, 1), "Rint": (-INF, INF), "Rsqrt": (0, INF), "Sigmoid": (-INF, INF),
    "Sin": (-1e4, 1e4), "Sinh": (-30, 30), "Sqrt": (0, INF), "Tan": (-30, 30),
    "Tanh": (-INF, INF), "Elu": (-INF, INF), "Selu": (-INF, INF), "Softplus": (-INF, INF),
    "Softsign": (-1e4, 1e4), "LeakyRelu": (-INF, INF),
}  # fmt: skip
OF_COMPLEX = ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Exp", "Expm1",
              "Log", "Log1p", "Rsqrt", "Sigmoid", "Sin", "Sinh", "Sqrt", "Tan", "Tanh")  # fmt: skip
OF_NUMBERS = {
    "Abs": (*FLOATS, *SIGNED), "Neg": (*FLOATS, *COMPLEX, *SIGNED),
    "Inv": (*FLOATS, *COMPLEX), "Reciprocal": (*FLOATS, *COMPLEX),
    "Round": FLOATS, "Sign": (*FLOATS, *COMPLEX, *SIGNED), "Square": NUMBERS,
    "Relu": (*FLOATS, *INTEGERS), "Relu6": (*FLOATS, *INTEGERS), "Invert": INTEGERS,
    "PopulationCount": INTEGERS, "OnesLike": (*NUMBERS, "?"), "ZerosLike": (*NUMBERS, "?"),
    "Identity": (*NUMBERS, "?"), "StopGradient": (*FLOATS, "i4"), "Snapshot": ("f", "i4"),
    "PreventGradient": ("f",), "Conj": COMPLEX, "Real": COMPLEX, "Imag": COMPLEX,
    "ComplexAbs": COMPLEX, "Angle": COMPLEX, "LogicalNot": ("?",), "ToBool": ("f", "i4", "?"),
    "_EagerConst": ("f",), "CheckNumerics": (),
}  # fmt: skip
HALVED = {"c": "float32", "z": "float64"}


def unary() -> Iterator[Sample]:
    for name, (low, high) in OF_FLOATS.items():
        for dtype in FLOATS:
            yield of(name, edges(dtype, low, high))
        yield of(name, some((2, 0, 3), "f"))
        yield of(name, np.float32(0.5))
    for name in OF_COMPLEX:
        for dtype in COMPLEX:
            yield of(name, edges(dtype, -3, 3))
    for name, dtypes in OF_NUMBERS.items():
        more = {}
        for dtype in dtypes:
            if name in ("Real", "Imag", "ComplexAbs", "Angle"):
                more = {"Tout": HALVED[dtype]}
            given = edges(dtype)
            if name == "ToBool":
                given = given[:1].reshape(())
            yield of(name, given, **more)
    for alpha in (0.0, 1.5):
        yield of("LeakyRelu", edges("f"), alpha=alpha)
    for dtype, wide in (("f", "complex64"), ("d", "complex128")):
        yield of("Complex", some((3, 2), dtype), some((3, 2), dtype, 1), Tout=wide)
    yield of("CheckNumerics", some((3,), "f"), message="wrong")


BINARY = {
    "Add": NUMBERS, "AddV2": NUMBERS, "Sub": NUMBERS, "Mul": NUMBERS,
    "Maximum": (*FLOATS, *INTEGERS), "Minimum": (*FLOATS, *INTEGERS),
    "SquaredDifference": (*FLOATS, *COMPLEX, "i4", "i8"), "DivNoNan": FLOATS, "MulNoNan": FLOATS,
    "Atan2": FLOATS, "Xdivy": FLOATS, "RealDiv": FLOATS, "Div": FLOATS,
    "Equal": (*NUMBERS, "?"), "NotEqual": (*NUMBERS, "?"), "Greater": (*FLOATS, *INTEGERS),
    "GreaterEqual": (*FLOATS, *INTEGERS), "Less": (*FLOATS, *INTEGERS),
    "LessEqual": (*FLOATS, *INTEGERS), "LogicalAnd": ("?",), "LogicalOr": ("?",),
    "BitwiseAnd": INTEGERS, "BitwiseOr": INTEGERS, "BitwiseXor": INTEGERS,
    "NextAfter": ("f", "d"),
}  # fmt: skip
# Quotients: of floats of any size that is not infinite, of integers not by 0.
QUOTIENTS = {
    "FloorDiv": (*FLOATS, *INTEGERS), "FloorMod": (*FLOATS, *INTEGERS),
    "TruncateMod": (*FLOATS, "i4", "i8"), "Mod": ("f", "d", "i4", "i8"),
    "TruncateDiv": INTEGERS, "Div": INTEGERS, "TruncateDiv ": (), "RealDiv": ("c", "z"),
}  # fmt: skip


def binary() -> Iterator[Sample]:
    for name, dtypes in BINARY.items():
        for dtype in dtypes:
            yield of(name, *pairs(dtype))
        one = dtypes[2] if len(dtypes) > 2 else dtypes[0]
        yield of(name, some((2, 1, 3), one), some((4, 1), one, 3))
        yield of(name, some((2, 0), one), some((1, 1), one, 3))
    for name, dtypes in QUOTIENTS.items():
        for dtype in dtypes:
            x, y = pairs(dtype, -1e4, 1e4) if dtype in FLOATS else pairs(dtype)
            least = np.iinfo(DTYPES[dtype]).min if dtype in SIGNED else None
            keeps = (y != 0) & ~((x == least) & (y == -1)) if least is not None else y != 0
            keeps &= np.abs(y) > 0.01 if dtype in FLOATS else keeps
            yield of(name, x[keeps], y[keeps])
        if dtypes:
            yield of(name, some((2, 1, 3), dtypes[0]), some((4, 1), dtypes[0], 3, 1, 4))
    yield from powers()
    for dtype in INTEGERS:
        x, _ = pairs(dtype)
        places = (np.arange(len(x)) % (8 * x.dtype.itemsize)).astype(x.dtype)
        yield of("LeftShift", x, places)
        yield of("RightShift", x, places)
    for dtype in ("f", "d"):
        positive = some((12,), dtype, 1, 1, 4)
        yield of("Polygamma", np.arange(1, 5, dtype=DTYPES[dtype]), positive[:4])
        yield of("Zeta", positive + 1, some((12,), dtype, 2, 1, 4))
        unit = some((12,), dtype, 2, 0, 1)
        yield of("Betainc", positive, some((12,), dtype, 3, 1, 4), unit)
        yield of("IgammaGradA", positive, some((12,), dtype, 2, 1, 4))
        yield of("RandomGammaGrad", positive, some((12,), dtype, 2, 1, 4))
    for dtype in FLOATS:
        positive = some((12,), dtype, 1, 0.5, 6)
        for name in ("Igamma", "Igammac"):
            yield of(name, positive, some((12,), dtype, 2, 0, 8))
        for name in ("Xlogy", "Xlog1py"):
            x, y = pairs(dtype, 0, 1e4)
            yield of(name, x, y)
    for dtype in ("f", "d", "h", "i4"):
        yield of("ApproximateEqual", some((9,), dtype), some((9,), dtype, 1), tolerance=1.0)
        yield of("ApproximateEqual", some((9,), dtype), some((9,), dtype))


def powers() -> Iterator[Sample]:
    for dtype in FLOATS:
        yield of("Pow", *pairs(dtype, 0, 30))
        x, y = pairs(dtype, -3.5, 3)
        yield of("Pow", x, np.round(y.astype(np.float64)).astype(x.dtype))
    for dtype in COMPLEX:
        yield of("Pow", some((6,), dtype, 1, 1, 3), some((6,), dtype, 2, -2, 2))
    for dtype in SIGNED:
        yield of("Pow", some((12,), dtype), some((12,), dtype, 3, 0, 5))


def _castable(start: str, end: str) -> np.ndarray:
    """Numbers that both dtypes have, but for what follows the point."""
    if start == "?":
        return np.array([True, False])
    if start in INTEGERS:
        if end in FLOATS or end in COMPLEX or end == "?":
            return edges(start, -1000, 1000)
        return edges(start)  # integers lose what does not fit
    if end in INTEGERS:
        return some((10,), start, 1, 0 if end[0] == "u" else -12, 12)
    return edges(start)


def casts() -> Iterator[Sample]:
    for start in (*NUMBERS, "?"):
        for end in (*NUMBERS, "?"):
            yield of("Cast", _castable(start, end), DstT=DTYPES[end].name)
    for start, end in (("f", "i4"), ("i4", "f"), ("d", "i8"), ("h", "b"), ("u1", "i1")):
        yield of("Bitcast", edges(start), type=DTYPES[end].name)
    yield of("Bitcast", some((3, 2), "f"), type="float64")
    yield of("Bitcast", some((3,), "d"), type="int32")
    yield of("Bitcast", some((3,), "f"), type="uint8")


def choices() -> Iterator[Sample]:
    for dtype in ("f", "h", "b", "i4", "i8", "c", "u1", "?"):
        x, y = some((3, 2), dtype), some((3, 2), dtype, 1)
        yield of("Select", some((3, 2), "?"), x, y)
        yield of("Select", some((3,), "?", 2), x, y)
        yield of("Select", np.bool_(True), x, y)
        yield of("SelectV2", some((3, 1), "?"), x, y[:1])
    for dtype in ("f", "h", "d", "i4", "i8", "u1"):
        one = some((), dtype, 1, 1, 1)
        yield of("ClipByValue", edges(dtype), -one if dtype[0] != "u" else one, one + one)
    x = some((2, 3), "f")
    yield of("ClipByValue", x, x - 1, x * 0 + 1)
    yield of("AddN", [some((3,), "f", n) for n in range(4)])
    for dtype in ("h", "b", "i4", "c"):
        yield of("AddN", [some((3,), dtype, n) for n in range(3)])
    yield of("IdentityN", [some((2,), "f"), some((3,), "i4")])
    yield of("L2Loss", some((3, 2), "f"))
    yield of("_UnaryOpsComposition", some((4,), "f", 0, 0, 4), op_names=["Sqrt", "Neg", "Exp"])
    yield of("Bucketize", some((9,), "f"), boundaries=[-1.0, 0.5, 2.0])
    yield of("Bucketize", some((9,), "i4"), boundaries=[-1.0, 1.0, 2.0])
    for name in ("LowerBound", "UpperBound"):
        for dtype in ("f", "i4", "d"):
            rows = np.sort(some((2, 6), dtype), axis=1)
            yield of(name, rows, some((2, 4), dtype, 3))
        yield of(name, rows, some((2, 4), "d", 3), out_type="int64")


def gradients() -> Iterator[Sample]:
    for dtype in FLOATS:
        g, x = some((20,), dtype, 2), some((20,), dtype, 1)
        for name in ("ReluGrad", "Relu6Grad", "SoftplusGrad", "SoftsignGrad", "EluGrad",
                     "SeluGrad", "LeakyReluGrad"):  # fmt: skip
            yield of(name, g, x * 2)
        for name in ("SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad"):
            yield of(name, some((20,), dtype, 1, 0.125, 2), g)
    yield of("LeakyReluGrad", some((9,), "f"), some((9,), "f", 1), alpha=0.5)
    for name in ("SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad"):
        yield of(name, some((6,), "c", 1, 1, 2), some((6,), "c"))
    yield of("ReluGrad", some((9,), "i4"), some((9,), "i4", 1))


def samples() -> Iterator[Sample]:
    for family in (unary, binary, casts, choices, gradients):
        yield from family()
    yield of("PlaceholderWithDefault", some((2,), "f"), shape=(2,))
    yield of("EnsureShape", some((2, 3), "f"), shape=(2, 3))
    yield of("XlaReducePrecision", known(edges("f"), "f").array, exponent_bits=5, mantissa_bits=4)
