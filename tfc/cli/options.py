"""Options that several commands take."""

import click

from tfc.backends.registry import backend_names

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
