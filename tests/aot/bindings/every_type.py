"""A program that takes and gives an array of every element type, with values for it."""

import numpy as np

import tfc
from tfc.hlo import parse
from tfc.hlo.ir import Module
from tfc.hlo.shape import ELEMENT_TYPES

NAMES = tuple(ELEMENT_TYPES)
SIZE = 3


def every_type() -> Module:
    """Negatives of an array of each type, of which argument and result are called after it."""
    lines, results = [], []
    for number, name in enumerate(NAMES):
        negated = "not" if name == "pred" else "negate"
        lines.append(f"{name}_in = {name}[{SIZE}] parameter({number})")
        lines.append(f"{name}_out = {name}[{SIZE}] {negated}({name}_in)")
        results.append(f"{name}_out")
    shapes = ", ".join(f"{name}[{SIZE}]" for name in NAMES)
    lines.append(f"ROOT all = ({shapes}) tuple({', '.join(results)})")
    return parse("HloModule m\nENTRY main {\n" + "\n".join(lines) + "\n}")


def given() -> list[np.ndarray]:
    """An argument of each type."""
    found = []
    for element in ELEMENT_TYPES.values():
        values = np.array([1, 0, 5]) if element.kind in ("pred", "unsigned") else [-3, 0.5, 2]
        if element.is_complex:
            values = np.array([1 - 2j, 0.5j, -3])
        if element.kind == "signed":
            values = [-7, 0, 5]
        found.append(np.array(values).astype(element.dtype))
    return found


def wanted() -> list[np.ndarray]:
    """What the evaluator says that the results are."""
    return [np.asarray(r) for r in tfc.compile(every_type(), backend="interpreter")(*given())]


def bits(array: np.ndarray) -> np.ndarray:
    """The same elements as a language has them that lacks their type: as bits, or in a byte."""
    name = array.dtype.name
    if name in ("int4", "uint4"):
        return array.astype(name.replace("4", "8"))
    if array.dtype.isbuiltin != 1 or name == "float16":
        return array.view(f"uint{8 * array.dtype.itemsize}")
    return array
