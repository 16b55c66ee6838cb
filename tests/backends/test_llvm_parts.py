"""LLVM IR in parts: together they are the program that the whole was."""

import ctypes
import threading
from typing import Any

import pytest

from tfc.backends.llvm import code_maker, parts
from tfc.backends.llvm.code_maker import CodeMaker
from tfc.backends.llvm.compilation import load_objects
from tfc.backends.llvm.effort import Effort, effort_for
from tfc.backends.llvm.parts import Part, emit_object, split_ir
from tfc.backends.target import Target
from tfc.errors import InternalError

TEXT = """@table = private unnamed_addr constant [2 x i32] [i32 5, i32 7]

define internal i32 @twice(i32 %x) #0 {
  %y = mul i32 %x, 2
  ret i32 %y
}

define internal i32 @"odd name"(i32 %x) #0 {
  %p = getelementptr [2 x i32], ptr @table, i64 0, i64 1
  %t = load i32, ptr %p
  %d = call i32 @"twice"(i32 %x)
  %y = add i32 %d, %t
  ret i32 %y
}

define i32 @entry(i32 %x) {
  %a = call i32 @"odd name"(i32 %x)
  %b = call i32 @apply(ptr @twice, i32 %a)
  ret i32 %b
}

define internal i32 @apply(ptr %f, i32 %x) #0 {
  %y = call i32 %f(i32 %x)
  ret i32 %y
}

attributes #0 = { noinline }
"""


def objects_of(text: str) -> list[bytes]:
    with CodeMaker(Target.host(), emit_object) as maker:
        return maker.finish(text)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_parts_are_the_program(count: int) -> None:
    parts = split_ir(TEXT, count, least=1)
    assert len(parts) == min(count, 3) + 1  # one of them only calls
    objects = [code for part in parts for code in objects_of(part.text)]
    code = load_objects(objects, Target.host())
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(code.address("entry"))(10) == 54


def test_each_function_is_in_one_part() -> None:
    parts = split_ir(TEXT, 3, least=1)
    for name in ("@twice(", '@"odd name"(', "@entry(", "@apply("):
        lines = [line for p in parts for line in p.text.splitlines()]
        defined = [line for line in lines if line.startswith("define")]
        assert sum(name in line for line in defined) == 1


def test_what_is_small_or_has_variables_stays_whole() -> None:
    calling = TEXT[: TEXT.index("define i32 @entry")] + TEXT[TEXT.index("attributes") :]
    assert split_ir(calling, 2) == [Part(calling, Effort.INDEPENDENT)]
    changing = TEXT.replace("private unnamed_addr constant", "internal global")
    assert split_ir(changing, 2, least=1) == [Part(changing, Effort.FULL)]


@pytest.mark.parametrize(
    ("body", "effort"),
    [
        ("call void @f(i64 %n)", Effort.STEERING),
        ("%m = call i64 @llvm.smin.i64(i64 %n, i64 4)\n  call void @f(i64 %m)", Effort.STEERING),
        ("call void @f(i64 %n)\n  store i64 %n, ptr %p", Effort.INDEPENDENT),
        ("%v = load i64, ptr %p\n  call void @f(i64 %v)", Effort.INDEPENDENT),
        ("call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)", Effort.INDEPENDENT),
        ("store <4 x float> zeroinitializer, ptr %p", Effort.VECTORS),
        ("store <4 x float> zeroinitializer, ptr %p\n  store i64 %n, ptr %p", Effort.INDEPENDENT),
        ("store float 0.0, ptr %p", Effort.INDEPENDENT),
        ("%i = phi i64 [ %n, %1 ], [ %j, %2 ]\n  store float 0.0, ptr %p", Effort.INDEPENDENT),
        ("%s = phi float [ 0.0, %1 ], [ %t, %2 ]\n  store float %s, ptr %p", Effort.FULL),
    ],
)
def test_functions_that_only_call_and_those_made_of_vectors_need_little(
    body: str, effort: Effort
) -> None:
    assert effort_for(f"define void @k(ptr %p, i64 %n) {{\n  {body}\n  ret void\n}}\n") is effort


@pytest.mark.parametrize("effort", Effort)
def test_every_effort_makes_code_that_does_the_same(
    effort: Effort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "effort_for", lambda function: effort)
    code = load_objects(objects_of(TEXT), Target.host())
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(code.address("entry"))(10) == 54


def test_parts_may_be_started_before_the_last_is_known() -> None:
    head, rest = TEXT[: TEXT.index("define i32 @entry")], TEXT[TEXT.index("define i32 @entry") :]
    declared = 'declare i32 @"odd name"(i32)\ndeclare i32 @twice(i32)\n'
    with CodeMaker(Target.host(), emit_object) as maker:
        maker.start(head + "attributes #0 = { noinline }")
        code = load_objects(maker.finish(declared + rest), Target.host())
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(code.address("entry"))(10) == 54


def test_what_takes_longest_is_made_first_and_given_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(code_maker, "available_cores", lambda: 1)
    all_wait, made = threading.Event(), []

    def emit(_: Any, module: Any) -> str:
        assert all_wait.wait(60)
        (function,) = [f.name for f in module.functions if not f.is_declaration]
        made.append(function)
        return function

    def text(name: str, length: int) -> str:
        steps = "".join(f"  %v{n} = load volatile i32, ptr %p\n" for n in range(length))
        return f"define void @{name}(ptr %p) {{\n{steps}  ret void\n}}\n"

    with CodeMaker(Target.host(), emit) as maker:
        for name, length in (("first", 1), ("short", 10), ("long", 90), ("middle", 40)):
            maker.start(text(name, length))
        all_wait.set()
        assert maker.finish(text("last", 60)) == ["first", "short", "long", "middle", "last"]
    assert set(made) == {"first", "short", "long", "middle", "last"}
    waited = [name for name in made if name in ("short", "long", "middle")]
    assert waited == ["long", "middle", "short"]


def test_a_part_that_is_wrong_fails_at_the_end() -> None:
    with CodeMaker(Target.host(), emit_object) as maker:
        maker.start(TEXT.replace("mul i32", "mull i32"))
        with pytest.raises(InternalError, match="mull i32"):
            maker.finish("define void @other() { ret void }")
