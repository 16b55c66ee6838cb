"""The precision of products: what is stated of one, and what is entered for those that state none.

    with tfc.default_matmul_precision("tensorfloat32"):
        y = x @ w                     →  dot(x, w), algorithm=dot_tf32_tf32_f32

Whatever emits a product asks here (trace.py), so that products of all functions and of gradients
have it, and what is traced under one default is kept apart from what is traced under another.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tfc.errors import ShapeError
from tfc.hlo.attributes.precision import product_precision
from tfc.hlo.ir import Attributes, Instruction, Module, map_computations, rebuild
from tfc.hlo.shape import F32, AnyShape, ElementType, Shape
from tfc.tracebacks import api_boundary

PRODUCTS = frozenset({"dot", "convolution", "ragged-dot"})
Stated = tuple[str, Any]  # an attribute of a product


class _Threads(threading.local):
    """What is entered in this thread: the attribute of products that state none; None for none."""

    def __init__(self) -> None:
        self.stated: Stated | None = None


default_precision = _Threads()


@api_boundary
def default_matmul_precision(name: str | None) -> AbstractContextManager[None]:
    """The precision of products that state none, while it is entered: in this thread, by `with`.

        with tfc.default_matmul_precision("tensorfloat32"):
            y = step(x)  # matrix products and convolutions of float32 may be computed as TF32

    It holds for what is traced meanwhile, whoever asks for the product: matmul, conv, a network, a
    gradient. A jitted function that is called under it is compiled for it. The products within
    solvers and factorisations of tfc.linalg stay exact, as do their gradients.

    Args:
        name: as for `precision` of tfc.numpy.matmul. An algorithm such as "tensorfloat32" or
            "BF16_BF16_F32_X3" is for products whose operands and results are float32, and permits
            less than exact ones: what a device has no faster way for is computed as float32. "high"
            and "highest", or "float32", are for the operands of all products of floats. None or
            "default" is as if nothing were entered.

    Raises:
        ShapeError: there is no such precision.
    """
    if name is not None and isinstance(name, (tuple, list)):
        raise ShapeError(f"default_matmul_precision takes one name for all products, got {name!r}")
    attributes = product_precision(name)
    return _entered(next(iter(attributes.items()), None))


@contextmanager
def _entered(stated: Stated | None) -> Iterator[None]:
    before, default_precision.stated = default_precision.stated, stated
    try:
        yield
    finally:
        default_precision.stated = before


def stated_precision(stated: Any, types: Sequence[ElementType]) -> dict[str, Any]:
    """The attributes of a product for what a user states of it.

    Args:
        stated: as `product_precision` takes it; None leaves it to the default that is entered.
        types: the element types of its operands and result.

    Raises:
        ShapeError: there is no such precision, or it is for products of f32 and this one is not.
    """
    attributes = product_precision(stated)
    if "algorithm" in attributes and {*types} != {F32}:
        *operands, result = types
        raise ShapeError(
            f"precision {stated!r} is for products of f32 operands with an f32 result, got "
            f"{' and '.join(map(str, operands))} with a result of {result}"
        )
    if stated is not None and not attributes and default_precision.stated is not None:
        return {"operand_precision": ("default", "default")}  # which is then another than stated
    return attributes


def kept_precision(product: Instruction, turned: bool = False) -> dict[str, Any]:
    """What a product states, as the attributes of those that its gradient is made of.

    An algorithm is kept where all is f32, as the gradients are then, and is left out elsewhere.

    Args:
        turned: whether what takes the place of one operand now stands in that of the other.
    """
    words, algorithm = (product.attributes.get(n) for n in ("operand_precision", "algorithm"))
    kept: dict[str, Any] = {}
    if words is not None:
        kept["operand_precision"] = words[::-1] if turned else words
    if algorithm is not None and _is_f32([*product.operands, product]):
        kept["algorithm"] = algorithm
    return kept


def exact_precision() -> str | None:
    """What products state that are to be exact, whatever default is entered."""
    return None if default_precision.stated is None else "highest"


def with_default(
    operands: Sequence[Instruction], shape: AnyShape | None, attributes: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The attributes of a product, with the default that is entered if it states none.

    Args:
        shape: the product's, if it is stated.
    """
    default = default_precision.stated
    stated = (attributes.get("operand_precision"), attributes.get("algorithm"))
    if default is None or stated != (None, None):
        return attributes
    name, value = default
    types = [o.array_shape.element_type for o in operands[:2]]
    types += [shape.element_type] if isinstance(shape, Shape) else []
    fits = all(t == F32 if name == "algorithm" else t.is_float for t in types)
    return {**attributes, name: value} if fits else attributes


def with_default_precision(module: Module) -> Module:
    """A module that comes from elsewhere, whose products have the default if they state none."""
    if default_precision.stated is None:
        return module

    def stated(x: Instruction) -> Instruction:
        if x.opcode not in PRODUCTS:
            return x
        attributes = with_default(x.operands, x.shape, x.attributes)
        return x if attributes is x.attributes else x.with_(attributes=Attributes(attributes))

    return map_computations(module, lambda c: rebuild(c, stated))


def _is_f32(instructions: Sequence[Instruction]) -> bool:
    return all(x.array_shape.element_type == F32 for x in instructions)
