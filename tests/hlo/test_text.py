"""The text form: every rule of the grammar, exact errors with their positions, round trips."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xla_bridge import xla_parse

from tfc.errors import ParseError, TfcError
from tfc.hlo import builder, evaluate, parse
from tfc.hlo.ir import Computation, Instruction, Metadata, Module, rebuild, remake
from tfc.hlo.lexer import quote, unquote
from tfc.hlo.literal import Literal
from tfc.hlo.shape import ELEMENT_TYPES as ALL_TYPES
from tfc.hlo.shape import F32, AnyShape, Layout, Shape, TupleShape
from tfc.hlo.text.printer import clean_name, unique_names
from tfc.passes import Pipeline, parse_passes
from tfc.testing import ELEMENT_TYPES, OPCODES, modules

NAMED_TYPES = tuple(ALL_TYPES.values())
X = "x = f32[2,3] parameter(0)\n"


def body(text: str) -> list[str]:
    """The entry's instructions as tfc prints them."""
    printed = str(parse(text)).split("ENTRY", 1)[1]
    return [line.strip() for line in printed.split("\n")[1:-2]]


def root(text: str) -> Instruction:
    return parse(text).entry.root


# One module with every construct that tfc prints, in the text that it prints.
CANONICAL = (Path(__file__).parents[1] / "files" / "text" / "canonical.hlo").read_text()
CANONICAL = CANONICAL[CANONICAL.index("HloModule") : CANONICAL.index("// CHECK")]


def test_canonical_text_prints_as_it_was_written():
    assert str(parse(CANONICAL)) == CANONICAL


@settings(max_examples=150)
@given(modules(element_types=ELEMENT_TYPES, max_instructions=12))
def test_print_after_parse_is_the_identity_on_random_modules(module: Module):
    text = str(module)
    assert str(parse(text)) == text


def annotated(module: Module, seed: int) -> Module:
    """The module with random layouts, and some of what instructions carry, everywhere."""
    rng = np.random.default_rng(seed)
    properties = ("", "", "S(1)", "T(8,128)(2,1)S(2)", "E(4)", "L(3)M(8)")
    carried = (("sharding", "{devices=[2,1]<=[2]}"), ("origin", '{{"x"}}'),
               ("frontend_attributes", '{a="b"}'),
               ("backend_config", '{"k":[{"a":"}"}]}'))  # fmt: skip

    def relaid(shape: AnyShape) -> AnyShape:
        if isinstance(shape, TupleShape):
            return TupleShape(tuple(map(relaid, shape.elements)))
        if not isinstance(shape, Shape):
            return shape  # a token
        order = tuple(int(d) for d in rng.permutation(shape.rank))
        return shape.with_layout(Layout(order, properties=str(rng.choice(properties))))

    seen: list[Instruction] = []

    def change(i: Instruction) -> Instruction:
        before = [p for p in seen if rng.random() < 0.1 and p.opcode != "parameter"]
        metadata = Metadata("t", f"n{rng.integers(9)}", "f.py", int(rng.integers(3)))
        seen.append(
            i.with_(
                shape=relaid(i.shape),
                annotations=tuple(c for c in carried if rng.random() < 0.3),
                metadata=metadata if rng.random() < 0.5 else None,
                control_predecessors=tuple(before),
            )
        )
        return seen[-1]

    # Every instruction is needed, so that it is kept.
    entry = module.entry
    root = builder.instruction("tuple", [i for i in entry.instructions if i.opcode != "parameter"])
    whole = Computation("main", entry.parameters, (*entry.instructions, root), root)
    new: dict[Instruction, Instruction] = {}
    for old in whole.instructions:
        new[old] = change(old.renewed(new))
    return module.with_entry(remake(whole, new))


# The parts of an asynchronous call must have the same layouts.
ALONE = [o for o in OPCODES if not o.startswith("async")]


@settings(max_examples=80)
@given(modules(element_types=NAMED_TYPES, max_instructions=8, opcodes=ALONE), st.integers(0, 99))
def test_annotated_modules_of_every_type_survive_the_text(module: Module, seed: int):
    text = str(annotated(module, seed))
    again = parse(text)
    assert str(again) == text
    for i in again.entry.instructions:
        assert all(p in again.entry.instructions for p in i.control_predecessors)
    xla_parse(text)


# Grammar: leniency, one snippet for each rule.


@pytest.mark.parametrize(
    "text",
    [
        f"HloModule m\nENTRY e {{ {X} ROOT n = f32[2,3] negate(x) }}",
        f"HloModule m\n\ne {{ {X} n = negate(x) }}",  # no ENTRY, no ROOT, no shape
        f"e {{ {X} n = negate(x) }}",  # no header
        f"{{ {X} n = negate(x) }}",  # bare braces
        f"{X} n = negate(x)",  # bare instructions
        f"{X} ROOT %n = f32[2,3]{{1,0}} negate(f32[2,3]{{1,0}} %x)",  # operand shape
        f"/* c */ {X} // d\n n = /*index=0*/ negate(x) // end",  # comments
        "ENTRY %e (x: f32[2,3]) -> f32[2,3] { %x = f32[2,3] parameter(0)\n n=negate(%x) }",
        "n = negate(f32[2,3] parameter(0))",  # anonymous operand
    ],
)
def test_lenient_forms_mean_the_same(text: str):
    negate = root(text)
    assert negate.opcode == "negate"
    assert negate.operands[0].opcode == "parameter"
    assert str(negate.shape) == "f32[2,3]{1,0}"


def test_module_without_header_is_named_after_its_entry():
    assert parse(f"foo {{ {X} }}").name == "module_foo"


def test_anonymous_operands_become_instructions():
    text = "x = f32[] parameter(0)\nROOT r = add(multiply(x, x), f32[] negate(x))"
    assert body(text) == [
        "%x = f32[] parameter(0)",
        "%multiply = f32[] multiply(%x, %x)",
        "%negate = f32[] negate(%x)",
        "ROOT %r = f32[] add(%multiply, %negate)",
    ]


def test_compact_tuple_elements_are_made_once():
    text = "t = (f32[], (f32[], f32[])) parameter(0)\nROOT r = add(%t#0, %t#1#0)\n"
    module = parse(text + "s = subtract(%t#0, r)")
    opcodes = [i.opcode for i in module.entry.instructions]
    assert opcodes.count("get-tuple-element") == 3
    assert evaluate(module, (1.0, (2.0, 5.0))) == 3


def test_inline_computations():
    text = X + "z = f32[] constant(0)\nROOT r = reduce(x, z), dimensions={0,1}, to_apply="
    text += "{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = add(a, b) }"
    assert evaluate(parse(text), np.ones((2, 3), np.float32)) == 6


def test_attributes_come_in_any_order():
    text = "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = add(a, b) }\n"
    text += f"ENTRY e {{ {X} z = f32[] constant(0)\n ROOT r = reduce(x, z), to_apply=add,"
    text += ' backend_config="q", sharding={replicated}, dimensions={1}, metadata={op_name="r"} }'
    assert str(root(text)) == (
        "%r = f32[2]{0} reduce(%x, %z), dimensions={1}, to_apply=%add, "
        'sharding={replicated}, metadata={op_name="r"}, backend_config="q"'
    )


def test_both_forms_of_conditional():
    text = "f { ROOT a = f32[] parameter(0) }\ng { b = f32[] parameter(0)\n ROOT n = negate(b) }\n"
    text += "ENTRY e { p = pred[] parameter(0)\n i = s32[] parameter(1)\n x = f32[] parameter(2)\n"
    text += "c = conditional(p, x, x), true_computation=f, false_computation=g\n"
    text += "ROOT d = conditional(i, c, c), branch_computations={f, %g, f} }"
    with pytest.raises(ParseError, match="one operand for each branch, got 3 branches, 2 operands"):
        parse(text)
    module = parse(text.replace("{f, %g, f}", "{f, %g}"))
    assert evaluate(module, True, 1, 3.0) == -3
    assert evaluate(module, False, 7, 3.0) == 3
    assert "branch_computations={%f, %g}" in str(module)
    assert "true_computation=%f, false_computation=%g" in str(module)


def test_broadcast_of_a_scalar_may_leave_dimensions_out():
    assert body("x = f32[] parameter(0)\nb = f32[2] broadcast(x)")[1] == (
        "ROOT %b = f32[2]{0} broadcast(%x), dimensions={}"
    )


def test_attributes_equal_to_their_default_are_not_printed():
    text = "x = f32[2] parameter(0)\nd = dot(x, x), lhs_batch_dims={}, lhs_contracting_dims={0},"
    assert body(text + " rhs_contracting_dims={0}")[1] == (
        "ROOT %d = f32[] dot(%x, %x), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    )


def test_slice_strides_are_printed_if_one_of_them_is_not_one():
    assert "slice={[0:1], [1:3]}" in body(X + "s = f32[1,2] slice(x), slice={[0:1:1],[1:3]}")[1]
    assert "slice={[0:1:1], [0:3:2]}" in body(X + "s = slice(x), slice={[0:1],[0:3:2]}")[1]


def test_interior_padding_is_printed_for_all_dimensions_or_none():
    text = X + "z = f32[] constant(0)\nROOT p = pad(x, z), padding="
    assert body(text + "0_1_0x-1_2_0")[2].endswith("padding=0_1x-1_2")
    assert body(text + "0_1x-1_2_3")[2].endswith("padding=0_1_0x-1_2_3")


def test_padding_of_a_scalar_is_empty():
    text = "x = f32[] parameter(0)\nROOT p = f32[] pad(x, x), padding="
    assert body(text)[1] == "ROOT %p = f32[] pad(%x, %x), padding="


def test_six_operands_are_marked_with_their_number():
    lines = [f"p{i} = s32[] parameter({i})" for i in range(11)]
    text = "\n".join([*lines, f"t = tuple({', '.join(f'p{i}' for i in range(11))})"])
    printed = str(parse(text))
    assert "%p4, /*index=5*/%p5, %p6" in printed
    assert "/*index=10*/%p10)" in printed
    assert (
        "entry_computation_layout={(s32[], s32[], s32[], s32[], s32[], /*index=5*/s32[]" in printed
    )
    assert str(parse(printed)) == printed


def test_metadata_keeps_known_and_other_fields():
    text = X + 'n = negate(x), metadata={op_type="t" op_name="a\\"b", source_file="f" '
    made = root(text + "source_line=7 source_end_line=9 stack_frame_id=2 profile_type={1}}")
    extra = (("source_end_line", "9"), ("stack_frame_id", "2"), ("profile_type", "{1}"))
    assert made.metadata == Metadata("t", 'a"b', "f", 7, extra)
    again = root(str(parse(text + "}")))
    assert again.metadata == Metadata("t", 'a"b', "f")


PREDECESSORS = X + "a = negate(x)\nb = abs(x)\nROOT c = sign(x), control-predecessors={a, %b}"


def test_control_predecessors_that_are_gone_are_not_printed():
    entry = parse(PREDECESSORS).entry
    assert entry.root.control_predecessors == entry.instructions[1:3]
    without = [i for i in entry.instructions if i.name != "a"]
    kept = Computation("e", entry.parameters, tuple(without), entry.root)
    assert "sign(%x), control-predecessors={%b}" in str(kept)
    assert "control" not in str(Computation.make("e", entry.parameters, entry.root))


def test_control_predecessors_follow_what_passes_make_of_them():
    text = PREDECESSORS.replace("ROOT c", "c") + "\nROOT t = tuple(c, b, a)"
    renamed = rebuild(parse(text).entry, lambda i: i.with_(name=f"{i.opcode}_{i.name}"))
    assert "sign(%parameter_x), control-predecessors={%negate_a, %abs_b}" in str(renamed)
    called = parse(f"f {{ {text} }}\nENTRY e {{ {X} r = call(x), to_apply=f }}")
    inlined = str(Pipeline("inline", parse_passes("inline")).run(called))
    assert "sign(%x), control-predecessors={%a, %b}" in inlined


def test_control_predecessors_come_first_in_every_order():
    x = builder.parameter(0, Shape(F32), "x")
    first = builder.unary("negate", x).with_(name="first")
    then = builder.unary("abs", x).with_(name="then", control_predecessors=(first,))
    entry = Computation.make("e", [x], builder.instruction("tuple", [then, first]))
    assert [i.name for i in entry.instructions][:3] == ["x", "first", "then"]


def test_module_attributes_and_layout_tables_are_carried():
    text = """\
HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0}}, replica_count=2

FileNames
1 "a.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=4 end_line=4 column=2 end_column=73}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


ENTRY %e (x: f32[2]) -> f32[2] {
  ROOT %x = f32[2]{0} parameter(0), metadata={op_name="x" stack_frame_id=1}
}
"""
    assert str(parse(text)) == text


def test_entry_layout_that_differs_from_the_body_becomes_copies():
    text = (
        "HloModule m, entry_computation_layout={(f32[2,3]{0,1}, s32[])->(f32[2,3]{0,1}, s32[])}\n"
    )
    text += f"ENTRY e {{ {X} i = s32[] parameter(1)\n n = negate(x)\n ROOT t = tuple(n, i) }}"
    module = parse(text)
    assert module.entry.parameters[0].array_shape.layout == Layout((0, 1))
    assert [i.opcode for i in module.entry.instructions][-2:] == ["copy", "tuple"]
    assert "{(f32[2,3]{0,1}, s32[])->(f32[2,3]{0,1}, s32[])}" in str(module)
    assert str(parse(str(module))) == str(module)


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("{0,1:S(1)}", "{0,1:S(1)}"),
        ("{1,0:T(8,128)(2,1)S(5)}", "{1,0:T(8,128)(2,1)S(5)}"),
        ("{1,0: T(*,128) L(2)#(u32)*(u64)E(4)S(1)SC(0:1,2)M(8)}",
         "{1,0:T(*,128)L(2)#(u32)*(u64)E(4)S(1)SC(0:1,2)M(8)}"),
        ("{1,0:D(D,D)L(1)E(0)S(0)M(0)}", "{1,0}"),
    ],
)  # fmt: skip
def test_layouts_carry_what_has_no_meaning_here(written: str, printed: str):
    made = root(f"x = f32[2,3]{written} parameter(0)").array_shape
    assert str(made) == f"f32[2,3]{printed}"
    assert made == Shape(F32, (2, 3), Layout(made.layout.minor_to_major))
    assert str(root("x = f32[]{:S(1)} parameter(0)").shape) == "f32[]{:S(1)}"


def test_computations_that_nothing_calls_are_read_and_dropped():
    module = parse(f"unused {{ {X} }}\nENTRY e {{ {X} n = negate(x) }}")
    assert [c.name for c in module.computations] == ["e"]


# Literals.


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("f32[]", "2.5"), ("f32[]", "-inf"), ("f32[]", "nan"), ("f32[]", "-nan"),
        ("f32[]", "nan(0x1)"), ("f32[]", "-nan(0x400001)"), ("f64[]", "nan(0x8000000000001)"),
        ("f32[]", "-0.0"), ("f32[]", "3.40282347e+38"), ("f32[]", "1.4013e-45"),
        ("f64[]", "3.1415926535897931"), ("f64[]", "0.1"), ("bf16[]", "3.141"),
        ("f16[2]{0}", "{0.099976, 65504}"), ("f8e4m3fn[2]{0}", "{0.312, nan}"),
        ("f8e5m2[3]{0}", "{5.7e+04, -inf, nan(0x1)}"), ("f8e4m3fnuz[]", "-nan"),
        ("s4[3]{0}", "{-8, 7, 0}"), ("u64[]", "18446744073709551615"),
        ("s64[]", "-9223372036854775808"), ("pred[]", "true"), ("pred[2]{0}", "{1, 0}"),
        ("c64[]", "(1, nan)"), ("c128[2]{0}", "{(0.1, -0.0), (1, -inf)}"),
        ("f32[2,1]{1,0}", "{ {1}, {2} }"), ("f32[2,2]{0,1}", "{ { 1, 2 }, { 3, 4 } }"),
        ("f32[0]{0}", "{}"), ("f32[0,2]{1,0}", "{  }"), ("f32[2,0]{1,0}", "{ {}, {} }"),
        ("f32[2,0,3]{2,1,0}", "{ {  }, {  } }"), ("f32[1,0,1,2]{3,2,1,0}", "{ { /*i0=0*/ } }"),
        ("s8[1,2,1,2]{3,2,1,0}",
         "{ { /*i0=0*/ { /*i1=0*/ { 1, 2 } }, { /*i1=1*/ { 3, 4 } } } }"),
    ],
)  # fmt: skip
def test_literals_print_as_xla_writes_them(shape: str, text: str):
    assert body(f"c = {shape} constant({text})") == [f"ROOT %c = {shape} constant({text})"]


@pytest.mark.parametrize("element_type", ALL_TYPES.values(), ids=str)
def test_every_bit_pattern_of_narrow_types_survives_the_text(element_type):
    """Random patterns of the wide types, all 256 of the 8-bit ones: NaN payloads included."""
    size = element_type.bytes
    rng = np.random.default_rng(0)
    raw = rng.integers(0, 256, 512 * size, np.uint8) if size > 1 else np.arange(256, dtype=np.uint8)
    values = raw.view(element_type.dtype)
    if element_type.kind == "pred":
        values = np.array([False, True])
    elif element_type.bits == 4:
        low = -8 if element_type.kind == "signed" else 0
        values = np.arange(low, low + 16).astype(element_type.dtype)
    elif element_type.name.startswith("f8") and np.isnan(np.array(np.inf, element_type.dtype)):
        values = values[~np.isnan(values)]  # one NaN, which ml_dtypes reads from several patterns
    literal = Literal(values)
    text = str(builder.instruction("constant", [], literal=literal))
    assert root(text)["literal"] == literal


def test_tuple_constants_become_tuples_of_constants():
    text = "c = (f32[], (s32[2], pred[])) constant((1, ({2,3}, true)))"
    value = evaluate(parse(text))
    assert value[0] == 1
    np.testing.assert_array_equal(value[1][0], [2, 3])


@pytest.mark.parametrize("element_type", ALL_TYPES.values(), ids=str)
def test_constants_that_are_left_out_are_filled(element_type):
    text = f"c = {element_type}[3,4] constant({{...}})"
    value = {kind: parse(text, fill_constants=kind).entry.root["literal"].array
             for kind in ("zeros", "iota", "random", "random:0", "random:7")}  # fmt: skip
    assert not np.any(value["zeros"])
    count = 2 if element_type.kind == "pred" else 8
    np.testing.assert_array_equal(value["iota"].astype(np.complex128).reshape(-1),
                                  np.arange(12) % count)  # fmt: skip
    np.testing.assert_array_equal(value["random"], value["random:0"])
    assert np.any(value["random"] != value["random:7"])


def test_tuples_are_filled_whole_or_in_part():
    shape = "(f32[3], (s32[2], pred[]), ())"
    for written in ("{...}", "({...}, {...}, ())", "({...}, ({...}, false), ())"):
        value = evaluate(parse(f"c = {shape} constant({written})", fill_constants="iota"))
        np.testing.assert_array_equal(value[0], [0, 1, 2])
        np.testing.assert_array_equal(value[1][0], [0, 1])
        assert value[2] == ()
    with pytest.raises(TfcError, match="zeros, iota or random:SEED, not with 'ones'"):
        parse("c = f32[] constant(1)", fill_constants="ones")


# Names and strings.


def test_unique_names_leaves_unique_names_alone():
    assert unique_names(["add", "add", "add.1", "x", "add.1"]) == [
        "add", "add.2", "add.1", "x", "add.3",
    ]  # fmt: skip


def test_names_become_identifiers():
    wanted = ["a b/c", "1x", "", "f32", "%p", "Größe"]
    assert [clean_name(n) for n in wanted] == ["a_b_c", "_1x", "_", "f32_", "_p", "Gr__e"]


def test_computations_of_one_name_are_numbered():
    x = builder.parameter(0, Shape(F32), "x")
    made = [Computation.make("f", [x], builder.unary(o, x)) for o in ("negate", "abs")]
    first = builder.instruction("call", [x], to_apply=made[0])
    entry = Computation.make("f", [x], builder.instruction("call", [first], to_apply=made[1]))
    text = str(Module("m", entry))
    assert [line.split(" (")[0] for line in text.split("\n") if line.endswith("{")] == [
        "%f", "%f.1", "ENTRY %f.2",
    ]  # fmt: skip
    assert str(parse(text)) == text


@given(st.text())
def test_strings_survive_quoting(text: str):
    assert unquote(quote(text)) == text
    assert quote(text).isascii()


def test_strings_escape_as_xla_does():
    assert quote("é'\n\"\t\1\\") == r'"\303\251\'\n\"\t\001\\"'
    assert unquote(r"'\x41\101\q'") == "AAq"


def test_constants_of_many_elements_are_read_and_printed():
    values = np.random.default_rng(0).normal(size=(100, 500)).astype(np.float32)
    text = str(builder.constant(values))
    np.testing.assert_array_equal(root(text)["literal"].array, values)


def test_tuple_shapes_mark_every_fifth_element():
    shape = TupleShape((Shape(F32),) * 6)
    assert str(shape) == "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[])"


def test_words_of_newer_xla_are_read_as_what_they_say():
    def text(compare: str, broadcast: str) -> str:
        return f"""HloModule m
        ENTRY e {{
          x = f32[2] parameter(0)
          c = pred[2] compare(x, x), direction=LT{compare}
          b = f32[2] collective-broadcast(x), replica_groups={{{{0,1}}}}{broadcast}
          ROOT s = f32[2] select(c, x, b)
        }}"""

    newer = parse(text(", order=TOTAL", ", has_dynamic_root=false"))
    assert str(newer) == str(parse(text(", type=TOTALORDER", "")))
    assert str(parse(text(", order=PARTIAL", ""))) == str(parse(text("", "")))
    with pytest.raises(ParseError, match="order must be TOTAL or PARTIAL, got SOME"):
        parse(text(", order=SOME", ""))
    with pytest.raises(ParseError, match="has_dynamic_root must be false, got true"):
        parse(text("", ", has_dynamic_root=true"))
