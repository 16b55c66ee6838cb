"""What the parser refuses: the exact message, its line and column; hostile and damaged text."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfc.errors import ParseError
from tfc.hlo import parse

X = "x = f32[2,3] parameter(0)\n"
CANONICAL = (Path(__file__).parents[1] / "files" / "text" / "canonical.hlo").read_text()

ERRORS = [
    ("", 1, 1, "expected a computation, got the end of the text"),
    ("HloModule m", 1, 12, "expected a computation, got the end of the text"),
    ("HloModule m, foo=3", 1, 14, "unknown module attribute 'foo'"),
    ("HloModule m, replica_count=1, replica_count=1", 1, 31,
     "the module attribute replica_count is repeated"),
    ("e { x = f32[] frob(y) }", 1, 15, "unknown operation 'frob'"),
    (X + "n = scaled-dot(x, x, x, x)", 2, 5,
     "tfc does not have 'scaled-dot': multiply each operand by its scales, broadcast, and use dot"),
    ("e { x = f32[] parameter(0)", 1, 27, "expected '}', got the end of the text"),
    ("e { }", 1, 5, "expected an instruction, got '}'"),
    (X + "n = add(x, y)", 2, 12, "undefined name 'y'"),
    (X + " x = negate(x)", 2, 2, "the name 'x' is defined twice"),
    (X + "n = add(x)", 2, 5, "add takes 2 operands, got 1"),
    (X + "n = add(x", 2, 10, "expected ',' or ')', got the end of the text"),
    (X + "n = add(x x)", 2, 11, "expected ',' or ')', got 'x'"),
    (X + "n = transpose(x)", 2, 5, "transpose lacks the attribute dimensions"),
    (X + "n = transpose(x), dimension={0}", 2, 19,
     "transpose has no attribute 'dimension'; did you mean 'dimensions'?"),
    (X + "n = negate(x), foo={0}", 2, 16, "negate has no attribute 'foo'; its attributes: none"),
    (X + "n = transpose(x), dimensions={1,0}, dimensions={1,0}", 2, 37,
     "the attribute dimensions is repeated"),
    (X + "n = negate(x), sharding={}, sharding={}", 2, 29, "the attribute sharding is repeated"),
    (X + "n = transpose(x), dimensions={1 0}", 2, 33, "expected ',' or '}', got '0'"),
    (X + "n = transpose(x), dimensions={1,a}", 2, 33, "expected an integer, got 'a'"),
    (X + "n = transpose(x), dimensions={1,1}", 2, 5,
     "transpose requires permutation to be a rearrangement of 0..1, got [1, 1] (TR-1)"),
    (X + "n = f32[3] negate(x)", 2, 12,
     "negate is stated to be f32[3], but its operands give f32[2,3]"),
    (X + "n = negate(f32[3] x)", 2, 19, "the operand is written f32[3], but x is f32[2,3]"),
    (X + "n = convert(x)", 2, 5, "convert requires its result shape to be stated"),
    (X + "n = compare(x, x), direction=XX", 2, 5,
     "compare requires a direction EQ NE GE GT LE LT, got XX"),
    (X + "n = compare(x, x), direction=LT, type=SIGNED", 2, 5,
     "compare requires the type FLOAT or TOTALORDER for f32, got SIGNED"),
    (X + "n = call(x), to_apply=f", 2, 23,
     "undefined computation 'f'"),
    (X + "n = negate(x#0)", 2, 14, "x of shape f32[2,3] has no element 0"),
    (X + "y = f32[] parameter(0)", 2, 11, "parameter 0 is defined twice"),
    ("x = f32[] parameter(1)", 1, 23, "the computation entry has no parameter 0"),
    ("x = f32[] parameter(-1)", 1, 21, "parameters are numbered from 0, got -1"),
    ("x = f32[] parameter(99999999999999999999)", 1, 21,
     "99999999999999999999 does not fit 64 bits"),
    ("x = f31[] parameter(0)", 1, 5, "unknown element type 'f31'; did you mean 'f32'?"),
    ("x = opaque[] parameter(0)", 1, 5, "values of type opaque are not supported"),
    ("x = f32[2,a] parameter(0)", 1, 5, "expected dimension sizes such as [2,3], got [2,a]"),
    ("x = f32[<=2] parameter(0)", 1, 5, "the sizes [<=2] are dynamic, which is not supported: "
     "write a number for each dimension, such as the largest that is needed"),
    ("x = f32[2,3]{1} parameter(0)", 1, 5,
     "minor_to_major must be a rearrangement of 0..1, got {1} (LY-2)"),
    ("x = f32[2,2]{1,0:D(D,C)} parameter(0)", 1, 5,
     "the layout property D(D,C) is not supported"),
    ("c = f32[2] constant({1,2,3})", 1, 27, "the literal has 3 where dimension 0 of f32[2] has 2"),
    ("c = f32[2] constant({1})", 1, 23, "the literal has 1 where dimension 0 of f32[2] has 2"),
    ("c = f32[2] constant(1)", 1, 21, "the literal nests less deeply than f32[2]"),
    ("c = f32[] constant({1})", 1, 20, "the literal nests deeper than f32[]"),
    ("c = f32[2] constant({1,x})", 1, 24, "expected an element of a literal, got 'x'"),
    ("c = f32[2] constant({1,", 1, 24, "expected an element of a literal, got the end of the text"),
    ("c = f32[9] constant({...})", 1, 21, "the elements of the constant c are left out: print the "
     "module with print_large_constants, or make some up with --fill-constants"),
    ("c = f32[] constant(1e39)", 1, 20, "1e39 is outside the range of f32"),
    ("c = f16[] constant(65520)", 1, 20, "65520 is outside the range of f16"),
    ("c = f8e4m3fn[] constant(inf)", 1, 25, "inf is outside the range of f8e4m3fn"),
    ("c = s8[2] constant({1, 128})", 1, 24, "128 is outside -128..127, the range of s8"),
    ("c = u8[] constant(-1)", 1, 19, "-1 is outside 0..255, the range of u8"),
    ("c = s32[] constant(1.5)", 1, 20, "1.5 is no value of type s32"),
    ("c = s32[] constant(true)", 1, 20, "true is no value of type s32"),
    ("c = f32[] constant(true)", 1, 20, "true is no value of type f32"),
    ("c = pred[] constant(2)", 1, 21, "2 is no value of type pred"),
    ("c = f32[] constant(nan(0x800000))", 1, 20,
     "nan(0x800000) has a payload that does not fit f32"),
    ("c = constant(1)", 1, 5, "constant requires its result shape to be stated"),
    (X + 'n = negate(x), backend_config={"a', 2, 32, "the string that begins here does not end"),
    (X + 'n = negate(x), backend_config={"a"', 2, 31, "the brace that opens here is never closed"),
    (X + "/* n", 2, 1, "the comment that begins here does not end"),
    (X + 'n = negate(x), metadata={op_name="a', 2, 34, "the string that begins here does not end"),
    (X + "n = negate(x) $", 2, 15, "unexpected character '$'"),
    (f"e {{ ROOT {X} ROOT n = negate(x) }}", 2, 2, "the computation has a second ROOT"),
    (f"ENTRY e {{ {X} }}\nENTRY f {{ {X} }}", 3, 1, "the module has a second ENTRY"),
    (f"e {{ {X} }}\ne {{ {X} }}", 3, 1, "the computation e is defined twice"),
    (f"e (x: f32[3]) -> f32[2,3] {{ {X} }}", 1, 1,
     "e is declared otherwise than its body, which is (f32[2,3]) -> f32[2,3]"),
    ("HloModule m, entry_computation_layout={(f32[3])->f32[]}\ne { x = f32[] parameter(0) }", 1, 14,
     "entry_computation_layout requires the shapes f32[] and f32[], got f32[3] and f32[]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), ERRORS)
def test_error_says_what_is_wrong_and_where(text: str, line: int, column: int, message: str):
    with pytest.raises(ParseError) as caught:
        parse(text, "in.hlo")
    error = caught.value
    assert (error.message, error.line, error.column) == (message, line, column)
    assert str(error).startswith(f"in.hlo:{line}:{column}: {message}\n")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x = f32[] parameter(0)\ny = f32[] " + "negate(" * 5000, "operands"),
        ("x = " + "(" * 5000, "tuples"),
        ("x = f32[] call(), to_apply=" + "{ y = f32[] call(), to_apply=" * 5000, "computations"),
    ],
)
def test_hostile_nesting_is_refused_before_the_stack_overflows(text: str, what: str):
    with pytest.raises(ParseError, match=f"{what} nest deeper than 100"):
        parse(text)


@settings(max_examples=300)
@given(st.data())
def test_damaged_text_is_refused_with_a_parse_error_or_read(data: st.DataObject):
    """Deleting, doubling or replacing a piece of good text never ends in another exception."""
    text = CANONICAL
    start = data.draw(st.integers(0, len(text)))
    end = min(start + data.draw(st.integers(0, 20)), len(text))
    other = data.draw(
        st.sampled_from(["", "{", "}", "(", ")", ",", "%", '"', "-1", "f32[2]", " x "])
    )
    damaged = text[:start] + other + text[end:]
    with suppress(ParseError):
        parse(damaged)
