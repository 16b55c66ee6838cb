"""Which dimension of a convolution's arrays is what: the value of `dim_labels=b01f_01io->b01f`.

Each of the three parts has one label for each dimension, in order: b (batch), f (feature), i and o
(input and output feature of the kernel), and a digit for each spatial dimension.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tfc.hlo.lexer import Lexer

_LETTERS = ("bf", "oi", "bf")
MAX_SPATIAL = 10  # one digit each


@dataclass(frozen=True)
class ConvolutionDimensionNumbers:
    """Dimensions in the order of their roles, not of the arrays.

    lhs, out: (batch, feature, *spatial).
    rhs: (output feature, input feature, *spatial).
    """

    lhs: tuple[int, ...]
    rhs: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def spatial(self) -> int:
        """The number of spatial dimensions."""
        return len(self.lhs) - 2

    def __str__(self) -> str:
        lhs, rhs, out = (
            _print_labels(dims, letters)
            for dims, letters in zip((self.lhs, self.rhs, self.out), _LETTERS)
        )
        return f"{lhs}_{rhs}->{out}"


def dimensions_from_labels(labels: Sequence[str]) -> ConvolutionDimensionNumbers | str:
    """The dimension numbers of the labels of lhs, rhs and result; or what is wrong with them."""
    if len({len(part) for part in labels}) > 1:
        return "the same number of dimensions in all three parts"
    spatial = len(labels[0]) - 2
    if not 0 <= spatial <= MAX_SPATIAL:
        return f"0 to {MAX_SPATIAL} spatial dimensions"
    digits = "".join(map(str, range(spatial)))
    for part, letters in zip(labels, _LETTERS):
        if sorted(part) != sorted(letters + digits):
            return f"each of {', '.join(letters + digits)} once, not {part}"
    parts = zip(labels, _LETTERS)
    return ConvolutionDimensionNumbers(
        *(tuple(part.index(label) for label in letters + digits) for part, letters in parts)
    )


def parse_labels(lexer: Lexer) -> ConvolutionDimensionNumbers:
    """The dimension numbers at the lexer's current token.

    Raises:
        ParseError: a label is missing, repeated or unknown.
    """
    if lexer.kind != "labels":
        lexer.expected("labels of dimensions such as b01f_01io->b01f")
    found = dimensions_from_labels(lexer.text.replace("->", "_").split("_"))
    if isinstance(found, str):
        lexer.error(f"dim_labels requires {found}")
    lexer.advance()
    return found


def _print_labels(dims: Sequence[int], letters: str) -> str:
    labels = [*letters, *map(str, range(len(dims) - 2))]
    return "".join(label for _, label in sorted(zip(dims, labels)))
