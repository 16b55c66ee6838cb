"""tfc: a compiler toolchain for tensor programs. Python graphs become fast native code.

    import tfc
    import tfc.numpy as tnp

    @tfc.jit
    def predict(w, b, x):
        return tnp.tanh(x @ w + b)

What is public is loaded when it is first asked for (see `tfc/runtime/later.py`).
"""

from typing import TYPE_CHECKING

from tfc.runtime.calls import calls as _calls
from tfc.runtime.later import later as _later
from tfc.runtime.later import load as _load

if TYPE_CHECKING:
    from tfc import (
        aot,
        checkpoint_policies,
        debug,
        distributed,
        errors,
        fft,
        graph,
        hlo,
        linalg,
        nn,
        numpy,
        optim,
        random,
        sharding,
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
    from tfc.frontend.differentiation.custom.checkpoint import checkpoint as remat
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
    from tfc.frontend.precision import default_matmul_precision
    from tfc.frontend.sharding.mesh import Mesh, NamedSharding, PartitionSpec
    from tfc.frontend.sharding.placement import with_sharding_constraint
    from tfc.frontend.sharding.shard_map import shard_map
    from tfc.frontend.tensor import Tensor
    from tfc.graph import (
        Graph,
        InteractiveSession,
        Session,
        Variable,
        control_dependencies,
        get_default_graph,
        get_variable,
        global_variables_initializer,
        gradients,
        jit_scope,
        name_scope,
        placeholder,
        reset_default_graph,
    )
    from tfc.imported import ImportedFunction, from_stablehlo
    from tfc.importers.jax.load import from_jax
    from tfc.importers.keras.load import from_keras
    from tfc.importers.onnx.load import from_onnx
    from tfc.importers.tensorflow.load import from_graphdef, from_savedmodel
    from tfc.importers.torch.load import compile_torch, from_torch
    from tfc.jitted import JitFunction, jit
    from tfc.options import Options
    from tfc.quantization.quantize import Quantized, quantize
    from tfc.runtime.device_arrays import DeviceArray
    from tfc.runtime.functions import register_custom_call
    from tfc.runtime.threads import get_threads, set_threads
    from tfc.tools.profiling import Profile, profile
    from tfc.transfers import (
        device_get,
        device_put,
        transfer_from_channel,
        transfer_from_outfeed,
        transfer_to_channel,
        transfer_to_infeed,
    )

__version__ = "0.1.0"

__all__ = [
    "Compiled",
    "DeviceArray",
    "Graph",
    "ImportedFunction",
    "InteractiveSession",
    "JitFunction",
    "Lowered",
    "Mesh",
    "NamedSharding",
    "Options",
    "PartitionSpec",
    "Profile",
    "Quantized",
    "Session",
    "ShapeDtypeStruct",
    "Tensor",
    "Variable",
    "__version__",
    "aot",
    "associative_scan",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "compile",
    "compile_torch",
    "cond",
    "control_dependencies",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "default_matmul_precision",
    "device_get",
    "device_put",
    "distributed",
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
    "from_graphdef",
    "from_jax",
    "from_keras",
    "from_onnx",
    "from_savedmodel",
    "from_stablehlo",
    "from_torch",
    "get_default_graph",
    "get_threads",
    "get_variable",
    "global_variables_initializer",
    "grad",
    "gradients",
    "graph",
    "hessian",
    "hlo",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jit_scope",
    "jvp",
    "linalg",
    "linearize",
    "map",
    "name_scope",
    "nn",
    "numpy",
    "optim",
    "placeholder",
    "profile",
    "pure_callback",
    "py_func",
    "quantize",
    "random",
    "register_custom_call",
    "remat",
    "reset_default_graph",
    "scan",
    "set_threads",
    "shard_map",
    "sharding",
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
    "with_sharding_constraint",
]

# Where each name is defined that is no module of tfc's: what the imports for type checkers say.
_PLACES = {
    "Compiled": "tfc.compiled",
    "Graph": "tfc.graph",
    "ImportedFunction": "tfc.imported",
    "InteractiveSession": "tfc.graph",
    "JitFunction": "tfc.jitted",
    "Lowered": "tfc.compiled",
    "Mesh": "tfc.frontend.sharding.mesh",
    "NamedSharding": "tfc.frontend.sharding.mesh",
    "Options": "tfc.options",
    "PartitionSpec": "tfc.frontend.sharding.mesh",
    "Profile": "tfc.tools.profiling",
    "Quantized": "tfc.quantization.quantize",
    "Session": "tfc.graph",
    "ShapeDtypeStruct": "tfc.frontend.abstract",
    "Tensor": "tfc.frontend.tensor",
    "Variable": "tfc.graph",
    "associative_scan": "tfc.frontend.control.associative_scan",
    "checkpoint": "tfc.frontend.differentiation.custom.checkpoint",
    "checkpoint_name": "tfc.frontend.differentiation.custom.checkpoint",
    "compile": "tfc.compiler",
    "compile_torch": "tfc.importers.torch.load",
    "cond": "tfc.frontend.control.branches",
    "control_dependencies": "tfc.graph",
    "custom_gradient": "tfc.frontend.differentiation.custom.gradient",
    "custom_jvp": "tfc.frontend.differentiation.custom.jvp",
    "custom_vjp": "tfc.frontend.differentiation.custom.vjp",
    "default_matmul_precision": "tfc.frontend.precision",
    "dynamic_index_in_dim": "tfc.frontend.numpy.indexing.dynamic",
    "dynamic_slice": "tfc.frontend.numpy.indexing.dynamic",
    "dynamic_slice_in_dim": "tfc.frontend.numpy.indexing.dynamic",
    "dynamic_update_index_in_dim": "tfc.frontend.numpy.indexing.dynamic",
    "dynamic_update_slice": "tfc.frontend.numpy.indexing.dynamic",
    "dynamic_update_slice_in_dim": "tfc.frontend.numpy.indexing.dynamic",
    "eval_shape": "tfc.frontend.abstract",
    "fori_loop": "tfc.frontend.control.loops",
    "from_graphdef": "tfc.importers.tensorflow.load",
    "from_jax": "tfc.importers.jax.load",
    "from_keras": "tfc.importers.keras.load",
    "from_onnx": "tfc.importers.onnx.load",
    "from_savedmodel": "tfc.importers.tensorflow.load",
    "from_stablehlo": "tfc.imported",
    "get_default_graph": "tfc.graph",
    "from_torch": "tfc.importers.torch.load",
    "get_threads": "tfc.runtime.threads",
    "get_variable": "tfc.graph",
    "global_variables_initializer": "tfc.graph",
    "grad": "tfc.frontend.differentiation.gradient",
    "gradients": "tfc.graph",
    "hessian": "tfc.frontend.differentiation.jacobians",
    "jacfwd": "tfc.frontend.differentiation.jacobians",
    "jacobian": "tfc.frontend.differentiation.jacobians",
    "jacrev": "tfc.frontend.differentiation.jacobians",
    "jit": "tfc.jitted",
    "jit_scope": "tfc.graph",
    "jvp": "tfc.frontend.differentiation.linearization",
    "linearize": "tfc.frontend.differentiation.linearization",
    "map": "tfc.frontend.batching.mapping",
    "name_scope": "tfc.graph",
    "placeholder": "tfc.graph",
    "profile": "tfc.tools.profiling",
    "pure_callback": "tfc.frontend.callbacks.host",
    "py_func": "tfc.frontend.callbacks.py_func",
    "quantize": "tfc.quantization.quantize",
    "register_custom_call": "tfc.runtime.functions",
    "remat": "tfc.frontend.differentiation.custom.checkpoint",
    "reset_default_graph": "tfc.graph",
    "scan": "tfc.frontend.control.scan",
    "set_threads": "tfc.runtime.threads",
    "shard_map": "tfc.frontend.sharding.shard_map",
    "stop_gradient": "tfc.frontend.differentiation.gradient",
    "switch": "tfc.frontend.control.branches",
    "transfer_from_channel": "tfc.transfers",
    "transfer_from_outfeed": "tfc.transfers",
    "transfer_to_channel": "tfc.transfers",
    "transfer_to_infeed": "tfc.transfers",
    "device_get": "tfc.transfers",
    "device_put": "tfc.transfers",
    "DeviceArray": "tfc.runtime.device_arrays",
    "value_and_grad": "tfc.frontend.differentiation.gradient",
    "vjp": "tfc.frontend.differentiation.gradient",
    "vmap": "tfc.frontend.batching.vmap",
    "while_loop": "tfc.frontend.control.loops",
    "with_sharding_constraint": "tfc.frontend.sharding.placement",
}

_DEFINED_AS = {"remat": "checkpoint"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'tfc' has no attribute '{name}'")
    place = _PLACES.get(name)
    if place is None:
        return _load(f"tfc.{name}")
    found = getattr(_load(place), _DEFINED_AS.get(name, name))
    globals()[name] = found  # from now on it is an attribute like any other
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_eager = _later("tfc.eager")


def _run_eagerly(*call: object) -> object:
    return _eager.run_eagerly(*call)


_calls.run = _run_eagerly  # the frontend, which knows no compiler, is told here
