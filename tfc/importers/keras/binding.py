"""Which array of a file is which weight of which layer, in the layouts of both formats."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ModelFileError, UnsupportedError
from tfc.importers.keras.layer import Layer, Variable
from tfc.importers.keras.weights import Archive

Parameters = dict[str, np.ndarray]
_CLASSES = {"GroupQueryAttention": "GroupedQueryAttention"}  # whose name in Python is another
_MODELS = ("layers", "_layer_checkpoint_dependencies")


def bind_paths(model: Layer, archive: Archive, file: str) -> Parameters:
    """The parameters of a model whose arrays lie at the paths of layers, as in `.keras` files.

    Raises:
        ModelFileError: a weight is not there.
    """
    found: Parameters = {}
    groups = {path.rpartition("/vars/")[0] for path in archive.arrays}
    places: set[str] = set()
    for group in groups:
        parts = group.split("/")
        places |= {"/".join(parts[:n]) for n in range(1, len(parts) + 1)}
    pending: list[tuple[Layer, str, str]] = [(model, "", "")]
    while pending:
        layer, path, name = pending.pop()
        for number, variable in enumerate(layer.variables):
            array = archive.arrays.get(_joined(path, f"vars/{number}"))
            if array is None:
                raise ModelFileError(
                    f"{file} has no value of the weight '{variable.name}' of the layer "
                    f"'{layer.name}' (it would be '{path}/vars/{number}')"
                )
            _enter(found, layer, variable, name, array)
        for (attribute, child), place in zip(layer.children.items(), _places(layer, path, places)):
            inner = child.name if layer.build is not None else attribute
            pending.append((child, place, _joined(name, inner)))
    return found


def _places(layer: Layer, path: str, places: set[str]) -> Iterable[str]:
    """The groups of the layers within one; those in a list are counted by class."""
    used: Counter[str] = Counter()
    inside = next((n for n in _MODELS if _joined(path, n) in places), _MODELS[0])
    for attribute, child in layer.children.items():
        if layer.build is None:
            inside, _, _ = attribute.rpartition("/")
            if not inside:
                made = [_joined(path, attribute), _joined(path, f"_{attribute}")]
                yield next((p for p in made if p in places), made[0])
                continue
        name = snake_case(_CLASSES.get(child.class_name, child.class_name))
        number, used[name] = used[name], used[name] + 1
        yield _joined(path, f"{inside}/{name}_{number}" if number else f"{inside}/{name}")


def snake_case(name: str) -> str:
    """The name of a class as groups have it: conv2d, multi_head_attention."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def bind_groups(model: Layer, archive: Archive, file: str) -> Parameters:
    """The parameters of a model whose arrays lie in a group for each layer, as in `.h5` files.

    Raises:
        ModelFileError: a layer has more or fewer weights than its config says.
    """
    found: Parameters = {}
    root = "model_weights" if "model_weights" in archive.attributes else ""
    for layer in model.children.values():
        group = _joined(root, layer.name)
        names = listed(archive.attributes.get(group, {}), "weight_names")
        arrays = [archive.arrays.get(f"{group}/{name}") for name in names]
        pairs = _ordered(layer, names)
        if pairs is None or any(array is None for array in arrays):
            expected = [v.name for _, v in layer.ordered()]
            raise ModelFileError(
                f"{file} has {len(names)} weights of the layer '{layer.name}' "
                f"({layer.class_name}), where its config means {', '.join(expected) or 'none'}"
            )
        paths = dict(_named(layer, layer.name))
        for (owner, variable), array in zip(pairs, arrays):
            assert array is not None
            _enter(found, owner, variable, paths[owner], array)
    return found


def _named(layer: Layer, name: str) -> list[tuple[Layer, str]]:
    found = [(layer, name)]
    for attribute, child in layer.children.items():
        found += _named(child, f"{name}/{child.name if layer.build is not None else attribute}")
    return found


def _ordered(layer: Layer, names: Sequence[str]) -> list[tuple[Layer, Variable]] | None:
    """The variables that names are of; None if none of the orders in use has such names."""
    trained = [*layer.ordered(True), *layer.ordered(False)]
    by_kind = [
        *[p for p in layer.ordered() if p[1].trainable],
        *[p for p in layer.ordered() if not p[1].trainable],
    ]
    last = [name.rpartition("/")[2].partition(":")[0] for name in names]
    for order in (trained, layer.ordered(), by_kind):
        expected = [variable.name for _, variable in order]
        known = set(expected)
        if len(order) == len(last) and all(
            a == b or a not in known for a, b in zip(last, expected)
        ):
            return order
    return None


def listed(attributes: Any, name: str) -> list[str]:
    """A list of names among a group's attributes, which is in parts if it is long."""
    found, number = attributes.get(name), 0
    if found is not None:
        return list(found) if isinstance(found, list) else [found]
    found = []
    while f"{name}{number}" in attributes:
        found += attributes[f"{name}{number}"]
        number += 1
    return found


def _enter(
    parameters: Parameters, layer: Layer, variable: Variable, name: str, array: np.ndarray
) -> None:
    """Enter an array as a parameter, under a name of its own.

    Raises:
        UnsupportedError: it is of integers, in a layer that computes with floats.
    """
    if array.dtype == np.int8 and not layer.is_int8:
        raise UnsupportedError(
            f"the layer '{layer.name}' has the weight '{variable.name}' in integers of 8 bits, but "
            "is not said to be quantized: save the model before it is quantized"
        )
    unique, number = _joined(name, variable.name), 1
    while unique in parameters:
        number += 1
        unique = f"{_joined(name, variable.name)}/{number}"
    parameters[unique] = array
    layer.weights[variable.name] = unique


def _joined(first: str, second: str) -> str:
    return f"{first}/{second}" if first else second
