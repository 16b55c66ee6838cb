"""The calls of a Functional model's layers, as both formats of its config state them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.errors import ModelFileError, UnsupportedError
from tfc.importers.keras.layer import Layer, dtype_of
from tfc.importers.keras.table import Form, Slot

_MOST_DEPTH = 64
_MOST_RESULTS = 4096


@dataclass(frozen=True)
class Reference:
    """A result of a call of a layer."""

    layer: str
    call: int
    result: int


@dataclass(frozen=True)
class Calls:
    """What the layers of a model are called with.

    forms: for each layer by name, its calls: a Form, and the References that fill it.
    first: for each layer, the number that References call its first call by; those of the model's
        inputs and outputs may count otherwise.
    counts: for each call, how many results are used.
    """

    forms: Mapping[str, Sequence[tuple[Form, Sequence[Reference]]]]
    first: Mapping[str, int]
    first_outside: Mapping[str, int]
    counts: Mapping[tuple[str, int], int]
    inputs: frozenset[str]

    def value(self, reference: Reference, is_outside: bool = False) -> str:
        """The name of a value. is_outside: it is an output of the model.

        Raises:
            ModelFileError: there is no such layer or call.
        """
        if reference.layer in self.inputs:
            return reference.layer
        first = self.first_outside if is_outside else self.first
        number = reference.call - first.get(reference.layer, 0)
        if not 0 <= number < len(self.forms.get(reference.layer, ())):
            raise ModelFileError(
                f"there is no call {reference.call} of a layer '{reference.layer}'"
            )
        return f"{reference.layer}:{number}:{reference.result}"

    def results(self, layer: Layer, number: int) -> list[str]:
        """The names of a call's results."""
        count = self.counts.get((layer.name, number), 1)
        return [f"{layer.name}:{number}:{k}" for k in range(count)]

    def all(self, layers: Sequence[Layer]) -> Iterator[tuple[Layer, int, Form, list[str]]]:
        """Each call, with the names of the values that it uses."""
        for layer in layers:
            for number, (form, used) in enumerate(self.forms.get(layer.name, ())):
                yield layer, number, form, [self.value(reference) for reference in used]


def calls_of(
    entries: Sequence[Any], layers: Sequence[Layer], outside: Sequence[Reference]
) -> Calls:
    """The calls of a model's layers.

    Args:
        entries: the layers' entries in the config.
        outside: what the model refers to beside them: its inputs and outputs.
    """
    names = frozenset(layer.name for layer in layers)
    forms, inputs = {}, set()
    for entry, layer in zip(entries, layers):
        stated = entry.get("inbound_nodes") or []
        if layer.class_name == "InputLayer":
            inputs.add(layer.name)
        elif not isinstance(stated, list):
            raise ModelFileError(f"the layer '{layer.name}' has no list of calls")
        else:
            forms[layer.name] = [_call(node, names) for node in stated]
    inside = [r for calls in forms.values() for _, refs in calls for r in refs]
    used = [*inside, *outside]
    first = {layer.name: _first(layer, len(forms.get(layer.name, ())), used) for layer in layers}
    models = {layer.name for layer in layers if layer.class_name != "Sequential" and layer.build}
    first_outside = first
    if layers and not layers[0].is_old:
        # Keras 3 counts the calls of models from 1 in the lists of inputs and outputs alone.
        first = dict.fromkeys(first, 0)
        first_outside = {name: int(name in models) for name in first}
    counts: dict[tuple[str, int], int] = {}
    for reference, base in [*((r, first) for r in inside), *((r, first_outside) for r in outside)]:
        if not 0 <= reference.result < _MOST_RESULTS:
            raise ModelFileError(f"there is no result {reference.result} of '{reference.layer}'")
        place = reference.layer, reference.call - base.get(reference.layer, 0)
        counts[place] = max(counts.get(place, 1), reference.result + 1)
    return Calls(forms, first, first_outside, counts, frozenset(inputs))


def _first(layer: Layer, count: int, used: Sequence[Reference]) -> int:
    """The number of a layer's first call: models may count one of their own before it."""
    if layer.build is None:
        return 0
    numbers = {r.call for r in used if r.layer == layer.name}
    if 0 in numbers:
        return 0
    return 1 if numbers and (count in numbers or layer.class_name != "Sequential") else 0


def references(stated: Any) -> list[Reference]:
    """The References in a model's list of inputs or outputs, however it is nested."""
    found: list[Reference] = []
    _collect(stated, found, 0)
    return found


def _collect(stated: Any, found: list[Reference], depth: int) -> None:
    if depth > _MOST_DEPTH:
        raise ModelFileError("a list of inputs or outputs is nested without end")
    if isinstance(stated, (list, tuple)):
        if len(stated) == 3 and isinstance(stated[0], str):
            found.append(_reference(stated))
            return
        for part in stated:
            _collect(part, found, depth + 1)
    elif isinstance(stated, Mapping):
        for key in sorted(stated, key=str):
            _collect(stated[key], found, depth + 1)
    else:
        raise ModelFileError("a model has no list of inputs or outputs")


def _reference(stated: Sequence[Any]) -> Reference:
    name, call, result = stated[:3]
    if not isinstance(name, str) or not isinstance(call, int) or not isinstance(result, int):
        raise ModelFileError(f"{str(stated)[:60]} is no result of a layer's call")
    return Reference(name, call, result)


def _call(stated: Any, names: frozenset[str]) -> tuple[Form, list[Reference]]:
    """The Form of a call in either format, and what fills it."""
    parser = _Parser(names)
    if isinstance(stated, Mapping):
        args = tuple(parser.value(v) for v in stated.get("args") or ())
        kwargs = {k: parser.value(v) for k, v in (stated.get("kwargs") or {}).items()}
    else:
        args, kwargs = parser.old(stated)
    return Form(args, kwargs, len(parser.found)), parser.found


class _Parser:
    """Goes through the arguments of one call."""

    def __init__(self, names: frozenset[str]):
        self.names = names
        self.found: list[Reference] = []

    def slot(self, reference: Reference) -> Slot:
        self.found.append(reference)
        return Slot(len(self.found) - 1)

    def value(self, stated: Any, depth: int = 0) -> Any:
        """An argument as Keras 3 states it."""
        if depth > _MOST_DEPTH:
            raise ModelFileError("the arguments of a call are nested without end")
        if isinstance(stated, list):
            return [self.value(v, depth + 1) for v in stated]
        if not isinstance(stated, Mapping):
            return stated
        kind, config = stated.get("class_name"), stated.get("config")
        if kind is None:
            return {k: self.value(v, depth + 1) for k, v in stated.items()}
        if kind == "__keras_tensor__" and isinstance(config, Mapping):
            return self.slot(_reference(config.get("keras_history") or ()))
        if kind == "__tuple__":
            return tuple(self.value(v, depth + 1) for v in stated.get("items") or config or ())
        if kind in ("__numpy__", "__tensor__") and isinstance(config, Mapping):
            return _constant(config)
        if kind == "__ellipsis__":
            return Ellipsis
        if kind == "__slice__" and isinstance(config, Mapping):
            return slice(*(self.value(config.get(k)) for k in ("start", "stop", "step")))
        if kind == "slice" and isinstance(config, list):
            return slice(*(self.value(v) for v in config))
        raise UnsupportedError(f"a call has an argument of the kind {kind}, which is not supported")

    def old(self, stated: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call as a Keras before 3 states them."""
        kwargs: dict[str, Any] = {}
        first = self._first(stated, kwargs)
        if isinstance(first, list) and len(first) == 1:
            first = first[0]
        return (() if first == [] else (first,)), kwargs

    def _first(self, stated: Any, kwargs: dict[str, Any], depth: int = 0) -> Any:
        if depth > _MOST_DEPTH:
            raise ModelFileError("the arguments of a call are nested without end")
        if isinstance(stated, Mapping):
            return {k: self._first(v, kwargs, depth + 1) for k, v in stated.items()}
        if not isinstance(stated, list):
            raise ModelFileError(f"{str(stated)[:60]!r} is no argument of a call")
        if 3 <= len(stated) <= 4 and isinstance(stated[0], str):
            if len(stated) == 4 and isinstance(stated[3], Mapping):
                kwargs |= {k: self._keyword(v) for k, v in stated[3].items() if k != "name"}
            if stated[0] == "_CONSTANT_VALUE":
                return stated[2]
            return self.slot(_reference(stated))
        return [self._first(v, kwargs, depth + 1) for v in stated]

    def _keyword(self, stated: Any, depth: int = 0) -> Any:
        """A keyword's value, where what looks like a layer's result is one."""
        if depth > _MOST_DEPTH:
            raise ModelFileError("the arguments of a call are nested without end")
        if isinstance(stated, Mapping):
            return {k: self._keyword(v, depth + 1) for k, v in stated.items()}
        if not isinstance(stated, list):
            return stated
        if 3 <= len(stated) <= 4 and stated[0] == "_CONSTANT_VALUE":
            return stated[2]
        if len(stated) == 3 and isinstance(stated[0], str) and stated[0] in self.names:
            return self.slot(_reference(stated))
        return [self._keyword(v, depth + 1) for v in stated]


def _constant(config: Mapping[str, Any]) -> np.ndarray:
    """An array that is written out in a config."""
    try:
        return np.array(config.get("value"), dtype_of(config.get("dtype"), "a constant"))
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"a constant in a call is no array: {error}") from error
