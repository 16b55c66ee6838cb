"""LLVM IR text from the MLIR bindings' LLVM, rewritten for the older LLVM of llvmlite.

store float +inf, ptr %p             store float 0x7FF0000000000000, ptr %p
%r = fadd half %x, 9.997550e-02  ──►  %r = fadd half %x, 0xH2E66
"""

import re
from fractions import Fraction
from functools import cache

from tfc.errors import UnsupportedError

# Exponent bits and fraction bits of LLVM's floating-point types.
_FLOAT_FORMATS = {"half": (5, 10), "bfloat": (8, 7), "float": (8, 23), "double": (11, 52)}

# One alternative per token that matters. Strings, names and comments come first, so that nothing
# inside them is taken for a constant; a constant has the type named last before it on its line,
# because LLVM writes the type of an operation once, in front of its first operand.
_TOKEN = re.compile(
    r"""(?P<skip>"[^"]*"|;.*|[%@!$\#][-\w.$]+|^[-\w.$]+:)
      | (?P<type>\b(?:half|bfloat|float|double|fp128|x86_fp80|ppc_fp128)\b)
      | \bf0x(?P<bits>[0-9A-Fa-f]+)\b
      | (?P<special>[+-](?:inf|q?nan|s?nan\(0x[0-9A-Fa-f]+\)))(?![\w.(])
      | (?<![\w.])(?P<decimal>[+-]?[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?)(?![\w.])
    """,
    re.VERBOSE,
)
_MAY_HOLD_CONSTANT = re.compile(r"f0x|[+-](?:inf|[qs]?nan)|[0-9]\.[0-9]*e")
# What such a line has in any case, which is found several times faster than by the expression.
_MARKS = ("f0x", "inf", "nan", "e+", "e-")


def hand_over(text: str) -> str:
    """LLVM IR printed by the MLIR bindings, in the form that llvmlite's LLVM parses.

    Only floating-point constants differ. The newer LLVM prints a decimal that rounds to the value
    *in the constant's own type*, `f0x` and bits, `+inf`, `+qnan` or `+nan(0x1)`. The older one
    reads decimals as doubles and wants them exact, or else hexadecimal: `0xH` or `0xR` and 4 digits
    for half and bfloat, the 16 digits of a double for float and double.

    Raises:
        UnsupportedError: a constant has a type that tfc does not use.
    """
    lines = text.split("\n")
    marks = [mark for mark in _MARKS if mark in text]
    for number, line in enumerate(lines):
        for mark in marks:
            if mark in line:
                if _MAY_HOLD_CONSTANT.search(line):
                    lines[number] = _hand_over_line(line)
                break
    return "\n".join(lines)


def _hand_over_line(line: str) -> str:
    current = ""

    def rewrite(match: re.Match[str]) -> str:
        nonlocal current
        if match["type"]:
            current = match["type"]
        if match["type"] or match["skip"]:
            return match[0]
        if current not in _FLOAT_FORMATS:
            raise UnsupportedError(
                f"cannot hand over the constant {match[0]} of type {current or 'unknown'} "
                f"to LLVM, in the line: {line.strip()}"
            )
        return _constant(current, match["bits"], match["special"], match["decimal"])

    return _TOKEN.sub(rewrite, line)


@cache
def _constant(kind: str, bits: str | None, special: str | None, decimal: str | None) -> str:
    """The constant in the older LLVM's notation; one of the three texts is given."""
    exponent_bits, fraction_bits = _FLOAT_FORMATS[kind]
    if bits is not None:
        pattern = int(bits, 16)
    elif special is not None:
        pattern = _special_pattern(special, exponent_bits, fraction_bits)
    else:
        assert decimal is not None
        magnitude = _pattern(abs(Fraction(decimal)), exponent_bits, fraction_bits)
        pattern = magnitude | decimal.startswith("-") << (exponent_bits + fraction_bits)
    if kind in ("half", "bfloat"):
        return f"0x{'H' if kind == 'half' else 'R'}{pattern:04X}"
    return f"0x{_as_double(pattern) if kind == 'float' else pattern:016X}"


def _special_pattern(text: str, exponent_bits: int, fraction_bits: int) -> int:
    """The bits of +inf, -qnan (the default NaN), +nan(payload) (quiet) or +snan(payload)."""
    negative, name = text[0] == "-", text[1:].partition("(")[0]
    pattern = (negative << exponent_bits | (1 << exponent_bits) - 1) << fraction_bits
    if "(" in text:
        pattern |= int(text[text.index("(") + 1 : -1], 16)
    return pattern | (name in ("nan", "qnan")) << (fraction_bits - 1)


def _pattern(value: Fraction, exponent_bits: int, fraction_bits: int) -> int:
    """The bits of the format's number nearest to a value ≥ 0, ties to even."""
    if value == 0:
        return 0
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if value < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, 1 - bias)  # below this the numbers are denormal: same spacing
    significand = round(value / Fraction(2) ** (exponent - fraction_bits))
    # A normal significand has its leading bit set, which adds one to the exponent field; so does a
    # significand that was rounded up to the next power of two.
    pattern = ((exponent + bias - 1) << fraction_bits) + significand
    return min(pattern, ((1 << exponent_bits) - 1) << fraction_bits)


def _as_double(pattern: int) -> int:
    """The bits of the double equal to a float given by its bits, NaN payloads included."""
    sign, exponent, fraction = pattern >> 31, pattern >> 23 & 0xFF, pattern & 0x7FFFFF
    if exponent == 0xFF:
        return sign << 63 | 0x7FF << 52 | fraction << 29
    if exponent:
        return sign << 63 | (exponent - 127 + 1023) << 52 | fraction << 29
    if not fraction:
        return sign << 63
    shift = 24 - fraction.bit_length()
    return sign << 63 | (1 - shift - 127 + 1023) << 52 | (fraction << shift & 0x7FFFFF) << 29
