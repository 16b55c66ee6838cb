"""How exactly a product takes its operands: a word for each of them."""

from typing import Any

from tfc.errors import ShapeError

PRECISIONS = ("default", "high", "highest")  # each at least as exact as those before it


def operand_precision(stated: Any) -> tuple[str, str] | None:
    """The attribute of a product for what a user states; None if that is the default.

    Args:
        stated: None, one of `PRECISIONS` in any case, or one for each operand.

    Raises:
        ShapeError: it is none of these.
    """
    pair = (stated, stated) if stated is None or isinstance(stated, str) else stated
    words = [str(w or "default").lower() for w in pair] if isinstance(pair, (tuple, list)) else []
    if len(words) != 2 or any(word not in PRECISIONS for word in words):
        raise ShapeError(
            f"precision must be one of {', '.join(PRECISIONS)}, or two of them, got {stated!r}"
        )
    return None if set(words) == {"default"} else (words[0], words[1])
