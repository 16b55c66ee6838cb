"""torch.compile's programs, forward and backward, as compiled functions."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from tfc import random
from tfc.importers.torch.exchange import array_of, tensor_of
from tfc.importers.torch.walk import Walk, check_operators, decompositions
from tfc.jitted import jit

torch: Any = import_module("torch")
_common: Any = import_module("torch._dynamo.backends.common")
_partition: Any = import_module("functorch.compile")


class GraphFunction:
    """A graph of torch as a function of its tensors, compiled for each choice of its numbers."""

    def __init__(self, module: Any):
        check_operators([module], "the program")
        self.module = module
        self.is_random = any(
            torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
            for node in module.graph.nodes
        )
        self._functions: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._places: list[int] = []  # of the outputs that are arrays

    def __call__(self, *args: Any) -> list[Any]:
        """The outputs for tensors and whole numbers."""
        numbers = tuple(None if isinstance(a, torch.Tensor) else a for a in args)
        if numbers not in self._functions:
            self._functions[numbers] = self._function(numbers)
        arrays = [array_of(a) for a in args if isinstance(a, torch.Tensor)]
        seed = np.uint32(torch.randint(1 << 31, ()).item()) if self.is_random else np.uint32(0)
        return self._functions[numbers](seed, *arrays)

    def _function(self, numbers: tuple[Any, ...]) -> Callable[..., Any]:
        others: dict[int, Any] = {}

        def program(seed: Any, *arrays: Any) -> Any:
            given = iter(arrays)
            inputs = [next(given) if number is None else number for number in numbers]
            walk = Walk(random.key(seed) if self.is_random else None)
            results = list(walk.run(self.module, inputs))
            others.clear()
            others.update((n, r) for n, r in enumerate(results) if r is None or _is_number(r))
            return tuple(r for n, r in enumerate(results) if n not in others)

        compiled = jit(program)

        def call(seed: Any, *arrays: Any) -> list[Any]:
            found = iter(compiled(seed, *arrays))
            count = len(others)
            tensors = [tensor_of(array) for array in found]
            rest = iter(tensors)
            return [others[n] if n in others else next(rest) for n in range(count + len(tensors))]

        return call


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float))


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
