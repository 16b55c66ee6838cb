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
