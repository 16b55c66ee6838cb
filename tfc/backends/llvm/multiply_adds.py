"""Fused multiply-add for targets that have no instruction for it, as functions in LLVM IR.

    %r = call double @llvm.fma.f64(double %a, …)  ──►  %r = call double @tfc.fma.f64(double %a, …)

LLVM would call the C library for each element, and make no vectors of the loops around. Here f32
computes in f64, where a product of f32 numbers is exact, and f64 adds up the exact parts of a
product (Dekker) and of a sum (Knuth):

    low = a·b - p     of p = a·b rounded, from the upper 26 and lower 27 bits of each factor
    rest = p + c - s  of s = p + c rounded
    r = s + (low + rest)

The result is off by half a unit in the last place, a tiny fraction of one, and for f64 2^-102 of
the product, whose last part has a bit too many. Where parts of a product would be too small to be
numbers, the product is rounded first; then the error is below the smallest subnormal number.
"""

import re
from string import Template

from tfc.backends.target import Target

_FUSED = re.compile(r"@llvm\.fma\.(v\d+)?(f32|f64)\b")
_DECLARATION = re.compile(r"^declare .*@llvm\.fma\..*\n", re.MULTILINE)

_F32 = Template("""\
define internal $type @tfc.fma.$suffix($type %a, $type %b, $type %c) alwaysinline {
  %x = fpext $type %a to $wide
  %y = fpext $type %b to $wide
  %z = fpext $type %c to $wide
  %p = fmul $wide %x, %y
  %s = fadd $wide %p, %z
  %r = fptrunc $wide %s to $type
  ret $type %r
}
""")

# The upper part of a factor is its bits but the last 27: no number is too large to be split so. A
# product below 2^-960 (least) has no parts; infinities and NaN come out of the plain sum.
_F64 = Template("""\
define internal $type @tfc.fma.$suffix($type %a, $type %b, $type %c) alwaysinline {
  %a.bits = bitcast $type %a to $word
  %b.bits = bitcast $type %b to $word
  %a.cut = and $word %a.bits, $upper
  %b.cut = and $word %b.bits, $upper
  %a.upper = bitcast $word %a.cut to $type
  %b.upper = bitcast $word %b.cut to $type
  %a.lower = fsub $type %a, %a.upper
  %b.lower = fsub $type %b, %b.upper
  %uu = fmul $type %a.upper, %b.upper
  %ul = fmul $type %a.upper, %b.lower
  %lu = fmul $type %a.lower, %b.upper
  %ll = fmul $type %a.lower, %b.lower
  %p = fmul $type %a, %b
  %low.1 = fsub $type %uu, %p
  %low.2 = fadd $type %low.1, %ul
  %low.3 = fadd $type %low.2, %lu
  %low.4 = fadd $type %low.3, %ll
  %p.size = call $type @llvm.fabs.$suffix($type %p)
  %has.low = fcmp oge $type %p.size, $least
  %low = select $truth %has.low, $type %low.4, $type zeroinitializer
  %s = fadd $type %p, %c
  %c.part = fsub $type %s, %p
  %p.part = fsub $type %s, %c.part
  %p.rest = fsub $type %p, %p.part
  %c.rest = fsub $type %c, %c.part
  %rest = fadd $type %p.rest, %c.rest
  %lost = fadd $type %rest, %low
  %r = fadd $type %s, %lost
  %s.size = call $type @llvm.fabs.$suffix($type %s)
  %finite = fcmp olt $type %s.size, $infinity
  %result = select $truth %finite, $type %r, $type %s
  ret $type %result
}
""")


def expand_multiply_adds(text: str, target: Target) -> str:
    """LLVM IR without `llvm.fma` unless the target has an instruction for it.

    The functions that take its place are to be inlined by LLVM's passes.
    """
    if target.has_fma or not (found := set(_FUSED.findall(text))):
        return text
    renamed = _FUSED.sub(r"@tfc.fma.\1\2", _DECLARATION.sub("", text))
    return "\n".join([renamed, *(_definition(*each) for each in sorted(found))])


def _definition(lanes: str, scalar: str) -> str:
    """The function for one type; `lanes` is empty, or v4 for vectors of four."""

    def typed(element: str) -> str:
        return f"<{lanes[1:]} x {element}>" if lanes else element

    def constant(value: str, element: str) -> str:
        return f"splat ({element} {value})" if lanes else value

    suffix = lanes + scalar
    if scalar == "f32":
        return _F32.substitute(type=typed("float"), wide=typed("double"), suffix=suffix)
    return _F64.substitute(
        type=typed("double"),
        word=typed("i64"),
        truth=typed("i1"),
        upper=constant(str(-1 << 27), "i64"),
        least=constant(f"0x{1023 - 960 << 52:016X}", "double"),
        infinity=constant(f"0x{0x7FF << 52:016X}", "double"),
        suffix=suffix,
    )
