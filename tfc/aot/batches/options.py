"""The options of commands about sizes of batch: --batch-sizes 1,8,32 and --dynamic-batch MAX."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from tfc.aot.batches.programs import Asked
from tfc.aot.interface import Batched
from tfc.errors import TfcError


def batch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that become the argument `asked` of a command: an Asked, or None."""

    @click.option(
        "--batch-sizes",
        "--batch_sizes",
        metavar="N,…",
        help="Compile for these sizes of batch into one class, which shares all weights. What has "
        "the batch as its first dimension says so: an argument as in 'f32[?,8]', a model by an "
        "open size, a configuration by -1.",
    )
    @click.option(
        "--dynamic-batch",
        "--dynamic_batch",
        type=int,
        metavar="MAX",
        help="Compile for batches of any number of rows up to this one.",
    )
    @wraps(command)
    def sized(*args: Any, batch_sizes: str | None, dynamic_batch: int | None, **named: Any) -> Any:
        sizes = _whole_numbers(batch_sizes) if batch_sizes is not None else ()
        return command(*args, asked=Asked.of(sizes, dynamic_batch), **named)

    return sized


def _whole_numbers(text: str) -> tuple[int, ...]:
    """The numbers in a list, 1,8,32.

    Raises:
        TfcError: there are none.
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise TfcError(
            f"--batch-sizes takes whole numbers with commas between, got {text}"
        ) from None


def report_batches(found: Batched) -> Batched:
    """The same programs; tells the user where they serve the listed sizes alone, and why."""
    if found.reason:
        sizes = ", ".join(map(str, found.batch.sizes))
        click.echo(f"for batches of {sizes} rows and no others: {found.reason}", err=True)
    return found
