"""Mutants of programs: what chance, a broken disk or somebody hostile makes of them.

Each kind of damage is a function of the program's bytes and a source of chance. `outcomes` has a
reader read many mutants of files, of any format: TEXT are the kinds of damage for text, BYTES
those for others, to which a test may add kinds that know its format.
"""

import random
import re
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from tfc.errors import InternalError, TfcError

EXTREMES = (
    b"0", b"-1", b"-0", b"1", b"64", b"65", b"127", b"255", b"65536", b"2147483647", b"2147483648",
    b"4294967295", b"4294967296", b"9223372036854775807", b"-9223372036854775808",
    b"9223372036854775808", b"18446744073709551616", b"99999999999", b"1e400",
    b"0x7FFFFFFFFFFFFFFF", b"0xFFFFFFFFFFFFFFFFFFFFFFFF", b"9" * 40, b"1.5",
)  # fmt: skip
BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"<", b">"), (b"{", b"}"), (b"tuple<", b">"))
SECONDS = 20  # of this process, for a program of a few lines on any machine
MEMORY = 1 << 20  # KiB that all mutants of small files may take beside what there is before
_TOKEN = re.compile(rb"[\w.$-]+|\s+|\"[^\"\n]*\"|.", re.DOTALL)
_NUMBER = re.compile(rb"-?\d[\w.]*")


def flip(content: bytes, chance: random.Random) -> bytes:
    """Some bytes have another bit, or are others."""
    raw = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(raw))
        raw[at] = chance.choice((raw[at] ^ (1 << chance.randrange(8)), chance.randrange(256)))
    return bytes(raw)


def extreme(content: bytes, chance: random.Random) -> bytes:
    """A number is one at the edge of what some integer type holds."""
    found = list(_NUMBER.finditer(content))
    if not found:
        return flip(content, chance)
    match = chance.choice(found)
    return content[: match.start()] + chance.choice(EXTREMES) + content[match.end() :]


def swap(content: bytes, chance: random.Random) -> bytes:
    """A token is gone, doubled, in another's place, or that of another program's."""
    tokens = _TOKEN.findall(content)
    for _ in range(chance.randint(1, 3)):
        at, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        match chance.randrange(3):
            case 0:
                tokens[at] = b""
            case 1:
                tokens[at] += tokens[at]
            case _:
                tokens[at], tokens[other] = tokens[other], tokens[at]
    return b"".join(tokens)


def truncate(content: bytes, chance: random.Random) -> bytes:
    """The end is missing, or a piece of the middle."""
    start, end = sorted((chance.randrange(len(content)), chance.randrange(len(content))))
    return content[:start] + (content[end:] if chance.randrange(2) else b"")


def repeat(content: bytes, chance: random.Random) -> bytes:
    """A line is there again, right there or elsewhere."""
    lines = content.split(b"\n")
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    return b"\n".join(lines)


def nest(content: bytes, chance: random.Random) -> bytes:
    """Brackets nest deeply before or around a token."""
    tokens = _TOKEN.findall(content)
    at, depth = chance.randrange(len(tokens)), chance.choice((10, 150, 1000, 100_000))
    before, after = chance.choice(BRACKETS)
    tokens[at] = before * depth + tokens[at] + (after * depth if chance.randrange(2) else b"")
    return b"".join(tokens)


def begin(content: bytes, chance: random.Random) -> bytes:
    """Some of the first bytes are others: they say more than the weights behind them."""
    raw = bytearray(content)
    for _ in range(chance.randint(1, 6)):
        raw[chance.randrange(min(len(raw), 3000))] = chance.randrange(256)
    return bytes(raw)


def shift(content: bytes, chance: random.Random) -> bytes:
    """A few bytes are gone or doubled, so that what follows lies elsewhere."""
    at, count = chance.randrange(len(content)), chance.randint(1, 40)
    return content[:at] + content[max(at + chance.choice((count, -count)), 0) :]


def number(content: bytes, chance: random.Random) -> bytes:
    """Two, four or eight bytes are a number at the edge of what they hold: a size, an offset."""
    width = chance.choice((2, 4, 8))
    at = chance.randrange(len(content))
    value = chance.choice(
        (0, 1, 1 << (8 * width - 1), (1 << 8 * width) - 1, chance.getrandbits(16))
    )
    return content[:at] + value.to_bytes(width, "little") + content[at + width :]


Kind = Callable[[bytes, random.Random], bytes]
TEXT: tuple[Kind, ...] = (flip, extreme, extreme, swap, truncate, repeat, nest)
BYTES: tuple[Kind, ...] = (flip, begin, begin, shift, number, truncate)


def mutants(
    programs: Sequence[bytes], count: int, seed: int, kinds: Sequence[Kind] = TEXT
) -> Iterator[tuple[str, bytes]]:
    """Mutants, each with the kind of its damage; the same ones for the same seed."""
    chance = random.Random(seed)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        yield kind.__name__, kind(chance.choice(programs), chance)


def outcomes(
    read: Callable[[bytes], object],
    programs: Sequence[bytes],
    count: int,
    seed: int,
    kinds: Sequence[Kind] = TEXT,
) -> Counter[str]:
    """How many mutants were accepted, and refused with an error of the user's.

    Raises:
        AssertionError: one led to another exception, took long or much memory; it holds the mutant.
    """
    found: Counter[str] = Counter()
    most = _peak() + MEMORY
    for kind, content in mutants(programs, count, seed, kinds):
        start = time.process_time()
        try:
            read(content)
            found["accepted"] += 1
        except InternalError as error:
            raise AssertionError(f"{kind} {content[:20000]!r}") from error
        except TfcError:
            found["refused"] += 1
        except Exception as error:
            raise AssertionError(f"{kind} {content[:20000]!r}") from error
        assert time.process_time() - start < SECONDS, f"{kind} {content[:20000]!r}"
        assert _peak() < most, f"{kind} took much memory: {content[:20000]!r}"
    return found


def _peak() -> int:
    """The most memory that this process had at one time, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
