"""Devices as strings name them: /job:localhost/replica:0/task:0/device:CPU:0, or a part of it."""

import re
from dataclasses import dataclass, fields

from tfc.errors import ShapeError

_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class DeviceSpec:
    """A device, as far as it is told: None for what is not.

    device_type: in upper case, such as CPU.
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    @staticmethod
    def from_string(text: str) -> "DeviceSpec":
        """What a string such as /job:worker/task:1/device:GPU:0, /cpu:0 or /gpu:* says.

        Raises:
            ValueError: it is no device string.
        """
        found: dict[str, str | int | None] = {}
        for part in filter(None, text.split("/")):
            name, *rest = part.split(":")
            if name in ("job", "replica", "task") and len(rest) == 1 and name not in found:
                is_word = name == "job" and rest[0]
                found[name] = rest[0] if is_word else _number(rest[0], text)
                continue
            kind, *index = rest if name == "device" else (name, *rest)
            if len(index) != 1 or not _TYPE.match(kind) or "device_type" in found:
                raise ShapeError(_misfit(text))
            found["device_type"] = kind.upper()
            found["device_index"] = _number(index[0], text)
        if text and not found:
            raise ShapeError(_misfit(text))
        return DeviceSpec(**found)  # type: ignore[arg-type]

    def to_string(self) -> str:
        """The string; what is not told is left out."""
        parts = [f"/{name}:{value}" for name, value in self._places() if value is not None]
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            parts.append(f"/device:{self.device_type}:{index}")
        return "".join(parts)

    def merged(self, inner: "DeviceSpec") -> "DeviceSpec":
        """What both say; where they differ, the inner one."""
        both = {
            f.name: getattr(self, f.name) if getattr(inner, f.name) is None
            else getattr(inner, f.name)
            for f in fields(self)
        }  # fmt: skip
        if inner.device_type is not None:
            both["device_index"] = inner.device_index
        return DeviceSpec(**both)

    def fits(self, device: "DeviceSpec") -> bool:
        """Whether a device is what is told here."""
        told = ((getattr(self, f.name), getattr(device, f.name)) for f in fields(self))
        return all(mine is None or mine == its for mine, its in told)

    def _places(self) -> tuple[tuple[str, str | int | None], ...]:
        return ("job", self.job), ("replica", self.replica), ("task", self.task)


def _number(text: str, whole: str) -> int | None:
    if text == "*":
        return None
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ShapeError(_misfit(whole))
    return int(text)


def _misfit(text: str) -> str:
    return (
        f"{text!r} is no device: devices are /cpu:0, /device:XLA_CPU:0 or "
        "/job:localhost/replica:0/task:0/device:CPU:0"
    )


def canonical(device: str) -> str:
    """A device string as TensorFlow writes it: /cpu:0 is /device:CPU:0.

    Raises:
        ValueError: it is none.
    """
    return DeviceSpec.from_string(device).to_string()


def merge(outer: str, inner: str) -> str:
    """The device that a scope within another means.

    Raises:
        ValueError: one is no device string.
    """
    return DeviceSpec.from_string(outer).merged(DeviceSpec.from_string(inner)).to_string()
