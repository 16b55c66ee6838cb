"""The errors tfc raises: the user's (a sentence to act on) and ours (a defect in tfc)."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the known one that is most like it, if any."""
    close = get_close_matches(word[:80].lower(), known, 1, 0.66)
    return f"; did you mean '{close[0]}'?" if close else ""


class TfcError(Exception):
    """Base of every error tfc raises on purpose; its text is one sentence a user can act on."""


class ShapeError(TfcError, ValueError):
    """Operand shapes or attributes do not meet an operation's requirement."""


class OutOfBoundsError(ShapeError, IndexError):
    """An index that is known while tracing lies outside of its dimension."""


class TraceError(TfcError, TypeError):
    """A Python function uses a traced Tensor in a way that a graph cannot express."""


class AbsentAttributeError(TraceError, AttributeError):
    """A traced Tensor does not have the attribute that is asked for."""


class ParseError(TfcError, ValueError):
    """Text is not what its grammar requires; the message has line, column and a caret.

    Args:
        message: what was expected and what was found.
        source: the whole text being parsed.
        offset: index into `source` of the first character that is wrong.
        file: the name to show before the line number.
    """

    def __init__(self, message: str, source: str, offset: int, file: str = "<text>"):
        # What is quoted from a hostile text can be of any length.
        message = message if len(message) <= 400 else f"{message[:300]} … {message[-90:]}"
        self.message, self.file = message, file
        start = source.rfind("\n", 0, offset) + 1
        end = source.find("\n", offset)
        self.line = source.count("\n", 0, offset) + 1
        self.column = offset - start + 1
        excerpt = source[start : len(source) if end < 0 else end]
        # Long lines are shown as a window around the error, so that the caret stays in sight.
        left = max(0, self.column - 61)
        excerpt = excerpt[left : left + 100].replace("\t", " ")
        caret = " " * (self.column - 1 - left) + "^"
        super().__init__(f"{file}:{self.line}:{self.column}: {message}\n  {excerpt}\n  {caret}")


class VerificationError(TfcError):
    """A module breaks an invariant of the IR."""


class UnsupportedError(TfcError, NotImplementedError):
    """A valid program needs something that this backend or version does not offer."""


class ModelFileError(TfcError, ValueError):
    """A model's file is damaged, or not what its format says."""


class KindError(TfcError, TypeError):
    """An argument is not of a kind that the function takes."""


class OutOfMemoryError(TfcError, MemoryError):
    """A program needs more memory than there is."""


class DriverError(TfcError, RuntimeError):
    """There is no GPU to run on, or its driver says that something failed."""


class InternalError(TfcError, RuntimeError):
    """A defect in tfc itself; the notes say which pass or emitter was at work."""
