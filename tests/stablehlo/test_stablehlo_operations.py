"""The table of operations: what a row writes it reads back as it was, in HLO and in StableHLO."""

from collections.abc import Hashable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tfc
from tfc.compiler import module_text
from tfc.hlo.ir import Module
from tfc.hlo.shape import F32, F64, S8, S32
from tfc.hlo.structure import structure
from tfc.stablehlo.exporter.module import WRITERS
from tfc.stablehlo.importer.module import READERS
from tfc.stablehlo.operations import ROWS
from tfc.stablehlo.operations.row import Row
from tfc.testing import OPCODES, instructions_of

FEW = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
# Unsigned integers are their own absolute values, and have a sign of StableHLO's minimum.
TYPES = (F32, S32, F64, S8)
# What random instructions hold beside the operation, and has no counterpart.
NOT_AS_DRAWN = {
    "after-all": "an add-dependency vanishes, and with it a token that nothing else uses",
    "call": "the copies in its body vanish",
    "conditional": "the copies in its branches vanish",
    "topk": "that of the smallest elements is sorted",
    "while": "the copies in the branches of its body vanish",
}
DYNAMIC = "sizes that an operation computes are taken where they are constants"
OLD = "an old spelling, of which today's is written"
OTHER = "HLO says it by another operation, which is written"
DEVICES = "says how values are spread over devices; tfc has one"
ONLY_READ = {
    **dict.fromkeys(
        ("stablehlo.dynamic_broadcast_in_dim", "stablehlo.dynamic_conv", "stablehlo.dynamic_gather",
         "stablehlo.dynamic_iota", "stablehlo.dynamic_pad", "stablehlo.dynamic_reshape",
         "stablehlo.get_dimension_size", "stablehlo.real_dynamic_slice",
         "stablehlo.set_dimension_size"), DYNAMIC,
    ),
    **dict.fromkeys(("stablehlo.broadcast", "stablehlo.create_token", "stablehlo.dot"), OLD),
    **dict.fromkeys(("chlo.*", "stablehlo.composite", "stablehlo.torch_index_select"), OTHER),
    "stablehlo.tuple": "operations have several results, so none is written",
    "stablehlo.get_tuple_element": "operations have several results, so none is written",
    **dict.fromkeys(
        ("sdy.manual_computation", "sdy.named_computation", "sdy.propagation_barrier",
         "sdy.reshard", "sdy.sharding_constraint", "sdy.sharding_group"), DEVICES,
    ),
}  # fmt: skip
ONLY_WRITTEN = {
    "copy": "it is the value itself, as StableHLO has no layouts",
    "fusion": "a call of a function, which is read as a call",
    "get-tuple-element": "one of several results",
    "tuple": "several results",
    "recv-done": "a part of stablehlo.recv, which is read as both",
    "send-done": "a part of stablehlo.send, which is read as both",
}
CALLED = """HloModule m, replica_count=4
sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }
negative { x = f32[4,6] parameter(0) ROOT n = f32[4,6] negate(x) }
absolute { x = f32[4,6] parameter(0) ROOT n = f32[4,6] abs(x) }
"""
X = "x = f32[4,6] parameter(0)\n"
TOKEN = "t = token[] after-all()\n"
# What no random program holds, since it talks to the outside; and what those above leave out.
WRITTEN = {
    "all-gather": X + "ROOT r = f32[4,12] all-gather(x), channel_id=3, "
    "replica_groups={{0,2},{1,3}}, dimensions={1}, use_global_device_ids=true",
    "all-reduce": X + "ROOT r = f32[4,6] all-reduce(x), replica_groups={{0,1,2},{3}}, to_apply=sum",
    "all-to-all": X + "ROOT r = f32[4,6] all-to-all(x), replica_groups={{0,1},{2,3}}, "
    "dimensions={1}",
    "collective-broadcast": X + "ROOT r = f32[4,6] collective-broadcast(x), "
    "replica_groups={{1,0}}",
    "collective-permute": X + "ROOT r = f32[4,6] collective-permute(x), channel_id=1, "
    "source_target_pairs={{0,1},{1,0}}",
    "custom-call": X + 'ROOT r = f32[3] custom-call(x), custom_call_target="outside", '
    'custom_call_has_side_effect=true, api_version=API_VERSION_STATUS_RETURNING, '
    'backend_config="a \\"b\\""',
    "infeed": TOKEN + "i = ((f32[2,3], s32[]), token[]) infeed(t), "
    'infeed_config="left"\nv = (f32[2,3], s32[]) get-tuple-element(i), index=0\n'
    "ROOT r = f32[2,3] get-tuple-element(v), index=0",
    "outfeed": X + "v = (f32[4,6]) tuple(x)\n" + TOKEN +
    'ROOT r = token[] outfeed(v, t), outfeed_config="right", outfeed_shape=(f32[4,6])',
    "recv": TOKEN + "r = (f32[2], u32[], token[]) recv(t), is_host_transfer=true, channel_id=7\n"
    "d = (f32[2], token[]) recv-done(r), is_host_transfer=true, channel_id=7\n"
    "ROOT v = f32[2] get-tuple-element(d), index=0",
    "reduce-scatter": X + "ROOT r = f32[2,6] reduce-scatter(x), replica_groups={{0,1}}, "
    "dimensions={0}, to_apply=sum",
    "rng": "a = f32[] parameter(0) b = f32[] parameter(1)\n"
    "ROOT r = f32[4,6] rng(a, b), distribution=rng_normal",
    "send": X + TOKEN + "s = (f32[4,6], u32[], token[]) send(x, t), channel_id=5\n"
    "ROOT r = token[] send-done(s), channel_id=5",
    "topk": "x = s32[4,6] parameter(0)\n"
    "r = (s32[4,2], s32[4,2]) topk(x), k=2, largest=true\n"
    "ROOT v = s32[4,2] get-tuple-element(r), index=0",
    "after-all": "a = token[] parameter(0) b = token[] parameter(1)\n"
    "ROOT r = token[] after-all(a, b)",
    "call": X + "ROOT r = f32[4,6] call(x), to_apply=negative",
    "conditional": X + "n = s32[] parameter(1)\n"
    "ROOT r = f32[4,6] conditional(n, x, x, x), branch_computations={negative, absolute, negative}",
}  # fmt: skip


def said(module: Module) -> Hashable:
    """What a module says, but for names and attributes at their defaults, which are not printed."""
    return structure(tfc.hlo.parse(module_text(module, "hlo")).entry)


def written_and_read(module: Module) -> tuple[str, Module]:
    """A module's StableHLO, and what is read from it."""
    text = module_text(module, "stablehlo")
    return text, tfc.from_stablehlo(text).hlo


def assert_comes_back(row: Row, module: Module) -> None:
    """HLO and its StableHLO are the same after the way to the other and back."""
    text, again = written_and_read(module)
    assert row.name.removeprefix("func.") in text
    assert said(again) == said(module)
    assert written_and_read(again)[0].partition("\n")[2] == text.partition("\n")[2]


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r.opcode in OPCODES and r.opcode not in NOT_AS_DRAWN],
    ids=lambda row: row.opcode,
)  # fmt: skip
@FEW
@given(st.data())
def test_what_a_row_writes_it_reads_and_what_it_reads_it_writes(row: Row, data: Any):
    module = data.draw(instructions_of(row.opcode, TYPES))
    if module.entry.root.opcode == row.opcode:  # a constant may be a parameter or an iota
        assert_comes_back(row, module)


@pytest.mark.parametrize("row", [r for r in ROWS if r.opcode in WRITTEN], ids=lambda r: r.opcode)
def test_what_is_written_out_comes_back(row: Row):
    text = f"{CALLED}ENTRY main {{\n{WRITTEN[row.opcode]}\n}}"
    assert_comes_back(row, tfc.hlo.parse(text))


@pytest.mark.parametrize("opcode", list(NOT_AS_DRAWN))
@FEW
@given(st.data())
def test_what_has_been_read_once_comes_back(opcode: str, data: Any):
    _, module = written_and_read(data.draw(instructions_of(opcode, TYPES)))
    _, again = written_and_read(module)
    assert said(again) == said(module)


def test_every_row_is_tried():
    assert {r.opcode for r in ROWS} <= set(OPCODES) | set(WRITTEN)


def test_what_goes_one_way_only_has_a_reason():
    """A new operation has a row, or is listed above."""
    assert set(READERS) - {name for r in ROWS for name in (r.name, *r.also)} == set(ONLY_READ)
    assert set(WRITERS) - {r.opcode for r in ROWS} == set(ONLY_WRITTEN)


def test_no_operation_has_two_rows():
    names = [name for r in ROWS for name in (r.name, *r.also)]
    assert len(names) == len(set(names))
    assert len(ROWS) == len({r.opcode for r in ROWS})
