"""The collector of cycles is paused while something is compiled, and only then."""

import gc
import threading
from collections.abc import Iterator

import pytest

from tfc import compiler
from tfc.hlo import builder
from tfc.hlo.ir import Computation, Module
from tfc.hlo.shape import F32, Shape
from tfc.runtime.collection import paused_collection


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    gc.enable()


def test_nested_pauses_end_with_the_outermost():
    with paused_collection():
        with paused_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_was_off_stays_off():
    gc.disable()
    with paused_collection():
        pass
    assert not gc.isenabled()


def test_a_pause_lasts_until_the_last_thread_is_done():
    begun, finish = threading.Event(), threading.Event()

    @paused_collection()
    def work() -> None:
        begun.set()
        finish.wait(10)

    other = threading.Thread(target=work)
    with paused_collection():
        other.start()
        assert begun.wait(10)
    assert not gc.isenabled()
    finish.set()
    other.join()
    assert gc.isenabled()


def test_compiling_ends_the_pause_even_if_it_fails(monkeypatch: pytest.MonkeyPatch):
    x = builder.parameter(0, Shape(F32, (2,)))
    module = Module("m", Computation.make("main", [x], builder.unary("negate", x)))
    seen: list[bool] = []

    def fails(_: Module) -> None:
        seen.append(gc.isenabled())
        raise RuntimeError

    monkeypatch.setattr(compiler, "verify", fails)
    with pytest.raises(RuntimeError):
        compiler.compile(module, "interpreter")
    assert seen == [False]
    assert gc.isenabled()
