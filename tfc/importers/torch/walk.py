"""Going through a graph of torch.fx in the current trace, node by node."""

import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from tfc import random
from tfc.errors import TfcError, UnsupportedError
from tfc.frontend.control.branches import cond
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import blame
from tfc.hlo.ir import Metadata
from tfc.importers.torch.exchange import array_of, numpy_dtype
from tfc.importers.torch.operators import ATEN
from tfc.importers.torch.table import Call, cast

torch: Any = import_module("torch")
_decomposed: Any = import_module("torch._decomp")

# Checks of shapes and ranges, which hold by the shapes that are compiled for.
_CHECKS = ("_assert", "sym_constrain_range", "_functional_sym_constrain_range")


def decompositions() -> dict[Any, Any]:
    """torch's own definitions of the operators that the table has no row for."""
    known = {**_decomposed.decomposition_table, **_decomposed.core_aten_decompositions()}
    return {op: found for op, found in known.items() if name_of(op) not in ATEN}


def name_of(target: Any) -> str:
    """`add.Tensor` of the operator aten.add.Tensor; others with their namespace."""
    return str(target).removeprefix("aten.")


def _is_check(target: Any) -> bool:
    return name_of(target).startswith(_CHECKS)


def _is_plain(target: Any) -> bool:
    """Whether it is a function of Python's numbers, or takes a tuple apart."""
    module = getattr(target, "__module__", "") or ""
    return (
        target is operator.getitem
        or module in ("_operator", "math", "builtins", "torch")
        or (module.startswith("torch.utils._sympy") or module == "torch.fx.experimental.sym_node")
    )


def check_operators(modules: Sequence[Any], name: str) -> None:
    """Check that all operators of graphs have a row.

    Raises:
        UnsupportedError: some have none; it lists them all.
    """
    missing = Counter(
        node.target
        for module in modules
        for part in module.modules()
        if isinstance(part, torch.fx.GraphModule)
        for node in part.graph.nodes
        if node.op == "call_function" and not _is_supported(node.target)
    )
    if missing:
        parts = sorted(f"{op} ({count} ×{_reason(op)})" for op, count in missing.items())
        raise UnsupportedError(f"{name} has operators that are not supported: {', '.join(parts)}")


def _reason(target: Any) -> str:
    """Why an operator can have no row, if that is so."""
    tags = getattr(target, "tags", ())
    is_open = torch.Tag.dynamic_output_shape in tags
    return ", the size of its result depends on values" if is_open else ""


def _is_supported(target: Any) -> bool:
    known = name_of(target) in ATEN or str(target) == "cond"
    return known or _is_check(target) or (_is_plain(target) and not hasattr(target, "_schema"))


class Walk:
    """One reading of a graph in a trace.

    key: of the random numbers; each node that draws some folds its place into it.
    """

    def __init__(self, key: Any = None):
        self._key = key
        self._drawn = 0

    def run(self, module: Any, inputs: Sequence[Any]) -> list[Any]:
        """What a graph module returns for inputs, which are Tensors, arrays and numbers."""
        values: dict[Any, Any] = {}
        given = iter(inputs)
        for node in module.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(given)
            elif node.op == "get_attr":
                values[node] = _attribute(module, node.target)
            elif node.op == "output":
                return torch.fx.map_arg(node.args[0], values.__getitem__)
            else:
                values[node] = self._called(node, values)
        return []

    def _called(self, node: Any, values: dict[Any, Any]) -> Any:
        if _is_check(node.target):
            return None
        args = torch.fx.map_arg(node.args, values.__getitem__)
        named = torch.fx.map_arg(node.kwargs, values.__getitem__)
        if name_of(node.target) not in ATEN:
            if str(node.target) == "cond":
                return self._branches(*args)
            return node.target(*args, **named)
        function, takes_node = ATEN[name_of(node.target)]
        dtypes = tuple(_dtypes(node.meta.get("val")))
        if takes_node:
            named = {**named, "node": Call(dtypes, _common(node), self._next_key)}
        try:
            with blame(Metadata(op_type=str(node.target), op_name=node.name)):
                result = function(*args, **named)
        except TfcError as error:
            error.add_note(f"at the node '{node.name}' ({node.target})")
            raise
        return _as_stated(result, dtypes)

    def _branches(self, predicate: Any, yes: Any, no: Any, operands: Sequence[Any] = ()) -> Any:
        return cond(
            predicate,
            lambda *given: tuple(self.run(yes, given)),
            lambda *given: tuple(self.run(no, given)),
            *operands,
        )

    def _next_key(self) -> Any:
        self._drawn += 1
        base = random.key(0) if self._key is None else self._key
        return random.fold_in(base, self._drawn)


def _attribute(module: Any, path: str) -> Any:
    found = operator.attrgetter(path)(module)
    return array_of(found) if isinstance(found, torch.Tensor) else found


def _dtypes(value: Any) -> Iterator[Any]:
    """The dtypes of what a node is known to give; None for what is no tensor."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _dtypes(part)
    else:
        yield numpy_dtype(value.dtype) if isinstance(value, torch.Tensor) else None


def _common(node: Any) -> Any:
    """The dtype that a node's first two arguments are promoted to; None if they are no numbers."""
    found = [a.meta.get("val") if isinstance(a, torch.fx.Node) else a for a in node.args[:2]]
    numbers = [v for v in found if isinstance(v, (torch.Tensor, bool, int, float, complex))]
    if len(numbers) < 2:
        return next((numpy_dtype(v.dtype) for v in numbers if isinstance(v, torch.Tensor)), None)
    return numpy_dtype(torch.result_type(*numbers))


def _as_stated(result: Any, dtypes: tuple[Any, ...]) -> Any:
    """Results in the dtypes that torch says."""
    if isinstance(result, (tuple, list)):
        return [_as_stated(r, (d,)) for r, d in zip(result, dtypes)]
    is_array = isinstance(result, (Tensor, np.ndarray, np.generic))
    return cast(result, dtypes[0]) if is_array and dtypes[0] is not None else result
