"""Operators on the diagonals of matrices, and the parts of matrices about them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import ShapeError
from tfc.graph.operators.registry import known, known_numbers, operator


@operator("MatrixBandPart", types="T Tindex", known=(1, 2))
def band_part(input: Any, num_lower: Any, num_upper: Any) -> Any:
    """The elements near the diagonal, zeros elsewhere; a negative number keeps all on its side."""
    low, high = (int(known(n, "how wide a band is")) for n in (num_lower, num_upper))
    below = _below(*input.shape[-2:])
    keeps = below >= below  # all
    if low >= 0:
        keeps = keeps & (below <= np.int32(low))
    if high >= 0:
        keeps = keeps & (below >= np.int32(-high))
    return tnp.where(keeps, input, np.zeros((), input.dtype))


def _below(rows: int, columns: int) -> Any:
    """How far below the diagonal each place of a matrix is."""
    down, across = tnp.arange(rows, dtype=np.int32), tnp.arange(columns, dtype=np.int32)
    return tnp.expand_dims(down, 1) - across


@operator("MatrixDiag", "BatchMatrixDiag")
def matrix_of_diagonal(diagonal: Any) -> Any:
    """Matrices of these diagonals, zeros elsewhere."""
    size = diagonal.shape[-1]
    zero = np.zeros((), diagonal.dtype)
    return tnp.where(_below(size, size) == 0, tnp.expand_dims(diagonal, -1), zero)


@operator("MatrixDiagPart", "BatchMatrixDiagPart")
def diagonal_of_matrix(input: Any) -> Any:
    """The diagonals of matrices."""
    return tnp.diagonal(input, axis1=-2, axis2=-1)


@operator("MatrixSetDiag", "BatchMatrixSetDiag")
def set_diagonal(input: Any, diagonal: Any) -> Any:
    """The matrices with other diagonals."""
    rows, columns = input.shape[-2:]
    on = _below(rows, columns) == 0
    spread = tnp.expand_dims(diagonal, -1 if rows <= columns else -2)
    return tnp.where(on, tnp.broadcast_to(spread, input.shape), input)


@operator("Diag")
def diagonal_tensor(diagonal: Any) -> Any:
    """An array of twice the rank, with these elements where both halves of the place agree."""
    dims: Sequence[int] = diagonal.shape
    flat = tnp.reshape(diagonal, (-1,))
    return tnp.reshape(matrix_of_diagonal(flat), (*dims, *dims))


@operator("DiagPart")
def diagonal_part(input: Any) -> Any:
    """The elements where both halves of the place agree."""
    dims = input.shape[: input.ndim // 2]
    count = int(np.prod(dims))
    return tnp.reshape(tnp.diagonal(tnp.reshape(input, (count, count))), dims)


class _Band:
    """Diagonals of a matrix, from the upper one down, as rows of an array [diagonals, longest].

    Shorter ones lie at the beginning or the end of their row, as `align` says of those above the
    main diagonal and of those below it.
    """

    def __init__(self, k: Any, shape: Sequence[int], align: str):
        rows, columns = shape[-2:]
        numbers = known_numbers(k, "which diagonals are meant")
        self.low, self.high = numbers[0], numbers[-1]
        self.is_one = self.low == self.high
        if not -rows < self.low <= self.high < columns and rows and columns:
            raise ShapeError(f"matrices of {rows} x {columns} have no diagonals {list(numbers)}")
        self.rows, self.columns = rows, columns
        self.count = self.high - self.low + 1
        self.longest = min(rows + min(self.high, 0), columns - max(self.low, 0))
        self.above, self.below = align.split("_")

    def length(self, diagonal: np.ndarray) -> np.ndarray:
        """How long diagonals are."""
        rows = self.rows + np.minimum(diagonal, 0)
        return np.minimum(rows, self.columns - np.maximum(diagonal, 0))

    def begin(self, diagonal: np.ndarray) -> np.ndarray:
        """Where in their rows diagonals begin."""
        is_left = (diagonal >= 0) & (self.above == "LEFT") | (diagonal <= 0) & (
            self.below == "LEFT"
        )
        return np.where(is_left, 0, self.longest - self.length(diagonal))

    def places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(row, column, whether there is one) for each element of the array."""
        diagonal = self.high - np.arange(self.count)[:, None]
        along = np.arange(self.longest)[None, :] - self.begin(diagonal)
        inside = (along >= 0) & (along < self.length(diagonal))
        along = np.where(inside, along, 0)
        return np.maximum(-diagonal, 0) + along, np.maximum(diagonal, 0) + along, inside

    def sources(self) -> tuple[np.ndarray, np.ndarray]:
        """(the place in the flat array, whether it has one) for each element of a matrix."""
        row, column = np.arange(self.rows)[:, None], np.arange(self.columns)[None, :]
        diagonal = column - row
        inside = (diagonal >= self.low) & (diagonal <= self.high)
        diagonal = np.where(inside, diagonal, self.high)
        place = (self.high - diagonal) * self.longest + np.minimum(row, column)
        return np.where(inside, place + self.begin(diagonal), 0), inside

    def spread(self, diagonals: Any, otherwise: Any) -> Any:
        """Matrices of these diagonals, and of other elements beside them."""
        batch = diagonals.shape[: -1 if self.is_one else -2]
        if self.is_one and diagonals.ndim and diagonals.shape[-1] != self.longest:
            raise ShapeError(f"a diagonal of {self.longest} is needed, got {diagonals.shape[-1]}")
        flat = tnp.reshape(diagonals, (*batch, self.count * self.longest))
        place, inside = self.sources()
        made = tnp.take(flat, place.reshape(-1), axis=-1, mode="clip")
        return tnp.where(inside, tnp.reshape(made, (*batch, *place.shape)), otherwise)


def _diagonals(input: Any, k: Any, padding_value: Any, align: str) -> Any:
    band = _Band(k, input.shape, align)
    row, column, inside = band.places()
    flat = tnp.reshape(input, (*input.shape[:-2], -1))
    made = tnp.take(flat, (row * band.columns + column).reshape(-1), axis=-1, mode="clip")
    made = tnp.reshape(made, (*input.shape[:-2], *row.shape))
    made = tnp.where(inside, made, padding_value)
    return made[..., 0, :] if band.is_one else made


@operator("MatrixDiagPartV2", types="T - T", known=(1,))
def diagonals_to_the_left(input: Any, k: Any, padding_value: Any) -> Any:
    """Diagonals as rows, each from the beginning of its row."""
    return _diagonals(input, k, padding_value, "LEFT_LEFT")


@operator("MatrixDiagPartV3", types="T - T", known=(1,))
def diagonals_aligned(input: Any, k: Any, padding_value: Any, align: str = "RIGHT_LEFT") -> Any:
    """Diagonals as rows."""
    return _diagonals(input, k, padding_value, align)


def _matrices(diagonal: Any, k: Any, rows: Any, columns: Any, padding: Any, align: str) -> Any:
    numbers = known_numbers(k, "which diagonals are meant")
    low, high = numbers[0], numbers[-1]
    longest = diagonal.shape[-1]
    least = longest - min(high, 0), longest + max(low, 0)
    wanted = [int(known(n, "the size of a matrix").ravel()[0]) for n in (rows, columns)]
    if wanted == [-1, -1]:
        wanted = [max(least)] * 2
    sizes = [size if n < 0 else n for n, size in zip(wanted, least)]
    return _Band(k, sizes, align).spread(diagonal, padding)


@operator("MatrixDiagV2", types="T - - - T", known=(1, 2, 3))
def matrices_of_left_diagonals(
    diagonal: Any, k: Any, num_rows: Any, num_cols: Any, padding_value: Any
) -> Any:
    """Matrices of these diagonals, each from the beginning of its row."""
    return _matrices(diagonal, k, num_rows, num_cols, padding_value, "LEFT_LEFT")


@operator("MatrixDiagV3", types="T - - - T", known=(1, 2, 3))
def matrices_of_diagonals(
    diagonal: Any,
    k: Any,
    num_rows: Any,
    num_cols: Any,
    padding_value: Any,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Matrices of these diagonals."""
    return _matrices(diagonal, k, num_rows, num_cols, padding_value, align)


@operator("MatrixSetDiagV2", types="T T -", known=(2,))
def set_left_diagonals(input: Any, diagonal: Any, k: Any) -> Any:
    """The matrices with other diagonals, each from the beginning of its row."""
    return _Band(k, input.shape, "LEFT_LEFT").spread(diagonal, input)


@operator("MatrixSetDiagV3", types="T T -", known=(2,))
def set_diagonals(input: Any, diagonal: Any, k: Any, align: str = "RIGHT_LEFT") -> Any:
    """The matrices with other diagonals."""
    return _Band(k, input.shape, align).spread(diagonal, input)
