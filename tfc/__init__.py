"""tfc: a compiler toolchain for tensor programs. Python graphs become fast native code.

import tfc
import tfc.numpy as tnp

@tfc.jit
def predict(w, b, x):
    return tnp.tanh(x @ w + b)
"""

from tfc import (
    aot,
    checkpoint_policies,
    debug,
    errors,
    fft,
    hlo,
    linalg,
    nn,
    numpy,
    optim,
    random,
    special,
    testing,
    tree,
)
from tfc.compiled import Compiled, Lowered
from tfc.compiler import compile
from tfc.frontend.abstract import ShapeDtypeStruct, eval_shape
from tfc.frontend.batching.mapping import map
from tfc.frontend.batching.vmap import vmap
from tfc.frontend.callbacks.host import pure_callback
from tfc.frontend.callbacks.py_func import py_func
from tfc.frontend.control.associative_scan import associative_scan
from tfc.frontend.control.branches import cond, switch
from tfc.frontend.control.loops import fori_loop, while_loop
from tfc.frontend.control.scan import scan
from tfc.frontend.differentiation.custom.checkpoint import checkpoint, checkpoint_name
from tfc.frontend.differentiation.custom.gradient import custom_gradient
from tfc.frontend.differentiation.custom.jvp import custom_jvp
from tfc.frontend.differentiation.custom.vjp import custom_vjp
from tfc.frontend.differentiation.gradient import grad, stop_gradient, value_and_grad, vjp
from tfc.frontend.differentiation.jacobians import hessian, jacfwd, jacobian, jacrev
from tfc.frontend.differentiation.linearization import jvp, linearize
from tfc.frontend.numpy.indexing.dynamic import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
)
from tfc.frontend.tensor import Tensor
from tfc.imported import ImportedFunction, from_stablehlo
from tfc.importers.onnx.load import from_onnx
from tfc.jit import JitFunction, jit
from tfc.options import Options
from tfc.runtime.functions import register_custom_call
from tfc.runtime.threads import get_threads, set_threads
from tfc.tools.profiling import Profile, profile
from tfc.transfers import (
    transfer_from_channel,
    transfer_from_outfeed,
    transfer_to_channel,
    transfer_to_infeed,
)

remat = checkpoint
__version__ = "0.1.0"

__all__ = [
    "Compiled",
    "ImportedFunction",
    "JitFunction",
    "Lowered",
    "Options",
    "Profile",
    "ShapeDtypeStruct",
    "Tensor",
    "__version__",
    "aot",
    "associative_scan",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "compile",
    "cond",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "errors",
    "eval_shape",
    "fft",
    "fori_loop",
    "from_onnx",
    "from_stablehlo",
    "get_threads",
    "grad",
    "hessian",
    "hlo",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linalg",
    "linearize",
    "map",
    "nn",
    "numpy",
    "optim",
    "profile",
    "pure_callback",
    "py_func",
    "random",
    "register_custom_call",
    "remat",
    "scan",
    "set_threads",
    "special",
    "stop_gradient",
    "switch",
    "testing",
    "transfer_from_channel",
    "transfer_from_outfeed",
    "transfer_to_channel",
    "transfer_to_infeed",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
