"""The messages in attributes that say which dimension of an array plays which part."""

from tfc.errors import ShapeError


def dimension_numbers(attribute: str | bytes) -> dict[int, tuple[int, ...]]:
    """The integers of a serialized message, by the numbers of its fields.

    Raises:
        ShapeError: it holds something else.
    """
    content = attribute.encode() if isinstance(attribute, str) else attribute
    found: dict[int, tuple[int, ...]] = {}
    place = 0
    while place < len(content):
        tag, place = _integer(content, place)
        if tag & 7 == 0:
            numbers, place = _integers(content, place, 1)
        elif tag & 7 == 2:
            size, place = _integer(content, place)
            end = place + size
            numbers, place = _integers(content[:end], place, size)
        else:
            raise ShapeError("dimension_numbers holds no message of integers")
        found[tag >> 3] = found.get(tag >> 3, ()) + numbers
    return found


def _integers(content: bytes, place: int, most: int) -> tuple[tuple[int, ...], int]:
    numbers: list[int] = []
    while len(numbers) < most and (place < len(content) or (not numbers and most == 1)):
        number, place = _integer(content, place)
        numbers.append(number)
    return tuple(numbers), place


def _integer(content: bytes, place: int) -> tuple[int, int]:
    """(the integer that begins at a place, where the next one begins)."""
    number = shift = 0
    while place < len(content) and shift < 70:
        byte = content[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
    raise ShapeError("dimension_numbers holds no message of integers")
