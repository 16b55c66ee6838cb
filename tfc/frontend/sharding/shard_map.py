"""shard_map: a function of parts, run by each device of a mesh, as a function of whole arrays.

    mesh = tfc.Mesh((4,), ("x",))

    @tfc.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P())
    def total(part):
        return tfc.sharding.psum(part.sum(), "x")

The function is traced for the parts of its arguments, between custom calls that say where whole
arrays become parts and parts whole arrays. All between them is plain operations and collectives, so
that gradients and vmap need no more than their rules.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import argument_names, call_python
from tfc.frontend.program import Abstract, apply_program, trace_function
from tfc.frontend.promotion import as_tensor
from tfc.frontend.sharding.boundaries import to_parts, to_whole
from tfc.frontend.sharding.collectives import current_mesh, on_mesh
from tfc.frontend.sharding.mesh import Mesh, NamedSharding, PartitionSpec, check_axes
from tfc.frontend.sharding.specs import spread_specs
from tfc.frontend.tensor import Tensor, evaluable
from tfc.hlo.shape import Shape
from tfc.tracebacks import api_boundary

_WHOLE = PartitionSpec()


@api_boundary
def shard_map(
    f: Callable[..., Any] | None = None,
    mesh: Mesh | None = None,
    in_specs: Any = None,
    out_specs: Any = None,
) -> Any:
    """A function of whole arrays, of which each device of a mesh computes `f` of its parts.

    In `f`, tfc.sharding's psum, all_gather, axis_index … work along the axes of the mesh. What it
    captures of an enclosing function is whole on each device.

    Args:
        f: takes and returns parts; without it, the result is a decorator.
        in_specs: a PartitionSpec for all arguments, or a tuple with one for each, which may be a
            prefix of the argument's structure. Along axes that it does not name, devices get the
            same part.
        out_specs: of the results, likewise. Along axes that it does not name the results must be
            the same on all devices: the result is one of them.

    Raises:
        TraceError: a spec names no axis of the mesh; when called, specs do not fit the arguments or
            results, or sizes do not divide.
    """
    if f is None:
        return partial(shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
    if not isinstance(mesh, Mesh):
        raise TraceError(f"shard_map needs mesh, a tfc.Mesh, got {mesh!r}")
    for option, specs in (("in_specs", in_specs), ("out_specs", out_specs)):
        for spec in tree.flatten(specs)[0]:
            if not isinstance(spec, PartitionSpec):
                raise TraceError(f"shard_map needs {option} of PartitionSpecs, got {spec!r}")
            check_axes(mesh, spec)

    @evaluable
    @wraps(f)
    def mapped(*args: Any, **named: Any) -> Any:
        return _mapped(f, mesh, in_specs, out_specs, args, named)

    return mapped


def _mapped(
    f: Callable[..., Any], mesh: Mesh, in_specs: Any, out_specs: Any, args: Any, named: Any
) -> Any:
    name = getattr(f, "__name__", "function")
    if named:
        raise TraceError(f"{name} is mapped over devices: pass its arguments by place, not by name")
    if current_mesh() is not None:
        raise TraceError(
            "shard_map within a shard_map is not supported: make one mesh with the axes of both, "
            "and one shard_map whose specs name them"
        )
    leaves, structure = tree.flatten(args)
    tensors = [as_tensor(leaf) for leaf in leaves]
    if isinstance(in_specs, list):
        in_specs = tuple(in_specs)
    labels = argument_names(f, len(args))
    paths = [p for n, c in zip(labels, structure.children) for p in tree.paths(c, n)]
    specs = spread_specs("in_specs", in_specs, structure, _WHOLE)
    given = [
        _shard(mesh, s, t, f"argument {p} of {name}") for s, t, p in zip(specs, tensors, paths)
    ]
    parts = [to_parts(t, s) for t, s in zip(tensors, given)]
    with on_mesh(mesh):
        program = trace_function(
            name,
            lambda *flat: call_python(f, *tree.unflatten(structure, flat)),
            [Abstract(p.array_shape, t.weak) for p, t in zip(parts, tensors)],
        )
    captured = {c: ops.wrap(c) for c in program.captures}
    whole = {
        c: to_parts(t, _shard(mesh, _WHOLE, t, "what it captures")) for c, t in captured.items()
    }
    results = apply_program(program, parts, whole)
    wanted = spread_specs("out_specs", out_specs, program.structure, _WHOLE)
    shown = tree.paths(program.structure, f"the result of {name}")
    made = [_joined(mesh, s, r, p) for s, r, p in zip(wanted, results, shown)]
    return tree.unflatten(program.structure, made)


def _shard(mesh: Mesh, spec: PartitionSpec, tensor: Tensor, what: str) -> Any:
    return NamedSharding(mesh, spec).sharding(tensor.shape, what)


def _joined(mesh: Mesh, spec: PartitionSpec, part: Tensor, what: str) -> Tensor:
    """The whole array of which each device has a part."""
    if len(spec.entries) > part.ndim:
        raise TraceError(f"{spec!r} has {len(spec.entries)} entries, but {what} has {part.ndim} "
                         "dimensions")  # fmt: skip
    sizes = mesh.shape
    dims = list(part.shape)
    for place, entry in enumerate(spec.entries):
        for axis in entry:
            dims[place] *= sizes[axis]
    whole = Shape(part.array_shape.element_type, tuple(dims))
    return to_whole(part, NamedSharding(mesh, spec).sharding(whole.dims, what))
