"""Operations that XLA's text form knows and tfc does not have, each with the reason."""

_DYNAMIC = "its result has a size that is known only at run time; tfc compiles for fixed shapes"

ABSENT: dict[str, str] = {
    "bitcast": "it reinterprets memory, which only a compiler that has chosen layouts can write; "
    "use reshape, transpose or bitcast-convert",
    "dynamic-reshape": _DYNAMIC,
    # XLA has changed the order of its operands, and no CPU runs it to compare with.
    "scaled-dot": "multiply each operand by its scales, broadcast, and use dot",
    "ragged-all-to-all": "its parts have sizes that are known only at run time",
}
