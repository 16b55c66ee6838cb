"""The host's side of infeed, outfeed and channels: what goes into running programs and comes out.

    exe = tfc.compile(module)                      module: … infeed(token) …, outfeed(x, token) …
    tfc.transfer_to_infeed(np.float32([1, 2]))     queued until the program reads it
    exe()
    tfc.transfer_from_outfeed("f32[2]")            waits until the program has written it

Queues belong to the process; each device of a program has its own. Values are arrays, or tuples of
arrays. All functions may be called from any thread.
"""

from typing import Any

from tfc.hlo.lexer import Lexer
from tfc.hlo.shape import AnyShape
from tfc.hlo.specs import spec_of
from tfc.hlo.text.value_text import parse_shape
from tfc.runtime.arrays import Spec, copied
from tfc.runtime.functions import as_value
from tfc.runtime.transfers import FROM_PROGRAM, INFEED, OUTFEED, TO_PROGRAM, put, receive
from tfc.tracebacks import api_boundary


@api_boundary
def transfer_to_infeed(value: Any, *, device: int = 0) -> None:
    """Queue a value for the next infeed of the program on a device; does not wait.

    The program's infeed raises ShapeError if the value is not of its dtypes and dimensions.
    """
    put((INFEED, 0, device), copied(as_value(value)))


@api_boundary
def transfer_from_outfeed(
    shape: AnyShape | str, *, device: int = 0, timeout: float | None = None
) -> Any:
    """The next value that the program on a device writes to its outfeed.

    Args:
        shape: what is expected, such as "f32[2,3]" or "(f32[2], pred[])".
        timeout: seconds to wait for it; no end when left out.

    Raises:
        ShapeError: the next value is something else; it stays in the queue.
        TfcError: none came in time.
        ParseError: the text is no shape.
    """
    return receive((OUTFEED, 0, device), _spec(shape), "the outfeed", timeout)


@api_boundary
def transfer_to_channel(channel: int, value: Any, *, device: int = 0) -> None:
    """Queue a value for a `recv` with that channel_id and is_host_transfer=true."""
    put((TO_PROGRAM, channel, device), copied(as_value(value)))


@api_boundary
def transfer_from_channel(
    channel: int, shape: AnyShape | str, *, device: int = 0, timeout: float | None = None
) -> Any:
    """The next value of a `send` with that channel_id and is_host_transfer=true.

    Args:
        shape: what is expected, such as "f32[2,3]".
        timeout: seconds to wait for it; no end when left out.

    Raises:
        ShapeError: the next value is something else; it stays in the queue.
        TfcError: none came in time.
        ParseError: the text is no shape.
    """
    return receive((FROM_PROGRAM, channel, device), _spec(shape), f"channel {channel}", timeout)


def _spec(shape: AnyShape | str) -> Spec:
    if not isinstance(shape, str):
        return spec_of(shape)
    lexer = Lexer(shape, "shape")
    parsed = parse_shape(lexer)
    if lexer.kind != "end":
        lexer.expected("nothing more")
    return spec_of(parsed)
