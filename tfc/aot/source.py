"""What is to be compiled: a module, or a Python function for arguments of given shapes.

    "f32[2,3]"  np.zeros((2, 3), np.float32)  ArgumentSpec((2, 3), "float32")  jax.ShapeDtypeStruct

All of these describe the same argument: only shape and dtype matter. Arguments may be nested
structures of them.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tfc.errors import ShapeError, TfcError
from tfc.frontend import tree
from tfc.frontend.program import Abstract, trace_function
from tfc.frontend.tensor import is_weak
from tfc.frontend.trace import locate
from tfc.hlo.attributes.entry_layout import apply_entry_layout
from tfc.hlo.ir import Module
from tfc.hlo.lexer import Lexer
from tfc.hlo.shape import Shape, element_type_of, leaves, row_major
from tfc.hlo.text.value_text import parse_shape


@dataclass(frozen=True)
class ArgumentSpec:
    """The shape and dtype of an argument, without a value."""

    shape: tuple[int, ...]
    dtype: Any = np.float32


@runtime_checkable
class Lowerable(Protocol):
    """A function that traces itself for given arguments, as those made by tfc.jit do."""

    def lower(self, *args: Any) -> Any:
        """Something whose `hlo` is the module."""
        ...


def module_of(source: Any, args: Sequence[Any]) -> Module:
    """The module of a function for these arguments, its arrays row-major (API-7).

    Args:
        source: a function, plain or made by tfc.jit, or a module.
        args: examples or descriptions of the arguments. A module has its shapes already: what is
            given must agree with them.

    Raises:
        ShapeError: the arguments do not fit a module.
        TfcError: there are too many arguments or too few, or one is neither array nor number.
        TraceError: the function uses a Tensor in a way that a graph cannot express.
    """
    examples = [tree.map_leaves(_example, arg) for arg in args]
    if isinstance(source, Module):
        _check_shapes(source, examples)
        return with_row_major_entry(source)
    if not callable(source):
        raise TfcError(f"expected a function or a module to compile, got {type(source).__name__}")
    parameters = bound_names(source, args)
    if isinstance(source, Lowerable):
        return with_row_major_entry(source.lower(*examples).hlo)
    return _traced(source, examples, parameters)


def traced_module(
    function: Callable[..., Any], args: Sequence[Any], names: Sequence[str]
) -> Module:
    """The module of a plain function for these arguments, whose parameters have these names.

    Raises:
        TraceError: the function uses a Tensor in a way that a graph cannot express.
    """
    return _traced(function, [tree.map_leaves(_example, arg) for arg in args], names)


def described_arguments(function: Any) -> tuple[Any, ...]:
    """The defaults of a function's parameters if each describes arrays, such as "f32[2,3]".

    Those of a function that is to be compiled with nothing more said; else none.
    """
    try:
        defaults = [p.default for p in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return ()
    leaves = tree.flatten(defaults)[0]
    described = all(
        isinstance(leaf, ArgumentSpec) or (isinstance(leaf, str) and "[" in leaf) for leaf in leaves
    )
    return tuple(defaults) if described and leaves else ()


def with_row_major_entry(module: Module) -> Module:
    """The module with arguments and results laid out row-major, as callers in C++ see them."""
    entry = module.entry
    parameters = [row_major(p.shape) for p in entry.parameters]
    return module.with_entry(apply_entry_layout(entry, parameters, row_major(entry.root.shape)))


def _example(leaf: Any) -> Any:
    """An array, or a Python number, that stands for an argument; it takes no memory."""
    if isinstance(leaf, str):
        # Other text may be a static argument of a function made by tfc.jit.
        return _zeros(_parsed(leaf)) if "[" in leaf else leaf
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return _zeros(Shape(element_type_of(leaf.dtype), tuple(leaf.shape)))
    return leaf


def _zeros(shape: Shape) -> np.ndarray:
    return np.broadcast_to(np.zeros((), shape.element_type.dtype), shape.dims)


def _parsed(text: str) -> Shape:
    lexer = Lexer(text, "argument")
    shape = parse_shape(lexer)
    if lexer.kind != "end":
        lexer.expected("nothing more")
    if not isinstance(shape, Shape):
        raise TfcError(f"an argument must be an array such as f32[2,3], got {text}")
    return shape


def _check_shapes(module: Module, examples: Sequence[Any]) -> None:
    if not examples:
        return
    expected = [s for p in module.entry.parameters for s in leaves(p.shape)]
    given = [_abstract("argument", leaf).shape for leaf in tree.flatten(list(examples))[0]]
    if len(expected) != len(given) or not all(map(Shape.is_compatible, expected, given)):
        raise ShapeError(
            f"{module.name} takes ({_listed(expected)}), got arguments ({_listed(given)})"
        )


def _listed(shapes: Iterable[Shape]) -> str:
    return ", ".join(s.without_layout() for s in shapes)


def _abstract(name: str, leaf: Any) -> Abstract:
    """What is known of an argument before it is given."""
    array = np.asarray(leaf)
    if array.dtype.kind in "OUSV" and not hasattr(leaf, "dtype"):
        raise TfcError(
            f"{name} must be an array, a number or a shape such as 'f32[2,3]', got {leaf!r}"
        )
    return Abstract(Shape(element_type_of(array.dtype), array.shape), is_weak(leaf))


def bound_names(function: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """The name of the parameter that takes each argument.

    Raises:
        TfcError: there are too many arguments or too few.
    """
    try:
        known = inspect.signature(function)
    except (TypeError, ValueError):
        return [f"arg{n}" for n in range(len(args))]
    try:
        bound = known.bind(*args)
    except TypeError as error:
        called = getattr(function, "__name__", "the function")
        raise TfcError(f"{called}{known} cannot take {len(args)} arguments: {error}") from None
    names = []
    for name, value in bound.arguments.items():
        if known.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}{n}" for n in range(len(value))]
        else:
            names.append(name)
    return names


def _traced(function: Callable[..., Any], examples: Sequence[Any], names: Sequence[str]) -> Module:
    """The module of a plain function; its parameters are named after the function's."""
    found, structure = tree.flatten(tuple(examples))
    labels = [
        path for name, child in zip(names, structure.children) for path in tree.paths(child, name)
    ]
    labels = [re.sub(r"\W+", "_", label).strip("_") for label in labels]
    name = re.sub(r"\W+", "_", getattr(function, "__name__", "function"))
    arguments = [_abstract(label, leaf) for label, leaf in zip(labels, found)]
    try:
        program = trace_function(
            name,
            lambda *tensors: function(*tree.unflatten(structure, tensors)),
            arguments,
            labels,
        )
        return Module(name, program.computation())
    except TfcError as error:
        locate(error)
        raise
