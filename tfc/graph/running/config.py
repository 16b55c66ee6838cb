"""How sessions run: TensorFlow's configuration messages, with the fields that mean something here.

    config = ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = OptimizerOptions.ON_1

A field that does not exist is an AttributeError. Those that only tune TensorFlow's own runtime, as
numbers of threads and memory of GPUs, are accepted and change nothing.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from tfc.errors import TraceError
from tfc.graph import errors


@dataclass(slots=True)
class OptimizerOptions:
    """What is compiled.

    global_jit_level: OFF leaves everything to the host but for what scopes and devices ask for; the
        other levels, also the default one, compile all that can be.
    """

    OFF: ClassVar[int] = -1
    DEFAULT: ClassVar[int] = 0
    ON_1: ClassVar[int] = 1
    ON_2: ClassVar[int] = 2
    L0: ClassVar[int] = -1
    L1: ClassVar[int] = 0
    global_jit_level: int = 0
    opt_level: int = 0
    do_common_subexpression_elimination: bool = True
    do_constant_folding: bool = True
    do_function_inlining: bool = True
    max_folded_constant_in_bytes: int = 0


@dataclass(slots=True)
class GraphOptions:
    """Of which `optimizer_options` says what is compiled."""

    optimizer_options: OptimizerOptions = field(default_factory=OptimizerOptions)
    rewrite_options: Any = None
    infer_shapes: bool = False
    place_pruned_graph: bool = False
    build_cost_model: int = 0


@dataclass(slots=True)
class GPUOptions:
    """Memory of GPUs: accepted, as sessions run on the CPU."""

    per_process_gpu_memory_fraction: float = 0.0
    allow_growth: bool = False
    allocator_type: str = ""
    visible_device_list: str = ""
    deferred_deletion_bytes: int = 0
    polling_active_delay_usecs: int = 0
    force_gpu_compatible: bool = False


@dataclass(slots=True)
class ConfigProto:
    """The configuration of a session.

    graph_options: what is compiled.
    allow_soft_placement: run on the CPU what asks for a device that is not there.
    log_device_placement: print where each operation runs.
    device_count: how many devices there are of a type: {"CPU": 2}.
    backend: what clusters are compiled for: "cpu" or "interpreter".
    """

    graph_options: GraphOptions = field(default_factory=GraphOptions)
    gpu_options: GPUOptions = field(default_factory=GPUOptions)
    allow_soft_placement: bool = False
    log_device_placement: bool = False
    device_count: dict[str, int] = field(default_factory=dict)
    intra_op_parallelism_threads: int = 0
    inter_op_parallelism_threads: int = 0
    use_per_session_threads: bool = False
    operation_timeout_in_ms: int = 0
    isolate_session_state: bool = False
    backend: str = "cpu"


@dataclass(slots=True)
class RunOptions:
    """The options of one run.

    trace_level: FULL_TRACE, or any but NO_TRACE, records what ran when in the run's metadata.
    """

    NO_TRACE: ClassVar[int] = 0
    SOFTWARE_TRACE: ClassVar[int] = 1
    HARDWARE_TRACE: ClassVar[int] = 2
    FULL_TRACE: ClassVar[int] = 3
    trace_level: int = 0
    timeout_in_ms: int = 0
    inter_op_thread_pool: int = 0
    output_partition_graphs: bool = False
    report_tensor_allocations_upon_oom: bool = False


def check_config(config: Any) -> None:
    """Check that a session can be as it is configured.

    Raises:
        TypeError: it is no ConfigProto. UnimplementedError: it asks for a timeout.
    """
    if not isinstance(config, ConfigProto):
        raise TraceError(f"config must be a tf.ConfigProto, got {config!r}")
    if config.operation_timeout_in_ms:
        raise errors.UnimplementedError(
            None, None, "a run cannot be ended before its time: leave operation_timeout_in_ms at 0"
        )


def check_options(options: Any) -> None:
    """Check that a run can be as its options ask.

    Raises:
        TypeError: they are no RunOptions. UnimplementedError: they ask for a timeout.
    """
    if not isinstance(options, RunOptions):
        raise TraceError(f"options must be tf.RunOptions, got {options!r}")
    if options.timeout_in_ms:
        raise errors.UnimplementedError(
            None, None, "a run cannot be ended before its time: leave timeout_in_ms at 0"
        )
