"""What attributes say, in both directions: each function makes a field of a row.

`name` is always HLO's, `theirs` StableHLO's, which is the same unless it is given.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfc.backends.mlir import provider
from tfc.backends.mlir.provider import ir
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.stablehlo.operations.emission import Emission, enumeration, i32, matrix
from tfc.stablehlo.operations.operation import Operation
from tfc.stablehlo.operations.row import Field, Values


def _one(
    name: str,
    theirs: str,
    read: Callable[[Operation, str], Any],
    default: Any,
    write: Callable[[Any], Any] = lambda value: value,
) -> Field:
    """One attribute for one; `default` is what an instruction without it means."""
    theirs = theirs or name
    return Field(
        lambda operation: {name: read(operation, theirs)},
        lambda e: {theirs: write(e.get(name, default))},
    )


def ints(name: str, theirs: str = "") -> Field:
    """A list of numbers."""
    return _one(name, theirs, Operation.ints, ())


def integer(name: str, theirs: str = "", default: int = 0) -> Field:
    """A number."""
    return _one(name, theirs, lambda o, n: o.integer(n, default), default)


def bits(name: str) -> Field:
    """A number of bits, which StableHLO has in 32."""
    return _one(name, "", Operation.integer, 0, i32)


def flag(name: str, theirs: str = "") -> Field:
    """A truth value."""
    return _one(name, theirs, Operation.flag, False)


def unit(name: str) -> Field:
    """A truth value that is stated where it is true."""
    return Field(
        lambda operation: {name: True} if operation.has(name) else {},
        lambda e: {name: ir.UnitAttr.get() if e.get(name) else None},
    )


def real(name: str) -> Field:
    """A number of f32."""
    return _one(
        name,
        "",
        lambda operation, theirs: float(operation.attribute(theirs).value),
        0.0,
        lambda value: ir.FloatAttr.get(ir.F32Type.get(), float(value)),
    )


def word(name: str, theirs: str = "", kind: str = "", prefix: str = "", default: str = "") -> Field:
    """One of several words.

    Args:
        kind: StableHLO's name of the enumeration; that of the attribute when left out.
        prefix: what HLO puts before the word, which it then has in lower case.
    """
    kind = kind or theirs or name

    def read(operation: Operation, theirs: str) -> str:
        text = operation.text(theirs)
        return f"{prefix}{text.lower()}" if prefix else text

    return _one(
        name, theirs, read, default, lambda v: enumeration(kind, v.removeprefix(prefix).upper())
    )


def single(name: str, theirs: str, default: int = 0) -> Field:
    """One dimension, which HLO has in a list; one below 0 counts from the end."""

    def read(operation: Operation, theirs: str) -> tuple[int, ...]:
        dimension = operation.integer(theirs, default)
        if dimension < 0:
            dimension += operation.operands[0].array_shape.rank
        return (dimension,)

    return _one(name, theirs, read, (), lambda dimensions: dimensions[0])


def columns(name: str, *theirs: str) -> Field:
    """Numbers by dimension, such as (start, limit, stride), of which StableHLO has a list each."""
    return Field(
        lambda operation: {name: tuple(zip(*(operation.ints(n) for n in theirs)))},
        lambda e: {n: tuple(row[k] for row in e[name]) for k, n in enumerate(theirs)},
    )


def numbers(kind: str, theirs: str, names: Mapping[str, str]) -> Field:
    """Dimension numbers, which StableHLO has in one attribute.

    Args:
        kind: the class of the bindings.
        names: its property for each attribute of HLO.
    """

    def read(operation: Operation) -> Values:
        found = getattr(provider.stablehlo(), kind)(operation.attribute(theirs))
        values = {name: getattr(found, n) for name, n in names.items()}
        return {k: v if isinstance(v, int) else tuple(v) for k, v in values.items()}

    def write(e: Emission) -> Values:
        values = {n: e.get(name, ()) for name, n in names.items()}
        made = {k: v if isinstance(v, int) else list(v) for k, v in values.items()}
        return {theirs: getattr(provider.stablehlo(), kind).get(**made)}

    return Field(read, write)


def regions(**names: str) -> Field:
    """The computations in the operation's regions, in order, and what to call each."""
    return Field(
        lambda operation: {
            attribute: operation.region(n, name)
            for n, (attribute, name) in enumerate(names.items())
        },
        lambda e: {"regions": [e[attribute] for attribute in names]},
    )


def window(**names: str) -> Field:
    """A window; StableHLO has a list for its padding and each of the numbers that are named.

    The sizes are ones where they are not among these.
    """

    def read(operation: Operation) -> Values:
        found = {n: operation.ints(theirs) for n, theirs in names.items() if operation.has(theirs)}
        if operation.has("padding"):
            padding = operation.ints("padding")
            found |= {"low": padding[::2], "high": padding[1::2]}
        if "reversal" in found:
            found["reversal"] = tuple(map(bool, found["reversal"]))
        rank = max(map(len, found.values()), default=0)
        found = {"size": (1,) * rank, **found}
        dimensions = (dict(zip(found, values)) for values in zip(*found.values()))
        return {"window": Window(tuple(WindowDimension(**d) for d in dimensions))}

    def write(e: Emission) -> Values:
        dimensions = e.get("window", Window()).dimensions
        said = {theirs: tuple(getattr(d, n) for d in dimensions) for n, theirs in names.items()}
        return {**said, "padding": matrix([(d.low, d.high) for d in dimensions], 2)}

    return Field(read, write)


def listed(operation: Operation, name: str) -> tuple[tuple[int, ...], ...]:
    """The rows of a matrix of device numbers; -1 fills short ones."""
    rows = np.array(operation.attribute(name))
    return tuple(tuple(int(n) for n in row if n >= 0) for row in rows)
