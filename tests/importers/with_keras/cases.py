"""Small models of Keras's layers, run as a script in a process that has Keras: saves each in both
formats, with random weights, beside its inputs and what Keras computes.

    python cases.py FOLDER [families or names of cases …]
"""

# ruff: noqa: E501, PLW0108 (a case is a line, whose layers are made when it is)
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from keras import layers as L
from keras import ops

RNG = np.random.default_rng(7)
Case = tuple[str, Callable[[], Any]]


def chain(shape: tuple[Any, ...], *parts: Any, dtype: str = "float32") -> Callable[[], Any]:
    """A model of an input and layers one after the other, which are made when it is."""

    def make() -> Any:
        first = value = keras.Input(shape, dtype=dtype)
        for part in parts:
            value = part()(value)
        return keras.Model(first, value)

    return make


def joined(*shapes: tuple[Any, ...], by: Callable[..., Any]) -> Callable[[], Any]:
    """A model of several inputs and a function of them."""

    def make() -> Any:
        inputs = [keras.Input(shape) for shape in shapes]
        return keras.Model(inputs, by(*inputs))

    return make


def dense_cases() -> Iterator[Case]:
    names = ("relu", "relu6", "sigmoid", "tanh", "softmax", "elu", "selu", "softplus", "softsign",
             "swish", "silu", "gelu", "exponential", "linear", "mish", "leaky_relu",
             "hard_sigmoid", "hard_silu", "hard_swish", "log_softmax", "celu", "log_sigmoid",
             "hard_tanh", "tanh_shrink", "hard_shrink", "soft_shrink", "squareplus",
             "sparse_plus", "sparse_sigmoid", "sparsemax", "glu")  # fmt: skip
    for name in names:
        yield f"activation_{name}", chain((3, 4), lambda name=name: L.Dense(6, activation=name))
    yield "mel", chain((300,), lambda: L.MelSpectrogram(
        num_mel_bins=6, fft_length=64, sequence_length=50, sequence_stride=32, sampling_rate=8000,
        max_freq=3500, top_db=30))  # fmt: skip
    yield "mel_power", chain((2, 200), lambda: L.MelSpectrogram(
        num_mel_bins=5, fft_length=64, sequence_stride=16, window="hamming", power_to_db=False,
        mag_exp=1.0))  # fmt: skip
    for count, mode in ((1, "int"), (3, "int"), (2, "multi_hot"), (1, "count")):
        yield (
            f"lookup_{mode}_{count}",
            chain(
                (4,),
                lambda count=count, mode=mode: L.IntegerLookup(
                    num_oov_indices=count, vocabulary=[4, 1, 9], output_mode=mode
                ),
                dtype="int64",
            ),
        )
    yield "lookup_mask", chain((4,), lambda: L.IntegerLookup(
        vocabulary=[0, -1, 4, 1], mask_token=0), dtype="int64")  # fmt: skip
    yield "int8_dense", chain((2, 5), lambda: L.Dense(6, "relu"), lambda: L.Dense(3))
    yield (
        "int8_rows",
        chain((4,), lambda: L.Embedding(9, 6),
              lambda: L.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de"),
              lambda: L.EinsumDense("abde,dec->abc", (None, 4)), dtype="int32"),
    )  # fmt: skip
    yield "dense", chain((5,), lambda: L.Dense(3))
    yield "dense_nobias", chain((2, 5), lambda: L.Dense(3, use_bias=False))
    yield "dense_layer_activation", chain((5,), lambda: L.Dense(3, activation=L.LeakyReLU()))
    yield (
        "einsum_dense",
        chain((4, 5), lambda: L.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de")),
    )
    yield "einsum_dense_ellipsis", chain((4, 5), lambda: L.EinsumDense("...x,xy->...y", (4, 3)))
    yield "relu_options", chain((5,), lambda: L.ReLU(1.0, 0.1, 0.2))
    yield "relu_max", chain((5,), lambda: L.ReLU(6.0))
    yield "leaky_relu", chain((5,), lambda: L.LeakyReLU(0.2))
    yield "leaky_relu_default", chain((5,), lambda: L.LeakyReLU())
    yield "elu_alpha", chain((5,), lambda: L.ELU(0.7))
    yield "prelu", chain((4, 5), lambda: L.PReLU())
    yield "prelu_shared", chain((4, 5, 3), lambda: L.PReLU(shared_axes=[1, 2]))
    yield "softmax_axis", chain((4, 5), lambda: L.Softmax(axis=1))
    yield "softmax_axes", chain((4, 5), lambda: L.Softmax(axis=(1, 2)))
    yield "dropouts", chain(
        (4, 5), lambda: L.Dropout(0.5), lambda: L.GaussianNoise(1.0), lambda: L.GaussianDropout(0.5),
        lambda: L.AlphaDropout(0.3), lambda: L.SpatialDropout1D(0.5),
        lambda: L.ActivityRegularization(0.1), lambda: L.Identity(), lambda: L.Dense(2),
    )  # fmt: skip
    for policy in ("mixed_float16", "mixed_bfloat16", "float16", "float64", "bfloat16"):
        yield (
            f"policy_{policy}",
            chain(
                (6,),
                lambda p=policy: L.Dense(4, dtype=p),
                lambda p=policy: L.LayerNormalization(dtype=p),
            ),
        )


def conv_cases() -> Iterator[Case]:
    for rank, shape in ((1, (11, 4)), (2, (9, 8, 4)), (3, (6, 5, 7, 4))):
        conv, back = getattr(L, f"Conv{rank}D"), getattr(L, f"Conv{rank}DTranspose")
        for padding in ("valid", "same"):
            for stride, dilation in ((1, 1), (2, 1), (1, 2), (3, 1)):
                yield (
                    f"conv{rank}_{padding}_{stride}_{dilation}",
                    chain(
                        shape,
                        lambda c=conv, s=stride, d=dilation, p=padding: c(
                            6, 3, s, p, dilation_rate=d, activation="relu"
                        ),
                    ),
                )
            for size, stride, extra in (
                (3, 1, None), (3, 2, None), (2, 2, None), (4, 2, None), (3, 2, 1), (5, 3, None),
                (4, 3, 1), (1, 2, None),
            ):  # fmt: skip
                if extra is not None and rank == 3:
                    continue
                yield (
                    f"conv{rank}t_{padding}_{size}_{stride}_{extra}",
                    chain(
                        shape,
                        lambda c=back, k=size, s=stride, e=extra, p=padding: c(
                            3, k, s, p, output_padding=e
                        ),
                    ),
                )
        yield f"conv{rank}_groups", chain(shape, lambda c=conv: c(6, 2, groups=2))
        pools = [getattr(L, f"{n}Pooling{rank}D") for n in ("Max", "Average")]
        for n, pool in enumerate(pools):
            for size, stride, padding in ((2, None, "valid"), (3, 2, "same"), (2, 1, "same")):
                yield (
                    f"pool{rank}_{n}_{size}_{stride}_{padding}",
                    chain(shape, lambda f=pool, k=size, s=stride, p=padding: f(k, s, p)),
                )
        for name in ("GlobalMaxPooling", "GlobalAveragePooling"):
            found = getattr(L, f"{name}{rank}D")
            yield f"{name}{rank}", chain(shape, lambda f=found: f())
            yield f"{name}{rank}_keep", chain(shape, lambda f=found: f(keepdims=True))
        for name, arg in (("ZeroPadding", 2), ("Cropping", 1), ("UpSampling", 2)):
            found = getattr(L, f"{name}{rank}D")
            yield f"{name}{rank}", chain(shape, lambda f=found, a=arg: f(a))
        for name in ("AdaptiveAveragePooling", "AdaptiveMaxPooling"):
            if hasattr(L, f"{name}{rank}D"):
                found = getattr(L, f"{name}{rank}D")
                yield f"{name}{rank}", chain(shape, lambda f=found: f(3))
    yield "conv1_causal", chain((11, 4), lambda: L.Conv1D(5, 3, padding="causal", dilation_rate=2))
    yield "conv2t_dilated", chain((6, 6, 3), lambda: L.Conv2DTranspose(4, 3, dilation_rate=2))
    for first in (False, True):
        order = "channels_first" if first else "channels_last"
        shape = (4, 9, 8) if first else (9, 8, 4)
        yield f"conv2_{order}", chain(
            shape, lambda o=order: L.ZeroPadding2D(((1, 2), (0, 1)), data_format=o),
            lambda o=order: L.Cropping2D(((0, 1), (1, 0)), data_format=o),
            lambda o=order: L.UpSampling2D((2, 1), data_format=o),
            lambda o=order: L.Flatten(data_format=o), lambda: L.Dense(2),
        )  # fmt: skip
    for stride, padding, multiplier, dilation in (
        (1, "same", 1, 1), (2, "valid", 2, 1), (2, "same", 1, 1), (1, "valid", 1, 2),
    ):  # fmt: skip
        tag = f"{stride}_{padding}_{multiplier}_{dilation}"
        options = {"strides": stride, "padding": padding, "depth_multiplier": multiplier,
                   "dilation_rate": dilation}  # fmt: skip
        yield f"depthwise1_{tag}", chain((9, 3), lambda o=options: L.DepthwiseConv1D(3, **o))
        yield f"depthwise2_{tag}", chain((9, 8, 3), lambda o=options: L.DepthwiseConv2D(3, **o))
        yield f"separable1_{tag}", chain((9, 3), lambda o=options: L.SeparableConv1D(5, 3, **o))
        yield f"separable2_{tag}", chain((9, 8, 3), lambda o=options: L.SeparableConv2D(5, 3, **o))
    for name in ("bilinear", "bicubic", "lanczos3", "lanczos5", "nearest"):
        yield (
            f"upsample_{name}",
            chain((5, 4, 3), lambda n=name: L.UpSampling2D((2, 3), interpolation=n)),
        )
        yield f"resize_{name}", chain((9, 8, 3), lambda n=name: L.Resizing(5, 12, interpolation=n))
    yield "resize_crop", chain((9, 8, 3), lambda: L.Resizing(5, 12, crop_to_aspect_ratio=True))


def normalization_cases() -> Iterator[Case]:
    for axis in (-1, 1, 2):
        yield f"batch_norm_{axis}", chain((4, 5, 3), lambda a=axis: L.BatchNormalization(axis=a))
        yield f"layer_norm_{axis}", chain((4, 5, 3), lambda a=axis: L.LayerNormalization(axis=a))
        yield f"unit_norm_{axis}", chain((4, 5, 3), lambda a=axis: L.UnitNormalization(axis=a))
    yield "rms_norm", chain((4, 5, 3), lambda: L.RMSNormalization())
    yield "batch_norm_plain", chain((4, 3), lambda: L.BatchNormalization(center=False, scale=False))
    yield "batch_norm_half", chain((4, 3), lambda: L.BatchNormalization(dtype="mixed_float16"))
    yield "layer_norm_two", chain((4, 5, 3), lambda: L.LayerNormalization(axis=(1, 2)))
    yield "layer_norm_plain", chain((4, 3), lambda: L.LayerNormalization(center=False, scale=False))
    yield "layer_norm_rms", chain((4, 3), lambda: L.LayerNormalization(rms_scaling=True))
    for groups in (1, 2, -1):
        yield f"group_norm_{groups}", chain((4, 5, 6), lambda g=groups: L.GroupNormalization(g))
    yield "group_norm_first", chain((6, 4, 5), lambda: L.GroupNormalization(3, axis=1))
    yield "unit_norm_two", chain((4, 5, 3), lambda: L.UnitNormalization(axis=(1, 2)))
    yield "spectral", chain((5,), lambda: L.SpectralNormalization(L.Dense(3)))

    def adapted(axis: Any, invert: bool = False) -> Any:
        made = L.Normalization(axis=axis, invert=invert)
        made.adapt(RNG.standard_normal((50, 4, 3)).astype(np.float32) * 3 + 2)
        return made

    for axis in (-1, None, (1, 2)):
        yield f"normalization_{axis}", chain((4, 3), lambda a=axis: adapted(a))
    yield "normalization_invert", chain((4, 3), lambda: adapted(-1, True))
    yield (
        "normalization_given",
        chain((4, 3), lambda: L.Normalization(mean=[1, 2, 3.0], variance=[2.0, 1, 3])),
    )


def shape_cases() -> Iterator[Case]:
    yield "reshape", chain((4, 6), lambda: L.Reshape((3, -1)))
    yield "flatten", chain((4, 6, 2), lambda: L.Flatten())
    yield "permute", chain((4, 6, 2), lambda: L.Permute((3, 1, 2)))
    yield "repeat", chain((4,), lambda: L.RepeatVector(3))
    yield "crop1", chain((9, 3), lambda: L.Cropping1D((2, 1)))
    yield "pad1", chain((9, 3), lambda: L.ZeroPadding1D((2, 1)))
    yield "crop3", chain((5, 6, 7, 2), lambda: L.Cropping3D(((1, 0), (2, 1), (0, 3))))
    yield "rescaling", chain((4, 3), lambda: L.Rescaling(1 / 255.0, -1.0))
    yield "rescaling_list", chain((4, 3), lambda: L.Rescaling([1.0, 2.0, 3.0], [0.1, 0.2, 0.3]))
    yield "center_crop", chain((9, 8, 3), lambda: L.CenterCrop(4, 5))
    yield "center_crop_small", chain((9, 8, 3), lambda: L.CenterCrop(12, 5))
    for mode in ("int", "one_hot", "multi_hot", "count"):
        yield (
            f"discretization_{mode}",
            chain((4,), lambda m=mode: L.Discretization([-0.5, 0.0, 0.5], output_mode=m)),
        )
        if mode != "int":
            yield f"category_{mode}", chain(
                (1 if mode == "one_hot" else 4,),
                lambda m=mode: L.CategoryEncoding(7, output_mode=m), dtype="int32",
            )  # fmt: skip
    yield "augmentation", chain(
        (9, 8, 3), lambda: L.RandomFlip(), lambda: L.RandomRotation(0.2), lambda: L.RandomZoom(0.1),
        lambda: L.RandomContrast(0.1), lambda: L.RandomTranslation(0.1, 0.1), lambda: L.Flatten(),
    )  # fmt: skip


def merge_cases() -> Iterator[Case]:
    for name in ("Add", "Multiply", "Average", "Maximum", "Minimum"):
        kind = getattr(L, name)
        yield f"merge_{name}", joined((4, 3), (4, 3), (4, 3), by=lambda *x, k=kind: k()(list(x)))
    yield "merge_subtract", joined((4, 3), (4, 3), by=lambda a, b: L.Subtract()([a, b]))
    yield "merge_wide", joined((4, 3), (1, 3), by=lambda a, b: L.Add()([a, b]))
    yield "merge_ranks", joined((4, 3), (3,), by=lambda a, b: L.Multiply()([a, b]))
    for axis in (-1, 1):
        yield (
            f"concatenate_{axis}",
            joined((4, 3), (4, 3), by=lambda a, b, x=axis: L.Concatenate(axis=x)([a, b])),
        )
    yield "dot_1", joined((4,), (4,), by=lambda a, b: L.Dot(axes=1)([a, b]))
    yield "dot_2", joined((4, 3), (5, 3), by=lambda a, b: L.Dot(axes=2)([a, b]))
    yield "dot_3", joined((4, 3), (4, 5), by=lambda a, b: L.Dot(axes=(1, 1))([a, b]))
    yield (
        "dot_normal",
        joined((4, 3), (5, 3), by=lambda a, b: L.Dot(axes=2, normalize=True)([a, b])),
    )


def recurrent_cases() -> Iterator[Case]:
    for name in ("SimpleRNN", "LSTM", "GRU"):
        kind = getattr(L, name)
        for options in (
            {}, {"return_sequences": True}, {"go_backwards": True, "return_sequences": True},
            {"go_backwards": True}, {"use_bias": False}, {"activation": "relu"}, {"unroll": True},
        ):  # fmt: skip
            tag = "_".join(options) or "plain"
            yield f"{name}_{tag}", chain((6, 3), lambda k=kind, o=options: k(4, **o))
            if "go_backwards" not in options:
                yield (
                    f"bi{name}_{tag}",
                    chain((6, 3), lambda k=kind, o=options: L.Bidirectional(k(4, **o))),
                )
                yield f"masked_{name}_{tag}", chain(
                    (6,), lambda: L.Embedding(5, 3, mask_zero=True), lambda k=kind, o=options: k(4, **o),
                    dtype="int32",
                )  # fmt: skip
                yield f"masked_bi{name}_{tag}", chain(
                    (6,), lambda: L.Embedding(5, 3, mask_zero=True),
                    lambda k=kind, o=options: L.Bidirectional(k(4, **o)), dtype="int32",
                )  # fmt: skip
        for mode in ("sum", "ave", "mul"):
            yield (
                f"bi{name}_{mode}",
                chain((6, 3), lambda k=kind, m=mode: L.Bidirectional(k(4), merge_mode=m)),
            )
        yield (
            f"{name}_state",
            joined(
                (6, 3), by=lambda x, k=kind: list(k(4, return_state=True, return_sequences=True)(x))
            ),
        )
        yield (
            f"bi{name}_state",
            joined((6, 3), by=lambda x, k=kind: list(L.Bidirectional(k(4, return_state=True))(x))),
        )
        yield (
            f"bi{name}_none",
            joined((6, 3), by=lambda x, k=kind: list(L.Bidirectional(k(4), merge_mode=None)(x))),
        )
        count = 2 if name == "LSTM" else 1
        yield (
            f"{name}_initial",
            joined(
                (6, 3), *[(4,)] * count, by=lambda x, *s, k=kind: k(4)(x, initial_state=list(s))
            ),
        )
        cell = getattr(L, f"{name}Cell")
        yield f"rnn_{name}", chain((6, 3), lambda c=cell: L.RNN(c(4), return_sequences=True))
        yield f"rnn_stack_{name}", chain((6, 3), lambda c=cell: L.RNN([c(4), c(5)]))
        yield (
            f"rnn_stack_state_{name}",
            joined(
                (6, 3),
                by=lambda x, c=cell: keras.tree.flatten(L.RNN([c(4), c(5)], return_state=True)(x)),
            ),
        )
        yield f"masked_zero_{name}", chain(
            (6, 3), lambda: L.Masking(0.5),
            lambda c=cell: L.RNN(c(4), return_sequences=True, zero_output_for_mask=True),
        )  # fmt: skip
    yield "gru_before", chain((6, 3), lambda: L.GRU(4, reset_after=False))
    yield "lstm_hard", chain((6, 3), lambda: L.LSTM(4, recurrent_activation="hard_sigmoid"))
    yield "lstm_half", chain((6, 3), lambda: L.LSTM(4, dtype="mixed_float16"))
    for rank, shape in ((1, (4, 7, 2)), (2, (4, 6, 5, 2)), (3, (3, 4, 5, 4, 2))):
        kind = getattr(L, f"ConvLSTM{rank}D")
        for options in ({}, {"padding": "same", "return_sequences": True}, {"strides": 2}):
            tag = "_".join(options) or "plain"
            yield f"conv_lstm{rank}_{tag}", chain(shape, lambda k=kind, o=options: k(3, 2, **o))
    yield "time_dense", chain((4, 5), lambda: L.TimeDistributed(L.Dense(3)))
    yield "time_conv", chain((4, 7, 6, 2), lambda: L.TimeDistributed(L.Conv2D(3, 2)))
    yield (
        "time_model",
        chain(
            (4, 5),
            lambda: L.TimeDistributed(
                keras.Sequential([keras.Input((5,)), L.Dense(3), L.Dense(2)])
            ),
        ),
    )
    yield "time_bi", chain((3, 4, 5), lambda: L.TimeDistributed(L.Bidirectional(L.LSTM(2))))
    yield "masked_pool", chain(
        (6,), lambda: L.Embedding(5, 3, mask_zero=True), lambda: L.Dense(4),
        lambda: L.GlobalAveragePooling1D(), dtype="int32",
    )  # fmt: skip
    yield "embedding", chain((6,), lambda: L.Embedding(5, 3), dtype="int32")
    yield "masked_time", chain(
        (6,), lambda: L.Embedding(5, 3, mask_zero=True), lambda: L.TimeDistributed(L.Dense(3)),
        lambda: L.LSTM(2), dtype="int32",
    )  # fmt: skip

    def both_masked(kind: Any) -> Any:
        first = keras.Input((6,), dtype="int32")
        one = L.Embedding(5, 3, mask_zero=True)(first)
        two = L.Embedding(5, 3, mask_zero=True)(first)
        return keras.Model(first, L.LSTM(3)(kind([one, L.Dropout(0.1)(two)])))

    yield "masked_add", lambda: both_masked(L.Add())
    yield "masked_concatenate", lambda: both_masked(L.Concatenate())


def attention_cases() -> Iterator[Case]:
    for options in ({}, {"use_scale": True}, {"score_mode": "concat"},
                    {"score_mode": "concat", "use_scale": True}):  # fmt: skip
        tag = "_".join(options) or "plain"
        yield (
            f"attention_{tag}",
            joined((4, 3), (5, 3), (5, 3), by=lambda *x, o=options: L.Attention(**o)(list(x))),
        )
    yield (
        "attention_causal",
        joined((4, 3), (4, 3), by=lambda *x: L.Attention()(list(x), use_causal_mask=True)),
    )
    yield (
        "attention_scores",
        joined(
            (4, 3), (4, 3), by=lambda *x: list(L.Attention()(list(x), return_attention_scores=True))
        ),
    )
    for scale in (True, False):
        yield (
            f"additive_{scale}",
            joined(
                (4, 3), (5, 3), by=lambda *x, s=scale: L.AdditiveAttention(use_scale=s)(list(x))
            ),
        )
    for options in ({}, {"value_dim": 5}, {"use_bias": False}, {"output_shape": 7}, {"dropout": 0.1},
                    {"use_gate": True}):  # fmt: skip
        tag = "_".join(options) or "plain"
        yield (
            f"mha_{tag}",
            joined(
                (4, 6), (5, 3), by=lambda a, b, o=options: L.MultiHeadAttention(2, 3, **o)(a, b)
            ),
        )
    yield (
        "mha_causal",
        joined((4, 6), by=lambda a: L.MultiHeadAttention(2, 3)(a, a, use_causal_mask=True)),
    )
    yield (
        "mha_key",
        joined((4, 6), (5, 3), (5, 2), by=lambda a, b, c: L.MultiHeadAttention(2, 3)(a, b, key=c)),
    )
    yield (
        "mha_scores",
        joined(
            (4, 6),
            by=lambda a: list(L.MultiHeadAttention(2, 3)(a, a, return_attention_scores=True)),
        ),
    )
    yield (
        "mha_axes",
        joined((4, 5, 6), by=lambda a: L.MultiHeadAttention(2, 3, attention_axes=(1,))(a, a)),
    )
    yield "mha_2d", joined((4, 5, 6), by=lambda a: L.MultiHeadAttention(2, 3)(a, a))
    yield (
        "mha_window",
        joined((6, 6), by=lambda a: L.MultiHeadAttention(2, 3, sliding_window=2)(a, a)),
    )
    yield "gqa", joined((4, 6), (5, 6), by=lambda a, b: L.GroupQueryAttention(3, 4, 2)(a, b))
    yield (
        "gqa_causal",
        joined((4, 6), by=lambda a: L.GroupQueryAttention(3, 4, 2)(a, a, use_causal_mask=True)),
    )

    def masked(kind: Any) -> Any:
        first = keras.Input((6,), dtype="int32")
        value = L.Embedding(5, 4, mask_zero=True)(first)
        return keras.Model(first, L.GlobalAveragePooling1D()(kind(value)))

    yield "masked_mha", lambda: masked(lambda v: L.MultiHeadAttention(2, 3)(v, v))
    yield (
        "masked_mha_dropout",
        lambda: masked(lambda v: L.MultiHeadAttention(2, 3, dropout=0.1)(v, v)),
    )
    yield "masked_gqa", lambda: masked(lambda v: L.GroupQueryAttention(3, 4, 2)(v, v))
    yield "masked_attention", lambda: masked(lambda v: L.Attention()([v, v]))
    yield "masked_additive", lambda: masked(lambda v: L.AdditiveAttention()([v, v]))
    yield "masked_softmax", lambda: masked(lambda v: L.LayerNormalization()(v))

    def with_mask() -> Any:
        first, mask = keras.Input((4, 6)), keras.Input((4, 4), dtype="bool")
        return keras.Model(
            [first, mask], L.MultiHeadAttention(2, 3)(first, first, attention_mask=mask)
        )

    yield "mha_given_mask", with_mask


def operation_cases() -> Iterator[Case]:
    one = {
        "exp": ops.exp, "tanh": ops.tanh, "square": ops.square, "abs": ops.abs, "relu": ops.relu,
        "softmax": ops.softmax, "gelu": ops.gelu, "silu": ops.silu, "neg": ops.negative,
        "mean": lambda x: ops.mean(x, axis=1), "sum": lambda x: ops.sum(x, axis=-1, keepdims=True),
        "max": lambda x: ops.max(x, axis=(1, 2)), "std": lambda x: ops.std(x, axis=1),
        "reshape": lambda x: ops.reshape(x, (-1, 12)), "transpose": lambda x: ops.transpose(x, (0, 2, 1)),
        "expand": lambda x: ops.expand_dims(x, -1), "squeeze": lambda x: ops.squeeze(x[:, :1], 1),
        "getitem": lambda x: x[:, 1:, ::2], "ellipsis": lambda x: x[..., -1],
        "newaxis": lambda x: x[:, None, :, 0], "clip": lambda x: ops.clip(x, -0.5, 0.5),
        "scalar": lambda x: 1.0 - x * 2 + 3, "power": lambda x: ops.power(ops.abs(x), 1.5),
        "divide": lambda x: x / 3, "split": lambda x: list(ops.split(x, 3, axis=-1)),
        "cast": lambda x: ops.cast(x * 10, "int32"), "concat": lambda x: ops.concatenate([x, x], -1),
        "stack": lambda x: ops.stack([x, x], axis=1), "tile": lambda x: ops.tile(x, (1, 2, 1)),
        "pad": lambda x: ops.pad(x, ((0, 0), (1, 2), (0, 0))), "flip": lambda x: ops.flip(x, 1),
        "repeat": lambda x: ops.repeat(x, 2, axis=1), "where": lambda x: ops.where(x > 0, x, 0.1 * x),
        "einsum": lambda x: ops.einsum("bij,bkj->bik", x, x), "argmax": lambda x: ops.argmax(x, -1),
        "matmul": lambda x: ops.matmul(x, ops.transpose(x, (0, 2, 1))), "cumsum": lambda x: ops.cumsum(x, 1),
        "logsumexp": lambda x: ops.logsumexp(x, axis=1), "topk": lambda x: list(ops.top_k(x, 2)),
        "normalize": lambda x: ops.normalize(x, axis=-1), "norm": lambda x: ops.norm(x, axis=-1),
        "maximum": lambda x: ops.maximum(x, 0.2), "rsqrt": lambda x: ops.rsqrt(ops.abs(x) + 1),
        "compare": lambda x: ops.logical_and(x > 0, x < 0.5), "take": lambda x: ops.take(x, [0, 2], axis=1),
        "leaky": lambda x: ops.leaky_relu(x), "one_hot": lambda x: ops.one_hot(ops.argmax(x, -1), 3),
        "activation_function": lambda x: keras.activations.relu(x, max_value=0.5),
        "rest": lambda x: ops.mod(x, 0.3) + ops.floor(x) + ops.sign(x),
    }  # fmt: skip
    for name, function in one.items():
        yield f"op_{name}", joined((4, 3), by=function)
    yield "op_two", joined((4, 3), (4, 3), by=lambda a, b: ops.add(a, b) * ops.subtract(a, b))
    yield "op_resize", joined((6, 5, 2), by=lambda x: ops.image.resize(x, (4, 7)))
    yield "op_pool", joined((6, 5, 2), by=lambda x: ops.max_pool(x, 2))


def structure_cases() -> Iterator[Case]:
    def shared() -> Any:
        a, b = keras.Input((4,), name="left"), keras.Input((4,), name="right")
        dense = L.Dense(3, activation="tanh")
        both = L.Concatenate()([dense(a), dense(b)])
        return keras.Model([a, b], [both, dense(a)])

    def nested(frozen: bool = False) -> Any:
        inner_in = keras.Input((5, 3))
        inner = keras.Model(
            inner_in,
            [L.BatchNormalization()(L.Dense(4)(inner_in)), L.LayerNormalization()(inner_in)],
        )
        inner.trainable = not frozen
        first = keras.Input((5, 3))
        one, two = inner(first)
        three, _ = inner(first * 2.0)
        return keras.Model(first, L.Dense(2)(L.Concatenate()([one, two, three])))

    def partly() -> Any:
        made = nested()
        for layer in made.layers[1:]:
            if hasattr(layer, "layers"):
                layer.layers[2].trainable = False
        return made

    def deep() -> Any:
        inner = keras.Sequential([keras.Input((4,)), L.Dense(4), L.BatchNormalization()])
        middle_in = keras.Input((4,))
        middle = keras.Model(middle_in, inner(inner(middle_in)) + middle_in)
        first = keras.Input((4,))
        return keras.Model(first, middle(middle(first)))

    def named() -> Any:
        a, b = keras.Input((4,), name="alpha"), keras.Input((4,), name="beta")
        return keras.Model({"b": b, "a": a}, {"sum": L.Add()([a, b]), "dense": L.Dense(2)(a)})

    def identity() -> Any:
        a = keras.Input((4,))
        return keras.Model(a, [a, L.Dense(2)(a)])

    yield "shared", shared
    yield "nested", nested
    yield "nested_frozen", lambda: nested(True)
    yield "nested_partly", partly
    yield "nested_deep", deep
    yield "named", named
    yield "identity", identity
    yield (
        "sequential",
        lambda: keras.Sequential(
            [keras.Input((9, 8, 3)), L.Conv2D(4, 3), L.MaxPooling2D(), L.Flatten(), L.Dense(5)]
        ),
    )
    yield (
        "sequential_nested",
        lambda: keras.Sequential(
            [keras.Input((4,)), keras.Sequential([L.Dense(5), L.BatchNormalization()]), L.Dense(2)]
        ),
    )


def network_cases() -> Iterator[Case]:
    """Whole networks, which take longer."""
    apps = keras.applications
    yield "resnet50", lambda: apps.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10)
    yield (
        "mobilenet_v2",
        lambda: apps.MobileNetV2(weights=None, input_shape=(64, 64, 3), classes=10),
    )
    yield (
        "mobilenet_v3",
        lambda: apps.MobileNetV3Small(weights=None, input_shape=(64, 64, 3), classes=10),
    )
    yield (
        "efficientnet_b0",
        lambda: apps.EfficientNetB0(weights=None, input_shape=(64, 64, 3), classes=10),
    )
    yield "text", lambda: keras.Sequential(
        [keras.Input((20,), dtype="int32"), L.Embedding(50, 16, mask_zero=True),
         L.Bidirectional(L.LSTM(8, return_sequences=True)), L.LSTM(8), L.Dense(3, "softmax")]
    )  # fmt: skip
    yield "encoder", encoder


def encoder() -> Any:
    """Two layers of a transformer over tokens with places."""
    tokens = keras.Input((12,), dtype="int32")
    x = L.Embedding(30, 16, mask_zero=True)(tokens)
    x = x + L.Embedding(12, 16)(ops.arange(12))
    x = L.LayerNormalization()(x)
    for _ in range(2):
        attended = L.MultiHeadAttention(4, 4, dropout=0.1)(x, x)
        x = L.LayerNormalization()(L.Add()([x, L.Dropout(0.1)(attended)]))
        inner = L.Dense(16)(L.Dense(32, activation="gelu")(x))
        x = L.LayerNormalization()(L.Add()([x, inner]))
    return keras.Model(tokens, L.Dense(3, "softmax")(x[:, 0]))


FAMILIES = {
    "dense": dense_cases, "conv": conv_cases, "normalization": normalization_cases,
    "shape": shape_cases, "merge": merge_cases, "recurrent": recurrent_cases,
    "attention": attention_cases, "operation": operation_cases, "structure": structure_cases,
    "network": network_cases,
}  # fmt: skip


def randomize(model: Any) -> None:
    """Give weights random values, variances positive ones."""
    kept = {
        id(weight) for layer in model.layers if isinstance(layer, L.Normalization)
        for weight in layer.weights
    }  # fmt: skip
    for weight in model.weights:
        if id(weight) in kept:
            continue
        if weight.dtype == "int64" or weight.dtype == "int32" or weight.dtype == "uint32":
            continue
        value = RNG.standard_normal(weight.shape) * 0.3
        if "variance" in weight.name or "gamma" in weight.name:
            value = np.abs(value) + 0.7
        weight.assign(value.astype(np.float32))


def example(port: Any, batch: int) -> np.ndarray:
    """Random input of the shape and dtype of a model's."""
    shape = (batch, *(5 if d is None else d for d in port.shape[1:]))
    kind = str(port.dtype)
    if kind.startswith("int"):
        return RNG.integers(0, 5, shape).astype(kind)
    if kind == "bool":
        return RNG.integers(0, 3, shape) > 0
    return RNG.standard_normal(shape).astype(kind)


def save(name: str, make: Callable[[], Any], folder: Path) -> None:
    """Save a case: name.keras, name.h5, name.npz with inputs in0 … and outputs out0 …."""
    keras.utils.clear_session()
    model = make()
    randomize(model)
    if name.startswith("int8"):
        model.quantize("int8")
    inputs = [example(port, 2) for port in model.inputs]
    given = inputs if len(inputs) > 1 else inputs[0]
    if isinstance(model._inputs_struct if hasattr(model, "_inputs_struct") else None, dict):
        by_name = {t.name: v for t, v in zip(model.inputs, inputs)}
        given = {k: by_name[t.name] for k, t in model._inputs_struct.items()}
    outputs = keras.tree.flatten(model(given, training=False))
    found = {f"in{n}": v for n, v in enumerate(inputs)}
    arrays = [keras.ops.convert_to_numpy(v) for v in outputs]
    wide = [a.astype(np.float32) if a.dtype.name == "bfloat16" else a for a in arrays]
    found |= {f"out{n}": a for n, a in enumerate(wide)}
    np.savez(folder / f"{name}.npz", **found)
    model.save(folder / f"{name}.keras")
    try:
        model.save(folder / f"{name}.h5")
    except Exception as error:
        (folder / f"{name}.h5.txt").write_text(f"{type(error).__name__}: {error}")


def main(folder: Path, wanted: list[str]) -> None:
    """Save the cases of families, or those of the names; all if there are none."""
    folder.mkdir(parents=True, exist_ok=True)
    for family, cases in FAMILIES.items():
        for name, make in cases():
            if wanted and not {family, name}.intersection(wanted):
                continue
            try:
                save(name, make, folder)
            except Exception as error:
                (folder / f"{name}.txt").write_text(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
