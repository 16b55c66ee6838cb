"""All units of a pack."""

from collections.abc import Sequence

from tfc.testing.conformance.cases.case import Unit
from tfc.testing.conformance.cases.networks import network_units
from tfc.testing.conformance.cases.operations import operation_units, random_units
from tfc.testing.conformance.cases.ordered import ordered_units
from tfc.testing.conformance.cases.products import product_units


def all_units(scale: float = 1.0) -> list[Unit]:
    """Every unit, in the order in which a pack is run: what says most comes first.

    Args:
        scale: how many programs there are where they are drawn; 1 makes some thousands.
    """
    return [
        *product_units(scale), *network_units(), *ordered_units(),
        *operation_units(scale), *random_units(scale),
    ]  # fmt: skip


def chosen(units: Sequence[Unit], only: Sequence[str]) -> list[Unit]:
    """The units that have one of some texts in their names; all of them for none."""
    return [u for u in units if not only or any(text in u.name for text in only)]
