"""Pure Calls as a Graph: each call one node, its nested arguments a template."""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfc.errors import UnsupportedError
from tfc.importers.graph import Graph, Node, Port
from tfc.importers.torch.pt2.functional import functionalized
from tfc.importers.torch.pt2.schema import Call, Calls, Ref
from tfc.importers.torch.pt2.tensors import Meta
from tfc.importers.torch.table import SEED, Place

# Operators that draw random numbers, without what follows their name.
_RANDOM = frozenset((
    "alpha_dropout", "bernoulli", "dropout", "feature_dropout", "native_dropout", "normal", "rand",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "rrelu", "uniform",
))  # fmt: skip


def _truncated(x: Any) -> int:
    return math.trunc(x)


# What programs compute of sizes with.
_NUMBERS: dict[str, Callable[..., Any]] = {
    **{f"_operator.{name}": getattr(operator, name) for name in (
        "add", "and_", "eq", "floordiv", "ge", "gt", "le", "lshift", "lt", "mod", "mul", "ne",
        "neg", "or_", "pos", "pow", "rshift", "sub", "truediv")},
    "math.ceil": math.ceil, "math.floor": math.floor, "math.trunc": math.trunc, "round": round,
    "torch.sym_float": float, "torch.sym_int": _truncated, "torch.sym_max": max,
    "torch.sym_min": min, "torch.sym_not": operator.not_, "torch.sym_sqrt": math.sqrt,
    "torch._sym_sqrt": math.sqrt, "torch.sym_sum": sum,
    "torch.sym_ite": lambda test, yes, no: yes if test else no,
}  # fmt: skip


def graph_of(calls: Calls, constants: Mapping[str, Any]) -> Graph:
    """The graph of calls, whose inputs that are no constants are its own."""
    maker = _Maker(calls.metas)
    for call in calls.calls:
        maker.enter(call)
    inputs = [maker.port(name) for name in calls.inputs
              if isinstance(name, str) and name not in constants]  # fmt: skip
    outputs = []
    for number, value in enumerate(calls.outputs):
        if isinstance(value, Ref):
            outputs.append(maker.port(value.name))
        else:
            name = f"output {number}"
            attributes = {"args": (value,), "named": {}}
            maker.nodes.append(Node("python", "constant", 1, name, (), (name,), attributes))
            outputs.append(Port(name))
    return Graph(calls.name, tuple(inputs), tuple(outputs), tuple(maker.nodes), dict(constants))


class _Maker:
    """Makes nodes of calls."""

    def __init__(self, metas: Mapping[str, Meta]):
        self.metas = metas
        self.nodes: list[Node] = []
        self.draws = 0

    def port(self, name: str) -> Port:
        """What a value is stated to be."""
        meta = self.metas.get(name)
        return Port(name) if meta is None else Port(name, meta.dtype, meta.dims)

    def enter(self, call: Call) -> None:
        """Enter the node of a call, and those of its results if it gives several."""
        inputs: list[str] = []
        graphs: list[Graph] = []
        args, named = self._template((call.args, call.named), inputs, graphs)
        if call.is_single:
            outputs, name = call.outputs[0], call.outputs[0] or call.name
        else:
            is_list = len(call.outputs) == 1 and isinstance(call.outputs[0], list)
            outputs, name = call.outputs[0] if is_list else call.outputs, f"{call.name} results"
        attributes: dict[str, Any] = {
            "args": args, "named": named, "graphs": tuple(graphs),
            "dtypes": self._dtypes(outputs), "common": self._common(call.args),
        }  # fmt: skip
        if call.op.partition(".")[0] in _RANDOM and call.domain == "aten":
            inputs.append(SEED)
            attributes["draw"] = self.draws = self.draws + 1
        if self._is_open(outputs):
            attributes["is_open"] = True
        if call.domain == "python":
            if call.op not in _NUMBERS:
                raise UnsupportedError(
                    f"the program computes sizes with {call.op}, which is not known"
                )
            attributes["function"] = _NUMBERS[call.op]
        self.nodes.append(
            Node(call.domain, call.op, 1, call.name, tuple(inputs), (name,), attributes)
        )
        if not call.is_single:
            self._parts(name, outputs)

    def _parts(self, name: str, outputs: list[Any]) -> None:
        """Enter the nodes that take results out of a list."""
        for number, own in enumerate(outputs):
            if own is None:
                continue
            result = own if isinstance(own, str) else f"{name} {number}"
            dtypes = self._dtypes(own)
            attributes = {"args": [Place(0, False), number], "named": {}, "dtypes": dtypes,
                          "function": operator.getitem}  # fmt: skip
            self.nodes.append(Node("python", "getitem", 1, result, (name,), (result,), attributes))
            if isinstance(own, list):
                self._parts(result, own)

    def _dtypes(self, outputs: Any) -> tuple[Any, ...]:
        """The dtypes that are stated of results; None for numbers and lists."""
        found = outputs if isinstance(outputs, list) else [outputs]
        metas = [self.metas.get(o) if isinstance(o, str) else None for o in found]
        return tuple(None if meta is None else meta.dtype for meta in metas)

    def _is_open(self, outputs: Any) -> bool:
        """Whether the size of a result depends on values, for which torch has names from u0 on."""
        found = outputs if isinstance(outputs, list) else [outputs]
        metas = [self.metas[o] for o in found if isinstance(o, str) and o in self.metas]
        return any(isinstance(d, str) and d[0] == "u" and d[1:].isdigit()
                   for meta in metas for d in meta.dims)  # fmt: skip

    def _template(self, value: Any, inputs: list[str], graphs: list[Graph]) -> Any:
        """Nested arguments with places of values and graphs."""
        if isinstance(value, Ref):
            inputs.append(value.name)
            return Place(len(inputs) - 1, value.is_number)
        if isinstance(value, Calls):
            graphs.append(graph_of(functionalized(value, frozenset()).calls, {}))
            return graphs[-1]
        if isinstance(value, (list, tuple)):
            return [self._template(v, inputs, graphs) for v in value]
        if isinstance(value, dict):
            return {key: self._template(v, inputs, graphs) for key, v in value.items()}
        return value

    def _common(self, args: list[Any]) -> Any:
        """The dtype that the first two arguments are promoted to; None if they are no numbers."""
        found = []
        for value in args[:2]:
            meta = self.metas.get(value.name) if isinstance(value, Ref) else None
            if meta is not None and meta.dtype is not None:
                found.append((2 if meta.dims else 1, meta.dtype))
            elif isinstance(value, (bool, int, float, complex)):
                found.append((0, _DEFAULTS[type(value)]))
        if len(found) < 2:
            return next((dtype for rank, dtype in found if rank), None)
        return _promoted(*sorted(found, key=lambda pair: -pair[0]))


_DEFAULTS = {
    bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float32),
    complex: np.dtype(np.complex64),
}  # fmt: skip
_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}


def _promoted(first: tuple[int, Any], second: tuple[int, Any]) -> Any:
    """The dtype of two arguments together.

    An array decides over one without dimensions, and that over a number, unless the latter is of a
    higher kind: truth values, integers, floats, complex numbers.
    """
    (rank, one), (lower, other) = first, second
    kinds = _KINDS[one.kind], _KINDS[other.kind]
    if rank == lower or kinds[0] < kinds[1]:
        return _together(one, other)
    return one


def _together(one: Any, other: Any) -> Any:
    """The smallest dtype that torch has for both."""
    if one == other:
        return one
    kinds = _KINDS[one.kind], _KINDS[other.kind]
    if max(kinds) == 3:
        wide = max(d.itemsize if k == 3 else 2 * d.itemsize
                   for d, k in zip((one, other), kinds) if k >= 2)  # fmt: skip
        return np.dtype(np.complex128 if wide > 8 else np.complex64)
    if kinds[0] != kinds[1]:
        return one if kinds[0] > kinds[1] else other
    if kinds[0] == 1:
        return np.promote_types(one, other)
    if one.itemsize == other.itemsize:
        return np.dtype(np.float32)
    return max(one, other, key=lambda dtype: dtype.itemsize)
