"""The table that Keras's layers are entered in, and what a layer's row is handed.

A row takes the `Use`, the arguments of the layer's call, and by name the options of its config.
Those of training alone are left out.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from tfc.errors import ModelFileError, UnsupportedError
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor
from tfc.importers.keras.layer import Layer, Variable
from tfc.importers.table import Table
from tfc.importers.walk import Call

F = TypeVar("F", bound=Callable[..., Any])
KERAS = Table("Keras")

# Options that mean nothing once a model is trained, or that are read elsewhere.
_IGNORED = {
    "name", "trainable", "dtype", "batch_input_shape", "batch_shape", "input_shape", "input_dtype",
    "seed", "autocast", "sparse", "ragged", "build_input_shape", "synchronized", "flash_attention",
    "experimental_autocast", "input_dim", "input_length", "lora_rank", "lora_alpha",
    "quantization_config", "registered_name", "batch_size", "use_cudnn", "unroll", "use_gpu",
    "time_major_batch", "zero_debias", "cell_kwargs", "_use_input_spec_as_call_signature",
}  # fmt: skip
_IGNORED_ENDS = ("_initializer", "_regularizer", "_constraint", "_init", "initializer")


@dataclass(frozen=True)
class Slot:
    """The place of a value in the form of a call: which of the node's inputs goes there."""

    number: int


@dataclass(frozen=True)
class Form:
    """The arguments of a layer's call, with Slots where values go.

    count: how many values there are; a layer's weights come after them.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    count: int


@dataclass(frozen=True)
class Kind:
    """What the layers of a class are.

    variables, children: what a layer of a config has, in Keras's order.
    mask: "passes" on to the result, or "drops", or what gives it.
    casts: whether floating arguments become the layer's dtype first.
    """

    function: Callable[..., Any]
    variables: Callable[[Layer], Sequence[Variable]]
    children: Callable[[Layer], Mapping[str, Any]]
    mask: str | Callable[["Use", Any, Any], Any]
    casts: bool
    options: frozenset[str]
    takes_any: bool
    takes_training: bool
    remark: str


KINDS: dict[tuple[str, str], Kind] = {}


def layer(
    *names: str,
    variables: Callable[[Layer], Sequence[Variable]] = lambda layer: (),
    children: Callable[[Layer], Mapping[str, Any]] = lambda layer: {},
    mask: str | Callable[["Use", Any, Any], Any] = "drops",
    casts: bool = True,
    domain: str = "",
    remark: str = "",
) -> Callable[[F], F]:
    """A decorator that enters a function as the row of classes of layers.

    Args:
        children: the configs of the layers within one, by the attributes that hold them.
        domain: "ops" for operations of keras.ops, "tf" for functions of TensorFlow.
        remark: what the table of the documentation says of it.
    """

    def enter(function: F) -> F:
        found = inspect.signature(function).parameters.values()
        options = frozenset(p.name for p in found if p.kind == p.KEYWORD_ONLY)
        takes_any = any(p.kind == p.VAR_KEYWORD for p in found)
        takes_training = any(p.name == "training" for p in found)
        kind = Kind(function, variables, children, mask, casts, options, takes_any, takes_training,
                    remark)  # fmt: skip
        for name in names:
            assert (domain, name) not in KINDS, f"{name} has two rows"
            KINDS[domain, name] = kind
            KERAS.operator(name, domain=domain)(_row)
        return function

    return enter


def always(*names: str) -> Callable[[Layer], list[Variable]]:
    """Variables that layers of a class have whatever their config says."""
    return lambda layer: [Variable(name) for name in names]


def with_bias(*names: str) -> Callable[[Layer], list[Variable]]:
    """Variables, and a bias unless the config says that there is none."""

    def found(layer: Layer) -> list[Variable]:
        has_bias = layer.config.get("use_bias", layer.config.get("bias", True))
        return [Variable(n) for n in (*names, *(["bias"] if has_bias else []))]

    return found


@dataclass
class Use:
    """A layer while it is called: its weights, its options, and the masks of its arguments.

    mask: that of the first argument, in its form, or the one that the call states.
    masks: those of all arguments, by position and by name.
    shown: a mask that the row makes.
    """

    layer: Layer
    weights: dict[str, Any]
    children: "dict[str, Use]"
    call: Call
    mask: Any = None
    masks: dict[int | str, Any] = field(default_factory=dict)
    shown: Any = None

    @property
    def dtype(self) -> np.dtype:
        """What the layer computes in."""
        return self.layer.dtype

    @property
    def is_old(self) -> bool:
        """Whether the layer means what it did before Keras 3."""
        return self.layer.is_old

    def __getitem__(self, name: str) -> Any:
        """A weight as the layer computes with it; None if it has none of that name."""
        value = self.weights.get(name)
        if value is None:
            return None
        found = as_tensor(value)
        return found.astype(self.dtype) if is_float(found) else found

    def exact(self, name: str) -> Any:
        """A weight in the dtype that it has in the file."""
        value = self.weights.get(name)
        return None if value is None else as_tensor(value)

    def options(self) -> dict[str, Any]:
        """What its row takes of the config.

        Raises:
            UnsupportedError: the config has an option that the row does not know.
        """
        kind, found = kind_of(self.layer), {}
        for name, value in self.layer.config.items():
            if name in kind.options:
                found[name] = value
            elif kind.takes_any or name in _IGNORED or name.endswith(_IGNORED_ENDS):
                continue
            elif value is not None:
                raise UnsupportedError(
                    f"the option '{name}' of {self.layer.class_name} is not supported"
                )
        return found

    def apply(self, *args: Any, mask: Any = None, **kwargs: Any) -> Any:
        """The layer's result for arguments without masks, as a row within another calls it."""
        graph = self.layer.graph
        if graph is not None:
            given = args[0] if mask is None else [args[0], mask]
            (found,) = self.call.run(graph, [given])
            return found[0] if isinstance(found, list) else found
        self.mask, self.masks = mask, {0: mask}
        return kind_of(self.layer).function(self, *args, **kwargs, **self.options())


def kind_of(layer: Layer) -> Kind:
    """The kind of a layer.

    Raises:
        UnsupportedError: there is no row for it.
    """
    kind = KINDS.get((layer.domain, layer.class_name))
    if kind is None:
        raise UnsupportedError(
            f"the layer '{layer.name}' is a {layer.class_name}, which is not supported"
        )
    return kind


def is_float(value: Any) -> bool:
    """Whether a Tensor has floating-point numbers."""
    return value.dtype.kind == "f" or value.dtype.name == "bfloat16"


def filled(form: Any, values: Sequence[Any]) -> Any:
    """A form with values in place of its Slots."""
    if isinstance(form, Slot):
        return values[form.number]
    if isinstance(form, (list, tuple)):
        return type(form)(filled(v, values) for v in form)
    if isinstance(form, dict):
        return {k: filled(v, values) for k, v in form.items()}
    return form


def _row(*values: Any, layer: Layer, form: Form, node: Call, graphs: Any = ()) -> Any:
    """The results of a layer's call, each a list with its mask if it has one."""
    kind = kind_of(layer)
    given = values[: form.count]
    tensors = [as_tensor(v[0] if isinstance(v, list) else v) for v in given]
    masks = [v[1] if isinstance(v, list) else None for v in given]
    if kind.casts and not layer.domain:
        tensors = [cast(t, layer.dtype) for t in tensors]
    use = _use(layer, iter(values[form.count :]), node)
    args, kwargs = filled(form.args, tensors), filled(dict(form.kwargs), tensors)
    use.masks = dict(enumerate(filled(form.args, masks)))
    use.masks |= filled({k: v for k, v in form.kwargs.items() if k != "mask"}, masks)
    use.mask = kwargs.pop("mask", None)
    # Keras 3 overrules what a call states when a model predicts.
    if kwargs.pop("training", None) and kind.takes_training and layer.is_old:
        kwargs["training"] = True
    first = next(iter(use.masks), None)
    if use.mask is None and first is not None:
        use.mask = use.masks[first]
    try:
        inspect.signature(kind.function).bind(use, *args, **kwargs, **use.options())
    except TypeError as error:
        raise ModelFileError(
            f"it is called with arguments that it does not take: {error}"
        ) from error
    result = kind.function(use, *args, **kwargs, **use.options())
    if kind.mask == "drops":
        return result
    mask = use.mask if kind.mask == "passes" else kind.mask(use, use.mask, result)  # type: ignore
    return masked(result, mask)


def masked(result: Any, mask: Any) -> Any:
    """A result with its mask; of several results, the first ones with as many masks."""
    if isinstance(result, tuple):
        masks = mask if isinstance(mask, (list, tuple)) else [mask]
        both = [*masks, *[None] * (len(result) - len(masks))]
        return tuple(masked(r, m) for r, m in zip(result, both))
    if isinstance(mask, (list, tuple)):
        mask = mask[0] if mask else None
    return result if mask is None else [result, mask]


def cast(value: Tensor, dtype: np.dtype) -> Tensor:
    """A floating-point Tensor in a dtype; others as they are."""
    return value.astype(dtype) if is_float(value) and value.dtype != dtype else value


def _use(layer: Layer, values: Any, node: Call) -> Use:
    """The Use of a layer, whose weights are the next values, and then those within it."""
    weights = {name: next(values) for name in layer.weights}
    children = {}
    for name, child in layer.children.items():
        is_model = child.build is not None
        children[name] = Use(child, {}, {}, node) if is_model else _use(child, values, node)
    return Use(layer, weights, children, node)
