"""What a computation is apart from names, metadata and annotations, as a value to compare.

Of annotations, shardings count: of custom calls they say which part of an array is meant.
"""

from collections.abc import Hashable

from tfc.hlo.ir import Attributes, Computation


def structure(computation: Computation) -> Hashable:
    """A value that is equal for computations that compute the same in the same steps."""
    # Computations do not change, and what they call is asked for again with each caller.
    known = computation.__dict__.get("_structure")
    if known is None:
        number = {x: n for n, x in enumerate(computation.instructions)}
        steps = tuple([
            (x.opcode, x.shape, _values(x.attributes), *[number[o] for o in x.operands],
             *[text for name, text in x.annotations if name == "sharding"])
            for x in computation.instructions
        ])  # fmt: skip
        known = computation.__dict__["_structure"] = (steps, number[computation.root])
    return known


def _values(attributes: Attributes) -> Hashable:
    if not attributes.called_computations:
        return attributes
    return tuple((name, _value(value)) for name, value in attributes.items())


def _value(value: Hashable) -> Hashable:
    if isinstance(value, tuple):
        return tuple(map(_value, value))
    return structure(value) if isinstance(value, Computation) else value
