"""from_jax: a function of JAX, or what jax.export made of one, as a function of tfc's."""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from tfc.errors import TfcError, UnsupportedError
from tfc.importers.jax.exported import read
from tfc.importers.jax.function import Held, JaxFunction, dtype_of
from tfc.options import Options
from tfc.tracebacks import api_boundary


@api_boundary
def from_jax(
    source: Any,
    *args: Any,
    parameters: int | str | None = None,
    shapes: Mapping[str, int] | None = None,
    backend: str = "cpu",
    options: Options | None = None,
    **named: Any,
) -> JaxFunction:
    """The function that a JAX function is, for arguments like the examples.

        f = tfc.from_jax(predict, params, x, parameters=0)
        f(params, x)                        # as JAX's own
        f.function(f.parameters, x)         # of the parameters by name

    Files and what jax.export gives are read as they are; JAX need not be installed for files.

    Args:
        source: a function; what jax.export.export(…)(…) returns; the path or the bytes of what its
            `serialize()` gave.
        args, named: example arguments of a function, nested as they are: arrays, or
            jax.ShapeDtypeStructs, whose sizes may be symbols of jax.export.symbolic_shape. The
            program is then compiled for each choice of them.
        parameters: which argument holds the model's parameters: its place or its name.
        shapes: sizes of symbols, {"b": 4}, for what needs them without a call.
        backend, options: where and how calls are compiled, as for `tfc.jit`.

    Raises:
        UnsupportedError: JAX is not installed or cannot export the function, or the program has
            operations without a counterpart.
        ModelFileError: a file is damaged.
    """
    file = getattr(source, "__name__", "the function")
    if isinstance(source, (str, os.PathLike, bytes, bytearray)):
        exported = _read(source)
        file = exported.name
    elif hasattr(source, "in_tree") and hasattr(source, "module_kept_var_idx"):
        exported, file = source, source.fun_name
    elif callable(source):
        exported = _exported(source, args, named)
    else:
        raise TfcError(f"from_jax takes a function or an exported one, got {type(source).__name__}")
    held, values = None, None
    if parameters is not None:
        held = _held(exported.in_tree, parameters)
        values = _values(exported, held, args, named)
    return JaxFunction(exported, file, held, values, shapes, backend, options)


def _read(source: Any) -> Any:
    try:
        return read(source)
    except OSError as error:
        raise TfcError(f"cannot read {source}: {error.strerror}") from error


def _exported(function: Callable[..., Any], args: Any, named: Any) -> Any:
    """What jax.export makes of a function, of whatever routines it calls."""
    try:
        jax: Any = import_module("jax")
        export: Any = import_module("jax.export")
    except ModuleNotFoundError:
        raise UnsupportedError(
            "JAX's functions need jax, which is not installed: export the function where it is, "
            "and give the file of exported.serialize()"
        ) from None
    jitted = function if hasattr(function, "lower") else jax.jit(function)
    # Whether JAX promises to keep a routine as it is does not matter to a program that is read now.
    targets: Any = import_module("tfc.stablehlo.libraries.calls").targets()
    unchecked = [export.DisabledSafetyCheck.custom_call(target) for target in targets]
    try:
        return export.export(jitted, platforms=("cpu",), disabled_checks=unchecked)(*args, **named)
    except Exception as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), "")
        name = getattr(function, "__name__", "the function")
        raise UnsupportedError(
            f"JAX cannot export {name}: {reason or type(error).__name__}"
        ) from error


def _held(in_tree: Any, where: int | str) -> Held:
    """The leaves of one argument, named by their paths within it.

    Raises:
        TfcError: there is no such argument.
    """
    positional, named = in_tree.unflatten(range(in_tree.num_leaves))
    arguments: Any = named if isinstance(where, str) else dict(enumerate(positional))
    if where not in arguments:
        raise TfcError(f"parameters must be the place or name of an argument, got {where!r}")
    found = _named_leaves(arguments[where])
    return Held(where, tuple(number for _, number in found), tuple(name for name, _ in found))


def _named_leaves(tree: Any) -> list[tuple[str, Any]]:
    """The leaves of one of JAX's trees, each with its path: the keys on the way, with dots."""
    util: Any = import_module("jax.tree_util")
    found, _ = util.tree_flatten_with_path(tree)
    return [(".".join(map(_key, path)) or "parameters", leaf) for path, leaf in found]


def _key(key: Any) -> str:
    return str(next(getattr(key, a) for a in ("key", "idx", "name") if hasattr(key, a)))


def _values(exported: Any, held: Held, args: Any, named: Any) -> dict[str, np.ndarray]:
    """The arrays of the parameters by name, of the types that the program takes.

    Raises:
        TfcError: the example has none, or descriptions in place of arrays.
    """
    given: dict[Any, Any] = {**dict(enumerate(args)), **named}
    if held.where not in given:
        raise TfcError("the parameters of an exported function have no values: pass them to calls")
    leaves = [leaf for _, leaf in _named_leaves(given[held.where])]
    if any(type(leaf).__name__ == "ShapeDtypeStruct" for leaf in leaves):
        raise TfcError("the parameters have no values in this example: give arrays")
    types = [dtype_of(exported.in_avals[n]) for n in held.numbers]
    return {name: np.asarray(leaf, kind) for name, leaf, kind in zip(held.names, leaves, types)}
