"""Names and options of layers that later versions of Keras call otherwise."""

from collections.abc import Mapping
from typing import Any

_CLASSES = {
    "Convolution1D": "Conv1D", "Convolution2D": "Conv2D", "Convolution3D": "Conv3D",
    "AtrousConvolution1D": "Conv1D", "AtrousConvolution2D": "Conv2D",
    "Deconvolution2D": "Conv2DTranspose", "SeparableConvolution2D": "SeparableConv2D",
    "TimeDistributedDense": "Dense", "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization", "SyncBatchNormalization": "BatchNormalization",
}  # fmt: skip
# Options of Keras 1 that have another name, and those that mean nothing any more.
_OPTIONS = {
    "border_mode": "padding", "dim_ordering": "data_format", "bias": "use_bias",
    "inner_activation": "recurrent_activation", "inner_init": "recurrent_initializer",
    "p": "rate", "sigma": "stddev",
}  # fmt: skip
_GONE = (
    "init", "W_regularizer", "b_regularizer", "U_regularizer", "W_constraint", "b_constraint",
    "dropout_W", "dropout_U", "consume_less", "weights", "beta_init", "gamma_init",
    "forget_bias_init", "inner_init", "gamma_regularizer", "beta_regularizer", "mode_axis",
)  # fmt: skip
_ORDERS = {"tf": "channels_last", "th": "channels_first", "default": "channels_last"}
_UNITS = ("Dense", "LSTM", "GRU", "SimpleRNN", "Embedding", "Highway")
_POOLS = ("MaxPooling", "AveragePooling")


def modern(class_name: str, config: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A layer's class and config in the words of Keras 2."""
    given = {k: v for k, v in config.items() if k not in _GONE}
    made = {_OPTIONS.get(k, k): v for k, v in given.items()}
    if class_name == "UpSampling1D" and "length" in made:
        made["size"] = made.pop("length")
    if made.get("data_format") in _ORDERS:
        made["data_format"] = _ORDERS[made["data_format"]]
    rate = made.pop("atrous_rate", None)
    if rate is not None:
        made["dilation_rate"] = rate
    if "nb_filter" in made:
        made["filters"] = made.pop("nb_filter")
    if "nb_row" in made:
        made["kernel_size"] = [made.pop("nb_row"), made.pop("nb_col")]
    if "kernel_dim1" in made:
        made["kernel_size"] = [made.pop(f"kernel_dim{n}") for n in (1, 2, 3)]
    if "filter_length" in made:
        made["kernel_size"] = made.pop("filter_length")
    for name in ("subsample", "subsample_length"):
        if name in made:
            made["strides"] = made.pop(name)
    if "output_dim" in made and class_name in _UNITS and class_name != "Embedding":
        made["units"] = made.pop("output_dim")
    if class_name.startswith(_POOLS):
        for old, new in (("pool_length", "pool_size"), ("stride", "strides")):
            if old in made:
                made[new] = made.pop(old)
    if class_name == "Merge":
        return _merged(made)
    return _CLASSES.get(class_name, class_name), made


_MODES = {
    "sum": "Add", "mul": "Multiply", "ave": "Average", "max": "Maximum", "concat": "Concatenate",
    "dot": "Dot", "cos": "Dot",
}  # fmt: skip


def _merged(config: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The layer that a Merge of a mode is."""
    mode = config.get("mode")
    kept = {k: v for k, v in config.items() if k in ("name", "trainable", "dtype")}
    if mode == "concat":
        kept["axis"] = config.get("concat_axis", -1)
    elif mode in ("dot", "cos"):
        kept |= {"axes": config.get("dot_axes", -1), "normalize": mode == "cos"}
    return _MODES.get(str(mode), "Merge"), kept
