"""Tracebacks of the user's mistakes show the user's frames only, those of tfc's defects all."""

# ruff: noqa: PLW0108  # the functions that are traced are written as a user would write them

import subprocess
import sys
import traceback
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import aot
from tfc.console import Commands, Failure
from tfc.errors import InternalError, ShapeError, TfcError, TraceError
from tfc.hlo import evaluate, parse, verify
from tfc.hlo.ir import Computation, Module
from tfc.options import full_traceback_from_environment
from tfc.tracebacks import api_boundary, full_tracebacks, hide_frames

X = np.ones(3, np.float32)


def wrong_shape(x):
    return tnp.reshape(x, (7,))


def wrong_branch(x):
    if x[0] > 0:
        return x
    return -x


def raises(x):
    raise KeyError("the user's own")


def unknown(x):
    return x.no_such_method()


def places(error):
    return [(f.filename, f.name) for f in traceback.extract_tb(error.__traceback__)]


def as_of_tfc(function):
    """The function, as if a file of tfc defined it."""
    code = function.__code__.replace(co_filename=tfc.__file__)
    return FunctionType(code, function.__globals__, closure=function.__closure__)


def frames_of(call):
    """The names of the functions in the traceback of what a call raises, all from this file."""
    with pytest.raises(Exception) as caught:  # noqa: PT011  # the frames are what is looked at
        call()
    found = places(caught.value)
    assert {file for file, _ in found} == {__file__}
    return [name for _, name in found[1:]]


@pytest.mark.parametrize("function", [wrong_shape, wrong_branch, raises, unknown])
@pytest.mark.parametrize(
    "use",
    [
        lambda f: tfc.jit(f)(X),
        lambda f: tfc.jit(f).lower(X),
        lambda f: tfc.grad(f)(X),
        lambda f: tfc.jit(tfc.value_and_grad(f))(X),
        lambda f: tfc.vjp(f, X)[1](X),
        lambda f: tfc.cond(True, f, f, X),
        lambda f: tfc.while_loop(lambda x: x[0] < 3, f, X),
        lambda f: tfc.fori_loop(0, 3, lambda i, x: f(x), X),
        lambda f: tfc.jit(lambda x: tfc.jit(f)(x))(X),
        lambda f: tfc.profile(tfc.jit(f), X),
    ],
)
def test_errors_in_traced_functions_end_at_the_users_line(use, function):
    assert frames_of(lambda: use(function))[-1] == function.__name__


def test_aot_shows_the_users_lines_only(tmp_path):
    names = frames_of(lambda: aot.compile(wrong_shape, X, cpp_class="C", out_dir=tmp_path))
    assert names == ["<lambda>", "wrong_shape"]


BROKEN = Module(
    "m", Computation("c", (), (), parse("ENTRY e { ROOT x = f32[] parameter(0) }").entry.root)
)
compiled = tfc.jit(lambda x: x + 1, backend="interpreter").lower(X).compile()


@pytest.mark.parametrize(
    "call",
    [
        lambda: parse("ENTRY e {"),
        lambda: verify(BROKEN),
        lambda: evaluate(compiled.hlo, X, X),
        lambda: tfc.compile(BROKEN),
        lambda: tfc.compile(compiled.hlo, backend="tpu"),
        lambda: tfc.compile(compiled.hlo)(X, X),
        lambda: tfc.compile(compiled.hlo, "interpreter")(X, X),
        lambda: tfc.compile(compiled.hlo).run_replicas([]),
        lambda: compiled(X, X),
        lambda: compiled.as_text("tosa"),
        lambda: compiled.lowered.as_text("tosa"),
        lambda: tfc.jit(lambda x: x, backend="tpu").lower(X).compile(),
        lambda: tfc.jit(raises, static_argnums=9),
        lambda: tfc.jit(static_argnums=9)(raises),
        lambda: tfc.jit(raises)(X, X),
        lambda: tnp.add(X, np.ones(4)),
        lambda: tfc.nn.relu("text"),
        lambda: tfc.set_threads(0),
        lambda: tfc.transfer_from_outfeed("f32["),
        lambda: tfc.register_custom_call("a name", "text"),
        lambda: aot.compile(wrong_shape, cpp_class="not a class"),
        lambda: tfc.profile(None),
    ],
)
def test_errors_at_the_door_end_at_the_users_call(call):
    assert frames_of(call) == ["<lambda>"]


def test_operators_and_methods_of_tensors_hide_their_frames():
    kept = []
    tfc.jit(lambda x: kept.append(x) or x)(X)
    for use in (
        lambda: kept[0] + 1, lambda: 1 - kept[0], lambda: kept[0].sum(), lambda: bool(kept[0]),
        lambda: kept[0][0], lambda: np.asarray(kept[0]), lambda: np.sin(kept[0]),
    ):  # fmt: skip
        assert frames_of(use) == ["<lambda>"]


def test_how_tfc_noticed_is_not_shown_but_what_the_user_was_handling_is():
    def handling(x):
        try:
            raise KeyError("first")
        except KeyError:
            return wrong_shape(x)

    with pytest.raises(ShapeError) as error:
        tfc.jit(handling)(X)
    assert isinstance(error.value.__context__, KeyError)
    assert not error.value.__suppress_context__
    assert [name for _, name in places(error.value.__context__)] == ["handling"]

    @api_boundary
    @as_of_tfc
    def noticing():
        try:
            raise IndexError("how tfc noticed")
        except IndexError:
            raise TraceError("what the user did")  # noqa: B904  # what tfc does by mistake

    with pytest.raises(TraceError) as error:
        noticing()
    assert "how tfc noticed" not in "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize("error", [InternalError("a defect"), AttributeError("a defect")])
def test_what_tfc_itself_does_wrong_keeps_its_frames(monkeypatch, error):
    @as_of_tfc
    def broken(*_, **__):
        raise error

    monkeypatch.setattr("tfc.frontend.trace.builder.instruction", broken)
    with pytest.raises(type(error)) as caught:
        tfc.jit(lambda x: x + 1)(X)
    assert any("/tfc/frontend/" in file for file, _ in places(caught.value))


def test_recursion_without_end_shows_the_frames_of_those_who_recur(monkeypatch):
    def users(x):
        return tfc.cond(True, users, users, x)

    @as_of_tfc
    def own(*_, **__):
        return own()

    assert set(frames_of(lambda: tfc.jit(users)(X))[1:]) == {"users"}
    monkeypatch.setattr("tfc.frontend.trace.builder.instruction", own)
    with pytest.raises(RecursionError) as caught:
        tfc.jit(users)(X)
    assert "own" in [name for _, name in places(caught.value)]


def test_all_frames_are_shown_when_asked_for(monkeypatch):
    def files():
        with pytest.raises(ShapeError) as error:
            tfc.jit(wrong_shape)(X)
        return {file for file, _ in places(error.value)}

    assert files() == {__file__}
    with full_tracebacks():
        assert len(files()) > 3
    monkeypatch.setenv("TFC_TRACEBACK", "full")
    assert len(files()) > 3
    monkeypatch.setenv("TFC_TRACEBACK", "some")
    with pytest.raises(TfcError, match="TFC_TRACEBACK must be full or short, got 'some'"):
        tfc.jit(wrong_shape)(X)


def test_the_environment_says_full_or_short():
    given = [{}, {"TFC_TRACEBACK": "short"}, {"TFC_TRACEBACK": " FULL "}]
    assert [full_traceback_from_environment(g) for g in given] == [False, False, True]


@pytest.mark.parametrize("debug", [False, True])
def test_the_command_line_shows_all_frames_with_debug(monkeypatch, debug):
    @api_boundary
    @as_of_tfc
    def fails():
        raise TraceError("wrong")

    monkeypatch.setattr("click.Group.invoke", lambda *_: fails())
    with pytest.raises(TraceError if debug else Failure) as caught:
        Commands().invoke(SimpleNamespace(params={"debug": debug}))
    error = caught.value if debug else caught.value.__cause__
    assert ("fails" in [name for _, name in places(error)]) == debug


def test_an_error_that_refers_to_itself_is_no_trap():
    error = TraceError("round")
    error.__context__ = other = TraceError("and round")
    other.__context__ = error
    hide_frames(error)
    assert error.__context__ is other


SCRIPT = """
import numpy as np, tfc
def inner(x):
    return tfc.numpy.reshape(x, (7,))
@tfc.jit
def step(x):
    return inner(x)
step(np.ones(3))
"""


def test_a_script_prints_the_users_lines(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run([sys.executable, path], check=False, capture_output=True, text=True)
    shown = [line.split(", in ")[-1] for line in done.stderr.splitlines() if ", in " in line]
    assert shown == ["<module>", "step", "inner"]
    assert done.stderr.splitlines()[-1] == f"at {path}:4: return tfc.numpy.reshape(x, (7,))"
