"""Strategies of sizes and shapes, and arrays to run programs on."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tfc.hlo.evaluation.complex_values import join
from tfc.hlo.ir import Module
from tfc.hlo.shape import BF16, F32, AnyShape, ElementType, Shape

Draw = Callable[[st.SearchStrategy[Any]], Any]

_SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e-40, 3e38, -2.5, 1e-3)
# Dots of bf16 take denormal numbers for zero where a processor's instruction does.
_SPECIAL_BF16 = tuple(1e-30 if v == 1e-40 else v for v in _SPECIAL)


def sizes(zero: bool = True) -> st.SearchStrategy[int]:
    """Dimension sizes: small, with ones and (rarely) zeros, where most mistakes lie."""
    return st.sampled_from([2, 3, 1, 4, 5, *([0] if zero else [])])


@st.composite
def shapes(
    draw: Draw, element_types: Sequence[ElementType] = (F32,), max_rank: int = 4, zero: bool = True
) -> Shape:
    """Array shapes of rank 0 to `max_rank` in the default layout."""
    dims = draw(st.lists(sizes(zero), max_size=max_rank))
    return Shape(draw(st.sampled_from(element_types)), tuple(dims))


def random_array(shape: Shape, rng: np.random.Generator, kind: str = "normal") -> np.ndarray:
    """Values for a shape: "normal" floats, "whole" numbers in -4..4, or "special" mixed in.

    Integers are whole numbers; the special ones are the least and greatest of their type.
    """
    element_type, dims = shape.element_type, shape.dims
    if element_type.kind == "pred":
        return rng.integers(0, 2, dims).astype(bool)
    if element_type.is_complex:
        part = shape.with_element_type(element_type.component)
        return join(random_array(part, rng, kind), random_array(part, rng, kind))
    low = 0 if element_type.kind == "unsigned" else -4
    if element_type.is_integer or kind == "whole":
        values = rng.integers(low, 5, dims).astype(element_type.dtype)
        if kind == "special" and element_type.is_integer:
            least, most = element_type.limits
            several = (least, least + 1, most - 1, most)
            ends = np.stack([np.array(end).astype(element_type.dtype) for end in several])
            values = np.where(rng.random(dims) < 0.3, rng.choice(ends, dims), values)
        return values
    values = rng.normal(size=dims)
    if kind == "special":
        special = _SPECIAL_BF16 if element_type is BF16 else _SPECIAL
        values = np.where(rng.random(dims) < 0.4, rng.choice(special, dims), values)
    with np.errstate(over="ignore"):
        return values.astype(element_type.dtype)


def arguments_for(module: Module, rng: np.random.Generator, kind: str = "normal") -> list[Any]:
    """One value for each of the entry's parameters; see `random_array` for the kinds."""

    def value(shape: AnyShape) -> Any:
        if isinstance(shape, Shape):
            return random_array(shape, rng, kind)
        return tuple(value(s) for s in shape.elements)

    return [value(p.shape) for p in module.entry.parameters]
