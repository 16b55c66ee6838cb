"""Collectives among replicas and partitions: threads of one process, evaluated and compiled.

What is expected is written out, or a NumPy formula over what all devices have.
"""

import threading

import numpy as np
import pytest

import tfc
from tfc.errors import ParseError, ShapeError, TfcError
from tfc.hlo import evaluate, parse
from tfc.hlo.evaluation.evaluator import evaluate_replicas

ADD = "add { x = f32[] parameter(0)\ny = f32[] parameter(1)\nROOT a = f32[] add(x, y) }\n"
RNG = np.random.default_rng(0)


def module_of(body: str, replicas: int, partitions: int = 1):
    """A module for so many devices; `body` is of the entry, which has p = f32[4] parameter(0)."""
    header = f"HloModule m, replica_count={replicas}, num_partitions={partitions}\n"
    return parse(f"{header}{ADD}ENTRY e {{ p = f32[4] parameter(0)\n{body} }}")


def run(module, arrays):
    """The array that each device gets, after checking that both ways of running it agree."""
    values = evaluate_replicas(module, *([a] for a in arrays))
    compiled = tfc.compile(module).run_replicas([[a] for a in arrays])
    for value, (result,) in zip(values, compiled, strict=True):
        np.testing.assert_array_equal(result, value)
    return np.stack(values)


def test_cross_replica_sum_of_the_specification():
    """Section 1.14: (1.0, 2.5) and (3.0, 5.25) give (4.0, 7.75) in both replicas."""
    text = f"HloModule m, replica_count=2\n{ADD}ENTRY e {{ p = f32[2] parameter(0)\n"
    module = parse(f"{text}ROOT r = f32[2] all-reduce(p), to_apply=add }}")
    got = run(module, [np.float32([1.0, 2.5]), np.float32([3.0, 5.25])])
    np.testing.assert_array_equal(got, [[4.0, 7.75]] * 2)


P = RNG.integers(-8, 9, (4, 4)).astype(np.float32)  # what device d has is P[d]
Z = np.zeros(4, np.float32)
PAIRS = "replica_groups={{0,1},{2,3}}"
APART = "replica_groups=[2,2]<=[2,2]T(1,0)"  # {0,2}, {1,3}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("f32[4] all-reduce(p), to_apply=add", [P.sum(0)] * 4),
        (f"f32[4] all-reduce(p), to_apply=add, {PAIRS}", [P[:2].sum(0)] * 2 + [P[2:].sum(0)] * 2),
        (f"f32[4] all-reduce(p), to_apply=add, {APART}", [P[::2].sum(0), P[1::2].sum(0)] * 2),
        ("f32[4] all-reduce(p), to_apply=add, replica_groups={{0},{1},{2},{3}}", P),
        ("f32[4] all-reduce(p), to_apply=add, replica_groups=mesh['x'=2,'y'=2], "
         "device_ids=([2,2]T(1,0)) {'y'}", [P[::2].sum(0), P[1::2].sum(0)] * 2),
        ("f32[4] all-reduce(p), to_apply=add, replica_groups=mesh['x'=2,'y'=2], "
         "device_ids=(0,3,1,2) {'y'}", [P[[0, 3]].sum(0), *[P[1:3].sum(0)] * 2, P[[0, 3]].sum(0)]),
        ("f32[16] all-gather(p), dimensions={0}", [P.ravel()] * 4),
        ("f32[8] all-gather(p), dimensions={0}, replica_groups={{1,0},{2,3}}",
         [np.r_[P[1], P[0]]] * 2 + [np.r_[P[2], P[3]]] * 2),
        ("f32[1] reduce-scatter(p), dimensions={0}, to_apply=add", P.sum(0)[:, None]),
        (f"f32[2] reduce-scatter(p), dimensions={{0}}, to_apply=add, {PAIRS}",
         np.r_[P[:2].sum(0), P[2:].sum(0)].reshape(4, 2)),
        ("f32[4] all-to-all(p), dimensions={0}", P.T),
        (f"f32[4] all-to-all(p), dimensions={{0}}, {PAIRS}",
         [np.r_[P[0, :2], P[1, :2]], np.r_[P[0, 2:], P[1, 2:]],
          np.r_[P[2, :2], P[3, :2]], np.r_[P[2, 2:], P[3, 2:]]]),
        ("f32[4] collective-permute(p), source_target_pairs={{0,1},{1,3},{3,0}}",
         [P[3], P[0], Z, P[1]]),
        ("f32[4] collective-broadcast(p), replica_groups={{2,0},{1}}", [P[2], P[1], P[2], Z]),
        ("u32[] replica-id()", range(4)),
        ("u32[] partition-id()", [0] * 4),
    ],
)  # fmt: skip
def test_collectives_of_four_replicas(operation: str, expected):
    got = run(module_of(f"ROOT r = {operation}", 4), P)
    np.testing.assert_array_equal(got, np.stack(list(expected)))


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        # Two replicas of two partitions: device = 2 · replica + partition.
        ("all-reduce(p), to_apply=add", [P[::2].sum(0), P[1::2].sum(0)] * 2),
        ("all-reduce(p), to_apply=add, channel_id=1", [P.sum(0)] * 4),
        ("all-reduce(p), to_apply=add, channel_id=1, use_global_device_ids=true, "
         "replica_groups={{0,3},{1,2}}", [(P[0] + P[3]), *[P[1] + P[2]] * 2, (P[0] + P[3])]),
        ("collective-permute(p), source_target_pairs={{0,1}}", [Z, Z, P[0], P[1]]),
        ("collective-permute(p), source_target_pairs={{0,1}}, channel_id=1", [Z, P[0], Z, P[2]]),
        ("collective-broadcast(p), replica_groups={{1,0}}, channel_id=1",
         [P[1], P[1], P[3], P[3]]),
    ],
)  # fmt: skip
def test_groups_of_replicas_partitions_and_devices(operation: str, expected):
    got = run(module_of(f"ROOT r = f32[4] {operation}", 2, 2), P)
    np.testing.assert_array_equal(got, np.stack(expected))


def test_several_arrays_at_once():
    body = "n = f32[4] negate(p)\nt = (f32[4], f32[4]) all-reduce(p, n), to_apply=add\n"
    body += "u = (f32[4], f32[4]) all-to-all(p, n)\ng = f32[4] get-tuple-element(t), index=1\n"
    body += "h = f32[4] get-tuple-element(u), index=1\nROOT r = f32[8] concatenate(g, h), "
    got = run(module_of(body + "dimensions={0}", 2), P[:2])
    np.testing.assert_array_equal(got[:, :4], [-P[:2].sum(0)] * 2)
    np.testing.assert_array_equal(got[:, 4:], [P[1], -P[1]])


def test_asynchronous_collectives_are_their_synchronous_forms():
    body = "s = f32[4] all-reduce-start(p), to_apply=add\na = f32[4] all-reduce-done(s)\n"
    body += "t = (f32[4], f32[8]) all-gather-start(a), dimensions={0}\n"
    body += "b = f32[8] all-gather-done(t)\n"
    body += "c = (f32[8], f32[8], u32[], u32[]) collective-permute-start(b), "
    body += "source_target_pairs={{0,1}}\nd = f32[8] collective-permute-done(c)\n"
    body += "e = ((f32[8]), f32[4], s32[]) reduce-scatter-start(d), dimensions={0}, to_apply=add\n"
    got = run(module_of(body + "ROOT r = f32[4] reduce-scatter-done(e)", 2), P[:2])
    np.testing.assert_array_equal(got, [P[:2].sum(0)] * 2)


def test_replicas_meet_in_loops_and_branches():
    """Sum over replicas three times in a loop, then only in the branch that both take."""
    text = f"""HloModule m, replica_count=2
    {ADD}
    body {{ s = (s32[], f32[4]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      v = f32[4] get-tuple-element(s), index=1
      one = s32[] constant(1)
      j = s32[] add(i, one)
      w = f32[4] all-reduce(v), to_apply=add
      ROOT t = (s32[], f32[4]) tuple(j, w) }}
    condition {{ s = (s32[], f32[4]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(3)
      ROOT lt = pred[] compare(i, n), direction=LT }}
    f {{ v = f32[4] parameter(0)
      ROOT w = f32[4] all-reduce(v), to_apply=add }}
    g {{ ROOT v = f32[4] parameter(0) }}
    ENTRY e {{ p = f32[4] parameter(0)
      zero = s32[] constant(0)
      s = (s32[], f32[4]) tuple(zero, p)
      l = (s32[], f32[4]) while(s), condition=condition, body=body
      i = s32[] get-tuple-element(l), index=0
      v = f32[4] get-tuple-element(l), index=1
      three = s32[] constant(3)
      t = pred[] compare(i, three), direction=EQ
      ROOT r = f32[4] conditional(t, v, v), true_computation=f, false_computation=g }}"""
    got = run(parse(text), P[:2])
    np.testing.assert_array_equal(got, [8 * P[:2].sum(0)] * 2)


def test_one_replica_needs_no_others():
    """Collectives of one device are gone from the optimised module."""
    body = "a = f32[4] all-reduce(p), to_apply=add\nb = f32[4] all-gather(a), dimensions={0}\n"
    body += "c = (f32[4]) all-to-all(b)\nd = f32[4] get-tuple-element(c), index=0\n"
    body += "i = u32[] replica-id()\nROOT t = (f32[4], u32[]) tuple(d, i)"
    module = module_of(body, 1)
    exe = tfc.compile(module)
    assert {i.opcode for i in exe.hlo.entry.instructions} <= {"parameter", "constant", "tuple"}
    for got in (exe(P[0]), evaluate(module, P[0])):
        np.testing.assert_array_equal(got[0], P[0])
        assert got[1] == 0


SUM = "ROOT r = f32[4] all-reduce(p), to_apply=add"


def test_a_replica_that_fails_stops_the_others():
    def fail(x):
        if x[0] == 1:
            raise KeyError("replica 1")
        return x

    tfc.register_custom_call("fail", fail)
    body = f'q = f32[4] custom-call(p), custom_call_target="fail"\n{SUM.replace("(p)", "(q)")}'
    module = module_of(body, 3)
    arrays = [[np.full(4, d, np.float32)] for d in range(3)]
    for both in (tfc.compile(module).run_replicas, lambda a: evaluate_replicas(module, *a)):
        with pytest.raises(KeyError, match="replica 1") as caught:
            both(arrays)
        assert caught.value.__notes__ == ["in replica 1, partition 0"]


def test_a_replica_that_stops_early_does_not_hang_the_others():
    """Replica 0 sums once more than replica 1, which CrossReplicaSum says would wait forever."""
    text = f"""HloModule m, replica_count=2
    {ADD}
    f {{ v = f32[4] parameter(0)
      ROOT w = f32[4] all-reduce(v), to_apply=add }}
    g {{ ROOT v = f32[4] parameter(0) }}
    ENTRY e {{ p = f32[4] parameter(0)
      i = u32[] replica-id()
      zero = u32[] constant(0)
      t = pred[] compare(i, zero), direction=EQ
      ROOT r = f32[4] conditional(t, p, p), true_computation=f, false_computation=g }}"""
    module = parse(text)
    arrays = [[P[0]], [P[1]]]
    for both in (tfc.compile(module).run_replicas, lambda a: evaluate_replicas(module, *a)):
        with pytest.raises(TfcError, match="ended"):
            both(arrays)


def test_replicas_that_do_different_things_are_an_error():
    text = f"""HloModule m, replica_count=2
    {ADD}
    f {{ v = f32[4] parameter(0)
      ROOT w = f32[4] all-reduce(v), to_apply=add }}
    g {{ v = f32[4] parameter(0)
      ROOT w = f32[4] collective-permute(v), source_target_pairs={{{{0,1}}}} }}
    ENTRY e {{ p = f32[4] parameter(0)
      i = u32[] replica-id()
      zero = u32[] constant(0)
      t = pred[] compare(i, zero), direction=EQ
      ROOT r = f32[4] conditional(t, p, p), true_computation=f, false_computation=g }}"""
    with pytest.raises(TfcError, match="where others run"):
        tfc.compile(parse(text)).run_replicas([[P[0]], [P[1]]])


def test_running_for_the_wrong_number_of_devices_is_an_error():
    exe = tfc.compile(module_of(SUM, 2))
    with pytest.raises(TfcError, match="run it by run_replicas"):
        exe(P[0])
    with pytest.raises(ShapeError, match="got arguments for 3: state replica_count=3"):
        exe.run_replicas([[a] for a in P[:3]])
    with pytest.raises(TfcError, match="run it by run_replicas"):
        evaluate(module_of(SUM, 2), P[0])


def test_executables_run_for_several_groups_of_replicas_at_once():
    exe, results = tfc.compile(module_of(SUM, 2)), {}

    def work(number: int) -> None:
        results[number] = exe.run_replicas([[P[0] + number], [P[1]]])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for number in range(4):
        np.testing.assert_array_equal(results[number][1][0], P[0] + number + P[1])


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("f32[4] all-reduce(p), to_apply=add, replica_groups={{0,0}}", "at most once"),
        ("f32[4] all-reduce(p), to_apply=add, replica_groups={{0},{}}", "at most once"),
        ("f32[4] all-reduce(), to_apply=add", "at least one operand"),
        ("f32[8] all-reduce(p), to_apply=add", "stated to be"),
        ("f32[9] all-gather(p), dimensions={0}", "grow or shrink by the size of the groups"),
        ("f32[4] all-gather(p), dimensions={0}, replica_groups={{0,1}}", "grow or shrink"),
        ("f32[8] all-gather(p), dimensions={1}", "one dimension of"),
        ("f32[3] reduce-scatter(p), dimensions={0}, to_apply=add", "grow or shrink"),
        ("f32[4] all-to-all(p), dimensions={0}, replica_groups={{0,1,2}}", "a multiple of 3"),
        ("(f32[4]) all-to-all(p), replica_groups={{0,1}}", "an operand for each of the group"),
        ("f32[4] collective-permute(p), source_target_pairs={{0,1},{2,1}}", "no target occurs"),
        ("f32[4] collective-permute(p), source_target_pairs={{0,1,2}}", "pairs"),
        ("f32[4] all-reduce(p), to_apply=add, replica_groups=[2,2]<=[3]", "no rearrangement"),
        ("f32[4] all-reduce(p), to_apply=add, replica_groups=[9999999,999]<=[9999999,999]",
         "from 1 to"),
        ("f32[4] all-reduce(p), to_apply=add, replica_groups=mesh['x'=2]", "expected '{'"),
        ("f32[4] all-reduce(p), to_apply=add, replica_groups=mesh['x'=2] {'y'}", "whole axes"),
        ("f32[4] all-reduce(p), to_apply=add, replica_groups=mesh['x'=2,'x'=2] {'x'}", "twice"),
        ("f32[4] all-reduce(p), to_apply=add, replica_groups=mesh['x'=0] {'x'}", "from 1 to"),
        ("f32[4] all-reduce(p), to_apply=add, replica_groups=mesh['x'=2], device_ids=(1,1) {'x'}",
         "each of 2 devices once"),
        ("f32[4] all-reduce(p), to_apply=add, replica_groups=x", "must be written"),
    ],
)  # fmt: skip
def test_shape_rules(operation: str, message: str):
    with pytest.raises(ParseError, match=message):
        module_of(f"ROOT r = {operation}", 1)


@pytest.mark.parametrize(
    ("replicas", "groups", "message"),
    [(2, "{{0,5}}", "device numbers below 2"), (3, "{{0,1}}", "all of the 3 devices")],
)
def test_groups_must_be_of_the_module_s_devices(replicas: int, groups: str, message: str):
    module = module_of(f"{SUM}, replica_groups={groups}", replicas)
    for run in (lambda: tfc.compile(module), lambda: evaluate(module, P[0])):
        with pytest.raises(ShapeError, match=message):
            run()


@pytest.mark.parametrize("count", ["many", "9999999999", "-1"])
def test_numbers_of_devices_are_checked(count: str):
    with pytest.raises(ParseError, match="replica_count must look like 2"):
        parse(f"HloModule m, replica_count={count}\nENTRY e {{ x = f32[] parameter(0) }}")
