"""The text of what talks to the world: XLA parses what we print, and prints what we print."""

import re

import pytest
from xla_bridge import xla_parse, xla_print

from tfc.hlo import parse

HEADER = "HloModule m, replica_count=4\n"
ADD = "add { x = f32[] parameter(0)\ny = f32[] parameter(1)\nROOT a = f32[] add(x, y) }\n"

# One instruction a line, operands p: f32[4], t: token[], all attributes in XLA's order.
INSTRUCTIONS = r"""
token[] after-all(%t, %t)
token[] after-all()
f32[4]{0} opt-barrier(%p)
f32[4]{0} add-dependency(%p, %t)
u32[] partition-id()
u32[] replica-id()
s32[] get-dimension-size(%p), dimensions={0}
f32[4]{0} set-dimension-size(%p, %n), dimensions={0}
f32[4]{0} domain(%p), domain={kind="sharding", entry={maximal device=0}, exit={maximal device=1}}
((f32[3]{0}, pred[]), token[]) infeed(%t), infeed_config="abc"
(f32[3]{0}, token[]) infeed(%t)
token[] outfeed(%p, %t), outfeed_shape=f32[4]{0}, outfeed_config="x\"y"
(f32[4]{0}, u32[], token[]) send(%p, %t), channel_id=1
(f32[4]{0}, u32[], token[]) send(%p, %t), channel_id=1, is_host_transfer=true
(f32[4]{0}, u32[], token[]) recv(%t), channel_id=2, is_host_transfer=true
f32[4]{0} all-reduce(%p), replica_groups={}, to_apply=%add
f32[4]{0} all-reduce(%p), channel_id=3, replica_groups={{0,1},{2,3}}, constrain_layout=true, use_global_device_ids=true, to_apply=%add
(f32[4]{0}, f32[4]{0}) all-reduce(%p, %p), replica_groups={}, to_apply=%add
f32[4]{0} all-reduce-start(%p), replica_groups={}, to_apply=%add
f32[8]{0} all-gather(%p), replica_groups=[2,2]<=[4], dimensions={0}
f32[16]{0} all-gather(%p), channel_id=1, replica_groups={{0,1,2,3}}, constrain_layout=true, dimensions={0}, use_global_device_ids=true
(f32[4]{0}, f32[16]{0}) all-gather-start(%p), replica_groups={}, dimensions={0}
((f32[4]{0}, f32[4]{0}), (f32[16]{0}, f32[16]{0})) all-gather-start(%p, %p), replica_groups={}, dimensions={0}
f32[2]{0} reduce-scatter(%p), channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), use_global_device_ids=true, dimensions={0}, to_apply=%add
f32[4]{0} all-to-all(%p), channel_id=1, replica_groups={}, constrain_layout=true, dimensions={0}
(f32[4]{0}, f32[4]{0}) all-to-all(%p, %p), replica_groups={{0,1},{2,3}}
f32[4]{0} collective-permute(%p), channel_id=1, source_target_pairs={{0,1},{1,0}}
f32[4]{0} collective-permute(%p), source_target_pairs={}
(f32[4]{0}, f32[4]{0}, u32[], u32[]) collective-permute-start(%p), source_target_pairs={{0,1}}
f32[4]{0} collective-broadcast(%p), channel_id=1, replica_groups={{0,1},{2,3}}
(f32[4]{0}, f32[4]{0}, u32[]) copy-start(%p), cross_program_prefetch_index=1
f32[4]{0} custom-call(%p, %p), custom_call_target="foo"
(f32[4]{0}, s32[]) custom-call(%p, %t), custom_call_target="a\"b", custom_call_has_side_effect=true, backend_config="opaque"
f32[4]{0} custom-call(%p, %p), window={size=2}, dim_labels=b0f_0io->b0f, feature_group_count=2, batch_group_count=3, operand_precision={high,high}, padding_type=PADDING_SAME, custom_call_target="foo", operand_layout_constraints={f32[4]{0}, f32[4]{0}}, custom_call_has_side_effect=true, literal=f32[2]{0} {1, 2}, output_to_operand_aliasing={{}: (0, {})}, schedule=SCHEDULE_LATEST, api_version=API_VERSION_STATUS_RETURNING
f32[4]{0} custom-call(%p), custom_call_target="foo", api_version=API_VERSION_TYPED_FFI, backend_config={a = 1}
f32[4]{0} custom-call(%p), custom_call_target="foo", called_computations={%add, %add}
""".strip().split("\n")  # noqa: E501


def module_text(instruction: str) -> str:
    operands = "p = f32[4]{0} parameter(0)\nt = token[] parameter(1)\nn = s32[] constant(4)\n"
    return f"{HEADER}{ADD}ENTRY e {{ {operands}ROOT r = {instruction} }}"


def line_of(text: str, name: str = "r") -> str:
    found = re.search(rf"^  (?:ROOT )?%{name} = (.*)$", text, re.M)
    assert found
    return found[1]


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_text_is_as_xla_prints_it(instruction: str):
    printed = str(parse(module_text(instruction)))
    assert line_of(printed) == instruction
    assert str(parse(printed)) == printed
    assert line_of(xla_print(xla_parse(printed))) == instruction


DONE = """
s = (f32[4]{0}, u32[], token[]) send(p, t), channel_id=1, is_host_transfer=true
sd = token[] send-done(s), channel_id=1, is_host_transfer=true
r = (f32[4]{0}, u32[], token[]) recv(t), channel_id=2
rd = (f32[4]{0}, token[]) recv-done(r), channel_id=2
as = f32[4]{0} all-reduce-start(p), to_apply=add
ad = f32[4]{0} all-reduce-done(as)
gs = (f32[4]{0}, f32[16]{0}) all-gather-start(p), dimensions={0}
gd = f32[16]{0} all-gather-done(gs)
cs = (f32[4]{0}, f32[4]{0}) collective-permute-start(p), source_target_pairs={{0,1}}
cd = f32[4]{0} collective-permute-done(cs)
xs = (f32[4]{0}, f32[4]{0}, u32[]) copy-start(p)
xd = f32[4]{0} copy-done(xs)
"""


def test_what_waits_prints_as_in_xla():
    operands = "p = f32[4]{0} parameter(0)\nt = token[] parameter(1)\n"
    printed = str(parse(f"{HEADER}{ADD}ENTRY e {{ {operands}{DONE}ROOT z = tuple(p, ad) }}"))
    assert str(parse(printed)) == printed
    theirs = xla_print(xla_parse(printed))
    for name in ("sd", "rd", "ad", "gd", "cd", "xd"):
        assert line_of(printed, name) == line_of(theirs, name)


ASYNC = """HloModule m
wrapped { x = f32[4]{0} parameter(0)
  ROOT n = f32[4]{0} negate(x) }
ENTRY e { p = f32[4]{0} parameter(0)
  s = ((f32[4]{0}), f32[4]{0}, s32[]) async-start(p), async_execution_thread="other", calls=wrapped
  u = ((f32[4]{0}), f32[4]{0}, s32[]) async-update(s), async_execution_thread="other", calls=wrapped
  ROOT d = f32[4]{0} async-done(u), async_execution_thread="other", calls=wrapped }"""

SUGAR = """HloModule m
ENTRY e { p = f32[4]{0} parameter(0)
  s = ((f32[4]{0}), f32[4]{0}, s32[]) negate-start(p), async_execution_thread="other"
  u = ((f32[4]{0}), f32[4]{0}, s32[]) negate-update(s)
  ROOT d = f32[4]{0} negate-done(u) }"""

CALL = """HloModule m
ENTRY e { p = f32[4]{0} parameter(0)
  s = ((f32[4]{0}), f32[2]{0}, s32[]) slice-start(p), slice={[1:3]}, metadata={op_name="here"}
  ROOT d = f32[2]{0} slice-done(s) }"""


@pytest.mark.parametrize("text", [ASYNC, SUGAR, CALL])
def test_asynchronous_text_goes_to_xla_and_back(text: str):
    """We print the long form, XLA the short one of one instruction; both parse both."""
    printed = str(parse(text))
    assert str(parse(printed)) == printed
    called = parse(printed).entry.instructions[1]["calls"]
    theirs = str(parse(xla_print(xla_parse(printed))))
    again = parse(theirs).entry.instructions[1]["calls"]
    assert [i.opcode for i in called.instructions] == [i.opcode for i in again.instructions]
    assert called.root.attributes == again.root.attributes
    assert "async-start(%p)" in printed


def test_token_is_no_name():
    """XLA reserves the word for the type, so nothing else is printed so."""
    printed = str(parse("x = f32[] parameter(0)\nROOT token = f32[] negate(x)"))
    assert "ROOT %token_ = f32[] negate(%x)" in printed
    xla_parse(printed)
