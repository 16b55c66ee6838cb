"""Which schedule a product gets: the one that a model of its time says is best."""

from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.gpu.products.spec import ProductSpec


def schedule_for(spec: ProductSpec) -> Schedule:
    """The schedule of a product."""
    small = spec.m <= 32 or spec.n <= 64
    return Schedule(32, 64, 16, 32) if small else Schedule(64, 64, 32, 32)
