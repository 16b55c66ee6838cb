"""What devices and links do in a second: a table as TOML, shipped or of the user's own.

name = "two cores"             # the table's own name
processors = 2                 # devices that run at full speed at one time; all when left out
[device]
launch = 2e-6                  # seconds that each kernel takes besides its work
transcendentals = 1e9          # functions such as exp, a second
[[device.memory]]              # levels, the smallest first; the last holds everything
name = "DRAM"
bandwidth = 2e10               # bytes a second, read and written
[device.matrix]                # operations a second of products, by element type of operands
f32 = 1e11
[device.vector]                # operations a second of all else, by element type of the result
f32 = 5e10
[[links]]                      # the first that joins two devices is theirs
name = "NVLink"
devices = 8                    # it joins devices 0-7, 8-15 …; all when left out
axis = "model"                 # or: those that differ along this axis of the mesh only
bandwidth = 4.5e11             # bytes a second out of each device, and as many into it
latency = 1e-6                 # seconds of a message
[algorithms]                   # of collectives; "fastest" of all when left out
all-reduce = "ring"
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from tfc.errors import TfcError
from tfc.hlo.attributes.replica_groups import COLLECTIVES
from tfc.hlo.shape import ELEMENT_TYPES, ElementType
from tfc.tools.profiling.peaks import Level, Peaks

ALGORITHMS = ("ring", "tree", "direct", "hierarchical")
_MACHINES = files("tfc.tools.simulation") / "machines"
_KEYS = {
    "": {"name", "source", "processors", "device", "links", "algorithms"},
    "device": {"launch", "capacity", "transcendentals", "memory", "matrix", "vector"},
    "device.memory": {"name", "capacity", "bandwidth"},
    "links": {"name", "devices", "axis", "bandwidth", "latency"},
}


@dataclass(frozen=True)
class Link:
    """What joins devices: bytes a second out of each and into each, and seconds of a message.

    devices: it joins devices of equal number // devices; None for all.
    axis: it joins those that differ along this axis of the mesh only; "" for any.
    """

    name: str
    bandwidth: float
    latency: float
    devices: int | None = None
    axis: str = ""


@dataclass(frozen=True)
class Speeds:
    """A table of speeds, as above.

    matrix, vector: operations a second by names of element types.
    capacity: bytes of memory of a device; infinite if the table does not say.
    """

    name: str
    launch: float
    transcendentals: float
    memory: tuple[Level, ...]
    matrix: Mapping[str, float]
    vector: Mapping[str, float]
    links: tuple[Link, ...] = ()
    algorithms: Mapping[str, str] = field(default_factory=dict)
    capacity: float = math.inf
    processors: float | None = None
    source: str = ""

    def memory_seconds(self, size: float) -> float:
        """The time for so many bytes, through the smallest level that holds most of them."""
        return size / Peaks({}, self.memory).level(size).bytes_per_second

    def product_rate(self, element: ElementType) -> float:
        """Operations a second of products of a type: what `vector` has if `matrix` has none.

        Raises:
            TfcError: the table has none that is as wide.
        """
        rate = _rate(self.matrix, element)
        return self.vector_rate(element) if rate is None else rate

    def vector_rate(self, element: ElementType) -> float:
        """Operations a second of anything else on a type.

        Raises:
            TfcError: the table has none that is as wide.
        """
        rate = _rate(self.vector, element)
        if rate is None:
            raise TfcError(
                f"the speeds of {self.name} say nothing of {element.name}: give device.vector "
                f"a rate for it, or for a wider type of its kind"
            )
        return rate


def _rate(rates: Mapping[str, float], element: ElementType) -> float | None:
    """The rate of a type, else that of the narrowest one of its kind that is as wide."""
    element = element.component
    if element.name in rates:
        return rates[element.name]
    is_float = element.is_float
    wider = [
        (ELEMENT_TYPES[name].bits, rate)
        for name, rate in rates.items()
        if ELEMENT_TYPES[name].is_float == is_float and ELEMENT_TYPES[name].bits >= element.bits
    ]
    return min(wider)[1] if wider else None


def machine_names() -> list[str]:
    """The names of the tables that tfc ships."""
    return sorted(f.name.removesuffix(".toml") for f in _MACHINES.iterdir() if ".toml" in f.name)


def read_speeds(name: str) -> Speeds:
    """The table of a name that tfc ships, or of a file.

    Raises:
        TfcError: there is no such table, or it is malformed.
    """
    if name in machine_names():
        return parse_speeds((_MACHINES / f"{name}.toml").read_text(), name)
    path = Path(name)
    if not path.is_file():
        listed = ", ".join(machine_names())
        raise TfcError(f"there is no table of speeds '{name}': name a file, or one of {listed}")
    try:
        return parse_speeds(path.read_text(encoding="utf-8"), name)
    except UnicodeDecodeError:
        raise TfcError(f"{name} is no TOML: it is no UTF-8") from None


def parse_speeds(text: str, where: str) -> Speeds:
    """The table in TOML.

    Args:
        where: what messages call the text.

    Raises:
        TfcError: it is malformed.
    """
    try:
        return _Reader(where).speeds(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TfcError(f"{where} is no TOML: {error}") from None


class _Reader:
    """Reads a table, and says of what is wrong where that is."""

    def __init__(self, where: str):
        self._where = where

    def speeds(self, table: dict[str, Any]) -> Speeds:
        """The table's speeds."""
        self._check_keys(table, "")
        device = self._table(table, "device")
        self._check_keys(device, "device")
        processors = None
        if "processors" in table:
            processors = self._number(table, "processors", "the table", least=1.0)
        return Speeds(
            name=self._text(table, "name", "", self._where),
            source=self._text(table, "source", "", ""),
            processors=processors,
            launch=self._number(device, "launch", "device", least=0.0, default=0.0),
            transcendentals=self._number(device, "transcendentals", "device"),
            capacity=self._number(device, "capacity", "device", default=math.inf),
            memory=self._levels(device),
            matrix=self._rates(device, "matrix", default={}),
            vector=self._rates(device, "vector"),
            links=tuple(self._link(link) for link in self._tables(table, "links")),
            algorithms=self._algorithms(table),
        )

    def _levels(self, device: dict[str, Any]) -> tuple[Level, ...]:
        found: list[Level] = []
        for level in self._tables(device, "memory", "device."):
            self._check_keys(level, "device.memory")
            found.append(Level(
                self._text(level, "name", "device.memory", "memory"),
                self._number(level, "capacity", "device.memory", default=math.inf),
                self._number(level, "bandwidth", "device.memory"),
            ))  # fmt: skip
        if not found or found[-1].capacity < math.inf:
            raise self._error("device.memory", "needs a last level without a capacity")
        return tuple(found)

    def _link(self, table: dict[str, Any]) -> Link:
        self._check_keys(table, "links")
        return Link(
            self._text(table, "name", "links", "links"),
            self._number(table, "bandwidth", "links"),
            self._number(table, "latency", "links", least=0.0, default=0.0),
            self._count(table, "devices", "links"),
            self._text(table, "axis", "links", ""),
        )

    def _algorithms(self, table: dict[str, Any]) -> dict[str, str]:
        found = self._table(table, "algorithms", {})
        for name, algorithm in found.items():
            if name not in COLLECTIVES:
                raise self._error("algorithms", f"has '{name}', which is no collective")
            if algorithm not in (*ALGORITHMS, "fastest"):
                listed = ", ".join(ALGORITHMS)
                raise self._error(f"algorithms.{name}", f"must be fastest or one of {listed}")
        return found

    def _rates(
        self, device: dict[str, Any], name: str, default: dict[str, Any] | None = None
    ) -> dict[str, float]:
        table = self._table(device, name, default, "device.")
        wrong = next((t for t in table if t not in ELEMENT_TYPES), None)
        if wrong is not None:
            raise self._error(f"device.{name}", f"has '{wrong}', which is no element type")
        return {t: self._number(table, t, f"device.{name}") for t in table}

    def _table(
        self,
        table: dict[str, Any],
        name: str,
        default: dict[str, Any] | None = None,
        within: str = "",
    ) -> dict[str, Any]:
        found = table.get(name, default)
        if not isinstance(found, dict):
            raise self._error(within + name, "must be a table")
        return found

    def _tables(self, table: dict[str, Any], name: str, within: str = "") -> list[dict[str, Any]]:
        found = table.get(name, [])
        if not isinstance(found, list) or not all(isinstance(x, dict) for x in found):
            raise self._error(within + name, f"must be tables, written [[{within}{name}]]")
        return found

    def _check_keys(self, table: dict[str, Any], name: str) -> None:
        wrong = next((key for key in table if key not in _KEYS[name]), None)
        if wrong is not None:
            listed = ", ".join(sorted(_KEYS[name]))
            raise self._error(name or "the table", f"has '{wrong}'; there are {listed}")

    def _number(
        self,
        table: dict[str, Any],
        key: str,
        name: str,
        least: float | None = None,
        default: float | None = None,
    ) -> float:
        found = table.get(key, default)
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        if is_number and found == default:
            return float(found)
        fits = is_number and (found > 0 if least is None else found >= least)
        if not fits or not found < math.inf:
            wanted = "above 0" if least is None else f"of at least {least:g}"
            raise self._error(f"{name}.{key}", f"must be a number {wanted}")
        return float(found)

    def _count(self, table: dict[str, Any], key: str, name: str) -> int | None:
        found = table.get(key)
        if found is not None and (not isinstance(found, int) or found < 1 or found is True):
            raise self._error(f"{name}.{key}".strip("."), "must be a whole number above 0")
        return found

    def _text(self, table: dict[str, Any], key: str, name: str, default: str) -> str:
        found = table.get(key, default)
        if not isinstance(found, str):
            raise self._error(f"{name}.{key}".strip("."), "must be text")
        return found

    def _error(self, what: str, problem: str) -> TfcError:
        return TfcError(f"{self._where}: {what} {problem}")
