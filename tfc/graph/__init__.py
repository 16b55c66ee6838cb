"""Graph mode: programs that build a graph and run it in sessions, under TensorFlow 1's names.

    import tfc.graph as tf

    x = tf.placeholder(tf.float32, [None, 3])
    with tf.Session() as session:
        session.run(x, {x: [[1, 2, 3]]})

A graph holds operations of TensorFlow's names; what each computes is a row in `operators`, written
in tfc's own functions, so that a run is traced, compiled and run like any other program.
"""

from tfc.graph.differentiation.functions import (
    custom_gradient,
    hessians,
    prevent_gradient,
    stop_gradient,
)
from tfc.graph.differentiation.gradients import AggregationMethod, gradients
from tfc.graph.differentiation.registered import NoGradient, NotDifferentiable, RegisterGradient
from tfc.graph.graph import Graph, get_default_graph, reset_default_graph
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
    "Graph",
    "GraphKeys",
    "NoGradient",
    "NotDifferentiable",
    "RegisterGradient",
    "Variable",
    "VariableScope",
    "all_variables",
    "assign",
    "assign_add",
    "assign_sub",
    "constant_initializer",
    "count_up_to",
    "custom_gradient",
    "get_default_graph",
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
    "trainable_variables",
    "truncated_normal_initializer",
    "variable_op_scope",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "zeros_initializer",
]
from tfc.graph.running.session import Session

__all__ = ["Session"]
