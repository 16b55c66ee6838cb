"""The configuration of a graph to compile: a tf2xla.Config, as text or binary, checked.

    feed { id { node_name: "x_hold" } shape { dim { size: 2 } dim { size: 3 } } name: "x" }
    fetch { id { node_name: "x_y_prod" } }
    variable { node_name: "counter" shape { } type: DT_INT32 readonly: false }

Feeds are the arguments and fetches the results, in this order; variables are state that the
generated class keeps between runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tfc.aot.signature import is_identifier
from tfc.errors import TfcError, UnsupportedError
from tfc.graph.files.messages import message_class
from tfc.graph.types.dtypes import DType, as_dtype

TEXT_SUFFIXES = (".pbtxt", ".prototxt", ".txt")


@dataclass(frozen=True)
class TensorName:
    """An output of a node."""

    node: str
    index: int = 0

    def __str__(self) -> str:
        return f"{self.node}:{self.index}"


@dataclass(frozen=True)
class Feed:
    """An argument: a tensor of the graph that the caller gives.

    name: what the methods of the class are called by; "" for none.
    dtype: None where it is the graph's to say.
    """

    id: TensorName
    dims: tuple[int, ...]
    name: str = ""
    dtype: DType | None = None


@dataclass(frozen=True)
class Fetch:
    """A result; dims and dtype are None where the configuration does not state them."""

    id: TensorName
    name: str = ""
    dims: tuple[int, ...] | None = None
    dtype: DType | None = None


@dataclass(frozen=True)
class Variable:
    """State: a variable of the graph by its node; dims and dtype None where the graph says them.

    readonly: whether it is no result; None for what does not change.
    """

    node: str
    name: str
    dims: tuple[int, ...] | None = None
    dtype: DType | None = None
    readonly: bool | None = False


@dataclass(frozen=True)
class Configuration:
    """What to compile of a graph.

    source: the file, for messages.
    """

    source: str
    feeds: tuple[Feed, ...]
    fetches: tuple[Fetch, ...]
    variables: tuple[Variable, ...] = ()


def read_configuration(path: str, batch: int | None = None) -> Configuration:
    """The configuration in a file: text if its name ends with .pbtxt, else binary.

    Args:
        batch: the first size of feeds and fetches for which the file states -1.

    Raises:
        TfcError: it cannot be read or parsed, or says what cannot be.
    """
    made = _parsed(path)
    for stated in (*made.feed, *made.fetch):
        if batch is not None and stated.shape.dim and stated.shape.dim[0].size < 0:
            stated.shape.dim[0].size = batch
    return checked(made, path)


def _parsed(path: str) -> Any:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise TfcError(f"cannot read {path}: {error.strerror}") from error
    made = message_class("Config")()
    try:
        if Path(path).suffix in TEXT_SUFFIXES:
            return text_format.Parse(content.decode(), made)
        made.MergeFromString(content)
        return made
    except UnicodeDecodeError as error:
        raise TfcError(f"{path} is not text in UTF-8, as its name says: {error}") from error
    except (text_format.ParseError, ValueError) as error:
        raise TfcError(f"{path} is no tf2xla.Config as text: {error}") from error
    except DecodeError as error:
        raise TfcError(
            f"{path} is no binary tf2xla.Config; one as text has a name that ends with .pbtxt"
        ) from error


# --- Checks


def checked(made: Any, source: str) -> Configuration:
    """What a Config message says.

    Raises:
        TfcError: it has no fetches, an empty or doubled name or tensor, a name that is no
            identifier of C++, or a feed without a shape that is known.
        UnsupportedError: it asks for a conversion that is not offered.
    """
    if made.conversion_options.custom_fake_quant_op_calls:
        raise UnsupportedError(
            f"{source}: custom_fake_quant_op_calls is not offered: leave it out, and fake "
            "quantization is compiled as any other operation"
        )
    if not made.fetch:
        raise TfcError(f"{source}: there is no fetch: state what to compute")
    found = Configuration(
        source,
        tuple(_feed(source, n, feed) for n, feed in enumerate(made.feed)),
        tuple(_fetch(source, n, fetch) for n, fetch in enumerate(made.fetch)),
        tuple(_variable(source, n, variable) for n, variable in enumerate(made.variable)),
    )
    _check_distinct(source, "feed", [str(feed.id) for feed in found.feeds])
    _check_distinct(source, "variable", [variable.node for variable in found.variables])
    for kind, named in (
        ("feed", found.feeds), ("fetch", found.fetches), ("variable", found.variables),
    ):  # fmt: skip
        _check_names(source, kind, [x.name for x in named])
    return found


def _feed(source: str, number: int, made: Any) -> Feed:
    where = f"{source}: feed {number}"
    id = _id(where, made.id)
    dims = _dims(f"{where} ({id})", made.shape)
    if dims is None:
        raise TfcError(f"{where} ({id}) has a shape of unknown rank: state its sizes")
    return Feed(id, dims, made.name, _dtype(f"{where} ({id})", made.type))


def _fetch(source: str, number: int, made: Any) -> Fetch:
    where = f"{source}: fetch {number}"
    id = _id(where, made.id)
    dims = _dims(f"{where} ({id})", made.shape) if made.HasField("shape") else None
    return Fetch(id, made.name, dims, _dtype(f"{where} ({id})", made.type))


def _variable(source: str, number: int, made: Any) -> Variable:
    where = f"{source}: variable {number}"
    if not made.node_name:
        raise TfcError(f"{where} has no node_name: name the node of the variable")
    where = f"{where} ({made.node_name})"
    dims = _dims(where, made.shape) if made.HasField("shape") else None
    name = made.name or made.node_name
    return Variable(made.node_name, name, dims, _dtype(where, made.type), made.readonly)


def _id(where: str, made: Any) -> TensorName:
    if not made.node_name:
        raise TfcError(f"{where} has no node_name: name the node")
    if made.output_index < 0:
        raise TfcError(f"{where} has the output_index {made.output_index}, which is below 0")
    return TensorName(made.node_name, made.output_index)


def _dims(where: str, made: Any) -> tuple[int, ...] | None:
    """The sizes of a shape; None if not even their number is known."""
    if made.unknown_rank:
        return None
    sizes = tuple(dim.size for dim in made.dim)
    for number, size in enumerate(sizes):
        if size < 0:
            raise TfcError(
                f"{where} has an unknown size in dimension {number}: compiled code needs sizes "
                "that are known, so state one of 0 or more"
            )
    return sizes


def _dtype(where: str, number: int) -> DType | None:
    if number == 0:
        return None
    try:
        found = as_dtype(number)
    except TypeError:
        raise TfcError(f"{where} has the type {number}, which there is not") from None
    if found.numpy is None:
        raise UnsupportedError(f"{where} is of type {found.name}, of which there are no arrays")
    return found


def _check_distinct(source: str, kind: str, ids: Sequence[str]) -> None:
    for id in ids:
        if ids.count(id) > 1:
            raise TfcError(f"{source}: {id} is a {kind} more than once")


def _check_names(source: str, kind: str, names: Sequence[str]) -> None:
    """Names are identifiers, each there once, and no method of one is another."""
    known = [name for name in names if name]
    for name in known:
        if not is_identifier(f"_{name}") or not name[0].isidentifier():
            raise TfcError(
                f"{source}: the name '{name}' of a {kind} is no identifier of C++: use letters, "
                "digits and _, with no digit in front"
            )
        if known.count(name) > 1:
            raise TfcError(f"{source}: the name '{name}' of a {kind} is there more than once")
        for suffix in ("_data", "_size", "_count"):
            if f"{name}{suffix}" in known:
                raise TfcError(
                    f"{source}: a {kind} cannot be called '{name}{suffix}' beside '{name}', of "
                    "which a method is called so"
                )
