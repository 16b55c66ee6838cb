"""Options and settings that all tests share."""

import os
from collections.abc import Iterator
from zlib import crc32

import gradient_checks
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from oracles import PROGRAMS

from tfc.backends.choices import Preference, asking
from tfc.runtime.calls import calls
from tfc.testing.evaluated_calls import evaluate

# Examples are derived from the test, not from chance: a failure here fails everywhere.
settings.register_profile(
    "tfc", max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
settings.load_profile("tfc")

# What earlier runs have compiled changes nothing here, nor do tests write to the user's folders.
os.environ["TFC_CACHE"] = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless` rewrites the expectations of file tests to what is got."""
    parser.addoption("--bless", action="store_true", help="rewrite expectations in tests/files")


@pytest.fixture(autouse=True)
def numbers_of_its_own(request: pytest.FixtureRequest) -> None:
    """Start NumPy's generator and a module's anew for each test, by its name: which tests ran
    before it in the same process, and so how many processes there are, changes no numbers."""
    seed = crc32(request.node.nodeid.encode())
    np.random.seed(seed)
    state = np.random.PCG64(seed).state
    for module in (request.module, gradient_checks):
        for value in vars(module).values():
            if isinstance(value, np.random.Generator):
                value.bit_generator.state = state


@pytest.fixture(autouse=True)
def eager_calls_are_evaluated(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let calls outside of traces say what functions mean: neither NumPy nor the compiler, which
    tests compare them with, has a hand in them. Tests marked `eager` call as users do."""
    if not any(request.node.iter_markers("eager")):
        monkeypatch.setattr(calls, "run", evaluate)
        monkeypatch.setattr(calls, "uses_numpy", False)


@pytest.fixture
def by_warpgroups() -> Iterator[None]:
    """Products so small that GPUs have faster forms go by warpgroups, too, where there are any."""
    from tfc.backends.gpu.products.persistent import BY_WARPGROUPS

    with asking(Preference(frozenset([BY_WARPGROUPS]))):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Count what a test asked of an oracle, and let none pass to which no answer came."""
    PROGRAMS.clear()
    yield
    if PROGRAMS["crashed"]:
        item.user_properties.append(("oracle", dict(PROGRAMS)))
        if PROGRAMS["crashed"] == PROGRAMS["asked"]:
            pytest.fail(f"the oracle crashed on each of the {PROGRAMS['asked']} programs")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What became of mutants and of oracles, in the tests that count them."""
    for report in terminalreporter.getreports("passed"):
        for name, found in getattr(report, "user_properties", ()):
            if report.when != "call":
                continue
            if name == "mutants":
                counts = ", ".join(f"{count} {outcome}" for outcome, count in found.items())
                total = sum(found.values())
                terminalreporter.write_line(f"{report.nodeid}: {total} mutants: {counts}")
            elif name == "oracle":
                terminalreporter.write_line(
                    f"{report.nodeid}: the oracle crashed on {found['crashed']} of "
                    f"{found['asked']} programs"
                )
