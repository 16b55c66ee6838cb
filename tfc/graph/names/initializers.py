"""`tf.initializers`: what variables begin as."""

# ruff: noqa: F401
# isort: off
# fmt: off
from tfc.graph.variables.initializers import Constant as constant
from tfc.graph.variables.initializers import Identity as identity
from tfc.graph.variables.initializers import Ones as ones
from tfc.graph.variables.initializers import Orthogonal as orthogonal
from tfc.graph.variables.initializers import RandomNormal as random_normal
from tfc.graph.variables.initializers import RandomUniform as random_uniform
from tfc.graph.variables.initializers import TruncatedNormal as truncated_normal
from tfc.graph.variables.initializers import VarianceScaling as variance_scaling
from tfc.graph.variables.initializers import Zeros as zeros
from tfc.graph.variables.initializers import (
    glorot_normal_initializer as glorot_normal, glorot_uniform_initializer as glorot_uniform,
    he_normal, he_uniform, lecun_normal, lecun_uniform,
)
from tfc.graph.variables.listing import (
    global_variables_initializer as global_variables,
    local_variables_initializer as local_variables, variables_initializer as variables,
)
# fmt: on
# isort: on
