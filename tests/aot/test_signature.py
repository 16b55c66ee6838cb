"""Names: the class, its entry point, its files and its arguments."""

import pytest

from tfc.aot.signature import CppClass, signature_of
from tfc.errors import TfcError
from tfc.hlo import parse

NESTED = """
HloModule nested
ENTRY main {
  params = (f32[2], (s32[], pred[3])) parameter(0)
  x.1 = f32[2] parameter(1)
  x-1 = f32[2] parameter(2)
  ROOT t = ((f32[2], f32[2]), f32[2]) parameter(3)
}
"""


@pytest.mark.parametrize(
    ("text", "namespaces", "name", "file"),
    [
        ("foo::bar::MatMulComp", ("foo", "bar"), "MatMulComp", "mat_mul_comp"),
        ("MatMulComp", (), "MatMulComp", "mat_mul_comp"),
        ("::Global", (), "Global", "global"),
        ("a::MyMLP2D", ("a",), "MyMLP2D", "my_mlp2_d"),
        ("_x1::_", ("_x1",), "_", "_"),
    ],
)
def test_classes(text, namespaces, name, file):
    """TL-2: namespaces are allowed, and without them the class is global."""
    parsed = CppClass.parse(text)
    assert (parsed.namespaces, parsed.name, parsed.file_name) == (namespaces, name, file)
    assert str(parsed) == text.removeprefix("::")


@pytest.mark.parametrize(
    "text",
    ["", "foo::", "foo:bar", "foo:::Bar", "foo.Bar", "1Foo", "foo::Bär", "foo Bar", "foo::Bar;",
     "Foo\n", "::::Foo"],
)  # fmt: skip
def test_class_that_is_no_identifier(text):
    with pytest.raises(TfcError, match="must be made of C"):
        CppClass.parse(text)


@pytest.mark.parametrize("text", ["class", "foo::while", "new::Foo", "foo::xor::Bar", "co_await"])
def test_class_that_is_a_keyword(text):
    with pytest.raises(TfcError, match="which is a C"):
        CppClass.parse(text)


def test_class_in_std():
    with pytest.raises(TfcError, match="called std"):
        CppClass.parse("foo::std::Bar")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a::NULL", "'NULL', which is a macro"),
        ("EOF::A", "'EOF', which is a macro"),
        ("a::INT8_MAX", "which is a macro"),
        ("errno", "which is a macro"),
        ("calloc::B", "'calloc', which is a name of the C library"),
        ("FILE", "which is a name of the C library"),
        ("uint8_t", "which is a name of the C library"),
        ("expf::Model", "'expf', which is a name of the C library"),
        ("a::__b", "reserved"),
        ("_Bool", "reserved"),
        ("foo::std", "called std"),
    ],
)
def test_class_of_a_name_that_is_taken(text, reason):
    with pytest.raises(TfcError, match=reason):
        CppClass.parse(text)


@pytest.mark.parametrize("text", ["model::free", "a::exp", "read::Model", "SIGMA", "EMA", "FE_Net"])
def test_class_of_a_name_that_is_taken_elsewhere_only(text):
    assert str(CppClass.parse(text)) == text


@pytest.mark.parametrize(
    ("name", "reason"),
    [("free", "C library"), ("read", "C library"), ("pthread_create", "C library"),
     ("expl", "C library"), ("environ", "C library"), ("NULL", "macro"), ("__entry", "reserved")],
)  # fmt: skip
def test_entry_point_of_a_name_that_is_taken(matmul_text, name, reason):
    with pytest.raises(TfcError, match=f"must not be called '{name}', which is .*{reason}"):
        signature_of(parse(matmul_text), CppClass.parse("a::B"), name)


def test_entry_point(matmul_text):
    module, chosen = parse(matmul_text), CppClass.parse("foo::bar::MatMulComp")
    assert signature_of(module, chosen).entry_point == "foo_bar_MatMulComp_entry"
    assert signature_of(module, chosen, "run_matmul").entry_point == "run_matmul"
    for name in ("1x", "int", "a b", "", "main", "foo"):
        with pytest.raises(TfcError, match="entry point"):
            signature_of(module, chosen, name)


def test_leaves_of_tuples_are_arguments_and_results():
    signature = signature_of(parse(NESTED), CppClass.parse("C"))
    names = [a.name for a in signature.arguments]
    assert names == ["params_0", "params_1_0", "params_1_1", "x_1_3", "x_1_4",
                     "t_0_0", "t_0_1", "t_1"]  # fmt: skip
    assert len(signature.results) == 3
    assert str(signature).startswith("(params_0: f32[2], params_1_0: s32[], params_1_1: pred[3], ")
    assert str(signature).endswith(") -> (f32[2], f32[2], f32[2])")
