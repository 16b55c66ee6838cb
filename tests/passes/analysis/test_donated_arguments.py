"""What a module's attributes say of donated arguments, and how they are written."""

import pytest

from tfc.errors import UnsupportedError
from tfc.hlo import Module, parse
from tfc.passes.analysis.donation import Donation, donation_attributes, donation_of


def module(**attributes: str) -> Module:
    """Parameters f32[2], (f32[3], f32[4]), f32[2]: leaves 0 to 3; results f32[3] and f32[2]."""
    stated = "".join(f", {name}={text}" for name, text in attributes.items())
    return parse(f"""HloModule m{stated}
ENTRY main {{
  a = f32[2] parameter(0)
  t = (f32[3], f32[4]) parameter(1)
  c = f32[2] parameter(2)
  b = f32[3] get-tuple-element(t), index=0
  s = f32[2] add(a, c)
  n = f32[3] negate(b)
  ROOT r = (f32[3], f32[2]) tuple(n, s)
}}""")


def test_nothing_is_donated_unless_it_says_so():
    assert donation_of(module()) == Donation({}, frozenset())


def test_places_are_numbers_of_leaves():
    donation = donation_of(module(
        input_output_alias="{ {0}: (1, {0}, may-alias), {1}: (2, {}) }",
        buffer_donor="{ (1, {1}), (2, {}) }",
    ))  # fmt: skip
    # Argument 2 goes into a result, so it is free for nothing else.
    assert donation == Donation({0: 1, 1: 3}, frozenset({2}))
    assert donation.arguments == {1, 2, 3}


@pytest.mark.parametrize(("alias", "message"), [
    ("{ {2}: (0, {}) }", r"names the place \{2\}, which does not exist"),
    ("{ {1}: (5, {}) }", r"names the place \{5,\}, which does not exist"),
    ("{ {0}: (1, {}) }", r"must name arrays, got the tuple at \{1,\}"),
    ("{ {0}: (0, {}) }", r"one shape and layout, got f32\[3\].* and f32\[2\]"),
    ("{ {1}: (0, {}), {1}: (2, {}) }", r"must name every result and argument once, got result"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(alias: str, message: str):
    with pytest.raises(UnsupportedError, match=message):
        donation_of(module(input_output_alias=alias))


def test_donated_arguments_go_to_the_first_result_of_their_shape():
    entry = parse("""ENTRY main {
  a = f32[2] parameter(0)
  b = f32[3] parameter(1)
  c = f32[2] parameter(2)
  ROOT r = (f32[3], f32[2]) tuple(b, a) }""").entry
    stated = dict(donation_attributes(entry, [2, 1, 0]))
    assert stated == {
        "input_output_alias": "{ {1}: (2, {}, may-alias), {0}: (1, {}, may-alias) }",
        "buffer_donor": "{ (0, {}) }",
    }
    assert donation_attributes(entry, []) == ()
