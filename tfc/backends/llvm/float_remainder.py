"""The exact remainder of floats for machines that have none: as C's fmod, in LLVM IR.

    x = 2^e m, y = 2^f n      e - f times: m = 2 (m - n if m ≥ n else m); then m - n if m ≥ n

NVPTX's own expansion of `frem`, x - y·trunc(x / y), is wrong for large quotients.
"""

_FIELDS = {"f32": ("float", 32, 23), "f64": ("double", 64, 52)}

# i is the integer type, w its bits, m those of the fraction, e the greatest biased exponent.
_TEMPLATE = """
declare {i} @llvm.ctlz.i{w}({i}, i1)
define internal {t} @tfc.fmod.{s}({t} %x, {t} %y) {{
entry:
  %xi = bitcast {t} %x to {i}
  %yi = bitcast {t} %y to {i}
  %sign = and {i} %xi, {sign}
  %xa = and {i} %xi, {positive}
  %ya = and {i} %yi, {positive}
  %zero = icmp eq {i} %ya, 0
  %nan = icmp ugt {i} %ya, {infinity}
  %wild = icmp uge {i} %xa, {infinity}
  %bad0 = or i1 %zero, %nan
  %bad = or i1 %bad0, %wild
  br i1 %bad, label %invalid, label %valid
invalid:
  %product = fmul {t} %x, %y
  %none = fdiv {t} %product, %product
  ret {t} %none
valid:
  %small = icmp ult {i} %xa, %ya
  br i1 %small, label %itself, label %large
itself:
  ret {t} %x
large:
  %xe0 = lshr {i} %xa, {m}
  %ye0 = lshr {i} %ya, {m}
  %xsub = icmp eq {i} %xe0, 0
  %ysub = icmp eq {i} %ye0, 0
  %xz = call {i} @llvm.ctlz.i{w}({i} %xa, i1 false)
  %yz = call {i} @llvm.ctlz.i{w}({i} %ya, i1 false)
  %xs = sub {i} %xz, {ebits}
  %ys = sub {i} %yz, {ebits}
  %xe1 = sub {i} 1, %xs
  %ye1 = sub {i} 1, %ys
  %xe = select i1 %xsub, {i} %xe1, {i} %xe0
  %ye = select i1 %ysub, {i} %ye1, {i} %ye0
  %xf = and {i} %xa, {fraction}
  %yf = and {i} %ya, {fraction}
  %xn = or {i} %xf, {implicit}
  %yn = or {i} %yf, {implicit}
  %xd = shl {i} %xa, %xs
  %yd = shl {i} %ya, %ys
  %xm = select i1 %xsub, {i} %xd, {i} %xn
  %ym = select i1 %ysub, {i} %yd, {i} %yn
  br label %loop
loop:
  %k = phi {i} [ %xe, %large ], [ %k1, %next ]
  %a = phi {i} [ %xm, %large ], [ %a2, %next ]
  %d = sub {i} %a, %ym
  %less = icmp ult {i} %a, %ym
  %a1 = select i1 %less, {i} %a, {i} %d
  %more = icmp sgt {i} %k, %ye
  br i1 %more, label %next, label %done
next:
  %a2 = shl {i} %a1, 1
  %k1 = sub {i} %k, 1
  br label %loop
done:
  %empty = icmp eq {i} %a1, 0
  br i1 %empty, label %nothing, label %some
nothing:
  %signed0 = bitcast {i} %sign to {t}
  ret {t} %signed0
some:
  %z = call {i} @llvm.ctlz.i{w}({i} %a1, i1 false)
  %shift = sub {i} %z, {ebits}
  %e0 = sub {i} %ye, %shift
  %normal = icmp sgt {i} %e0, 0
  br i1 %normal, label %is.normal, label %is.subnormal
is.normal:
  %n0 = shl {i} %a1, %shift
  %n1 = and {i} %n0, {fraction}
  %n2 = shl {i} %e0, {m}
  %n3 = or {i} %n1, %n2
  br label %end
is.subnormal:
  %left = sub {i} %ye, 1
  %right = sub {i} 1, %ye
  %is.left = icmp sgt {i} %ye, 0
  %ul = shl {i} %a1, %left
  %ur = lshr {i} %a1, %right
  %u1 = select i1 %is.left, {i} %ul, {i} %ur
  br label %end
end:
  %magnitude = phi {i} [ %n3, %is.normal ], [ %u1, %is.subnormal ]
  %bits = or {i} %magnitude, %sign
  %r = bitcast {i} %bits to {t}
  ret {t} %r
}}
"""


def remainder_functions(text: str) -> str:
    """The definitions of the functions `tfc.fmod.…` that a module's text calls."""
    return "".join(_definition(s) for s in _FIELDS if f"@tfc.fmod.{s}(" in text)


def _definition(suffix: str) -> str:
    kind, width, fraction = _FIELDS[suffix]
    implicit = 1 << fraction
    infinity = ((1 << (width - 1 - fraction)) - 1) << fraction
    return _TEMPLATE.format(
        t=kind, s=suffix, i=f"i{width}", w=width, m=fraction, ebits=width - 1 - fraction,
        sign=-(1 << (width - 1)), positive=(1 << (width - 1)) - 1, infinity=infinity,
        fraction=implicit - 1, implicit=implicit,
    )  # fmt: skip
