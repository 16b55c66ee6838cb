"""What new users do wrong: one sentence that says what to do, at their line."""

import math
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError, TraceError

pytestmark = pytest.mark.eager
X = np.arange(3, dtype=np.float32)
KEPT = SimpleNamespace(value=None, listed=[])


@tfc.jit
def keeps(x: Any) -> Any:
    KEPT.value = x + 1
    KEPT.listed.append(x * 2)
    return x


def kept_value() -> Any:
    keeps(X)
    return KEPT.value


def adds_up() -> float:
    total = 0

    @tfc.jit
    def f(x: Any) -> Any:
        nonlocal total
        total += tnp.sum(x)
        return x

    f(X)
    return float(total)


def chooses(x: Any) -> Any:
    return x if tnp.sum(x) > 0 else -x


def writes(x: Any) -> Any:
    x[0] = 1
    return x


LEAKED = r"leaked out of keeps, .* it was made at .*test_mistakes.py:\d+: "
WORDS: dict[str, tuple[Any, type[Exception], str]] = {
    "use of what was stored": (lambda: kept_value() + 1, TraceError,
                               LEAKED + r"KEPT.value = x \+ 1"),
    "a list of Tensors": (lambda: [kept_value(), tnp.sum(KEPT.listed[-1])], TraceError, LEAKED),
    "NumPy of what was stored": (lambda: np.asarray(kept_value()), TraceError, LEAKED),
    "what was stored as argument": (lambda: keeps(kept_value()), TraceError, LEAKED),
    "what was stored in another function": (
        lambda: tfc.jit(lambda y: y + KEPT.value)(kept_value() is not None), TraceError, LEAKED),
    "a sum over calls": (adds_up, TraceError, "leaked out of f, .* total \\+= tnp.sum"),
    "a choice": (lambda: tfc.jit(chooses)(X), TraceError, "truth value of .*use tfc.cond"),
    "and": (lambda: tfc.jit(lambda x: x > 0 and x < 2)(X), TraceError, "truth value of .*pred.3"),
    "shapes of products": (lambda: tfc.jit(lambda x, w: x @ w)(np.ones((2, 3)), np.ones((4, 5))),
                           ShapeError, r"got 3 and 4 in \[2, 3\] and \[4, 5\]"),
    "shapes of sums": (lambda: tfc.jit(lambda x, w: x + w)(np.ones((2, 3)), np.ones(4)),
                       ShapeError, r"equal or one, got \[2, 3\] and \[4\]"),
    "bits of floats": (lambda: tfc.jit(tnp.bitwise_and)(X, X), TraceError, "not defined for fl"),
    "a gradient by integers": (lambda: tfc.grad(tnp.sum)(np.arange(3)), TraceError,
                               r"floating-point arguments, got s64\[3\]"),
    "a gradient of a vector": (lambda: tfc.grad(lambda x: x * 2)(X), TraceError,
                               r"float scalar, got f32\[3\]"),
    "a dict as static": (lambda: tfc.jit(lambda x, o: x, static_argnums=1)(X, {"a": 1}), TraceError,
                         "static argument 1 .* must be hashable, got dict"),
    "an array as static": (lambda: tfc.jit(lambda x, y: x, static_argnums=1)(X, X), TraceError,
                           "must be hashable, got ndarray; pass it as a traced argument"),
    "a name that is none": (lambda: tfc.jit(lambda x, opts: x, static_argnames="opt"), TraceError,
                            r"among its arguments \(x, opts\), got 'opt'; did you mean 'opts'"),
    "text": (lambda: tfc.jit(lambda x, mode: x)(X, "fast"), TraceError,
             "argument mode of .* a value of type str; with static_argnums=1"),
    "a large integer": (lambda: tfc.jit(lambda x, n: x * n)(X, 2**70), TraceError,
                        f"argument n of .* got {2**70}, which no type of 64 bits holds"),
    "a traced size": (lambda: tfc.jit(lambda x, n: tnp.zeros(n))(X, 3), TraceError,
                      "its value is not known while tracing; name it in static_argnames='n'"),
    "a traced count": (lambda: tfc.jit(lambda x: list(range(x.astype(int)[0])))(X), TraceError,
                       "use an argument named in static_argnums"),
    "a write": (lambda: tfc.jit(writes)(X), TraceError, r"cannot be written to; x.at\[key\].set"),
    "Python's math": (lambda: tfc.jit(lambda x: math.sin(x[0]))(X), TraceError,
                      "for functions of Python's math those of tfc.numpy"),
    "a result of text": (lambda: tfc.jit(lambda x: {"loss": x, "name": "adam"})(X), TraceError,
                         "returns 'adam' of type str; results are arrays"),
    "a set of results": (lambda: tfc.jit(lambda x: {x})(X), TraceError, "of type set; results are"),
    "a missing argument": (lambda: tfc.jit(lambda x, y: x)(X), TraceError, "missing a required"),
    "a count of elements": (lambda: tfc.jit(lambda x: x.reshape(2, 2))(X), ShapeError,
                            r"got f32\[3\] and f32\[2,2\]"),
    "a scalar in a loop": (lambda: tfc.jit(lambda x: list(x[0]))(X), TraceError, "tfc.fori_loop"),
    "a format": (lambda: tfc.jit(lambda x: f"{x:.2f}")(X), TraceError, "the format '.2f' needs"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_mistakes_are_explained_at_the_users_line(name: str):
    call, kind, words = WORDS[name]
    with pytest.raises(kind, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert {str(entry.path) for entry in caught.traceback} <= {__file__}
    notes = getattr(caught.value, "__notes__", [])
    assert name == "a name that is none" or "test_mistakes.py" in notes[0]


def test_a_large_array_that_is_captured_is_warned_of_at_the_users_line(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("tfc.frontend.promotion._LARGE", 1 << 20)
    large = np.ones((512, 512), np.float32)
    with pytest.warns(
        UserWarning, match=r"float32\[512, 512\] of 1 MiB .* pass it as an"
    ) as caught:
        tfc.jit(lambda x: tnp.sum(large) * x).lower(X)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tfc.jit(lambda x, w: tnp.sum(w) * x).lower(X, large)
        tfc.grad(lambda x: tnp.sum(x * tnp.sum(large)))(X)  # an argument of what is run at once
