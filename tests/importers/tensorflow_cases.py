"""Samples of TensorFlow's operators with its results, as recording.py writes them; tfc's results.

Knows no TensorFlow: a sample is a GraphDef of tfc's own protos.
"""

import lzma
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tfc
from tfc import graph as tf
from tfc.errors import TfcError
from tfc.graph.errors import OpError
from tfc.graph.files.attributes import attributes_from_proto
from tfc.graph.files.messages import message_class
from tfc.graph.files.tensors import tensor_from_proto
from tfc.graph.operators.elementwise import BINARY, UNARY
from tfc.graph.operators.registry import OPERATORS, find
from tfc.graph.types.dtypes import as_dtype, ml_dtypes_kind

ARCHIVE = Path(__file__).parent / "tensorflow_operators.xz"

NAMES = Path(__file__).parent / "tensorflow_compiled_names.txt"


@dataclass(frozen=True)
class Case:
    """An operation, what it is given, and what TensorFlow computes."""

    operator: str
    message: Any
    given: dict[str, np.ndarray]
    known: dict[str, np.ndarray]
    wanted: list[np.ndarray]

    @property
    def dtype(self) -> str:
        """The dtype that it is a sample of: its first result's or, of Cast say, first input's."""
        arrays = [*self.given.values(), *self.wanted]
        return as_dtype(arrays[0].dtype).name if arrays else ""

    def node(self, name: str) -> Any:
        """A node of the graph."""
        return next(n for n in self.message.node if n.name == name)


def read(path: Path) -> list[Case]:
    """The cases in a file."""
    return [_case(made) for made in _messages(lzma.decompress(path.read_bytes()))]


@cache
def archive() -> list[Case]:
    """The cases that are checked in."""
    return read(ARCHIVE)


def compiled_names() -> list[str]:
    """The operators that XLA compiles for CPUs in TensorFlow, as its registry of kernels says."""
    return NAMES.read_text().split()


def _messages(content: bytes) -> Iterator[Any]:
    place = 0
    while place < len(content):
        (size,) = struct.unpack_from("<I", content, place)
        yield message_class("GraphDef").FromString(content[place + 4 : place + 4 + size])
        place += 4 + size


def _case(made: Any) -> Case:
    found: dict[str, dict[str, np.ndarray]] = {"given": {}, "known": {}, "wanted": {}}
    for node in made.node:
        kind = node.name.rstrip("0123456789")
        if kind in found and node.op == "Const":
            found[kind][node.name] = tensor_from_proto(node.attr["value"].tensor, node.name)
    op = next(n.op for n in made.node if n.name == "op")
    return Case(op, made, found["given"], found["known"], list(found["wanted"].values()))


def with_known(case: Case, name: str) -> Case:
    """A case in which one more input is a constant."""
    given = {key: x for key, x in case.given.items() if key != name}
    return replace(case, given=given, known={**case.known, name: case.given[name]})


def results(case: Case, backend: str) -> list[np.ndarray]:
    """What tfc computes."""
    if any(node.op == "VarHandleOp" for node in case.message.node):
        names = [n.name for n in case.message.node if n.name.startswith("result")]
        return _of_program(case, names, backend)
    if case.message.library.function:
        return _of_program(case, [f"op:{n}" for n in range(len(case.wanted))], backend)
    node = case.node("op")
    attributes = attributes_from_proto(node.attr, {}, "op")
    row = find(node.op, attributes)
    if row.on_host:
        return _of_program(case, [f"op:{n}" for n in range(len(case.wanted))], backend)
    names = list(case.given)

    def function(*arrays: Any) -> Any:
        values = {**dict(zip(names, arrays)), **case.known}
        return tuple(row([values[x.split(":")[0]] for x in node.input], attributes))

    made = tfc.jit(function, backend=backend)(*case.given.values())
    return [np.asarray(x) for x in made]


def imported(case: Case) -> list[np.ndarray]:
    """What the graph gives as an imported model."""
    outputs = [f"op:{n}" for n in range(len(case.wanted))]
    model = tfc.from_graphdef(case.message, outputs, [*case.given], backend="interpreter")
    made = model(*case.given.values())
    return [np.asarray(x) for x in (made if len(outputs) > 1 else [made])]


def _of_program(case: Case, names: list[str], backend: str) -> list[np.ndarray]:
    """What a session fetches of the graph."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(case.message, name="")
        with tf.Session(graph=graph, config=tf.ConfigProto(backend=backend)) as session:
            return session.run([name if ":" in name else f"{name}:0" for name in names])


def outcome(case: Case, backend: str = "interpreter") -> str:
    """Why tfc's results are not TensorFlow's; "" if they are.

    Args:
        backend: of those that compile, or "imported" for the graph as a model.
    """
    if case.operator not in OPERATORS:
        return "no row"
    try:
        found = imported(case) if backend == "imported" else results(case, backend)
    except (TfcError, OpError) as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    if len(found) < len(case.wanted):
        return f"{len(found)} results instead of {len(case.wanted)}"
    summed = case.operator not in UNARY.keys() | BINARY.keys()
    made = (difference(f, w, summed) for f, w in zip(found, case.wanted))
    return next(filter(None, made), "")


def tolerance(dtype: np.dtype) -> float:
    """How far results may be apart, in parts of them."""
    name = dtype.name
    return {"bfloat16": 1.6e-2, "float16": 2e-3, "float32": 2e-5, "complex64": 2e-5}.get(
        name, 1e-10
    )


def difference(found: np.ndarray, wanted: np.ndarray, summed: bool = True) -> str:
    """How an array differs from what is wanted; "" if it does not by more than roundings do.

    Args:
        summed: elements are made of several, so that roundings are in parts of the largest.
    """
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{found.dtype}{list(found.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype.kind != "c" and ml_dtypes_kind(wanted.dtype) != "f":
        return "" if np.array_equal(found, wanted) else _first(found, wanted, found != wanted)
    near = tolerance(wanted.dtype)
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    f, w = found.astype(wide), wanted.astype(wide)
    with np.errstate(invalid="ignore"):
        finite = np.abs(w[np.isfinite(w)])
        most = finite.max(initial=0.0)
        least = near * (most if summed else min(most, 1.0))
        apart = ~np.isclose(f, w, near, least, equal_nan=True)
    return _first(found, wanted, apart) if apart.any() else ""


def _first(found: np.ndarray, wanted: np.ndarray, apart: np.ndarray) -> str:
    places = np.argwhere(apart)
    place = tuple(places[0])
    where = list(map(int, place))
    count = f"{len(places)} of {wanted.size} differ"
    return f"{count}, at {where}: {found[place]} instead of {wanted[place]}"
