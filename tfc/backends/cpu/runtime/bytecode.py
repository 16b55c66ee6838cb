"""Bytecode: which kernel of a program runs on which buffers, in which order.

An instruction is a few words of 64 bits, the first its opcode. A buffer is two of them: the number
of a space (an argument, a result, the arena or the constants) and an offset in bytes.

    KERNEL     site, caller, kernel, chunks, bytes of scratch memory of a chunk, count, buffers
    CALL       site, caller, function, count, buffers      end with its status, if that is not 0
    COPY       site, bytes, source, target
    UNLESS     buffer, place                               go there if the pred in it is false
    OTHERWISE  buffer, number, place                       go there if the s32 in it is another
    JUMP       place
    END
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum

from tfc.passes.memory.buffers import Slice


class Opcode(IntEnum):
    """What an instruction does."""

    KERNEL, CALL, COPY, UNLESS, OTHERWISE, JUMP, END = range(7)


class Called(Enum):
    """What an instruction calls, which says how.

    KERNEL: (buffers …, chunk). FUNCTION: (buffers …) -> status. BOUND: (the frame) -> status, what
    Python binds to one participant (bound_calls.py).
    """

    KERNEL, FUNCTION, BOUND = range(3)


Arity = tuple[int, Called]  # how many buffers a function takes; 0 if it takes the frame


@dataclass
class Bytecode:
    """A program as it is made.

    spaces: the numbers of the spaces.
    words: the instructions so far.
    functions: the names of what they call, by number.
    arities: those of what they call, by the number of the caller.
    bound: the names of what is bound, which is data, among those of the functions.
    most: the largest number of buffers of an instruction.
    shared: whether threads share the work of an instruction.
    """

    spaces: dict[tuple[str, int], int]
    words: list[int] = field(default_factory=list)
    functions: dict[str, int] = field(default_factory=dict)
    arities: dict[Arity, int] = field(default_factory=dict)
    bound: dict[str, None] = field(default_factory=dict)
    most: int = 0
    shared: bool = False

    @property
    def here(self) -> int:
        """The place of the next instruction."""
        return len(self.words)

    def kernel(
        self, site: int, name: str, buffers: Sequence[Slice], chunks: int, scratch: int
    ) -> None:
        """Run a kernel, in so many chunks; each has `scratch` bytes of the last buffer."""
        self.shared |= chunks > 1
        called = self._called(name, buffers, Called.KERNEL)
        self._add(
            Opcode.KERNEL, site, *called, chunks, scratch, len(buffers), *self._buffers(buffers)
        )

    def call(
        self, site: int, name: str, buffers: Sequence[Slice], kind: Called = Called.FUNCTION
    ) -> None:
        """Call a function that returns a status, and end with it if it is not 0."""
        called = self._called(name, buffers, kind)
        self._add(Opcode.CALL, site, *called, len(buffers), *self._buffers(buffers))

    def copy(self, site: int, size: int, source: Slice, target: Slice) -> None:
        """Copy so many bytes."""
        self._add(Opcode.COPY, site, size, *self._buffers([source, target]))

    def unless(self, condition: Slice) -> int:
        """Go elsewhere if a pred is false; the result is what `land` takes."""
        return self._add(Opcode.UNLESS, *self._buffers([condition]), 0)

    def otherwise(self, selector: Slice, number: int) -> int:
        """Go elsewhere unless an s32 is a number."""
        return self._add(Opcode.OTHERWISE, *self._buffers([selector]), number, 0)

    def jump(self, place: int = 0) -> int:
        """Go to a place that is known, or which `land` will tell."""
        return self._add(Opcode.JUMP, place)

    def land(self, *jumps: int) -> None:
        """Let these go to the next instruction."""
        for at in jumps:
            self.words[at] = self.here

    def end(self) -> None:
        """End the program."""
        self._add(Opcode.END)

    def __str__(self) -> str:
        """A line for each instruction: its place, and what it does."""
        lines, at = [], 0
        while at < len(self.words):
            line, after = self._said(at)
            lines.append(f"{at:6}  {line}")
            at = after
        return "\n".join(lines)

    def _said(self, at: int) -> tuple[str, int]:
        """What the instruction at a place does, and the place of the next."""
        names, spaces, words = list(self.functions), list(self.spaces), self.words

        def buffers(first: int, count: int) -> list[str]:
            found = []
            for n in range(first, first + 2 * count, 2):
                space, number = spaces[words[n]]
                name = f"{space} {number}" if space in ("parameter", "result") else space
                found.append(f"{name} + {words[n + 1]}" if words[n + 1] else name)
            return found

        match words[at]:
            case Opcode.KERNEL:
                called, chunks, count = words[at + 3], words[at + 4], words[at + 6]
                listed = ", ".join(buffers(at + 7, count))
                shared = f" in {chunks} chunks" if chunks > 1 else ""
                return f"kernel @{names[called]}({listed}){shared}", at + 7 + 2 * count
            case Opcode.CALL:
                count = words[at + 4]
                listed = ", ".join(buffers(at + 5, count))
                return f"call @{names[words[at + 3]]}({listed})", at + 5 + 2 * count
            case Opcode.COPY:
                source, target = buffers(at + 3, 2)
                return f"copy {words[at + 2]} bytes from {source} to {target}", at + 7
            case Opcode.UNLESS:
                return f"unless {buffers(at + 1, 1)[0]} go to {words[at + 3]}", at + 4
            case Opcode.OTHERWISE:
                (selector,) = buffers(at + 1, 1)
                return f"unless {selector} is {words[at + 3]} go to {words[at + 4]}", at + 5
            case Opcode.JUMP:
                return f"go to {words[at + 1]}", at + 2
            case _:
                return "end", at + 1

    def _add(self, opcode: Opcode, *words: int) -> int:
        """Add an instruction; the result is the number of its last word."""
        self.words += int(opcode), *words
        return len(self.words) - 1

    def _called(self, name: str, buffers: Sequence[Slice], kind: Called) -> tuple[int, int]:
        """The numbers of the caller and of what it calls."""
        self.most = max(self.most, len(buffers))
        arity = (0 if kind is Called.BOUND else len(buffers)), kind
        caller = self.arities.setdefault(arity, len(self.arities))
        if kind is Called.BOUND:
            self.bound.setdefault(name)
        return caller, self.functions.setdefault(name, len(self.functions))

    def _buffers(self, buffers: Sequence[Slice]) -> list[int]:
        return [n for b in buffers for n in (self.spaces[b.space, b.index], b.offset)]
