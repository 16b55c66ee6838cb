"""`tf.layers`: layers with variables of their own, as classes and as functions."""

from typing import Any

from tfc.errors import ShapeError
from tfc.graph.building import int32s, operation, result
from tfc.graph.constants import constant, convert_to_tensor
from tfc.graph.functions.activations import batch_normalization as normalized
from tfc.graph.functions.activations import bias_add, moments
from tfc.graph.functions.activations import dropout as dropped
from tfc.graph.functions.arithmetic import multiply, subtract
from tfc.graph.functions.convolutions import avg_pool, max_pool
from tfc.graph.functions.convolutions import conv2d as convolved
from tfc.graph.functions.products import matmul, tensordot
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.variables.initializers import Ones, Zeros
from tfc.graph.variables.keys import GraphKeys
from tfc.graph.variables.scopes import get_variable, variable_scope


class Layer:
    """What makes its variables when it is called first, and uses them again afterwards.

    kind: the name of its scope, where none is stated.
    """

    kind = "layer"

    def __init__(self, name: str | None = None, reuse: Any = None, trainable: bool = True):
        self._name, self._reuse, self._trainable = name, reuse, trainable
        self._scope: str | None = None

    def __call__(self, inputs: Any, **more: Any) -> Tensor:
        """The layer's result."""
        x = convert_to_tensor(inputs)
        if self._scope is not None:
            with get_default_graph().name_scope(self._scope.rpartition("/")[2]):
                return self.call(x, **more)
        with variable_scope(self._name, default_name=self.kind, reuse=self._reuse) as scope:
            self._scope = scope.name
            self.build(x)
            return self.call(x, **more)

    def build(self, x: Tensor) -> None:
        """Make the variables for inputs of a shape."""

    def call(self, x: Tensor) -> Tensor:
        """The result for inputs."""
        raise NotImplementedError

    def variable(self, name: str, shape: Any, x: Tensor, initializer: Any, **more: Any) -> Any:
        """A variable of the layer, of its inputs' dtype."""
        given = {"trainable": self._trainable, **more}
        return get_variable(name, shape, x.dtype, initializer, **given)


def _size(x: Tensor, axis: int) -> int:
    """A dimension that a variable's shape needs.

    Raises:
        ShapeError: it is not known.
    """
    dims = x.shape.dims
    size = None if dims is None else dims[axis]
    if size is None:
        raise ShapeError(f"dimension {axis} of the inputs of a layer must be known, got {x.shape}")
    return size


class Dense(Layer):
    """A product with a matrix along the last dimension, and a number added to each unit."""

    kind = "dense"

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        reuse: Any = None,
    ):
        super().__init__(name, reuse, trainable)
        self.units, self.activation, self.use_bias = int(units), activation, use_bias
        self._initializers = (kernel_initializer, bias_initializer or Zeros())
        self._regularizers = (kernel_regularizer, bias_regularizer)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, x: Tensor) -> None:
        """Make the matrix and the numbers."""
        kernel, bias = self._initializers
        dims, of_kernel, of_bias = [_size(x, -1), self.units], *self._regularizers
        self.kernel = self.variable("kernel", dims, x, kernel, regularizer=of_kernel)
        if self.use_bias:
            self.bias = self.variable("bias", [self.units], x, bias, regularizer=of_bias)

    def call(self, x: Tensor) -> Tensor:
        """The product, with what is added, activated."""
        rank = x.shape.ndims or 2
        made = matmul(x, self.kernel) if rank == 2 else tensordot(x, self.kernel, [[rank - 1], [0]])
        if self.bias is not None:
            made = bias_add(made, self.bias)
        return made if self.activation is None else self.activation(made)


class Conv2D(Layer):
    """A convolution of images, and a number added to each channel."""

    kind = "conv2d"

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = (1, 1),
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        reuse: Any = None,
    ):
        super().__init__(name, reuse, trainable)
        self.filters, self.activation, self.use_bias = int(filters), activation, use_bias
        self._window, self._strides = _pair(kernel_size), _pair(strides)
        self._padding, self._form = padding.upper(), _format(data_format)
        self._dilation = _pair(dilation_rate)
        self._initializers = (kernel_initializer, bias_initializer or Zeros())
        self._regularizers = (kernel_regularizer, bias_regularizer)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, x: Tensor) -> None:
        """Make the filter and the numbers."""
        channels = _size(x, 1 if self._form == "NCHW" else -1)
        kernel, bias = self._initializers
        dims, of_kernel, of_bias = [*self._window, channels, self.filters], *self._regularizers
        self.kernel = self.variable("kernel", dims, x, kernel, regularizer=of_kernel)
        if self.use_bias:
            self.bias = self.variable("bias", [self.filters], x, bias, regularizer=of_bias)

    def call(self, x: Tensor) -> Tensor:
        """The convolution, with what is added, activated."""
        made = convolved(
            x, self.kernel, self._strides, self._padding, True, self._form, self._dilation
        )
        if self.bias is not None:
            made = bias_add(made, self.bias, self._form)
        return made if self.activation is None else self.activation(made)


def _pair(numbers: Any) -> list[int]:
    return [int(numbers)] * 2 if isinstance(numbers, int) else [int(n) for n in numbers]


def _format(data_format: str) -> str:
    forms = {"channels_last": "NHWC", "channels_first": "NCHW"}
    if data_format not in forms:
        raise ShapeError(f"data_format is channels_last or channels_first, got {data_format!r}")
    return forms[data_format]


class BatchNormalization(Layer):
    """Normalization by the batch in training, by moving averages otherwise.

    The averages are changed by operations in the collection UPDATE_OPS, which a training step
    runs with it.
    """

    kind = "batch_normalization"

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        trainable: bool = True,
        name: str | None = None,
        reuse: Any = None,
    ):
        super().__init__(name, reuse, trainable)
        self._axis, self._momentum, self._epsilon = axis, momentum, epsilon
        self._center, self._scale = center, scale
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, x: Tensor) -> None:
        """Make the factors, what is added, and the averages."""
        dims = [_size(x, self._axis)]
        if self._scale:
            self.gamma = self.variable("gamma", dims, x, Ones())
        if self._center:
            self.beta = self.variable("beta", dims, x, Zeros())
        self.moving_mean = self.variable("moving_mean", dims, x, Zeros(), trainable=False)
        self.moving_variance = self.variable("moving_variance", dims, x, Ones(), trainable=False)

    def call(self, x: Tensor, training: bool = False) -> Tensor:
        """The inputs normalized.

        Raises:
            ShapeError: `training` is a tensor: two graphs, or `cond`, are what that needs.
        """
        if isinstance(training, Tensor):
            raise ShapeError("batch_normalization takes training=True or False, not a tensor")
        rank = x.shape.ndims or 0
        own = self._axis % rank
        shape = [-1 if n == own else 1 for n in range(rank)]
        mean, variance = self.moving_mean, self.moving_variance
        if training:
            axes = [n for n in range(rank) if n != own]
            mean, variance = moments(x, axes)
            for average, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
                self._update(average, value)
        middle, spread, offset, scale = (
            None if v is None else result("Reshape", convert_to_tensor(v), int32s(shape))
            for v in (mean, variance, self.beta, self.gamma)
        )
        return normalized(x, middle, spread, offset, scale, self._epsilon)

    def _update(self, average: Any, value: Tensor) -> None:
        rest = constant(1 - self._momentum, value.dtype)
        change = multiply(subtract(convert_to_tensor(average), value), rest)
        updated = average.assign_sub(change)
        get_default_graph().add_to_collection(GraphKeys.UPDATE_OPS, updated.op)


def dense(inputs: Any, units: int, *rest: Any, **options: Any) -> Tensor:
    """A new `Dense` layer's result."""
    return Dense(units, *rest, **options)(inputs)


def conv2d(inputs: Any, filters: int, kernel_size: Any, *rest: Any, **options: Any) -> Tensor:
    """A new `Conv2D` layer's result."""
    return Conv2D(filters, kernel_size, *rest, **options)(inputs)


def batch_normalization(inputs: Any, training: bool = False, **options: Any) -> Tensor:
    """A new `BatchNormalization` layer's result."""
    return BatchNormalization(**options)(inputs, training=training)


def max_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window."""
    with get_default_graph().name_scope(name or "max_pooling2d"):
        form = _format(data_format)
        return max_pool(inputs, _pair(pool_size), _pair(strides), padding.upper(), form)


def average_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The mean of each window."""
    with get_default_graph().name_scope(name or "average_pooling2d"):
        form = _format(data_format)
        return avg_pool(inputs, _pair(pool_size), _pair(strides), padding.upper(), form)


def dropout(
    inputs: Any,
    rate: float = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: Any = False,
    name: str | None = None,
) -> Tensor:
    """In training, elements are 0 with a probability; otherwise the inputs themselves.

    Args:
        training: whether it is; may be a boolean tensor.
    """
    with get_default_graph().name_scope(name or "dropout"):
        x = convert_to_tensor(inputs)
        if isinstance(training, Tensor):
            return result("SelectV2", training, dropped(x, 1 - rate, noise_shape, seed), x)
        if not training:
            return result("Identity", x)
        return dropped(x, 1 - rate, noise_shape, seed)


def flatten(inputs: Any, name: str | None = None) -> Tensor:
    """The elements of each example in one dimension."""
    with get_default_graph().name_scope(name or "flatten"):
        x = convert_to_tensor(inputs)
        rest = x.shape[1:].num_elements()
        if rest is None:
            raise ShapeError(f"flatten takes examples of known shape, got {x.shape}")
        made = operation("Reshape", [x, int32s([-1, rest])], "Reshape").outputs[0]
        made.set_shape([x.shape[0].value, rest])
        return made
