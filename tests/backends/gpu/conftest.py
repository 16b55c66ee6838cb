"""Whatever these tests run on the interpreter of PTX, NVIDIA's assembler must take, too."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from zlib import crc32

import pytest

from tfc.backends.gpu.driver import using
from tfc.testing.ptx.assembler import ARCHITECTURES, complaints
from tfc.testing.ptx.driver import InterpretedDriver

_LOAD = InterpretedDriver.load
ASSEMBLED: set[tuple[str, str]] = set()  # texts and architectures, of all modules of this process


@pytest.fixture(autouse=True, scope="module")
def every_text_assembles(request: pytest.FixtureRequest) -> Iterator[None]:
    """Give the texts that a module's tests load to `ptxas`: slow tests' for all architectures,
    others' for one of them, so that each has its share of the texts."""
    texts: set[str] = set()
    load = InterpretedDriver.load

    def noted(driver: InterpretedDriver, code: bytes) -> object:
        texts.add(code.decode())
        return load(driver, code)

    slow = "slow" in request.config.option.markexpr.replace("not slow", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InterpretedDriver, "load", noted)
        yield
    wanted = {(t, a) for t in texts for a in architectures(t, slow)} - ASSEMBLED
    ASSEMBLED.update(wanted)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda pair: complaints(*pair), wanted)
    assert [(a, said) for (_, a), said in zip(wanted, found) if said] == []


@pytest.fixture(scope="module")
def machine() -> InterpretedDriver:
    """A GPU that has warpgroups."""
    return InterpretedDriver("sm_90a")


@pytest.fixture
def with_warpgroups(machine: InterpretedDriver, by_warpgroups: None) -> Iterator[InterpretedDriver]:
    """The same with no reports yet, as what programs run on."""
    machine.reports.clear()
    with using(machine):
        yield machine


@pytest.fixture
def change_code(monkeypatch: pytest.MonkeyPatch) -> Callable[[InterpretedDriver, str, str], None]:
    """Has a device load code in which something else is in the place of what a pattern matches.

    It is no code that NVIDIA's assembler must take, or take without a remark.
    """

    def change(device: InterpretedDriver, pattern: str, replacement: str) -> None:
        def load_changed(code: bytes) -> object:
            changed, count = re.subn(pattern, replacement, code.decode())
            assert count
            return _LOAD(device, changed.encode())

        monkeypatch.setattr(device, "load", load_changed)

    return change


def architectures(text: str, all_of_them: bool) -> list[str]:
    """Those for which a text is to be assembled: newer GPUs take what is made for older ones, but
    what is made for sm_90a is for no other."""
    if ".target sm_90a" in text:
        return ["sm_90a"]
    some = ARCHITECTURES[crc32(text.encode()) % len(ARCHITECTURES)]
    return list(ARCHITECTURES) if all_of_them else [some]
