"""Which values `checkpoint` keeps: a policy is asked of each instruction whether its value is kept.

Names are JAX's; a policy of one's own looks at an HLO instruction: its opcode, attributes, shape.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tfc.frontend.marked import CallRule, rule_of
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.contraction import dot_dimensions

Policy = Callable[[Instruction], bool]


@dataclass(frozen=True, eq=False)
class Name(CallRule):
    """The rule of a value that has a name."""

    name: str


def everything_saveable(_: Instruction) -> bool:
    """Keep all: as without checkpoint."""
    return True


def nothing_saveable(_: Instruction) -> bool:
    """Keep the arguments alone, as without a policy."""
    return False


def dots_saveable(instruction: Instruction) -> bool:
    """Keep the results of matrix products, which cost most to compute again."""
    return instruction.opcode in ("dot", "ragged-dot")


def dots_with_no_batch_dims_saveable(instruction: Instruction) -> bool:
    """Keep the results of matrix products without batch dimensions: those by weights, mostly."""
    return instruction.opcode == "dot" and not dot_dimensions(instruction.attributes)[0]


checkpoint_dots = dots_saveable
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


def _name_of(instruction: Instruction) -> str | None:
    rule = rule_of(instruction)
    return rule.name if isinstance(rule, Name) else None


def save_only_these_names(*names: str) -> Policy:
    """Keep the values that `checkpoint_name` gave one of the names."""
    return lambda instruction: _name_of(instruction) in names


def save_any_names_but_these(*names: str) -> Policy:
    """Keep the values that have a name, but one of these."""
    return lambda instruction: _name_of(instruction) not in (None, *names)


def save_anything_except_these_names(*names: str) -> Policy:
    """Keep all values but those that have one of the names."""
    return lambda instruction: _name_of(instruction) not in names


def save_from_both_policies(first: Policy, second: Policy) -> Policy:
    """Keep what either policy keeps."""
    return lambda instruction: first(instruction) or second(instruction)
