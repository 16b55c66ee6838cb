"""torch.compile's programs, forward and backward, as compiled functions."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from tfc.importers.graph import all_needed_nodes, all_nodes
from tfc.importers.table import unknown_operators
from tfc.importers.torch.exchange import array_of, tensor_of
from tfc.importers.torch.reader import decompositions, read_graph
from tfc.importers.torch.table import TABLE
from tfc.importers.values import traced
from tfc.importers.walk import Walk
from tfc.jitted import jit

torch: Any = import_module("torch")
_common: Any = import_module("torch._dynamo.backends.common")
_partition: Any = import_module("functorch.compile")


class GraphFunction:
    """A graph of torch as a function of its tensors, compiled for each choice of its numbers."""

    def __init__(self, module: Any):
        self.graph = read_graph(module, "the program", {}, has_seed=True)
        nodes = list(all_needed_nodes([self.graph]))
        if error := unknown_operators(nodes, TABLE, {}, "the program"):
            raise error
        self.is_random = any("draw" in node.attributes for node in all_nodes([self.graph]))
        self._functions: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *args: Any) -> list[Any]:
        """The outputs for tensors and whole numbers."""
        numbers = tuple(None if isinstance(a, torch.Tensor) else a for a in args)
        if numbers not in self._functions:
            self._functions[numbers] = self._function(numbers)
        arrays = [array_of(a) for a in args if isinstance(a, torch.Tensor)]
        seed = np.uint32(torch.randint(1 << 31, ()).item()) if self.is_random else np.uint32(0)
        return self._functions[numbers](seed, *arrays)

    def _function(self, numbers: tuple[Any, ...]) -> Callable[..., Any]:
        others: dict[int, Any] = {}  # the outputs that are numbers or None, by their places

        def program(seed: Any, *arrays: Any) -> Any:
            given = iter(arrays)
            inputs = [next(given) if n is None else np.asarray(n) for n in numbers]
            results = Walk(TABLE, "the program", {}, {}).main(self.graph, [seed, *inputs])
            kinds = [port.dtype for port in self.graph.outputs]
            others.clear()
            others.update((n, r if r is None else r.item())
                          for n, (r, kind) in enumerate(zip(results, kinds))
                          if r is None or kind is None)  # fmt: skip
            return tuple(traced(r) for n, r in enumerate(results) if n not in others)

        compiled = jit(program)

        def call(seed: Any, *arrays: Any) -> list[Any]:
            tensors = [tensor_of(array) for array in compiled(seed, *arrays)]
            rest = iter(tensors)
            count = len(others) + len(tensors)
            return [others[n] if n in others else next(rest) for n in range(count)]

        return call


def _compile(module: Any, example_inputs: Sequence[Any]) -> Any:
    function = GraphFunction(module)

    def boxed(args: list[Any]) -> Any:
        given = tuple(args)
        args.clear()
        return function(*given)

    boxed.__dict__["_boxed_call"] = True
    return boxed


@cache
def _backend() -> Any:
    return _common.aot_autograd(
        fw_compiler=_compile, bw_compiler=_compile, decompositions=decompositions(),
        partition_fn=_partition.min_cut_rematerialization_partition,
    )  # fmt: skip


def compiled(module: Any, example_inputs: Any, **named: Any) -> Any:
    """What dynamo calls instead of a graph of its own."""
    return _backend()(module, example_inputs, **named)
