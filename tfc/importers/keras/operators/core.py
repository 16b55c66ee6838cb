"""Dense layers, embeddings, and layers that change nothing when a model predicts."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.keras.layer import Layer, Variable
from tfc.importers.keras.operators.activations import activated
from tfc.importers.keras.operators.quantized import dense_product, einsum_product, with_scale
from tfc.importers.keras.table import Use, layer, with_bias


def floating(use: Use, x: Any) -> Any:
    """An array in what the layer computes in, whatever it was."""
    return x.astype(use.dtype)


@layer("InputLayer")
def input_layer(use: Use, *args: Any) -> Any:
    """The input itself; a model's inputs are no calls, so there is nothing to do."""
    raise UnsupportedError("an InputLayer is called")


@layer("Output", casts=False, remark="internal")
def output(use: Use, x: Any) -> Any:
    """A result of the model, without its mask."""
    return x


def _dense_variables(layer: Layer) -> list[Variable]:
    return with_scale(layer, with_bias("kernel")(layer))


@layer("Dense", variables=_dense_variables, mask="passes")
def dense(use: Use, x: Any, *, units: Any = None, activation: Any = None,
          use_bias: bool = True) -> Any:  # fmt: skip
    """x @ kernel + bias along the last axis."""
    if use.layer.is_int8:
        made = dense_product(use, floating(use, x))
    else:
        made = tnp.matmul(floating(use, x), use["kernel"])
    made = made + use["bias"] if use_bias else made
    return activated(use, activation, made)


def _einsum_variables(layer: Layer) -> list[Variable]:
    has_bias = layer.config.get("bias_axes") is not None
    names = ("kernel", *(["bias"] if has_bias else []))
    return with_scale(layer, [*map(Variable, names)])


@layer("EinsumDense", variables=_einsum_variables)
def einsum_dense(
    use: Use, x: Any, *, equation: str, output_shape: Any = None, activation: Any = None,
    bias_axes: Any = None,
) -> Any:  # fmt: skip
    """A sum of products by an equation."""
    if use.layer.is_int8:
        made = einsum_product(use, equation, floating(use, x))
    else:
        made = einsum(equation, floating(use, x), use["kernel"])
    made = made if bias_axes is None else made + use["bias"]
    return activated(use, activation, made)


def einsum(equation: str, x: Any, y: Any) -> Any:
    """NumPy's einsum, whose "..." Keras also writes with letters of its own."""
    return tnp.einsum(equation.replace(" ", ""), x, y)


def _shown(use: Use, mask: Any, result: Any) -> Any:
    return use.shown


def _embedding_variables(layer: Layer) -> list[Variable]:
    names = ["embeddings"]
    tied = layer.config.get("tie_weights", True)
    if layer.class_name == "ReversibleEmbedding" and not tied:
        names.append("reverse_embeddings")
    return with_scale(layer, [*map(Variable, names)])


@layer("Embedding", variables=_embedding_variables, mask=_shown, casts=False)
def embedding(use: Use, x: Any, *, input_dim: Any = None, output_dim: Any = None,
              mask_zero: bool = False) -> Any:  # fmt: skip
    """The rows of a table; with mask_zero, a mask of those that are not the first."""
    places = x.astype(np.int32) if x.dtype.kind not in "iu" else x
    use.shown = (x != 0) if mask_zero else None
    rows = tnp.take(use["embeddings"], places, axis=0, mode="clip")
    if not use.layer.is_int8:
        return rows
    scale = tnp.take(use["embeddings_scale"], places, axis=0, mode="clip")
    return rows.astype(use.dtype) / scale[..., None]


@layer("Masking", mask=_shown)
def masking(use: Use, x: Any, *, mask_value: Any = 0.0) -> Any:
    """Steps that have one value everywhere are masked, and become 0."""
    use.shown = tnp.any(x != mask_value, axis=-1)
    return x * use.shown[..., None].astype(x.dtype)


@layer("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "GaussianDropout",
       "GaussianNoise", "AlphaDropout", mask="passes",
       remark="the identity; calls with training=True are refused in Keras 2's files")  # fmt: skip
def dropout(
    use: Use, x: Any, training: bool = False, *, rate: Any = None, noise_shape: Any = None,
    stddev: Any = None, data_format: Any = None,
) -> Any:  # fmt: skip
    """The array itself.

    Raises:
        UnsupportedError: the call states that it is training.
    """
    if training:
        raise UnsupportedError(f"'{use.layer.name}' is called with training=True: not supported")
    return x


@layer("ActivityRegularization", "Identity", mask="passes")
def identity(use: Use, x: Any, *, l1: Any = None, l2: Any = None) -> Any:
    """The array itself."""
    return x
