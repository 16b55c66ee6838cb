"""Memory of networks beside XLA's: `python benchmarks/memory.py [NETWORK …]`.

For each network, the temporaries of tfc's program, the most that are needed at one time, which no
plan can be below, and the temporaries that XLA says its program for the same module wants (its
`memory_analysis`). Arguments, results and constants are the same for both, so they are left out.
"""

import argparse
from collections.abc import Iterable
from dataclasses import dataclass

import jax
from models import MODELS
from rich.console import Console
from rich.table import Table

import tfc

USUAL = ("resnet50", "bert", "cnn_training_step")


@dataclass(frozen=True)
class Row:
    """Bytes of temporaries: those of tfc, the least that any plan wants, and those of XLA."""

    name: str
    arena: int
    lower_bound: int
    xla: int


def measure(name: str) -> Row:
    """Compile a network with both."""
    model = MODELS[name]()
    ours = tfc.from_stablehlo(model.stablehlo()).compile().memory_analysis()
    theirs = jax.jit(model.function).lower(*model.arguments).compile().memory_analysis()
    return Row(name, ours.temporary_bytes, ours.lower_bound, theirs.temp_size_in_bytes)


def table_of(rows: Iterable[Row]) -> Table:
    """The rows in MB, with tfc's arena as multiples of the lower bound and of XLA's temporaries."""
    table = Table("network", *("arena", "lower bound", "ratio", "XLA", "ratio"))
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        numbers = [f"{row.arena / 1e6:.2f}", f"{row.lower_bound / 1e6:.2f}",
                   _ratio(row.arena, row.lower_bound), f"{row.xla / 1e6:.2f}",
                   _ratio(row.arena, row.xla)]  # fmt: skip
        table.add_row(row.name, *numbers)
    return table


def _ratio(one: int, other: int) -> str:
    return f"{one / other:.2f}" if other else "-"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Memory of networks beside XLA's, in MB.")
    listed = f"some of {', '.join(MODELS)}; {', '.join(USUAL)} unless given"
    parser.add_argument("networks", nargs="*", default=USUAL, metavar="NETWORK", help=listed)
    names = parser.parse_args().networks
    unknown = [n for n in names if n not in MODELS]
    if unknown:
        parser.error(f"there is no network '{unknown[0]}'; there are {', '.join(MODELS)}")
    Console().print(table_of(measure(name) for name in names))


if __name__ == "__main__":
    main()
