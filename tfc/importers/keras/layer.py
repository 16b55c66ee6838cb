"""Layers as a file describes them, before there are any values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from tfc.errors import ModelFileError, UnsupportedError
from tfc.importers.graph import Graph

_TYPES = {
    "float16": np.dtype(np.float16), "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64), "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "half": np.dtype(np.float16), "mixed_float16": np.dtype(np.float16),
    "mixed_bfloat16": np.dtype(ml_dtypes.bfloat16),
    **{n: np.dtype(n) for n in ("int8", "int16", "int32", "int64", "bool")},
    **{n: np.dtype(n) for n in ("uint8", "uint16", "uint32", "uint64")},
}  # fmt: skip


_QUANTIZED = ("Dense", "EinsumDense", "Embedding")  # layers that compute with 8-bit weights


@dataclass(frozen=True)
class Variable:
    """A weight of a layer. trainable: whether Keras counts it so."""

    name: str
    trainable: bool = True


@dataclass(eq=False)
class Layer:
    """One layer, or one model within another.

    is_old: whether it was written by a Keras before 3, whose layers mean other things.
    children: layers within it, by the attributes that hold them, in the order of its weights.
    weights: for each variable that the file has a value of, the parameter's name.
    graph: of a model, what it computes.
    domain: "" for layers, "ops" for operations of keras.ops, "tf" for those of TensorFlow.
    """

    class_name: str
    name: str
    config: Mapping[str, Any]
    is_old: bool
    variables: tuple[Variable, ...] = ()
    children: dict[str, "Layer"] = field(default_factory=dict)
    weights: dict[str, str] = field(default_factory=dict)
    graph: Graph | None = None
    domain: str = ""
    build: Callable[[], Graph] | None = None

    @property
    def trainable(self) -> bool:
        """Whether its variables are counted as trainable, if they are."""
        return bool(self.config.get("trainable", True))

    @property
    def dtype(self) -> np.dtype:
        """What it computes in.

        Raises:
            UnsupportedError: its policy is of no known kind, as that of quantized layers.
        """
        policy: Any = self.config.get("dtype")
        return dtype_of(policy["config"].get("source_name") if self.is_int8 else policy, self.name)

    @property
    def is_int8(self) -> bool:
        """Whether its weights are integers of 8 bits, each row or column with a scale."""
        policy = self.config.get("dtype")
        if not isinstance(policy, Mapping) or policy.get("class_name") != "QuantizedDTypePolicy":
            return False
        inner = policy.get("config")
        has_rows = self.class_name in _QUANTIZED
        return has_rows and isinstance(inner, Mapping) and inner.get("mode") == "int8"

    def leaves(self) -> Iterator["Layer"]:
        """It and the layers within it, but not those of models, which have graphs of their own."""
        yield self
        for child in self.children.values():
            if child.build is None:
                yield from child.leaves()

    def ordered(self, only_trainable: bool | None = None) -> "list[tuple[Layer, Variable]]":
        """Its variables and those within it as Keras lists them, all or of one kind.

        Where a layer is frozen, all that is in it counts as not trainable.
        """
        if only_trainable is None or not self.trainable:
            if only_trainable:
                return []
            found: list[tuple[Layer, Variable]] = [(self, v) for v in self.variables]
            inner = None
        else:
            found = [(self, v) for v in self.variables if v.trainable == only_trainable]
            inner = only_trainable
        for child in self.children.values():
            found += child.ordered(inner)
        return found


def dtype_of(policy: Any, name: str) -> np.dtype:
    """What layers of a dtype policy compute in.

    Raises:
        UnsupportedError: it is of no known kind.
    """
    while isinstance(policy, Mapping):
        if policy.get("class_name") not in ("DTypePolicy", "Policy", "FloatDTypePolicy"):
            raise UnsupportedError(
                f"the layer '{name}' has a dtype policy of the class {policy.get('class_name')}, "
                "which is not supported"
            )
        inner = policy.get("config")
        policy = inner.get("name") if isinstance(inner, Mapping) else None
    if policy is None:
        return np.dtype(np.float32)
    if not isinstance(policy, str) or policy not in _TYPES:
        raise UnsupportedError(f"the layer '{name}' has the dtype {policy!r}, which is unknown")
    return _TYPES[policy]


def serialized(value: Any) -> tuple[str, Any]:
    """(class, config) of a serialized object.

    Raises:
        ModelFileError: it is none.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("class_name"), str):
        raise ModelFileError(f"{str(value)[:60]!r} describes no object of Keras's")
    return value["class_name"], value.get("config")
