"""Donated arguments: those whose memory the program may write, and the results that go there.

    HloModule m, input_output_alias={ {0}: (1, {}, may-alias) }, buffer_donor={ (2, {}) }

Result 0 is written into the memory of parameter 1, and parameter 2's memory may be used for
anything. Arguments are what XLA names them: a parameter's number and the place in its shape.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tfc.errors import UnsupportedError
from tfc.hlo.ir import Computation, Module
from tfc.hlo.shape import AnyShape, Shape, TupleShape, leaves

_PLACE = r"\(\s*(\d+)\s*,\s*\{([\d,\s]*)\}"
_ALIAS = re.compile(rf"\{{([\d,\s]*)\}}\s*:\s*{_PLACE}")
_DONOR = re.compile(_PLACE)


@dataclass(frozen=True)
class Donation:
    """Which arguments are donated, as numbers of leaves.

    aliases: for each result that goes into an argument's memory, that argument.
    donors: the other donated arguments.
    """

    aliases: dict[int, int]
    donors: frozenset[int]

    @property
    def arguments(self) -> frozenset[int]:
        """All that are donated."""
        return self.donors | set(self.aliases.values())


def donation_of(module: Module) -> Donation:
    """What the attributes of a module say about its arguments.

    Raises:
        UnsupportedError: they name no argument or result, one twice, or two of different sizes.
    """
    stated = dict(module.attributes)
    parameters = TupleShape(tuple(p.shape for p in module.entry.parameters))
    result = module.entry.root.shape
    aliases: dict[int, int] = {}
    for index, number, inside in _ALIAS.findall(stated.get("input_output_alias", "")):
        where = _leaf(result, index, "input_output_alias")
        argument = _leaf(parameters, f"{number},{inside}", "input_output_alias")
        if where in aliases or argument in aliases.values():
            raise UnsupportedError(
                f"input_output_alias must name every result and argument once, got result "
                f"{{{index}}} with argument {number} again"
            )
        pair = list(leaves(result))[where], list(leaves(parameters))[argument]
        if pair[0] != pair[1]:
            raise UnsupportedError(
                f"input_output_alias needs a result and an argument of one shape and layout, "
                f"got {pair[0]} and {pair[1]}"
            )
        aliases[where] = argument
    donors = {
        _leaf(parameters, f"{number},{inside}", "buffer_donor")
        for number, inside in _DONOR.findall(stated.get("buffer_donor", ""))
    }
    return Donation(aliases, frozenset(donors - set(aliases.values())))


def donation_attributes(entry: Computation, donated: Sequence[int]) -> tuple[tuple[str, str], ...]:
    """The attributes of a module whose entry has arrays as parameters, some of them donated.

    Each goes to the first result of its shape that is not taken, as JAX has it; those for which
    there is none may be used for anything.
    """
    is_tuple = not isinstance(entry.root.shape, Shape)
    free = list(enumerate(leaves(entry.root.shape)))
    aliases, donors = [], []
    for argument in donated:
        shape = entry.parameters[argument].shape
        found = next((pair for pair in free if pair[1] == shape), None)
        if found is None:
            donors.append(f"({argument}, {{}})")
        else:
            free.remove(found)
            where = f"{{{found[0] if is_tuple else ''}}}"
            aliases.append(f"{where}: ({argument}, {{}}, may-alias)")
    stated = (("input_output_alias", aliases), ("buffer_donor", donors))
    return tuple((name, f"{{ {', '.join(texts)} }}") for name, texts in stated if texts)


def _leaf(shape: AnyShape, index: str, attribute: str) -> int:
    """The number of the leaf at an index such as "1,0" of a shape."""
    number = 0
    for step in (int(part) for part in index.replace(" ", "").split(",") if part):
        if isinstance(shape, Shape) or step >= len(getattr(shape, "elements", ())):
            raise UnsupportedError(f"{attribute} names the place {{{index}}}, which does not exist")
        number += sum(1 for e in shape.elements[:step] for _ in leaves(e))
        shape = shape.elements[step]
    if not isinstance(shape, Shape):
        raise UnsupportedError(f"{attribute} must name arrays, got the tuple at {{{index}}}")
    return number
