"""Options that several commands take."""

from contextlib import AbstractContextManager, nullcontext
from importlib import import_module

import click

from tfc.backends.registry import backend_names
from tfc.errors import ShapeError
from tfc.frontend.precision import default_matmul_precision

backend_option = click.option(
    "--backend", default="cpu", show_default=True, metavar="|".join(backend_names())
)
target_option = click.option(
    "--target",
    metavar="TRIPLE[,CPU[,FEATURES]]",
    help="The machine to make code for, such as aarch64-linux-gnu or "
    "x86_64-linux-gnu,x86-64-v3; this one when left out.",
)
output_option = click.option(
    "-o", "--output", metavar="FILE", help="Write there instead of to the standard output."
)

values_option = click.option(
    "--arg",
    "texts",
    multiple=True,
    metavar="VALUE|FILE.npy",
    help="The next argument, as a literal such as '{1, 2}' or as an array file; "
    "those left out are random.",
)
seed_option = click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Of the random arguments.",
)


def _enter_precision(context: click.Context, _: click.Parameter, name: str | None) -> None:
    """Enter a default precision until the command is done."""
    try:
        context.with_resource(default_matmul_precision(name))
    except ShapeError as error:
        raise click.BadParameter(error.args[0]) from None


precision_option = click.option(
    "--matmul-precision",
    metavar="NAME",
    expose_value=False,
    callback=_enter_precision,
    help="What is permitted for products and convolutions that state none, such as tensorfloat32.",
)


def device_of(backend: str) -> AbstractContextManager[object]:
    """What a backend's programs run on: for "gpu" where there is none, an interpreter of PTX."""
    if backend != "gpu":
        return nullcontext()
    return import_module("tfc.testing.ptx.driver").device_of(backend)
