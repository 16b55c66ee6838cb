"""The JSON of an exported program as Calls: operators with their arguments, names for values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfc.errors import ModelFileError, UnsupportedError
from tfc.importers.torch.pt2.tensors import DTYPES, Meta, meta_of

_POSITIONAL, _KEYWORD = 1, 2
# Of older files, which do not say it: arguments that operators take by name alone.
_BY_NAME = frozenset((
    "dtype", "layout", "device", "pin_memory", "memory_format", "alpha", "beta", "rounding_mode",
    "scale", "enable_gqa", "correction", "approximate", "generator", "non_blocking", "implicit",
    "include_self", "right", "side", "sorter", "out_int32", "indexing",
))  # fmt: skip
# Operators that take some of these by place, too.
_BY_PLACE = frozenset(("softmax.int", "log_softmax.int", "to.dtype", "to.device", "to.other",
                       "view.dtype", "elu.default"))  # fmt: skip
# Graphs that are a part of the program around them, after so many arguments of their own.
_INLINED = {"wrap_with_set_grad_enabled": 1, "wrap_with_autocast": 4}
_IGNORED = ("_assert", "sym_constrain_range", "_functional_assert", "_functional_sym_constrain")
_MOST_DEPTH = 40


@dataclass(frozen=True)
class Ref:
    """A value by its name, and whether it is a number to torch."""

    name: str
    is_number: bool = False


@dataclass(frozen=True)
class Call:
    """One use of an operator.

    op: `relu_.default` of aten; others with their domain, as `higher_order`.
    outputs: names of results; lists for operators that give several; None for those without one.
    is_single: whether the only output is the result, and not a list of one.
    """

    domain: str
    op: str
    name: str
    args: list[Any]
    named: dict[str, Any]
    outputs: list[Any]
    is_single: bool


@dataclass
class Calls:
    """A graph of calls in order.

    inputs: names, or constants as they are.
    outputs: Refs, or constants.
    metas: what is stated of the arrays.
    """

    name: str
    inputs: list[Any]
    outputs: list[Any] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    metas: dict[str, Meta] = field(default_factory=dict)


def read_calls(graph: Mapping[str, Any], name: str) -> Calls:
    """The calls of a graph.

    Raises:
        UnsupportedError: it has objects of custom classes.
    """
    return _Reader(name).whole(graph, 0)


class _Names(dict[str, str]):
    """The names of a graph's values in the one around all: a prefix, but for its inputs."""

    def __init__(self, prefix: str):
        super().__init__()
        self.prefix = prefix

    def here(self, name: str) -> str:
        """The name in the graph around all."""
        return self[name] if name in self else self.prefix + name


class _Reader:
    """One reading of a graph, with the graphs in it that are a part of it."""

    def __init__(self, name: str):
        self.found = Calls(name, [])

    def whole(self, graph: Mapping[str, Any], depth: int) -> Calls:
        own = _Names("")
        self._state(graph, own)
        self.found.inputs = [given.name if isinstance(given := self._value(a, own, depth), Ref)
                             else given for a in graph["inputs"]]  # fmt: skip
        self._calls(graph, own, depth)
        self.found.outputs = [self._value(argument, own, depth) for argument in graph["outputs"]]
        return self.found

    def _state(self, graph: Mapping[str, Any], own: _Names) -> None:
        """Enter what a graph states of its arrays, under names that are unique here."""
        for name, stated in graph["tensor_values"].items():
            self.found.metas[own.here(name)] = meta_of(stated)

    def _calls(self, graph: Mapping[str, Any], own: _Names, depth: int) -> None:
        """Enter the calls of a graph, of which the values have names of their own here."""
        if depth > _MOST_DEPTH:
            raise ModelFileError("the program nests graphs too deep")
        for node in graph["nodes"]:
            target = node["target"]
            wrapper = target.removeprefix("torch.ops.higher_order.")
            if wrapper in _INLINED:
                self._inline(node, _INLINED[wrapper], own, depth)
            elif not target.removeprefix("torch.ops.aten.").startswith(_IGNORED):
                self._call(node, own, depth)

    def _inline(self, node: Mapping[str, Any], before: int, own: _Names, depth: int) -> None:
        """Enter the calls of a graph that a call has as an argument, as if they stood here."""
        arguments = [given["arg"] for given in node["inputs"]]
        inner = arguments[before]["as_graph"]["graph"]
        names = _Names(f"{own.prefix}{node.get('name') or len(self.found.calls)}/")
        for port, argument in zip(inner["inputs"], arguments[before + 1 :]):
            given = self._value(argument, own, depth)
            if not isinstance(given, Ref) or next(iter(port)) not in _NAMED:
                raise UnsupportedError("a graph in the program takes what is no array")
            names[_named(port)] = given.name
        self._state(inner, names)
        self._calls(inner, names, depth + 1)
        results = [self._value(argument, names, depth) for argument in inner["outputs"]]
        for port, result in zip(_flat(node["outputs"]), results):
            if isinstance(result, Ref) and next(iter(port)) in _NAMED:
                own[_named(port)] = result.name

    def _call(self, node: Mapping[str, Any], own: _Names, depth: int) -> None:
        domain, op = _operator(node["target"])
        args: list[Any] = []
        named: dict[str, Any] = {}
        for given in node["inputs"]:
            value = self._value(given["arg"], own, depth)
            if self._is_named(op, given, named):
                named[given["name"]] = value
            else:
                args.append(value)
        outputs = [_output(argument, own.prefix) for argument in node["outputs"]]
        first = node["outputs"][0] if node["outputs"] else {}
        is_single = len(outputs) == 1 and "as_tensors" not in first and domain != "higher_order"
        name = node.get("name") or (outputs[0] if outputs and isinstance(outputs[0], str) else op)
        if outputs:
            self.found.calls.append(
                Call(domain, op, own.prefix + name, args, named, outputs, is_single)
            )

    def _is_named(self, op: str, given: Mapping[str, Any], named: Mapping[str, Any]) -> bool:
        """Whether an argument is given by name; files of torch before 2.7 do not say it."""
        kind = given.get("kind")
        if kind in (_POSITIONAL, _KEYWORD):
            return kind == _KEYWORD
        after = given["name"] == "keepdim" and "correction" in named
        return after or (given["name"] in _BY_NAME and op not in _BY_PLACE)

    def _value(self, argument: Mapping[str, Any], own: _Names, depth: int) -> Any:
        """An argument: a Ref, Python's values, lists of these, Calls of a graph.

        Raises:
            UnsupportedError: it is an object of a custom class.
        """
        ((kind, value),) = argument.items()
        if kind in ("as_tensor", "as_name"):
            name = value if kind == "as_name" else value["name"]
            return Ref(own.here(name), kind == "as_name")
        if kind in ("as_sym_int", "as_sym_float", "as_sym_bool", "as_optional_tensor"):
            return self._value(value, own, depth)
        if kind == "as_tensors":
            return [Ref(own.here(v["name"])) for v in value]
        if kind in ("as_sym_ints", "as_sym_floats", "as_sym_bools", "as_optional_tensors"):
            return [self._value(v, own, depth) for v in value]
        if kind == "as_nested_tensors":
            return [[Ref(own.here(v["name"])) for v in part] for part in value]
        if kind == "as_graph":
            if depth > _MOST_DEPTH:
                raise ModelFileError("the program nests graphs too deep")
            return _Reader(value["name"]).whole(value["graph"], depth + 1)
        if kind == "as_string_to_argument":
            return {key: self._value(v, own, depth) for key, v in value.items()}
        return _constant(kind, value)


_NAMED = ("as_tensor", "as_sym_int", "as_sym_float", "as_sym_bool")


def _constant(kind: str, value: Any) -> Any:
    """An argument that is no array.

    Raises:
        UnsupportedError: it is an object of a custom class.
    """
    if kind == "as_none":
        return None
    if kind == "as_float":
        return float(value)
    if kind == "as_floats":
        return [float(v) for v in value]
    if kind == "as_complex":
        return complex(float(value["real"]), float(value["imag"]))
    if kind == "as_scalar_type":
        return DTYPES.get(value)
    if kind in ("as_memory_format", "as_layout", "as_device"):
        return None
    if kind == "as_custom_obj":
        raise UnsupportedError(
            f"the program has an object of the class {value['class_fqn']}, which has no counterpart"
        )
    if kind in ("as_int", "as_ints", "as_bool", "as_bools", "as_string", "as_strings",
                "as_int_lists", "as_float_lists", "as_operator"):  # fmt: skip
        return value
    raise UnsupportedError(f"the program has an argument of the kind {kind}, which is not known")


def _operator(target: str) -> tuple[str, str]:
    """The domain and the name of an operator."""
    if target.startswith("torch.ops."):
        domain, _, op = target.removeprefix("torch.ops.").partition(".")
        return domain, op
    return "python", target


def _named(argument: Mapping[str, Any]) -> str:
    """The name of a value that a graph takes or gives."""
    ((kind, value),) = argument.items()
    return value["name"] if kind == "as_tensor" else value["as_name"]


def _flat(outputs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Outputs one by one."""
    found: list[Mapping[str, Any]] = []
    for argument in outputs:
        many = argument.get("as_tensors")
        found += [argument] if many is None else [{"as_tensor": v} for v in many]
    return found


def _output(argument: Mapping[str, Any], prefix: str) -> Any:
    """The name of a result, those of a list of them, or None."""
    ((kind, value),) = argument.items()
    if kind == "as_tensors":
        return [prefix + v["name"] for v in value]
    return prefix + _named(argument) if kind in _NAMED and value.get("as_int") is None else None
