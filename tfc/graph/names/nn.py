"""`tf.nn`: what networks are made of, under TensorFlow 1's names."""

# ruff: noqa: F401
# isort: off
# fmt: off
from tfc.graph.absent import absence as _absence
from tfc.graph.functions.activations import (
    batch_normalization, bias_add, crelu, dropout, elu, fused_batch_norm, l2_loss, l2_normalize,
    leaky_relu, local_response_normalization, log_sigmoid, log_softmax, lrn, moments,
    normalize_moments, relu, relu6, relu_layer, selu, softmax, softplus, softsign,
    sufficient_statistics, swish, xw_plus_b, zero_fraction,
)
from tfc.graph.functions.arithmetic import sigmoid, tanh
from tfc.graph.functions.convolutions import (
    atrous_conv2d, avg_pool, avg_pool3d, conv1d, conv2d, conv2d_backprop_filter,
    conv2d_backprop_input, conv2d_transpose, conv3d, conv3d_transpose, convolution,
    depthwise_conv2d, depthwise_conv2d_native, dilation2d, max_pool, max_pool3d,
    max_pool_with_argmax, separable_conv2d,
)
from tfc.graph.functions.cross_entropy import (
    in_top_k, log_poisson_loss, sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits, softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits, top_k, weighted_cross_entropy_with_logits,
)
from tfc.graph.functions.embeddings import embedding_lookup
from tfc.graph.names import rnn_cell
from tfc.graph.networks.recurrent import bidirectional_dynamic_rnn, dynamic_rnn, static_rnn
from tfc.graph.networks.sampled_losses import (
    log_uniform_candidate_sampler, nce_loss, sampled_softmax_loss,
)
# fmt: on
# isort: on


def __getattr__(name: str) -> object:
    """Nothing: says why TensorFlow's name is not here."""
    raise AttributeError(_absence(name, list(globals()), "tfc.graph.nn"), name=name)
