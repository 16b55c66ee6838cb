"""What a kernel does wrong, and what the interpreter does not know."""

from dataclasses import dataclass, field

from tfc.errors import InternalError, UnsupportedError


@dataclass
class Place:
    """Where in a program: the kernel's name, and the line of the PTX with its text."""

    kernel: str = ""
    line: int = 0
    text: str = ""


class Fault(InternalError):
    """A defect of a kernel that was found while it ran.

    Args:
        kind: 'out-of-bounds', 'misaligned', 'use-after-free', 'uninitialized', 'race',
            'barrier', 'divergence', 'trap', 'budget', 'condition' of a graph, or 'async': what runs
            beside the threads (bulk copies, products of warpgroups) and they are not kept in order.
        message: what happened, as a sentence.
        thread: (x, y, z) within the block, and `block` within the grid, of the first thread that
            did it; None where no one thread did.
        address: what it accessed, in the address space that it named.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        place: Place | None = None,
        thread: tuple[int, int, int] | None = None,
        block: tuple[int, int, int] | None = None,
        address: int | None = None,
    ):
        self.kind, self.thread, self.block, self.address = kind, thread, block, address
        place = place or Place()
        self.kernel, self.line, self.instruction = place.kernel, place.line, place.text
        where = f" in {place.kernel}, line {place.line} ({place.text})" if place.kernel else ""
        who = f" by thread {thread} of block {block}" if thread is not None else ""
        at = f" at address {address:#x}" if address is not None else ""
        super().__init__(f"{kind}: {message}{at}{who}{where}")


@dataclass
class Violation(Exception):
    """A fault whose thread is still a lane number: the scheduler makes a `Fault` of it."""

    kind: str
    message: str
    lane: int | None = None
    address: int | None = None
    notes: list[str] = field(default_factory=list)


class UnknownInstructionError(UnsupportedError):
    """The interpreter has no meaning for an instruction; `instruction` and `line` say which."""

    def __init__(self, instruction: str, line: int, reason: str = ""):
        self.instruction, self.line = instruction, line
        because = f": {reason}" if reason else ""
        super().__init__(
            f"the PTX interpreter does not know '{instruction}' of line {line}{because}"
        )
