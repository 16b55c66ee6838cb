"""How exactly a product is computed: a word for each of its operands, or an algorithm for it."""

from enum import Enum
from typing import Any

from tfc.errors import ShapeError

PRECISIONS = ("default", "high", "highest")  # each at least as exact as those before it
_OTHER_WORDS = {"float32": "highest"}
# What is said of a product as a whole, by the names that JAX has for it, in lower case.
ALGORITHM_NAMES = {
    "tensorfloat32": "dot_tf32_tf32_f32",
    "bfloat16": "dot_bf16_bf16_f32",
    **{
        name: f"dot_{name}"
        for name in (
            "tf32_tf32_f32", "tf32_tf32_f32_x3", "bf16_bf16_f32", "bf16_bf16_f32_x3",
            "bf16_bf16_f32_x6", "bf16_bf16_f32_x9", "f32_f32_f32",
        )
    },
}  # fmt: skip


def product_precision(stated: Any) -> dict[str, Any]:
    """The attributes of a product for what a user states: operand_precision, or algorithm.

    There are none for what is the default.

    Args:
        stated: None; one of `PRECISIONS` or "float32", the highest, in any case, or one of these
            for each operand; or one of `ALGORITHM_NAMES`, in any case, for the product. Members of
            an enum are known by their names, as those of JAX are.

    Raises:
        ShapeError: it is none of these.
    """
    algorithm = ALGORITHM_NAMES.get(_word(stated)) if isinstance(stated, (str, Enum)) else None
    if algorithm is not None:
        return {"algorithm": algorithm}
    words = operand_precision(stated)
    return {} if words is None else {"operand_precision": words}


def operand_precision(stated: Any) -> tuple[str, str] | None:
    """The words for the operands of a product, for what a user states; None for the default's.

    Args:
        stated: None, one of `PRECISIONS` or "float32" in any case, or one for each operand.

    Raises:
        ShapeError: it is none of these.
    """
    pair = (stated, stated) if stated is None or isinstance(stated, (str, Enum)) else stated
    words = [_word(w or "default") for w in pair] if isinstance(pair, (tuple, list)) else []
    words = [_OTHER_WORDS.get(word, word) for word in words]
    if len(words) != 2 or any(word not in PRECISIONS for word in words):
        known = ", ".join((*PRECISIONS, *_OTHER_WORDS))
        raise ShapeError(
            f"precision must be one of {known}, or two of them; or, for a product of f32, one of "
            f"{', '.join(ALGORITHM_NAMES)}; got {stated!r}"
        )
    return None if set(words) == {"default"} else (words[0], words[1])


def _word(stated: Any) -> str:
    return str(stated.name if isinstance(stated, Enum) else stated).lower()
