"""The devices of a session, and whether operations may be where they ask to be."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from tfc.graph import errors
from tfc.graph.evaluation import row_of
from tfc.graph.operation import Operation
from tfc.graph.running.config import ConfigProto
from tfc.graph.types.devices import DeviceSpec

_HERE = "/job:localhost/replica:0/task:0"


@dataclass(frozen=True)
class DeviceAttributes:
    """A device that a session has.

    memory_limit_bytes: 0, as there is no limit.
    """

    name: str
    device_type: str
    memory_limit_bytes: int = 0


def devices_of(config: ConfigProto) -> list[DeviceAttributes]:
    """The devices that a session has: CPUs, and XLA_CPU, where everything is compiled."""
    made: list[DeviceAttributes] = []
    for kind in ("CPU", "XLA_CPU"):
        for number in range(config.device_count.get(kind, 1)):
            made.append(DeviceAttributes(f"{_HERE}/device:{kind}:{number}", kind))
    return made


class Placement:
    """Where operations run.

    soft: run on the CPU what asks for a device that is not there.
    logs: say on standard error where each operation runs, once.
    """

    def __init__(self, config: ConfigProto):
        self.devices = devices_of(config)
        self._specs = [DeviceSpec.from_string(d.name) for d in self.devices]
        self._soft, self._logs = config.allow_soft_placement, config.log_device_placement
        self._logged: set[Operation] = set()

    def check(self, operations: Iterable[Operation]) -> None:
        """Check that the device of each operation is there.

        Raises:
            InvalidArgumentError: it is not, or is one that does not run such operations.
        """
        for op in operations:
            device = self._device(op)
            if self._logs and op not in self._logged:
                self._logged.add(op)
                sys.stderr.write(f"{op.name}: ({op.type}): {device}\n")

    def _device(self, op: Operation) -> str:
        asked = DeviceSpec.from_string(op.device)
        for spec, device in zip(self._specs, self.devices):
            is_compiling = spec.device_type == "XLA_CPU"
            if asked.fits(spec) and not (is_compiling and row_of(op).on_host):
                return device.name
        if self._soft:
            return self.devices[0].name
        names = ", ".join(d.name for d in self.devices)
        message = (
            f"Cannot assign a device for operation {op.name!r}: Operation was explicitly assigned "
            f"to {op.device} but available devices are [ {names} ]. Make sure the device "
            f"specification refers to a valid device, or set allow_soft_placement."
        )
        error = errors.InvalidArgumentError(op, op, message)
        error.add_note(
            f"in operation {op.name!r} of type {op.type}, made at {op.location[0]}:{op.location[1]}"
        )
        raise error
