"""Options and settings that all tests share."""

import pytest
from hypothesis import HealthCheck, settings

# Examples are derived from the test, not from chance: a failure here fails everywhere.
settings.register_profile(
    "tfc", max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
settings.load_profile("tfc")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless` rewrites the expectations of file tests to what is got."""
    parser.addoption("--bless", action="store_true", help="rewrite expectations in tests/files")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What became of mutants, in the tests that count them."""
    for report in terminalreporter.getreports("passed"):
        for name, found in getattr(report, "user_properties", ()):
            if name == "mutants" and report.when == "call":
                counts = ", ".join(f"{count} {outcome}" for outcome, count in found.items())
                total = sum(found.values())
                terminalreporter.write_line(f"{report.nodeid}: {total} mutants: {counts}")
