"""A file as a Program: its graph, its parameters, and how its arrays lie in what users give."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfc.errors import ModelFileError, ShapeError, TfcError, UnsupportedError
from tfc.frontend.tensor import Tensor
from tfc.importers.graph import Graph
from tfc.importers.torch.program import Program, is_array
from tfc.importers.torch.pt2.archive import read_content
from tfc.importers.torch.pt2.functional import functionalized
from tfc.importers.torch.pt2.nesting import Nesting, read_nesting
from tfc.importers.torch.pt2.nodes import graph_of
from tfc.importers.torch.pt2.schema import Calls, Ref, read_calls
from tfc.importers.torch.table import SEED

# What the arrays that a module holds are called in a signature: the key of their name there.
_HELD = {"parameter": "parameter_name", "buffer": "buffer_name",
         "tensor_constant": "tensor_constant_name"}  # fmt: skip
_WRITTEN = {"buffer_mutation": "buffer_name", "parameter_mutation": "parameter_name"}
_MAJORS = range(1, 9)  # of the schema's versions


def read_program(source: str | bytes, file: str) -> Program:
    """The program in a file, or in its bytes.

    Raises:
        TfcError: there is no such file.
        ModelFileError: it is no exported program, or damaged.
        UnsupportedError: it has something without a counterpart.
    """
    content = read_content(source, file)
    try:
        return _program(content.program, content.arrays, file)
    except TfcError:
        raise
    except RecursionError as error:
        raise ModelFileError(f"{file} nests its program too deep") from error
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        raise ModelFileError(f"{file} has a program that is not as torch's: {error!r}") from error


def _program(stated: Any, arrays: Mapping[str, np.ndarray], file: str) -> Program:
    major = stated["schema_version"]["major"]
    if major not in _MAJORS:
        raise UnsupportedError(
            f"{file} has the version {major} of torch's schema, of which tfc knows {_MAJORS[-1]}"
        )
    module = stated["graph_module"]
    signature = module["signature"]
    calls = read_calls(module["graph"], file)
    parameters: dict[str, np.ndarray] = {}
    held: dict[str, str] = {}  # the arrays' names in the module, by those of the inputs
    for spec in signature["input_specs"]:
        ((kind, given),) = spec.items()
        if kind in _HELD:
            own = given[_HELD[kind]]
            if own not in arrays:
                raise ModelFileError(f"{file} is damaged: it has no array {own}")
            parameters[own], held[given["arg"]["name"]] = arrays[own], own
        elif kind not in ("user_input", "constant_input"):
            raise UnsupportedError(f"{file} takes a {kind}, which has no counterpart")
    pure = functionalized(calls, frozenset(held))
    values, results, written = _outputs(signature["output_specs"], pure.calls)
    written |= {held[name]: ref.name for name, ref in pure.written.items()}
    pure.calls.outputs = [*values, *map(Ref, written.values())]
    places = {own: name for name, own in held.items()}
    constants = {name: parameters[own] for name, own in held.items() if own not in written}
    graph = graph_of(pure.calls, {SEED: np.uint32(0), **constants})
    users = [a for a in calls.inputs if not (isinstance(a, str) and a in held)]
    graph = _ordered(graph, [places[own] for own in written], {n: held[n] for n in constants})
    call = module["module_call_graph"][0]["signature"]
    fields = module.get("treespec_namedtuple_fields") or {}
    taken, given = (read_nesting(call[key], fields) for key in ("in_spec", "out_spec"))
    return Program(graph, parameters, tuple(written), UserValues(users, results, taken, given))


def _outputs(specs: Sequence[Any], calls: Calls) -> tuple[list[Ref], list[Any], dict[str, str]]:
    """The values among the outputs, what users get of them, and what arrays are written to.

    What users get: the kind of a value, in a list of itself, or a constant as it is.
    """
    values: list[Ref] = []
    results: list[Any] = []
    written: dict[str, str] = {}
    for spec, value in zip(specs, calls.outputs, strict=True):
        ((kind, given),) = spec.items()
        if kind in _WRITTEN:
            written[given[_WRITTEN[kind]]] = value.name
        elif kind in ("user_output", "loss_output"):
            if isinstance(value, Ref):
                values.append(value)
                results.append([value.is_number])
            else:
                results.append(value)
        else:
            raise UnsupportedError(f"the program gives a {kind}, which has no counterpart")
    return values, results, written


def _ordered(graph: Graph, states: Sequence[str], weights: Mapping[str, str]) -> Graph:
    """A graph that takes the users' inputs before the arrays that it writes to."""
    ports = {port.name: port for port in graph.inputs}
    users = [name for name in ports if name not in states]
    inputs = tuple(ports[name] for name in [*users, *states])
    return Graph(graph.name, inputs, graph.outputs, graph.nodes, graph.constants, weights)


class UserValues:
    """How a program's arrays lie in what its users give and get.

    Args:
        inputs: names of values, or constants.
        results: as `_outputs` gives them.
        taken, given: the structures around these.
    """

    def __init__(self, inputs: list[Any], results: list[Any], taken: Nesting, given: Nesting):
        if taken.count != len(inputs) or given.count != len(results):
            raise ModelFileError("the program's inputs or outputs are not those of its signature")
        self._inputs, self._results = inputs, results
        self._taken, self._given = taken, given
        args, named = taken.parts
        self._takes_arrays = (
            args.is_flat and not named.count and all(isinstance(a, str) for a in inputs)
        )

    def flat(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """The arguments that are no constants, in order.

        Raises:
            ShapeError: they are nested otherwise, or a constant is another.
        """
        is_flat = self._takes_arrays and not named and len(args) == len(self._inputs)
        if is_flat and all(map(is_array, args)):
            return list(args)
        leaves = self._taken.leaves((args, named))
        found = []
        for own, leaf in zip(self._inputs, leaves):
            if isinstance(own, str):
                found.append(leaf)
            elif type(leaf) is not type(own) or leaf != own:
                raise ShapeError(f"the module was exported for the argument {own}, got {leaf}")
        return found

    def nested(self, results: Sequence[Any]) -> Any:
        """Results in the nesting of what the module returns; its numbers are Python's."""
        rest = iter(results)
        leaves = [_result(next(rest), own[0]) if isinstance(own, list) else own
                  for own in self._results]  # fmt: skip
        return self._given.nested(leaves)


def _result(value: Any, is_number: bool) -> Any:
    return value.item() if is_number and not isinstance(value, Tensor) else value
