"""Tables of a transformation's rules: what it makes of an op, found by the op's name."""

from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")


def entering(table: dict[str, R], kind: str) -> Callable[..., Callable[[R], R]]:
    """A decorator that enters a function in a table, as the rule of the ops named.

    Args:
        kind: what the rules are called, should an op have two of them.
    """

    def of(*opcodes: str) -> Callable[[R], R]:
        def enter(rule: R) -> R:
            for opcode in opcodes:
                assert opcode not in table, f"{opcode} has two {kind}"
                table[opcode] = rule
            return rule

        return enter

    return of
