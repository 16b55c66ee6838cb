"""Graph mode: programs that build a graph and run it in sessions, under TensorFlow 1's names.

    import tfc.graph as tf

    x = tf.placeholder(tf.float32, [None, 3])
    with tf.Session() as session:
        session.run(x, {x: [[1, 2, 3]]})

A graph holds operations of TensorFlow's names; what each computes is a row in `operators`, written
in tfc's own functions, so that a run is traced, compiled and run like any other program.
Every name below that does not begin with an underscore is public.
"""

# ruff: noqa: F401
# isort: off
# fmt: off
from tfc.graph import test
from tfc.graph.eager.execution import enable_eager_execution
from tfc.graph.eager.execution import executing_eagerly
from tfc.graph.eager.tapes import GradientTape
from tfc.graph.control.tensor_array import TensorArray
from tfc.graph.control.functional import foldl
from tfc.graph.control.functional import foldr
from tfc.graph.control.functional import map_fn
from tfc.graph.control.functional import scan
from tfc.graph.functions.python_functions import py_func
from tfc.graph.control.branches import case, cond
from tfc.graph.control.loops import while_loop
from tfc.graph import errors
from tfc.graph.absent import absence as _absence
from tfc.graph.constants import constant, convert_to_tensor
from tfc.graph.defaults import get_default_session
from tfc.graph.functions.arithmetic import (
    abs, acos, acosh, add, add_n, angle, asin, asinh, atan, atan2, atanh, cast, ceil, clip_by_value,
    complex, conj, cos, cosh, digamma, div, div_no_nan, divide, equal, erf, erfc, exp, expm1, floor,
    floor_div, floordiv, floormod, greater, greater_equal, imag, is_finite, is_inf, is_nan, less,
    less_equal, lgamma, log, log1p, logical_and, logical_not, logical_or, logical_xor, maximum,
    minimum, mod, multiply, negative, not_equal, polygamma, pow, real, realdiv, reciprocal, rint,
    round, rsqrt, saturate_cast, scalar_mul, sigmoid, sign, sin, sinh, sqrt, square,
    squared_difference, subtract, tan, tanh, to_bfloat16, to_complex64, to_double, to_float,
    to_int32, to_int64, truediv, truncatediv, truncatemod, zeta,
)
from tfc.graph.functions.arrays import (
    boolean_mask, broadcast_dynamic_shape, broadcast_static_shape, broadcast_to, concat,
    expand_dims, gather, gather_nd, invert_permutation, matrix_transpose, meshgrid, newaxis,
    one_hot, pad, parallel_stack, reshape, reverse, reverse_sequence, reverse_v2, roll, slice,
    split, squeeze, stack, strided_slice, tile, transpose, unstack, where,
)
from tfc.graph.functions.blocks import (
    batch_to_space, batch_to_space_nd, bitcast, depth_to_space, fake_quant_with_min_max_args,
    fake_quant_with_min_max_vars, fake_quant_with_min_max_vars_per_channel, space_to_batch,
    space_to_batch_nd, space_to_depth,
)
from tfc.graph.functions.checks import (
    Assert, Print, assert_equal, assert_greater, assert_greater_equal, assert_less,
    assert_less_equal, assert_negative, assert_non_negative, assert_non_positive, assert_none_equal,
    assert_positive, assert_rank, assert_rank_at_least, assert_type, check_numerics, ensure_shape,
    verify_tensor_all_finite,
)
from tfc.graph.functions.clipping import (
    clip_by_average_norm, clip_by_global_norm, clip_by_norm, global_norm,
)
from tfc.graph.functions.creation import (
    eye, fill, group, identity, identity_n, lin_space, linspace, no_op, ones, ones_like,
    placeholder, placeholder_with_default, range, rank, sequence_mask, shape, shape_n, size, tuple_
    as tuple, zeros, zeros_like,
)
from tfc.graph.functions.matrices import (
    cholesky, cholesky_solve, diag, diag_part, expm, fft, fft2d, fft3d, ifft, ifft2d, ifft3d, irfft,
    irfft2d, log_matrix_determinant, matrix_band_part, matrix_determinant, matrix_diag,
    matrix_diag_part, matrix_inverse, matrix_set_diag, matrix_solve, matrix_triangular_solve, norm,
    qr, rfft, rfft2d, self_adjoint_eig, self_adjoint_eigvals, slogdet, svd,
)
from tfc.graph.functions.products import (
    cross, einsum, matmul, tensordot, trace,
)
from tfc.graph.functions.random import (
    multinomial, random_crop, random_gamma, random_normal, random_poisson, random_shuffle,
    random_uniform, set_random_seed, truncated_normal,
)
from tfc.graph.functions.reductions import (
    accumulate_n, arg_max, arg_min, argmax, argmin, count_nonzero, cumprod, cumsum, reduce_all,
    reduce_any, reduce_euclidean_norm, reduce_logsumexp, reduce_max, reduce_mean, reduce_min,
    reduce_prod, reduce_sum,
)
from tfc.graph.functions.segments import (
    argsort, bincount, confusion_matrix, dynamic_partition, dynamic_stitch, histogram_fixed_width,
    histogram_fixed_width_bins, listdiff, scatter_nd, segment_max, segment_mean, segment_min,
    segment_prod, segment_sum, setdiff1d, sort, sparse_segment_mean, sparse_segment_sum,
    tensor_scatter_add, tensor_scatter_sub, tensor_scatter_update, unique, unique_with_counts,
    unsorted_segment_max, unsorted_segment_mean, unsorted_segment_min, unsorted_segment_prod,
    unsorted_segment_sum,
)
# end of functions
from tfc.graph.names import bitwise, image, initializers, layers, linalg, losses, metrics, nn
from tfc.graph.functions import python_operators as _python_operators
from tfc.graph.operation import Operation, Tensor
from tfc.graph.scopes import (
    add_to_collection, add_to_collections, colocate_with, control_dependencies, device,
    get_collection, get_collection_ref, name_scope, op_scope,
)
from tfc.graph.types.dtypes import (
    DType, as_dtype, bfloat16, bool_ as bool, complex64, complex128, double, float16, float32,
    float64, half, int8, int16, int32, int64, qint8, qint16, qint32, quint8, quint16, resource,
    string, uint8, uint16, uint32, uint64, variant,
)
from tfc.graph.types.shapes import Dimension, TensorShape
# fmt: on
# isort: on

from tfc.graph import contrib, graph_util, timeline, train
from tfc.graph.differentiation.functions import (
    custom_gradient,
    hessians,
    prevent_gradient,
    stop_gradient,
)
from tfc.graph.differentiation.gradients import AggregationMethod, gradients
from tfc.graph.differentiation.registered import NoGradient, NotDifferentiable, RegisterGradient
from tfc.graph.files.importing import import_graph_def
from tfc.graph.graph import Graph, get_default_graph, reset_default_graph
from tfc.graph.running.config import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RunOptions,
)
from tfc.graph.running.metadata import RunMetadata
from tfc.graph.running.scopes import jit_scope
from tfc.graph.running.session import InteractiveSession, Session
from tfc.graph.types.devices import DeviceSpec
from tfc.graph.variables.assigning import (
    assign,
    assign_add,
    assign_sub,
    count_up_to,
    scatter_add,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_nd_add,
    scatter_nd_sub,
    scatter_nd_update,
    scatter_sub,
    scatter_update,
)
from tfc.graph.variables.initializers import Constant as constant_initializer
from tfc.graph.variables.initializers import Ones as ones_initializer
from tfc.graph.variables.initializers import Orthogonal as orthogonal_initializer
from tfc.graph.variables.initializers import RandomNormal as random_normal_initializer
from tfc.graph.variables.initializers import RandomUniform as random_uniform_initializer
from tfc.graph.variables.initializers import TruncatedNormal as truncated_normal_initializer
from tfc.graph.variables.initializers import VarianceScaling as variance_scaling_initializer
from tfc.graph.variables.initializers import Zeros as zeros_initializer
from tfc.graph.variables.initializers import glorot_normal_initializer, glorot_uniform_initializer
from tfc.graph.variables.keys import GraphKeys
from tfc.graph.variables.listing import (
    all_variables,
    global_variables,
    global_variables_initializer,
    initialize_all_variables,
    is_variable_initialized,
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    report_uninitialized_variables,
    trainable_variables,
    variables_initializer,
)
from tfc.graph.variables.scopes import (
    AUTO_REUSE,
    VariableScope,
    get_local_variable,
    get_variable,
    get_variable_scope,
    variable_op_scope,
    variable_scope,
)
from tfc.graph.variables.variable import Variable

__all__ = [
    "AUTO_REUSE",
    "AggregationMethod",
    "ConfigProto",
    "DeviceSpec",
    "GPUOptions",
    "Graph",
    "GraphKeys",
    "GraphOptions",
    "InteractiveSession",
    "NoGradient",
    "NotDifferentiable",
    "OptimizerOptions",
    "RegisterGradient",
    "RunMetadata",
    "RunOptions",
    "Session",
    "Variable",
    "VariableScope",
    "all_variables",
    "assign",
    "assign_add",
    "assign_sub",
    "constant_initializer",
    "contrib",
    "count_up_to",
    "custom_gradient",
    "errors",
    "get_default_graph",
    "get_default_session",
    "get_local_variable",
    "get_variable",
    "get_variable_scope",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "gradients",
    "hessians",
    "initialize_all_variables",
    "is_variable_initialized",
    "jit_scope",
    "local_variables",
    "local_variables_initializer",
    "model_variables",
    "moving_average_variables",
    "ones_initializer",
    "orthogonal_initializer",
    "prevent_gradient",
    "random_normal_initializer",
    "random_uniform_initializer",
    "report_uninitialized_variables",
    "reset_default_graph",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
    "stop_gradient",
    "timeline",
    "trainable_variables",
    "truncated_normal_initializer",
    "variable_op_scope",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "zeros_initializer",
]

_names = {name for name in globals() if not name.startswith("_")}
__all__ = sorted({*__all__, *_names})  # noqa: PLE0605  # pyright: ignore


def __getattr__(name: str) -> object:
    """Nothing: says why TensorFlow's name is not here."""
    raise AttributeError(_absence(name, __all__), name=name)
