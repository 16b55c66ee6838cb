"""How many devices run a module: replica_count times num_partitions of its header, else one."""

from tfc.errors import ShapeError
from tfc.hlo.attributes.replica_groups import MOST_DEVICES
from tfc.hlo.ir import Module


def device_counts(module: Module) -> tuple[int, int]:
    """The numbers of replicas and of partitions.

    Raises:
        ShapeError: one of them is no number that is at least 1.
    """
    stated = dict(module.attributes)
    return _count(stated, "replica_count"), _count(stated, "num_partitions")


def _count(stated: dict[str, str], name: str) -> int:
    text = stated.get(name, "1")
    # Zero is XLA's notation for a count that is left open.
    if not (text.isascii() and text.isdigit() and len(text) < 8 and int(text) <= MOST_DEVICES):
        raise ShapeError(f"{name} must be a number from 1 to {MOST_DEVICES}, got {text}")
    return max(int(text), 1)


def require_devices(module: Module, given: int) -> tuple[int, int]:
    """The numbers of replicas and partitions of a module that is given something for each device.

    Raises:
        ShapeError: it is given something for another number of devices.
    """
    replicas, partitions = device_counts(module)
    if given != replicas * partitions:
        raise ShapeError(
            f"{module.name} runs on {replicas} replicas of {partitions} partitions, got arguments "
            f"for {given}: state replica_count={given} in its header to run on that many"
        )
    return replicas, partitions
