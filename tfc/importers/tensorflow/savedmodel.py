"""SavedModel directories: saved_model.pb, and the variables in its checkpoint.

    saved_model.pb      meta graphs, each with tags, a graph, and signatures
    variables/          a checkpoint: what the graph's own restoring would read

Which array of the checkpoint a variable holds is what the graph says that restores it: from
RestoreV2, which names arrays, to the assignments, also through functions of the library.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfc.errors import ModelFileError, TfcError, UnsupportedError
from tfc.graph.files.checkpoints import CheckpointReader
from tfc.importers.tensorflow import tables
from tfc.importers.tensorflow.cutting import TEXT, advice
from tfc.importers.tensorflow.inlining import inlined
from tfc.importers.tensorflow.meanings import file_errors
from tfc.importers.tensorflow.nodes import Nodes
from tfc.importers.tensorflow.reader import Content, Feed, Fetch, Reader
from tfc.importers.tensorflow.sources import checked_path, message_of

_FILES = ("saved_model.pb", "saved_model.pbtxt")
# The version of the format, and after it a graph with its description.
_BINARY = re.compile(rb"\x08\x01\x12[\0-\xff]{1,5}\n", re.DOTALL)
_TEXT = re.compile(rb"(?:\s|#[^\n]*)*saved_model_schema_version\s*:")
_VARIABLES = ("VarHandleOp", "VariableV2", "Variable")
_ASSIGNING = ("AssignVariableOp", "Assign")
_MOST_DEPTH = 16  # functions within functions that restore


def is_saved_model(path: Any) -> bool:
    """Whether a path is that of a SavedModel, its folder or its file, told by what is in it."""
    file = _file_of(path)
    if file is None or not file.is_file():
        return False
    if file.name in _FILES:
        return True
    content = file.read_bytes()
    return _BINARY.match(content) is not None or _TEXT.match(content) is not None


def _file_of(path: Any) -> Path | None:
    """The file of a SavedModel; None if a folder has none."""
    if not Path(path).is_dir():
        return Path(path)
    return next((p for n in _FILES if (p := Path(path) / n).is_file()), None)


class SavedModel:
    """One meta graph of a SavedModel, with its signatures and variables.

    Raises:
        TfcError: there is no such file, or none of these tags.
        ModelFileError: it is damaged.
    """

    def __init__(self, directory: Any, tags: Sequence[str] | str | None):
        path = _file_of(checked_path(directory))
        if path is None:
            raise TfcError(f"{directory} is no SavedModel: it has no {_FILES[0]}")
        try:
            content = path.read_bytes()
        except OSError as error:
            raise TfcError(f"cannot read {path}: {error.strerror}") from error
        self.directory = path.parent
        made = message_of("SavedModel", content, str(path))
        self.meta_graph = _tagged(made.meta_graphs, tags, str(path))
        self.reader = Reader(str(path), self.meta_graph.graph_def)
        nodes = self.reader.nodes
        if any(node.op in tables.MAKING for node in nodes.by_name.values()):
            self.reader.tables |= tables.filled(
                inlined(nodes, self.reader.library),
                lambda node: self.reader.meanings.tensor(node.attr["value"].tensor, node.name),
            )

    def signature(
        self,
        name: str | None,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
    ) -> tuple[str, list[Feed], list[Fetch]]:
        """The name, inputs and outputs of a signature, in the order of their names.

        Args:
            inputs, outputs: others in their place, in this order: names of the signature's own, or
                of any values, those within functions as `call/node:1`.

        Raises:
            TfcError: there is none of this name.
            ModelFileError: there is no value of a name.
            UnsupportedError: it takes or gives what arrays cannot hold.
        """
        known = {k: v for k, v in self.meta_graph.signature_def.items()
                 if not k.startswith("__saved_model_")}  # fmt: skip
        wanted = name or ("serving_default" if len(known) != 1 else next(iter(known)))
        if wanted not in known:
            raise TfcError(
                f"{self.reader.file} has no signature '{wanted}'; it has {', '.join(sorted(known))}"
            )
        made = known[wanted]
        if inputs is not None or outputs is not None:
            self.reader.inline()
        fetches = [
            Fetch(*self._tensor(x, made.outputs[x])) if x in made.outputs
            else Fetch(self.reader.nodes.value(x), x)
            for x in (sorted(made.outputs) if outputs is None else outputs)
        ]  # fmt: skip
        if not fetches:
            raise ModelFileError(f"{self.reader.file}: the signature '{wanted}' has no outputs")
        return wanted, self._feeds(made, inputs, outputs, fetches), fetches

    def _feeds(
        self,
        made: Any,
        inputs: Sequence[str] | None,
        outputs: Sequence[str] | None,
        fetches: Sequence[Fetch],
    ) -> list[Feed]:
        """What is taken: the signature's inputs, those that outputs need, or the ones named."""
        if inputs is not None:
            return [
                Feed(*self._tensor(x, made.inputs[x])) if x in made.inputs else self.reader.feed(x)
                for x in inputs
            ]
        names = sorted(made.inputs)
        if outputs is not None:
            needed = self.reader.placeholders([x.tensor for x in fetches])
            nodes = {x.tensor for x in needed}
            names = [x for x in names if made.inputs[x].name.split(":")[0] in nodes]
        if texts := [x for x in names if made.inputs[x].dtype == TEXT]:
            raise UnsupportedError(
                f"{self.reader.file}: the input '{texts[0]}' is text, which is not supported: "
                f"{advice(self.reader.numeric_values([x.tensor for x in fetches]))}"
            )
        return [Feed(*self._tensor(x, made.inputs[x])) for x in names]

    def _tensor(self, key: str, info: Any) -> tuple[Any, ...]:
        """The value that a TensorInfo names, what it is called, its dtype and sizes."""
        file = self.reader.file
        if info.WhichOneof("encoding") != "name":
            raise UnsupportedError(f"{file}: '{key}' is a sparse tensor, which is not supported")
        dtype = self.reader.meanings.dtype_of(info.dtype, key)
        dims = self.reader.meanings.shape(info.tensor_shape)
        return self.reader.nodes.value(info.name), key, dtype, dims

    def variables(
        self, content: Content, also: Iterable[str] = (), checkpoint: str | None = None
    ) -> dict[str, np.ndarray]:
        """The values of the variables that a part of the graph needs, by their names.

        Args:
            also: further names.
            checkpoint: where to read them, as far as the names of its files are the same, instead
                of beside the file.

        Raises:
            ModelFileError: the checkpoint is damaged, or lacks one.
        """
        graphs = [content.graph, *(f.graph for f in content.functions.values())]
        needed = {
            node.attributes.get("shared_name") or node.name
            for graph in graphs for node in graph.nodes if node.op in _VARIABLES
        }.union(also)  # fmt: skip
        if not needed:
            return {}
        prefix = checkpoint or self.directory / "variables" / "variables"
        restored = self._restored()
        with file_errors(str(prefix)):
            reader = CheckpointReader(prefix)
            found = {}
            for name in sorted(needed):
                key, part = restored.get(name, (name, ""))
                if name not in restored and not reader.has_tensor(name):
                    continue  # what reads it says so
                found[name] = _part(reader.get_tensor(key), part, f"{prefix}: {key}")
        return found

    def _restored(self) -> dict[str, tuple[str, str]]:
        """Of each variable what is restored into it: an array's name, and the part of it."""
        name = self.meta_graph.saver_def.restore_op_name.split(":")[0]
        nodes = self.reader.all_nodes
        found: dict[str, tuple[str, str]] = {}
        if name not in nodes.by_name:
            return found
        for variable, array in _assignments(nodes, self.reader, [name], {}, 0):
            known = found.setdefault(variable, array)
            if known != array:
                raise UnsupportedError(
                    f"{self.reader.file} has two variables of the name '{variable}'"
                )
        for copy, original in _copies(nodes):
            if copy in found:
                found.setdefault(original, found[copy])
        return found


def _tagged(meta_graphs: Sequence[Any], tags: Sequence[str] | str | None, file: str) -> Any:
    """The meta graph of tags; `serve` if none are stated and there are several.

    Raises:
        TfcError: there is none.
    """
    if tags is None and len(meta_graphs) == 1:
        return meta_graphs[0]
    wanted = {"serve"} if tags is None else {tags} if isinstance(tags, str) else set(tags)
    for made in meta_graphs:
        if set(made.meta_info_def.tags) == wanted:
            return made
    listed = "; ".join(",".join(m.meta_info_def.tags) or "none" for m in meta_graphs)
    raise TfcError(
        f"{file} has no graph of the tags {','.join(sorted(wanted))}; it has {listed or 'none'}"
    )


def _assignments(
    nodes: Nodes, reader: Reader, wanted: Iterable[str], arguments: Mapping[str, str], depth: int
) -> Iterator[tuple[str, tuple[str, str]]]:
    """The variables that nodes assign what is restored: (variable, (array, part)).

    Args:
        arguments: in a function, the variables that its arguments are the handles of.
    """
    seen: set[str] = set()
    pending = list(wanted)
    while pending:
        name = pending.pop()
        if name in seen or name not in nodes.by_name:
            continue
        seen.add(name)
        node = nodes.by_name[name]
        pending += [n for n, _ in nodes.taken(node)] + nodes.before(node)
        if node.op in _ASSIGNING:
            taken = nodes.taken(node)
            variable = _variable(nodes, taken[0], arguments) if len(taken) > 1 else None
            array = _restored_array(nodes, taken[1]) if variable else None
            if variable and array:
                yield variable, array
        called = node.attr["f"].func.name if "f" in node.attr else ""
        if called in reader.library and depth < _MOST_DEPTH:
            yield from _within(nodes, reader, node, reader.library[called], arguments, depth)


def _copies(nodes: Nodes) -> Iterator[tuple[str, str]]:
    """Variables that begin as what another one holds: (copy, original).

    Keras 3 exports each of its variables with such a copy, and only that is restored.
    """
    for node in nodes.by_name.values():
        taken = nodes.taken(node) if node.op == "AssignVariableOp" else []
        if len(taken) == 2:
            source = nodes.by_name.get(_origin(nodes, taken[1])[0])
            if source is not None and source.op == "ReadVariableOp" and source.input:
                copy = _variable(nodes, taken[0], {})
                original = _variable(nodes, nodes.taken(source)[0], {})
                if copy and original and copy != original:
                    yield copy, original


def _within(
    nodes: Nodes, reader: Reader, node: Any, function: Any, arguments: Mapping[str, str], depth: int
) -> Iterator[tuple[str, tuple[str, str]]]:
    """The assignments in a function that a node calls."""
    names = [x.name for x in function.signature.input_arg]
    taken = zip(names, nodes.taken(node))
    handles = {n: v for n, x in taken if (v := _variable(nodes, x, arguments))}
    inner = Nodes(f"{nodes.file}, function '{function.signature.name}'", function.node_def, names)
    ends = [x for x in inner.by_name if inner.by_name[x].op in (*_ASSIGNING, node.op)]
    yield from _assignments(inner, reader, ends, handles, depth + 1)


def _variable(
    nodes: Nodes, taken: tuple[str, int], arguments: Mapping[str, str]
) -> str | None:  # fmt: skip
    """The variable that a value is the handle of."""
    name = _origin(nodes, taken)[0]
    node = nodes.by_name.get(name)
    if node is None or node.op not in _VARIABLES:
        return arguments.get(name)
    return node.attr["shared_name"].s.decode(errors="replace") or name


def _origin(nodes: Nodes, taken: tuple[str, int]) -> tuple[str, int]:
    """Where a value comes from, behind what only passes it on."""
    for _ in range(_MOST_DEPTH):
        node = nodes.by_name.get(taken[0])
        if node is None or node.op not in ("Identity", "Cast", "Reshape") or not node.input:
            break
        taken = nodes.taken(node)[0]
    return taken


def _restored_array(nodes: Nodes, taken: tuple[str, int]) -> tuple[str, str] | None:
    """The array's name, and the part of it, that a result of RestoreV2 is."""
    name, place = _origin(nodes, taken)
    node = nodes.by_name.get(name)
    if node is None or node.op != "RestoreV2":
        return None
    inputs = nodes.taken(node)
    texts = [nodes.by_name[n].attr["value"].tensor.string_val for n, _ in inputs[1:3]
             if n in nodes.by_name]  # fmt: skip
    if len(texts) < 2 or place >= len(texts[0]):
        return None
    # Of texts that are all alike, one is stated.
    part = texts[1][min(place, len(texts[1]) - 1)] if texts[1] else b""
    return texts[0][place].decode(errors="replace"), part.decode(errors="replace")


def _part(array: np.ndarray, spec: str, what: str) -> np.ndarray:
    """The part of an array that `10 4 0,5:-` means: its shape, then begin and length or all.

    Raises:
        ModelFileError: it has no such part.
    """
    if not spec:
        return array
    *_, slices = spec.split(" ")
    try:
        bounds = [tuple(map(int, s.split(","))) if s != "-" else None for s in slices.split(":")]
        place = tuple(slice(None) if b is None else slice(b[0], b[0] + b[1]) for b in bounds)
        return array[place]
    except (ValueError, IndexError) as error:
        raise ModelFileError(f"{what} has no part '{spec[:200]}'") from error
