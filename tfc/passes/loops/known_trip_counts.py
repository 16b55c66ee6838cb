"""Write into every loop how often it runs, where that is known.

    w = … while(s), condition=c, body=b
    -->
    w = … while(s), condition=c, body=b,
            backend_config={"known_trip_count":{"n":"5"},"trip_count_is_proved":true}

There it outlives the fusion of conditions. What is not known stays as the text says, but not as
proved.
"""

from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo.ir import Instruction, Module
from tfc.hlo.loops.loop_config import with_proved_trip_count, without_proof
from tfc.hlo.loops.loop_state import rewrite_each
from tfc.hlo.loops.trip_counts import trips_of, whiles
from tfc.passes.rewriting.decisions import Decisions, Refused, Taken, label


@dataclass(frozen=True)
class TripCounts:
    """Write into every loop how often it runs, where that is known."""

    name: ClassVar[str] = "trip-counts"

    def __call__(self, module: Module) -> Module:
        """The module with the counts."""
        return rewrite_each(module, "while", lambda loop, _: _counted(loop))

    def explain(self, module: Module) -> Decisions:
        """How often each loop runs."""
        return tuple(
            Refused.of(loop, "the number of its iterations is not known")
            if count is None
            else Taken(f"{count} iterations", label(loop))
            for loop, count in ((loop, trips_of(loop).exact) for loop in whiles(module))
        )


def _counted(loop: Instruction) -> Instruction:
    count = trips_of(loop).exact
    return without_proof(loop) if count is None else with_proved_trip_count(loop, count)
