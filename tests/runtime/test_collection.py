"""The collector of cycles is paused while something is compiled, and only then."""

import gc
import threading
import weakref
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


def test_what_was_made_in_a_pause_is_not_looked_at_as_soon_as_it_ends():
    found: list[int] = []

    def note(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            found.append(sum(len(gc.get_objects(generation)) for generation in (0, 1)))

    gc.callbacks.append(note)
    try:
        with paused_collection():
            made = [[] for _ in range(50_000)]
        more = [[] for _ in range(5_000)]  # has the collector run
    finally:
        gc.callbacks.remove(note)
    assert len(made) > max(found) > 0
    assert len(more) == 5_000


def test_cycles_that_were_made_in_a_pause_are_found_later():
    class Node:
        def __init__(self) -> None:
            self.itself = self

    with paused_collection():
        gone = weakref.ref(Node())
    assert gone() is not None
    gc.collect()
    assert gone() is None


def test_cycles_are_found_in_the_end_though_all_time_is_spent_compiling():
    class Node:
        def __init__(self) -> None:
            self.itself = self

    gone = weakref.ref(Node())
    kept = []
    for _ in range(30):
        with paused_collection():
            kept.append([[] for _ in range(50_000)])
    assert gone() is None


def test_what_somebody_keeps_from_being_collected_stays_so():
    gc.freeze()
    try:
        kept = gc.get_freeze_count()
        with paused_collection():
            pass
        assert 0 < gc.get_freeze_count() <= kept
    finally:
        gc.unfreeze()


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
