"""What a pass decided: what it does, and what it leaves alone, with the reason.

    Taken("multiply(x, 1) -> x", count=3)               multiply(x, 1) -> x, three times
    Taken("unrolled", "w")                              w: unrolled
    Refused("w", "it has effects")                      refused w: it has effects
    Refused("n", "it is used elsewhere too", "d")       refused n into d: it is used elsewhere too

They name instructions rather than hold them: a pass that runs again may meet the same ones made
anew, and what it refuses again is then equal to what it refused before.
"""

from dataclasses import dataclass

from tfc.hlo.ir import Instruction


@dataclass(frozen=True)
class Taken:
    """Something that a pass does.

    what: what is done, as a rule's equation or in words.
    where: the name of the instruction or computation that it is done to; "" for a rule.
    count: how often.
    """

    what: str
    where: str = ""
    count: int = 1

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


@dataclass(frozen=True)
class Refused:
    """Something that a pass does not do, though it is there to do the like.

    what: the name of the instruction or computation that is left as it is.
    reason: why, in words.
    into: the name of the instruction with which it would have been put together; "" for none.
    """

    what: str
    reason: str
    into: str = ""

    @staticmethod
    def of(instruction: Instruction, reason: str, into: Instruction | None = None) -> "Refused":
        """The refusal of an instruction, alone or together with another."""
        return Refused(label(instruction), reason, label(into) if into else "")

    def __str__(self) -> str:
        into = f" into {self.into}" if self.into else ""
        return f"refused {self.what}{into}: {self.reason}"


Decision = Taken | Refused
Decisions = tuple[Decision, ...]


def label(instruction: Instruction) -> str:
    """What an instruction is called in decisions: its name, or its opcode if it has none."""
    return instruction.name or instruction.opcode
