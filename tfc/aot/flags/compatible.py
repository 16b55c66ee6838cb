"""tfcompile's flags about errors, XLA and what there is not, as one decorator of a command."""

from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

import click

from tfc.aot.flags.debug_info import explained
from tfc.aot.flags.xla import with_xla_flags
from tfc.console import Failure
from tfc.options import Options

Callback = Callable[[click.Context, click.Parameter, Any], None]

_DATA_FLOW = (
    "the code is not instrumented for DataFlowSanitizer: name its entry point in an ABI list of "
    "the program that links it"
)
_QUANTIZE = "give --quantize_weights int8 or f16, or compile what tfc.quantize has made"


def compatible_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags; the command gets the argument `options`, and errors say where nodes are from.

    The command is an XlaCommand.
    """

    @wraps(command)
    def wrapped(*, debug_info: str | None, debug_info_path_begin_marker: str, **given: Any) -> Any:
        flags = click.get_current_context().obj or ()
        with explained(debug_info, debug_info_path_begin_marker):
            return command(options=with_xla_flags(Options.from_environment(), flags), **given)

    return reduce(lambda made, option: option(made), reversed(_OPTIONS), wrapped)


def _refused(reason: str) -> Callback:
    def refuse(context: click.Context, option: click.Parameter, value: Any) -> None:
        if value:
            raise Failure(f"{option.opts[0]} is not offered: {reason}")

    return refuse


def _switch(name: str, help: str, callback: Callback | None = None) -> Any:
    return click.option(
        name, type=click.BOOL, is_flag=False, flag_value="true", default="false", metavar="[BOOL]",
        help=help, expose_value=False, callback=callback,
    )  # fmt: skip


_OPTIONS = (
    click.option("--debug_info", metavar="FILE.pb|FILE.pbtxt",
                 help="A GraphDebugInfo: errors that name nodes say where these were made."),
    click.option("--debug_info_path_begin_marker", metavar="TEXT", default="",
                 help="Leave out of files' names there what comes before this, and this."),
    click.option("--mlir_components", type=click.Choice(["", "None", "Bridge"]), default="",
                 expose_value=False, help="Has no effect: every graph takes the same way."),
    click.option("--tensorflow_header_root", metavar="FOLDER", expose_value=False,
                 help="Has no effect: headers include nothing of TensorFlow's."),
    _switch("--use_xla_nanort_runtime", "Has no effect: the class has no runtime beside it."),
    _switch("--experimental_quantize", f"Not offered: {_QUANTIZE}.", _refused(_QUANTIZE)),
    _switch("--sanitize_dataflow", f"Not offered: {_DATA_FLOW}.", _refused(_DATA_FLOW)),
    click.option("--sanitize_abilists_dataflow", metavar="FILE,…", default="", expose_value=False,
                 callback=_refused(_DATA_FLOW), help="Not offered, as --sanitize_dataflow."),
)  # fmt: skip
