"""Initializers: (shape, dtype) -> the tensor that a variable begins as.

Constants are known, so that they are kept as they are; random ones are drawn by operators of
TensorFlow's names in each session that initializes.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import result
from tfc.graph.constants import constant
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import DType, as_dtype, float32
from tfc.graph.types.shapes import TensorShape
from tfc.graph.variables.seeds import seeds

_DEVIATION_OF_TRUNCATED = 0.87962566103423978  # of a standard normal number between -2 and 2


class Initializer:
    """What gives the initial value of a variable of a shape and dtype."""

    dtype: DType = float32

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """The initial value."""
        wanted = self.dtype if dtype is None else as_dtype(dtype)
        return self.made(TensorShape(shape).known(), wanted)

    def made(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """The initial value of a known shape."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments that make it again."""
        return {
            name: value.name if isinstance(value, DType) else value
            for name, value in vars(self).items()
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Initializer":
        """The initializer of a config."""
        return cls(**config)


class Constant(Initializer):
    """A number everywhere, or the values of an array; a short list's last one is repeated."""

    def __init__(self, value: Any = 0, dtype: Any = float32, verify_shape: bool = False):
        self.value, self.dtype, self.verify_shape = value, as_dtype(dtype), verify_shape

    def made(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """The initial value of a known shape."""
        return constant(self.value, dtype, shape, verify_shape=self.verify_shape)


class Zeros(Initializer):
    """Zeros."""

    def __init__(self, dtype: Any = float32):
        self.dtype = as_dtype(dtype)

    def made(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """The initial value of a known shape."""
        return constant(np.zeros(shape, dtype.dtype), dtype, name="zeros")


class Ones(Initializer):
    """Ones."""

    def __init__(self, dtype: Any = float32):
        self.dtype = as_dtype(dtype)

    def made(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """The initial value of a known shape."""
        return constant(np.ones(shape, dtype.dtype), dtype, name="ones")


class RandomUniform(Initializer):
    """Uniform between bounds; integers below the upper one."""

    def __init__(
        self, minval: Any = 0, maxval: Any = None, seed: int | None = None, dtype: Any = float32
    ):
        self.minval, self.maxval = minval, 1 if maxval is None else maxval
        self.seed, self.dtype = seed, as_dtype(dtype)

    def made(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """The initial value of a known shape."""
        if dtype.is_integer:
            low, high = constant(self.minval, dtype), constant(self.maxval, dtype)
            more = seeds(self.seed)
            return result("RandomUniformInt", list(shape), low, high, dtype=dtype, **more)
        return uniform(shape, self.minval, self.maxval, self.seed, dtype)


class RandomNormal(Initializer):
    """Normal of a mean and standard deviation."""

    def __init__(
        self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = float32
    ):
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, as_dtype(dtype)

    def made(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """The initial value of a known shape."""
        return scaled("RandomStandardNormal", shape, self.mean, self.stddev, self.seed, dtype)


class TruncatedNormal(Initializer):
    """Normal, of values within two standard deviations from the mean alone."""

    def __init__(
        self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = float32
    ):
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, as_dtype(dtype)

    def made(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """The initial value of a known shape."""
        return scaled("TruncatedNormal", shape, self.mean, self.stddev, self.seed, dtype)


class VarianceScaling(Initializer):
    """Random of a variance that is `scale` over the number of inputs, outputs or their mean.

    mode: fan_in, fan_out or fan_avg. distribution: normal (truncated) or uniform.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "normal",
        seed: int | None = None,
        dtype: Any = float32,
    ):
        if scale <= 0:
            raise ShapeError(f"scale must be positive, got {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ShapeError(f"mode must be fan_in, fan_out or fan_avg, got {mode!r}")
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ShapeError(f"unknown distribution {distribution!r}: normal or uniform")
        self.scale, self.mode, self.distribution = scale, mode, distribution
        self.seed, self.dtype = seed, as_dtype(dtype)

    def made(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """The initial value of a known shape."""
        fan_in, fan_out = fans(shape)
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, count)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return uniform(shape, -limit, limit, self.seed, dtype)
        deviation = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return scaled("RandomStandardNormal", shape, 0.0, deviation, self.seed, dtype)
        deviation /= _DEVIATION_OF_TRUNCATED
        return scaled("TruncatedNormal", shape, 0.0, deviation, self.seed, dtype)


class Orthogonal(Initializer):
    """A matrix of orthonormal rows or columns, times `gain`; of more dimensions, flattened."""

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = float32):
        self.gain, self.seed, self.dtype = gain, seed, as_dtype(dtype)

    def made(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """The initial value of a known shape."""
        if len(shape) < 2:
            raise ShapeError(
                f"the tensor to initialize must be at least two-dimensional, got shape {shape}"
            )
        rows, columns = math.prod(shape[:-1]), shape[-1]
        tall = (max(rows, columns), min(rows, columns))
        drawn = scaled("RandomStandardNormal", tall, 0.0, 1.0, self.seed, dtype)
        factors = get_default_graph().create_operation("Qr", [drawn], {"full_matrices": False})
        orthogonal, triangular = factors.outputs
        signs = result("Sign", result("MatrixDiagPart", triangular))
        found = result("Mul", orthogonal, signs)
        if rows < columns:
            found = result("Transpose", found, [1, 0])
        found = result("Reshape", found, list(shape))
        return result("Mul", found, constant(self.gain, dtype))


class Identity(Initializer):
    """The identity matrix, times `gain`."""

    def __init__(self, gain: float = 1.0, dtype: Any = float32):
        self.gain, self.dtype = gain, as_dtype(dtype)

    def made(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """The initial value of a known shape."""
        if len(shape) != 2:
            raise ShapeError(f"Identity initializes matrices only, got shape {shape}")
        return constant((self.gain * np.eye(*shape)).astype(dtype.dtype), dtype)


def uniform(
    shape: Sequence[int], low: float, high: float, seed: int | None, dtype: DType
) -> Tensor:
    """Floats drawn uniformly from [low, high)."""
    with get_default_graph().name_scope("random_uniform"):
        drawn = result("RandomUniform", list(shape), dtype=dtype, **seeds(seed))
        scaled = result("Mul", drawn, constant(high - low, dtype), name="mul")
        return result("AddV2", scaled, constant(low, dtype), name="add")


def scaled(
    kind: str, shape: Sequence[int], mean: float, deviation: float, seed: int | None, dtype: DType
) -> Tensor:
    """What an operator draws, of a mean and deviation."""
    name = "truncated_normal" if kind == "TruncatedNormal" else "random_normal"
    with get_default_graph().name_scope(name):
        drawn = result(kind, list(shape), dtype=dtype, **seeds(seed))
        scaled = result("Mul", drawn, constant(deviation, dtype), name="mul")
        return result("AddV2", scaled, constant(mean, dtype), name="add")


def fans(shape: Sequence[int]) -> tuple[float, float]:
    """The numbers of inputs and outputs of a weight; of filters, in their last two dimensions."""
    if len(shape) < 2:
        count = float(shape[0]) if shape else 1.0
        return count, count
    field = math.prod(shape[:-2])
    return float(shape[-2] * field), float(shape[-1] * field)


def glorot_uniform_initializer(seed: int | None = None, dtype: Any = float32) -> Initializer:
    """Uniform of variance 2 / (inputs + outputs): what variables have if nothing is said."""
    return VarianceScaling(1.0, "fan_avg", "uniform", seed, dtype)


def glorot_normal_initializer(seed: int | None = None, dtype: Any = float32) -> Initializer:
    """Truncated normal of variance 2 / (inputs + outputs)."""
    return VarianceScaling(1.0, "fan_avg", "normal", seed, dtype)


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = float32
) -> Initializer:
    """Glorot's initializer, uniform or normal."""
    return VarianceScaling(1.0, "fan_avg", "uniform" if uniform else "normal", seed, dtype)


def he_normal(seed: int | None = None, dtype: Any = float32) -> Initializer:
    """Truncated normal of variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "normal", seed, dtype)


def he_uniform(seed: int | None = None, dtype: Any = float32) -> Initializer:
    """Uniform of variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed, dtype)


def lecun_normal(seed: int | None = None, dtype: Any = float32) -> Initializer:
    """Truncated normal of variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "normal", seed, dtype)


def lecun_uniform(seed: int | None = None, dtype: Any = float32) -> Initializer:
    """Uniform of variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed, dtype)
