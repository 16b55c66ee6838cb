"""Sorts, selections, running totals, scatters, transposes, reductions, transforms, loops."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tfc
import tfc.numpy as tnp
from tfc.hlo.ir import Module
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.hlo.text.parser import parse
from tfc.testing.conformance.cases.case import Argument, Case, Unit, below, floats, normal, whole
from tfc.testing.conformance.cases.networks import case_of

_TYPES = ("f32", "s32", "f64", "u8", "bf16", "s64", "f16", "s8", "u32")


def ordered_units() -> list[Unit]:
    """A unit for each kind."""
    return [
        Unit("sorts", sort_cases), Unit("selections", selection_cases),
        Unit("totals", total_cases), Unit("scatters", scatter_cases),
        Unit("movement", movement_cases), Unit("reductions", reduction_cases),
        Unit("transforms", transform_cases), Unit("triangular", triangular_cases),
        Unit("loops", loop_cases), Unit("random-bits", random_bit_cases),
    ]  # fmt: skip


def sort_cases() -> list[Case]:
    """By keys and by any comparator, of rows that fit a block and of longer ones."""
    cases = []
    for element in _TYPES:
        for dims, axis in (
            ((3, 50), 1),
            ((90, 2), 0),
            ((2, 700), 1),
            ((1, 5000), 1),
            ((20000,), 0),
        ):
            x = floats(element, *dims) if element[0] in "fb" else whole(element, *dims, most=50)
            name = f"sort/{element}/{'x'.join(map(str, dims))}/{axis}"
            cases.append(case_of(f"{name}", "sorts", lambda x, a=axis: tnp.sort(x, axis=a), [x]))
            cases.append(
                case_of(f"{name}/places", "sorts",
                        lambda x, a=axis: tnp.argsort(x, axis=a, stable=True), [x])
            )  # fmt: skip
    for dims in ((1, 300), (2, 3000), (1, 9000)):
        name = f"sort/merge/{'x'.join(map(str, dims))}"
        given = [whole("s32", *dims, most=50), whole("f32", *dims, most=9, seed=3)]
        cases.append(Case(name, "sorts by merging", _sort(dims), given))
    return cases


def _sort(dims: Sequence[int]) -> Module:
    size = ",".join(map(str, dims))
    return parse(f"""HloModule m
f {{
  p0 = s32[] parameter(0)
  p1 = s32[] parameter(1)
  p2 = f32[] parameter(2)
  p3 = f32[] parameter(3)
  d = s32[] subtract(p0, p1)
  z = s32[] constant(0)
  ROOT c = pred[] compare(d, z), direction=LT
}}
ENTRY e {{
  a = s32[{size}] parameter(0)
  b = f32[{size}] parameter(1)
  ROOT y = (s32[{size}], f32[{size}]) sort(a, b), dimensions={{1}}, is_stable=true, to_apply=f
}}""")


def selection_cases() -> list[Case]:
    """The largest and smallest few of rows."""
    cases = []
    for element in _TYPES:
        for dims, k in (((3, 40), 5), ((2, 3000), 8), ((1, 40000), 100), ((8, 2000), 1)):
            x = floats(element, *dims) if element[0] in "fb" else whole(element, *dims, most=60)
            for largest in ("true", "false"):
                size, kept = (",".join(map(str, d)) for d in (dims, (*dims[:-1], k)))
                module = parse(f"""HloModule m
ENTRY e {{
  x = {element}[{size}] parameter(0)
  ROOT r = ({element}[{kept}], s32[{kept}]) topk(x), k={k}, largest={largest}
}}""")
                name = f"topk/{element}/{dims[0]}x{dims[1]}/{k}/{largest}"
                cases.append(Case(name, "selections", module, [x]))
    return cases


def total_cases() -> list[Case]:
    """Running sums, products and maxima along rows, columns and in reverse."""
    cases = []
    places = (
        ((3, 9), 1),
        ((3, 150), 1),
        ((2, 1100), 1),
        ((1, 9000), 1),
        ((300, 4), 0),
        ((5, 70), 0),
    )
    for element in (*_TYPES, "c64"):
        for dims, axis in places:
            x = whole(element, *dims, most=2)
            for name, function in (
                ("sum", lambda x, a=axis: tnp.cumsum(x, axis=a, dtype=x.dtype)),
                ("reverse", lambda x, a=axis: tnp.flip(tnp.cumsum(tnp.flip(x, a), axis=a), a)),
            ):
                case = case_of(f"totals/{element}/{dims[0]}x{dims[1]}/{axis}/{name}", "totals",
                               function, [x])  # fmt: skip
                cases.append(case)
    step = lambda c, x: (tnp.maximum(c, x) * 0.5 + x, c)  # noqa: E731
    cases += [
        case_of(f"totals/scan/{n}", "totals", lambda x, c: tfc.scan(step, c, x),
                [normal("f32", n, 30), normal("f32", 30, seed=2)])
        for n in (1, 40)
    ]  # fmt: skip
    return cases


def scatter_cases() -> list[Case]:
    """Few and many updates that meet, in their order."""
    cases = []
    ways: dict[str, Callable[..., Any]] = {
        "add": lambda t, i, u: t.at[i].add(u), "max": lambda t, i, u: t.at[i].max(u),
        "multiply": lambda t, i, u: t.at[i].multiply(u), "set": lambda t, i, u: t.at[i].set(u),
    }  # fmt: skip
    for element in (*_TYPES, "c64"):
        for rows, count, width in ((7, 40, 5), (50, 3000, 0), (300, 900, 16)):
            row = (width,) if width else ()
            given: list[Argument] = [
                normal(element, rows, *row) if element[0] in "fbc" else whole(element, rows, *row),
                below(rows, count, seed=2),
                normal(element, count, *row, seed=3) if element[0] in "fbc"
                else whole(element, count, *row, seed=3),
            ]  # fmt: skip
            for name, way in ways.items():
                if name != "max" or element != "c64":
                    # In the order of updates: to the evaluator's bits.
                    cases.append(
                        case_of(f"scatter/{element}/{rows}x{width}/{count}/{name}", "scatters",
                                way, given)
                    )  # fmt: skip
        cases.append(
            case_of(f"gather/{element}", "gathers", lambda t, i: t[i],
                    [whole(element, 50, 9), below(50, 200)])
        )  # fmt: skip
    return cases


def movement_cases() -> list[Case]:
    """Transposes of every order, with what is computed with them; pads, slices, reverses."""
    cases = []
    for element in ("f32", "u8", "f16", "f64", "c64", "pred"):
        for dims, order in (((70, 45), (1, 0)), ((3, 64, 96), (0, 2, 1)), ((33, 4, 65), (2, 1, 0)),
                            ((5, 40, 40), (1, 2, 0)), ((8, 8, 3, 9), (3, 0, 2, 1))):  # fmt: skip
            name = f"transpose/{element}/{'x'.join(map(str, dims))}/{''.join(map(str, order))}"
            x = whole(element, *dims)
            cases.append(case_of(name, "transposes", lambda x, o=order: x.transpose(*o), [x]))
            if element != "pred":
                both = lambda x, o=order: (x.transpose(*o) * 2, x + x)  # noqa: E731
                cases.append(case_of(f"{name}/both", "transposes", both, [x]))
    x = whole("f32", 40, 70)
    forms: dict[str, Callable[[Any], Any]] = {
        "pad": lambda x: tnp.pad(x, ((1, 2), (0, 3))), "slice": lambda x: x[3:30:2, ::-1],
        "roll": lambda x: tnp.roll(x, 5, axis=1), "repeat": lambda x: tnp.repeat(x, 3, axis=0),
        "concatenate": lambda x: tnp.concatenate([x, x[:3]]), "windows": lambda x: x[1:] + x[:-1],
    }  # fmt: skip
    return cases + [case_of(f"movement/{n}", "movement", f, [x]) for n, f in forms.items()]


def reduction_cases() -> list[Case]:
    """Sums, products and extremes of rows, columns, all, and several dimensions."""
    cases = []
    forms = (((7, 40), 1), ((300, 20), 0), ((3, 5000), 1), ((5000, 3), 0), ((70000,), 0),
             ((4, 30, 50), (0, 2)), ((2, 3, 4, 5), (1, 3)), ((64, 1024), (0, 1)))  # fmt: skip
    whats: tuple[tuple[str, Callable[..., Any]], ...] = (
        ("sum", tnp.sum), ("max", tnp.max), ("min", tnp.min), ("argmin", tnp.argmin),
        ("any", lambda x, axis: tnp.any(x > 1, axis=axis)), ("var", tnp.var),
    )  # fmt: skip
    for element in _TYPES:
        for dims, axes in forms:
            is_float = element[0] in "fb"
            x = normal(element, *dims) if is_float else whole(element, *dims, most=50)
            for name, what in whats:
                if (name == "argmin" and not isinstance(axes, int)) or (
                    name == "var" and not is_float
                ):
                    continue
                cases.append(
                    case_of(f"reduce/{element}/{'x'.join(map(str, dims))}/{axes}/{name}",
                            "reductions", lambda x, w=what, a=axes: w(x, axis=a), [x])
                )  # fmt: skip
    return cases


def transform_cases() -> list[Case]:
    """Fourier transforms of each kind and many lengths."""
    cases = []
    for element, real in (("c64", "f32"), ("c128", "f64")):
        error = 1e-5 if element == "c64" else 1e-13
        for length in (1, 2, 3, 8, 18, 21, 22, 25, 49, 64, 128, 360, 512, 1000, 1470):
            n, rows = str(length), 3 if length < 300 else 1
            half = length // 2 + 1
            for kind, (given, made) in {
                "FFT": (f"{element}[{rows},{n}]", f"{element}[{rows},{n}]"),
                "IFFT": (f"{element}[{rows},{n}]", f"{element}[{rows},{n}]"),
                "RFFT": (f"{real}[{rows},{n}]", f"{element}[{rows},{half}]"),
                "IRFFT": (f"{element}[{rows},{half}]", f"{real}[{rows},{n}]"),
            }.items():
                module = parse(
                    f"HloModule m\nENTRY e {{ x = {given} parameter(0)\n"
                    f"ROOT y = {made} fft(x), fft_type={kind}, fft_length={{{n}}} }}"
                )
                shape = module.entry.parameters[0].array_shape
                x = normal(shape.element_type.name, *shape.dims)
                cases.append(Case(f"fft/{element}/{n}/{kind}", "transforms", module, [x], error))
    return cases


def triangular_cases() -> list[Case]:
    """Factors of positive definite matrices, and triangular systems stated in every way."""
    cases = []
    for element in ("f32", "f64", "c64", "f16"):
        error = {"f64": 1e-12, "f16": 2e-2}.get(element, 2e-5)
        dtype = ELEMENT_TYPES[element].dtype
        for size in (1, 5, 32, 33, 70, 130):
            rng = np.random.default_rng(size)
            x = rng.standard_normal((2, size, size)) / max(size, 1)
            x = x + 1j * rng.standard_normal(x.shape) / size if element == "c64" else x
            positive = (x @ np.conj(np.swapaxes(x, 1, 2)) + 2 * np.eye(size)).astype(dtype)
            a = (x + 2 * np.eye(size)).astype(dtype)
            shape = f"{element}[2,{size},{size}]"
            for lower in ("true", "false"):
                text = f"HloModule m\nENTRY e {{ a = {shape} parameter(0)\n"
                text += f"ROOT y = {shape} cholesky(a), lower={lower} }}"
                name = f"cholesky/{element}/{size}/{lower}"
                cases.append(Case(name, "factors", parse(text), [positive], error))
                for left, turned in (("true", "NO_TRANSPOSE"), ("false", "ADJOINT")):
                    dims = f"2,{size},3" if left == "true" else f"2,3,{size}"
                    b = normal(element, *map(int, dims.split(",")))
                    text = (
                        f"HloModule m\nENTRY e {{ a = {shape} parameter(0)\n"
                        f"b = {element}[{dims}] parameter(1)\n"
                        f"ROOT y = {element}[{dims}] triangular-solve(a, b), left_side={left}, "
                        f"lower={lower}, unit_diagonal=false, transpose_a={turned} }}"
                    )
                    name = f"solve/{element}/{size}/{lower}/{left}"
                    cases.append(Case(name, "systems", parse(text), [a, b], error))
    return cases


def _collatz(n: Any) -> Any:
    def body(state: Any) -> Any:
        n, count = state
        # Turned, so that threads wait for each other and a turn is launches.
        return tnp.where(n % 2 == 0, n // 2, 3 * n + 1)[::-1], count + 1

    return tfc.while_loop(lambda s: s[0][0] != 1, body, (tnp.stack([n, n]), 0))[1]


def loop_cases() -> list[Case]:
    """Loops that the host counts, loops whose end the device decides, branches."""
    x = normal("f32", 40)
    branches = [lambda x: x + 1, tnp.sort, lambda x: -x[::-1]]
    cases = [
        case_of(f"loop/collatz/{n}", "loops", _collatz, [np.full((), n, np.int32)])
        for n in (1, 2, 3, 27)
    ]
    cases += [
        case_of(f"loop/counted/{n}", "loops",
                lambda x, n=n: tfc.fori_loop(0, n, lambda i, y: (y * 0.5 + i)[::-1], x), [x])
        for n in (0, 1, 9, 300)
    ]  # fmt: skip
    cases += [
        case_of(f"loop/elements/{n}", "loops", lambda x, n: tfc.fori_loop(
            0, n, lambda i, y: y * 0.5 + tnp.sin(y), x), [x, np.full((), n, np.int32)])
        for n in (0, 1, 30)
    ]  # fmt: skip
    cases += [
        case_of(f"branch/{n}", "branches", lambda i, x: tfc.switch(i, branches, x),
                [np.full((), n, np.int32), x])
        for n in (-1, 0, 1, 2, 7)
    ]  # fmt: skip
    return cases


def random_bit_cases() -> list[Case]:
    """Bits of the generators, and numbers made of them."""
    cases = []
    for algorithm in ("rng_three_fry", "rng_philox"):
        for element, count in (("u32", 1000), ("u64", 333), ("u8", 77), ("u16", 1025)):
            words = 2 if algorithm == "rng_three_fry" else 3
            text = (
                f"HloModule m\nENTRY e {{ s = u64[{words}] parameter(0)\n"
                f"ROOT y = (u64[{words}], {element}[{count}]) rng-bit-generator(s), "
                f"algorithm={algorithm} }}"
            )
            state = np.arange(5, 5 + words, dtype=np.uint64)
            cases.append(Case(f"bits/{algorithm}/{element}", "random bits", parse(text), [state]))
    key = np.array([3, 7], np.uint32)
    for name, function in (
        ("normal", lambda k: tfc.random.normal(k, (1000,))),
        ("uniform", lambda k: tfc.random.uniform(k, (33, 40))),
        ("permutation", lambda k: tfc.random.permutation(k, 500)),
    ):
        cases.append(case_of(f"random/{name}", "random numbers", function, [key], 1e-5))
    return cases
