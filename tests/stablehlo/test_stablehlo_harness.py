"""JAX's test programs, exported as StableHLO, give what XLA computes: a part of them each time."""

import pytest

pytest.importorskip("absl", reason="JAX's test programs need absl-py")
from stablehlo_sweep import PASSED, SKIPPED, count, rates, report, sweep


def failures(outcomes):
    """What went wrong otherwise than by a sentence that says what tfc does not have."""
    allowed = (PASSED, *SKIPPED, "unsupported", "refused: ShapeError")
    return [o for o in outcomes if o.status not in allowed]


@pytest.mark.slow
def test_one_in_eighty():
    outcomes = sweep(range(0, count(), 80), jobs=2)
    assert not failures(outcomes)
    good, total = (sum(r[n] for r in rates(outcomes, "group").values()) for n in (0, 1))
    assert total > 80
    assert good >= 0.97 * total, report(outcomes)


@pytest.mark.sweep
def test_all():
    outcomes = sweep(range(count()), jobs=2)
    print(report(outcomes))
    assert not failures(outcomes)
    assert all(good > 0.95 * total for good, total in rates(outcomes, "group").values())
