"""Matrices, segments, images, blocks and assertions of graphs, against NumPy."""

from typing import Any

import numpy as np
import pytest
from graph_rows import Row

import tfc.graph as tf
from tfc.graph import errors

RNG = np.random.default_rng(17)


def floats(*dims: int) -> np.ndarray:
    return RNG.uniform(-1.5, 1.5, dims).astype(np.float32)


def regular(*dims: int) -> np.ndarray:
    return floats(*dims) + 4 * np.eye(dims[-1], dtype=np.float32)


def positive(size: int) -> np.ndarray:
    x = floats(size, size)
    return x @ x.T + np.eye(size, dtype=np.float32)


def summed(x: Any, ids: Any, count: int) -> np.ndarray:
    made = np.zeros((count, *x.shape[1:]), x.dtype)
    np.add.at(made, ids, x)
    return made


def linear(x: np.ndarray, wanted: int) -> np.ndarray:
    """Rows of another number, by linear interpolation."""
    at = np.arange(wanted) * (len(x) / wanted)
    return np.stack([np.interp(at, np.arange(len(x)), column) for column in x.T], 1)


IMAGE = np.abs(floats(1, 4, 6, 3)) / 2
ROWS_OF_SUMS = np.int32([0, 0, 2, 2])

ROWS = [
    Row("cholesky", tf.cholesky, [positive(3)], np.linalg.cholesky),
    Row("matrix_inverse", tf.matrix_inverse, [regular(2, 3, 3)], np.linalg.inv, True),
    Row("matrix_determinant", tf.matrix_determinant, [regular(2, 3, 3)], np.linalg.det, True, 1e-4),
    Row("matrix_solve", tf.matrix_solve, [regular(3, 3), floats(3, 2)], np.linalg.solve, True),
    Row("solution by the adjoint", lambda a, b: tf.matrix_solve(a, b, adjoint=True),
        [regular(3, 3), floats(3, 2)], lambda a, b: np.linalg.solve(a.T, b), True),
    Row("matrix_triangular_solve", lambda a, b: tf.matrix_triangular_solve(a, b, adjoint=True),
        [regular(3, 3), floats(3, 2)], lambda a, b: np.linalg.solve(np.tril(a).T, b), True),
    Row("self_adjoint_eig", lambda x: tf.self_adjoint_eig(x)[0], [positive(3)],
        np.linalg.eigvalsh, False, 1e-4),
    Row("svd", lambda x: tf.svd(x, compute_uv=False), [floats(4, 3)],
        lambda x: np.linalg.svd(x, compute_uv=False), False, 1e-4),
    Row("svd put together", lambda x: (lambda s, u, v: tf.matmul(u * s, v, transpose_b=True))(
        *tf.svd(x)), [floats(4, 3)], lambda x: x, False, 1e-4),
    Row("qr put together", lambda x: tf.matmul(*tf.qr(x)), [floats(4, 3)], lambda x: x),
    Row("matrix_band_part", lambda x: tf.matrix_band_part(x, 1, 0), [floats(2, 4, 4)],
        lambda x: np.triu(np.tril(x), -1), True),
    Row("matrix_diag", tf.matrix_diag, [floats(2, 3)],
        lambda x: x[..., None] * np.eye(3, dtype=np.float32), True),
    Row("matrix_diag_part", tf.matrix_diag_part, [floats(2, 3, 4)],
        lambda x: np.diagonal(x, axis1=1, axis2=2), True),
    Row("matrix_set_diag", tf.matrix_set_diag, [floats(3, 4), floats(3)],
        lambda x, d: np.where(np.eye(3, 4), d[:, None], x), True),
    Row("diag", tf.diag, [floats(3)], np.diag, True),
    Row("trace", tf.trace, [floats(3, 3)], np.trace, True),
    Row("norm", lambda x: tf.norm(x, axis=1), [floats(3, 4)],
        lambda x: np.linalg.norm(x, axis=1), True),
    Row("einsum", lambda x, y: tf.einsum("bij,bjk->bik", x, y), [floats(2, 3, 4), floats(2, 4, 2)],
        np.matmul, True),
    Row("fft", tf.fft, [floats(2, 8).astype(np.complex64)],
        lambda x: np.fft.fft(x).astype(np.complex64)),
    Row("ifft2d", tf.ifft2d, [floats(4, 8).astype(np.complex64)],
        lambda x: np.fft.ifft2(x).astype(np.complex64)),
    Row("rfft", tf.rfft, [floats(2, 8)], lambda x: np.fft.rfft(x).astype(np.complex64)),
    Row("irfft of rfft", lambda x: tf.irfft(tf.rfft(x)), [floats(2, 8)], lambda x: x, True),
    Row("segment_sum", lambda x: tf.segment_sum(x, ROWS_OF_SUMS), [floats(4, 3)],
        lambda x: summed(x, ROWS_OF_SUMS, 3), True),
    Row("segment_mean", lambda x: tf.segment_mean(x, ROWS_OF_SUMS), [floats(4)],
        lambda x: np.float32([x[:2].mean(), 0, x[2:].mean()]), True),
    Row("unsorted_segment_sum", lambda x, i: tf.unsorted_segment_sum(x, i, 3),
        [floats(4, 2), np.int32([2, -1, 0, 2])],
        lambda x, i: np.stack([x[2], 0 * x[0], x[0] + x[3]]), True),
    Row("unsorted_segment_max", lambda x, i: tf.unsorted_segment_max(x, i, 2),
        [np.int32([3, 9, -2]), np.int32([0, 0, 1])], lambda x, i: np.int32([9, -2])),
    Row("scatter_nd", lambda i, u: tf.scatter_nd(i, u, [4, 2]),
        [np.int32([[1], [3], [1]]), floats(3, 2)], lambda i, u: summed(u, i[:, 0], 4), True),
    Row("tensor_scatter_update", tf.tensor_scatter_update,
        [floats(4), np.int32([[2], [0]]), floats(2)],
        lambda x, i, u: np.float32([u[1], x[1], u[0], x[3]]), True),
    Row("dynamic_partition", lambda x: tf.dynamic_partition(x, [1, 0, 1, 2], 3), [floats(4, 2)],
        lambda x: [x[[1]], x[[0, 2]], x[[3]]]),
    Row("dynamic_stitch", lambda x, y: tf.dynamic_stitch([[2, 0], [1, 2]], [x, y]),
        [floats(2, 3), floats(2, 3)], lambda x, y: np.stack([x[1], y[0], y[1]])),
    Row("confusion_matrix", lambda x, y: tf.confusion_matrix(x, y, 3),
        [np.int32([0, 1, 2, 1]), np.int32([0, 1, 1, 1])],
        lambda x, y: np.int32([[1, 0, 0], [0, 2, 0], [0, 1, 0]])),
    Row("histogram_fixed_width", lambda x: tf.histogram_fixed_width(x, [0.0, 5.0], 5),
        [np.float32([-1, 0, 1.5, 2, 5, 15])], lambda x: np.int32([2, 1, 1, 0, 2])),
    Row("sort", tf.sort, [floats(2, 5)], np.sort),
    Row("argsort downwards", lambda x: tf.argsort(x, direction="DESCENDING"), [floats(2, 5)],
        lambda x: np.argsort(-x).astype(np.int32)),
    Row("clip_by_norm", lambda x: tf.clip_by_norm(x, 1.0), [floats(3, 2)],
        lambda x: x / max(1, np.linalg.norm(x)), True),
    Row("clip_by_global_norm", lambda x, y: tf.clip_by_global_norm([x, y], 1.0)[0],
        [floats(3), floats(2)],
        lambda x, y: [v / np.sqrt((x**2).sum() + (y**2).sum()) for v in (x, y)]),
    Row("space_to_depth", lambda x: tf.space_to_depth(x, 2), [IMAGE],
        lambda x: x.reshape(1, 2, 2, 3, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(1, 2, 3, 12)),
    Row("depth_to_space of space_to_depth",
        lambda x: tf.depth_to_space(tf.space_to_depth(x, 2), 2), [IMAGE], lambda x: x, True),
    Row("batch_to_space of space_to_batch",
        lambda x: tf.batch_to_space(tf.space_to_batch(x, [[0, 0], [2, 0]], 2), [[0, 0], [2, 0]], 2),
        [IMAGE], lambda x: x, True),
    Row("space_to_batch", lambda x: tf.space_to_batch(x, [[0, 0], [0, 0]], 2),
        [np.float32([[[[1], [2]], [[3], [4]]]])],
        lambda x: np.float32([1, 2, 3, 4]).reshape(4, 1, 1, 1)),
    Row("resize_images", lambda x: tf.image.resize_images(x, [8, 6]), [IMAGE],
        lambda x: linear(x[0].reshape(4, 18), 8).reshape(1, 8, 6, 3)),
    Row("resize_nearest_neighbor", lambda x: tf.image.resize_nearest_neighbor(x, [2, 12]), [IMAGE],
        lambda x: x[:, ::2].repeat(2, 2)),
    Row("resize_area", lambda x: tf.image.resize_area(x, [2, 3]), [IMAGE],
        lambda x: x.reshape(1, 2, 2, 3, 2, 3).mean((2, 4))),
    Row("resize_bicubic of the same size", lambda x: tf.image.resize_bicubic(x, [4, 6]), [IMAGE],
        lambda x: x),
    Row("flip_left_right", tf.image.flip_left_right, [IMAGE[0]], lambda x: x[:, ::-1], True),
    Row("crop or pad", lambda x: tf.image.resize_image_with_crop_or_pad(x, 2, 8), [IMAGE[0]],
        lambda x: np.pad(x[1:3], [(0, 0), (1, 1), (0, 0)])),
    Row("rgb_to_grayscale", tf.image.rgb_to_grayscale, [IMAGE],
        lambda x: x @ np.float32([[0.2989], [0.587], [0.114]])),
    Row("hsv and back", lambda x: tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(x)), [IMAGE],
        lambda x: x),
    Row("adjust_contrast", lambda x: tf.image.adjust_contrast(x, 2.0), [IMAGE],
        lambda x: (x - x.mean((1, 2), keepdims=True)) * 2 + x.mean((1, 2), keepdims=True)),
    Row("per_image_standardization", tf.image.per_image_standardization, [IMAGE[0]],
        lambda x: (x - x.mean()) / x.std(), False, 1e-4),
    Row("extract_image_patches", lambda x: tf.image.extract_image_patches(
        x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"), [IMAGE],
        lambda x: x.reshape(1, 2, 2, 3, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(1, 2, 3, 12)),
    Row("fake_quant", lambda x: tf.fake_quant_with_min_max_args(x, 0, 7, 3),
        [np.float32([-1, 0.4, 2.6, 9])], lambda x: np.float32([0, 0, 3, 7])),
    Row("bitwise_xor", tf.bitwise.bitwise_xor, [np.int32([5, 9]), np.int32([3, 9])],
        np.bitwise_xor),
]  # fmt: skip


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_operator_of_arrays_computes_what_numpy_does(row: Row, backend: str):
    row.check_values(backend)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_known_of_arrays_is_true_of_the_result(row: Row):
    row.check_inference()


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.differentiable], ids=lambda row: row.name
)
def test_gradients_of_arrays_are_those_of_finite_differences(row: Row):
    row.check_gradient()


def test_what_values_alone_tell_is_computed_between_compiled_parts():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int32, [None])
        found, places, counts = tf.unique_with_counts(x)
        fed = {x: [4, 7, 4, 1]}
        assert [v.tolist() for v in session.run([found, places, counts], fed)] == [
            [4, 7, 1], [0, 1, 0, 2], [2, 1, 1],
        ]  # fmt: skip
        assert session.run(tf.where(x > 3), fed).tolist() == [[0], [1], [2]]
        assert session.run(tf.boolean_mask(x, x > 4), fed).tolist() == [7]
        assert session.run(tf.setdiff1d(x, [4])[0], fed).tolist() == [7, 1]
        assert found.shape.as_list() == [None]


def test_assertions_end_a_run_or_are_refused_when_the_graph_is_built(capfd):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        with tf.control_dependencies([tf.assert_positive(x, message="rates")]):
            y = tf.Print(tf.identity(x), [x], "got ")
        assert session.run(y, {x: [1, 2]}).tolist() == [1, 2]
        assert "got [1.0 2.0]" in capfd.readouterr().err
        with pytest.raises(errors.InvalidArgumentError, match="assertion failed"):
            session.run(y, {x: [1, -2]})
        with pytest.raises(errors.InvalidArgumentError, match="Tensor had Inf"):
            session.run(tf.check_numerics(1 / x, "quotient"), {x: [0, 1]})
        with pytest.raises(ValueError, match="whatever is fed"):
            tf.assert_equal(tf.constant(1), 2)
        with pytest.raises(ValueError, match="must have rank 3"):
            tf.assert_rank(x, 3)
