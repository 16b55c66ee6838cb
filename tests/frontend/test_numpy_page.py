"""docs/numpy.md: what works of each function of tfc.numpy, found by calling it.

`pytest tests/frontend/test_numpy_page.py -m slow --bless` writes the page.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy_samples import SAMPLES, Arrays, Sample, evaluate, evaluated, flat, functions_of
from test_array_api import CONSTANTS, DTYPES, EXTENSIONS
from test_array_api import FUNCTIONS as STANDARD

import tfc
import tfc.numpy as tnp
from tfc.errors import TfcError

PAGE = Path(__file__).parent.parent.parent / "docs" / "numpy.md"
YES, NO, NOTHING = "✓", "✗", "–"

HEAD = """# tfc.numpy, function by function

A test writes this page: it calls each function on sample arguments, and gives ✓ where what comes
back is right.

- **eager**: of arrays, outside of traced functions; NumPy's values.
- **traced**: in a function under `tfc.jit`, compiled; the same values. – where the shape of a
  result depends on values, and no argument tells it.
- **gradient**: `tfc.grad` and `tfc.jvp` give the finite differences; – for what is constant.
- **vmap**: `tfc.vmap` gives what a loop over examples gives; – for what takes or gives no arrays.
- **array API**: part of the Python array API standard 2024.12, with all calls that it allows.

Of the standard's main namespace {count} of {all} functions are here ({percent} %), all {dtypes}
dtypes and all {constants} constants, and {more} of {extensions} functions of its extensions
`linalg` and `fft`; `__array_api_version__` is "2024.12". Where values are not NumPy's is said in
[semantics.md](semantics.md). A name that is absent says what to use instead.

| function | eager | traced | gradient | vmap | array API |
|---|---|---|---|---|---|
"""


def arrays_of(results: Any) -> list[np.ndarray] | None:
    """The results as arrays; None if one of them is no array."""
    listed = flat(results)
    return listed if all(isinstance(r, (np.ndarray, np.generic)) for r in listed) else None


def alike(got: Any, want: Any) -> bool:
    got, want = flat(got), flat(want)
    if len(got) != len(want):
        return False
    for g, w in zip(got, want):
        if isinstance(w, (np.ndarray, np.generic)):
            same = np.shape(g) == np.shape(w) and np.asarray(g).dtype == w.dtype
            same = same and np.allclose(g, w, rtol=1e-9, atol=1e-9, equal_nan=True)
        else:
            same = g == w
        if not same:
            return False
    return True


def tried(check: Callable[[], bool | None]) -> str:
    """The mark for a check: what is refused does not work."""
    try:
        found = check()
    except TfcError:
        return NO
    return NOTHING if found is None else (YES if found else NO)


def dtype_of(sample: Sample) -> np.dtype:
    kinds = {"f": "f8", "i": "i8", "u": "u4", "b": "?"}
    return next(np.dtype(dtype) for kind, dtype in kinds.items() if kind in sample.kinds)


def is_right_eagerly(sample: Sample, arrays: Arrays) -> bool:
    got = sample.call(tnp, *arrays)
    if sample.of_numpy and hasattr(np, sample.name):
        return alike(got, sample.call(np, *arrays))
    return alike(got, evaluated(sample, arrays))


def is_gradient(sample: Sample, arrays: Arrays, rng: np.random.Generator) -> bool | None:
    """Whether the slope in a drawn direction is what a small step makes."""
    if not sample.smooth or "f" not in sample.kinds:
        return None

    def weighted(*xs: Any) -> Any:
        made = [r for r in flat(sample.call(tnp, *xs)) if r.dtype.kind == "f"]
        return sum(tnp.sum(r * np.cos(1.0 + np.arange(r.size)).reshape(r.shape)) for r in made)

    ways = [rng.normal(size=x.shape) for x in arrays]
    places = tuple(range(len(arrays)))
    gradients = evaluate(lambda *xs: list(tfc.grad(weighted, places)(*xs)), arrays)
    slopes = [
        sum(np.sum(g * way) for g, way in zip(gradients, ways)),
        evaluate(lambda *xs: tfc.jvp(weighted, xs[: len(ways)], xs[len(ways) :])[1], arrays + ways)[
            0
        ],
    ]
    sides = [
        evaluate(weighted, [x + step * way for x, way in zip(arrays, ways)])[0]
        for step in (1e-6, -1e-6)
    ]
    return bool(np.all(np.isclose((sides[0] - sides[1]) / 2e-6, slopes, rtol=1e-5, atol=1e-6)))


def is_mapped(sample: Sample, arrays: Arrays, others: Arrays) -> bool | None:
    singles = [arrays_of(evaluated(sample, given)) for given in (arrays, others)]
    if not arrays or None in singles:
        return None
    mapped = tfc.vmap(lambda *xs: flat(sample.call(tnp, *xs)))
    got = evaluate(mapped, [np.stack(pair) for pair in zip(arrays, others)])
    return alike(got, [np.stack(pair) for pair in zip(*singles)])  # type: ignore[arg-type]


def compiled(samples: list[Sample], drawn: list[Arrays]) -> list[Any]:
    """What all functions give in one program, since compiling takes longer than running."""
    return tfc.jit(lambda given: [s.call(tnp, *xs) for s, xs in zip(samples, given)])(drawn)


def like(sample: Sample, arrays: Arrays, rng: np.random.Generator) -> Arrays:
    """Other numbers of the same shapes."""
    return [sample.array(rng, list(x.shape), x.dtype) for x in arrays]


def marks() -> dict[str, list[str]]:
    """The four marks of each function; of its samples the worst."""
    rng = np.random.default_rng(3)
    drawn = [sample.arrays(rng, dtype_of(sample)) for sample in SAMPLES]
    found: dict[str, list[str]] = {}
    programs = [
        n for n, (sample, xs) in enumerate(zip(SAMPLES, drawn))
        if sample.traced and arrays_of(evaluated(sample, xs)) is not None
    ]  # fmt: skip
    results = dict(zip(programs, compiled(
        [SAMPLES[n] for n in programs], [drawn[n] for n in programs])))  # fmt: skip
    for n, (sample, xs) in enumerate(zip(SAMPLES, drawn)):
        eager = tried(lambda s=sample, xs=xs: is_right_eagerly(s, xs))
        if not sample.traced:
            found[sample.name] = [eager, NOTHING, NOTHING, NOTHING]
            continue
        want = evaluated(sample, xs)
        row = [
            eager,
            tried(lambda n=n, want=want: alike(results.get(n, want), want)),
            tried(lambda s=sample, xs=xs: is_gradient(s, xs, rng)),
            tried(lambda s=sample, xs=xs: is_mapped(s, xs, like(s, xs, rng))),
        ]
        before = found.get(sample.name, [NOTHING] * 4)
        found[sample.name] = [max(pair, key=(NOTHING, YES, NO).index) for pair in zip(before, row)]
    return found


def page() -> str:
    """The whole page."""
    rows = []
    for name, found in sorted(marks().items()):
        standard = YES if name in STANDARD else ""
        rows.append(f"| `{name}` | {' | '.join(found)} | {standard} |\n")
    here = functions_of(tnp) | {"__array_namespace_info__"}
    count = len(set(STANDARD) & here)
    more = [hasattr(getattr(tnp, room), name) for room in EXTENSIONS for name in EXTENSIONS[room]]
    head = HEAD.format(count=count, all=len(STANDARD), percent=100 * count // len(STANDARD),
                       more=sum(more), extensions=len(more),
                       dtypes=len(DTYPES), constants=len(CONSTANTS.split()))  # fmt: skip
    return head + "".join(rows)


def rows_of(text: str) -> list[str]:
    return [line.split("`")[1] for line in text.split("\n") if line.startswith("| `")]


def test_the_page_has_the_functions_that_there_are():
    assert rows_of(PAGE.read_text()) == sorted(functions_of(tnp))


def test_every_function_works_eagerly_and_traced():
    untraced = {sample.name for sample in SAMPLES if not sample.traced}
    for line in PAGE.read_text().split("\n"):
        if line.startswith("| `"):
            eager, traced = line.split("|")[2:4]
            assert eager.strip() == YES, line
            assert traced.strip() == (YES if line.split("`")[1] not in untraced else NOTHING), line


@pytest.mark.slow
def test_the_page_is_what_calls_find(request: pytest.FixtureRequest):
    text = page()
    if request.config.getoption("--bless"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "run this test with --bless"
