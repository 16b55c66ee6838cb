"""Functions whose arguments and results have stated shardings, as tfc.jit takes them."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from tfc.errors import TraceError
from tfc.frontend import tree
from tfc.frontend.arguments import argument_names, call_python
from tfc.frontend.promotion import as_tensor
from tfc.frontend.sharding.boundaries import constrained
from tfc.frontend.sharding.collectives import current_mesh
from tfc.frontend.sharding.mesh import Mesh, NamedSharding, PartitionSpec
from tfc.frontend.sharding.specs import spread_specs
from tfc.frontend.tensor import Tensor, evaluable


class Placed:
    """A function of whole arrays that says which parts of them devices are to hold."""

    def __init__(self, function: Callable[..., Any], mesh: Mesh | None, given: Any, made: Any):
        """Place what `function` takes and returns; None leaves the choice to the compiler.

        Raises:
            TraceError: something else than specs and shardings, or specs without a mesh.
        """
        update_wrapper(self, function)
        self.function, self.mesh = function, mesh
        self.given = _resolved("in_shardings", tuple(given) if isinstance(given, list) else given,
                               mesh)  # fmt: skip
        self.made = _resolved("out_shardings", made, mesh)

    def __reduce__(self) -> tuple[Any, ...]:
        return Placed, (self.function, self.mesh, self.given, self.made)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function in a trace; arguments passed by name are not placed."""
        labels = tuple(argument_names(self.function, len(args)))
        placed = _place("in_shardings", self.given, args, labels)
        made = call_python(self.function, *placed, **named)
        return _place("out_shardings", self.made, made, "the result")


def _resolved(option: str, shardings: Any, mesh: Mesh | None) -> Any:
    """The shardings, of which specs are on the mesh."""

    def resolve(leaf: Any) -> NamedSharding:
        if isinstance(leaf, NamedSharding):
            return leaf
        if not isinstance(leaf, PartitionSpec):
            raise TraceError(
                f"{option} takes PartitionSpecs, NamedShardings and None, got {leaf!r}"
            )
        if mesh is None:
            raise TraceError(f"{option} has {leaf!r}, which needs mesh, a tfc.Mesh")
        return NamedSharding(mesh, leaf)

    return tree.map_leaves(resolve, shardings)


def _place(option: str, shardings: Any, value: Any, labels: str | tuple[str, ...]) -> Any:
    """A nested value, of whose arrays devices hold the parts that the shardings say."""
    if shardings is None:
        return value
    if current_mesh() is not None:
        raise TraceError(f"in a shard_map, arrays are parts: {option} needs whole ones")
    leaves, structure = tree.flatten(value)
    found = spread_specs(option, shardings, structure, None)
    if isinstance(labels, str):
        paths = tree.paths(structure, labels)
    else:
        paths = [p for n, c in zip(labels, structure.children) for p in tree.paths(c, n)]
    made = [
        leaf if sharding is None else _constrained(leaf, sharding, path)
        for leaf, sharding, path in zip(leaves, found, paths)
    ]
    return tree.unflatten(structure, made)


def _constrained(leaf: Any, sharding: NamedSharding, path: str) -> Tensor:
    tensor = as_tensor(leaf)
    made = constrained(tensor, sharding.sharding(tensor.shape, path, is_even=False))
    return Tensor(made.instruction, made.home, tensor.weak)


@evaluable
def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The same arrays, of which each device is to hold the part that a sharding says.

    Args:
        shardings: a NamedSharding for all leaves of x, or a prefix of its structure.

    Raises:
        TraceError: something else than shardings, or more entries than dimensions.
    """
    return _place("shardings", _resolved("shardings", shardings, None), x, "the value")
