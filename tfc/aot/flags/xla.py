"""XLA's flags on the command line: --xla_NAME=VALUE, of which few say something to tfc.

What only permits or hints (fast mathematics, choices of XLA's own compiler) changes nothing here.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import click

from tfc.console import Command
from tfc.errors import TfcError, did_you_mean
from tfc.options import Options

# What each sets. The ends of lists are those of XLA's flags.
Setting = Callable[[Options, str, str], Options]


def _dump_to(options: Options, name: str, value: str) -> Options:
    return replace(options, dump_dir=value)


def _without(options: Options, name: str, value: str) -> Options:
    passes = tuple(filter(None, (word.strip() for word in value.split(","))))
    return replace(options, disabled=(*options.disabled, *passes))


def _dump_as(form: str) -> Setting:
    def setting(options: Options, name: str, value: str) -> Options:
        forms = tuple(f for f in options.dump_as if f != form)
        return replace(options, dump_as=(*forms, form) if _is_on(name, value) else forms)

    return setting


SETTINGS: dict[str, Setting] = {
    "xla_dump_to": _dump_to,
    "xla_dump_hlo_as_text": _dump_as("text"),
    "xla_dump_hlo_as_dot": _dump_as("dot"),
    "xla_dump_hlo_as_html": _dump_as("html"),
    "xla_disable_hlo_passes": _without,
}
# Permissions that tfc does not use, and hints to parts that it does not have; nothing depends on
# their values.
_WITHOUT_EFFECT = """
    xla_allow_excess_precision xla_backend_optimization_level xla_backend_extra_options
    xla_cpu_copy_insertion_use_region_analysis
    xla_cpu_enable_concurrency_optimized_scheduler xla_cpu_enable_fast_math
    xla_cpu_enable_fast_min_max xla_cpu_enable_platform_dependent_math
    xla_cpu_fast_math_honor_division xla_cpu_fast_math_honor_functions
    xla_cpu_fast_math_honor_infs xla_cpu_fast_math_honor_nans xla_cpu_multi_thread_eigen
    xla_cpu_parallel_codegen_split_count xla_cpu_prefer_vector_width xla_cpu_use_acl
    xla_cpu_use_fusion_emitters xla_cpu_use_mkl_dnn xla_cpu_use_onednn xla_cpu_use_thunk_runtime
    xla_cpu_use_xnnpack xla_cpu_use_ynnpack xla_dump_hlo_pass_re xla_dump_max_hlo_modules
    xla_eliminate_hlo_implicit_broadcast xla_embed_ir_in_executable xla_hlo_evaluator_use_fast_path
    xla_llvm_disable_expensive_passes xla_llvm_enable_alias_scope_metadata
    xla_llvm_enable_invariant_load_metadata xla_llvm_enable_noalias_metadata
    xla_step_marker_location xla_unsupported_crash_on_hlo_pass_fix_max_iterations
"""
WITHOUT_EFFECT = frozenset(_WITHOUT_EFFECT.split())
# What would be another program than the one that is asked for.
REFUSED = {
    "xla_cpu_max_isa": "name the processor with --target_cpu",
    "xla_dump_hlo_as_proto": "dumps are text, dot or html: --xla_dump_hlo_as_text",
}


class XlaCommand(Command):
    """A command whose context has as `obj` the flags --xla_… that are none of its own options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take XLA's flags off the others."""
        own = {name for parameter in self.params for name in parameter.opts}
        stop = args.index("--") if "--" in args else len(args)
        found = [
            arg
            for arg in args[:stop]
            if arg.startswith("--xla_") and arg.partition("=")[0] not in own
        ]
        ctx.obj = found
        return super().parse_args(ctx, [arg for arg in args if arg not in found])


def with_xla_flags(options: Options, flags: Sequence[str]) -> Options:
    """The options with what --xla_NAME=VALUE flags say.

    Raises:
        TfcError: one has no meaning here, or a value that it cannot have.
    """
    for flag in flags:
        name, equals, value = flag.removeprefix("--").partition("=")
        if name in REFUSED:
            raise TfcError(f"--{name} is not offered: {REFUSED[name]}")
        if name in SETTINGS:
            options = SETTINGS[name](options, name, value if equals else "true")
        elif name not in WITHOUT_EFFECT and not re.match("xla_(?:gpu|tpu)_", name):
            close = did_you_mean(name, [*SETTINGS, *WITHOUT_EFFECT, "xla_hlo_profile"])
            raise TfcError(f"--{name} is no flag of XLA that is known here{close}")
    return options


def _is_on(name: str, value: str) -> bool:
    if value.lower() not in ("true", "false", "1", "0"):
        raise TfcError(f"--{name} is true or false, got '{value}'")
    return value.lower() in ("true", "1")
