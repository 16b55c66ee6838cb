"""`tf.nn.rnn_cell`: cells of recurrent networks."""

# ruff: noqa: F401
# isort: off
# fmt: off
from tfc.graph.networks.cells import (
    BasicLSTMCell, BasicRNNCell, GRUCell, LSTMCell, LSTMStateTuple, RNNCell,
)
from tfc.graph.networks.stacks import DropoutWrapper, MultiRNNCell
# fmt: on
# isort: on
