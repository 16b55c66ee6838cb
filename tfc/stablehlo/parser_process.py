"""The process that parses StableHLO for this one, which no program can end or keep waiting."""

from dataclasses import dataclass

from tfc.backends.mlir.package import PROVIDER
from tfc.errors import InternalError
from tfc.runtime.service import Service
from tfc.stablehlo import parser

SECONDS = 10  # for a program, and one more for each megabyte


@dataclass(frozen=True)
class Reply:
    """What became of a program.

    content: it as MLIR bytecode; empty if it was refused.
    refused: MLIR's reasons, each a place (`loc("-":line:column)` in text) and a message.
    """

    content: bytes = b""
    refused: tuple[tuple[str, str], ...] = ()


class Parser(Service):
    """A process that parses one program after the other. Safe to ask from any thread."""

    def __init__(self, provider: str):
        """Args: the package of MLIR's bindings."""
        super().__init__("StableHLO is parsed", parser.__file__, provider, seconds=lambda: SECONDS)

    def parse(self, form: str, content: bytes, passes: str = "") -> Reply:
        """Have a program parsed and verified, and passes run on it.

        Args:
            form: "text", or "bytecode" for that of MLIR and for portable artifacts.
            passes: a pipeline of MLIR's.

        Raises:
            UnsupportedError: no such process can be started.
            InternalError: the bindings fail in it.
        """
        answer = self.ask({"form": form, "passes": passes}, content)
        if isinstance(answer, int):
            return Reply(refused=(("", _end(answer)),))
        reply, found = answer
        return Reply(found, tuple((place, message) for place, message in reply["refused"]))


def _end(code: int) -> str:
    """Why a program has no reply, by how the process ended.

    Raises:
        InternalError: with a Python exception, which is none of the program's.
    """
    if code == 1:
        raise InternalError("MLIR's parser, which runs in a process of its own, fails on anything")
    return (
        "it is malformed in a way that ends MLIR's parser, or takes too much time or memory "
        f"(exit code {code})"
    )


PARSER = Parser(PROVIDER)
