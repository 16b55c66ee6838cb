"""Infeed, outfeed, channels and tokens: between the host and programs, evaluated and compiled."""

import threading
import time

import numpy as np
import pytest

import tfc
from tfc.errors import ParseError, ShapeError, TfcError, UnsupportedError
from tfc.hlo import evaluate, parse
from tfc.hlo.evaluation.evaluator import evaluate_replicas

# Doubles what it reads, as often as the first argument says; section 1.25's loops.
DOUBLE = """
condition {
  s = (s32[], s32[], token[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  ROOT lt = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], s32[], token[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  t = token[] get-tuple-element(s), index=2
  in = ((f32[2], s32[]), token[]) infeed(t)
  item = (f32[2], s32[]) get-tuple-element(in), index=0
  x = f32[2] get-tuple-element(item), index=0
  k = s32[] get-tuple-element(item), index=1
  u = token[] get-tuple-element(in), index=1
  y = f32[2] add(x, x)
  both = (f32[2], s32[]) tuple(y, k)
  v = token[] outfeed(both, u)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT r = (s32[], s32[], token[]) tuple(j, n, v)
}
ENTRY e {
  n = s32[] parameter(0)
  zero = s32[] constant(0)
  t = token[] after-all()
  s = (s32[], s32[], token[]) tuple(zero, n, t)
  first = (s32[], s32[], token[]) while(s), condition=condition, body=body
  u = token[] get-tuple-element(first), index=2
  again = (s32[], s32[], token[]) tuple(zero, n, u)
  second = (s32[], s32[], token[]) while(again), condition=condition, body=body
  ROOT i = s32[] get-tuple-element(second), index=0
}
"""


def runners(text: str):
    """The two ways of running a module, as functions of its arguments."""
    module = parse(text)
    return [lambda *a: evaluate(module, *a), tfc.compile(module)]


def test_loops_that_feed():
    for run in runners(DOUBLE):
        for number in range(6):
            tfc.transfer_to_infeed((np.float32([number, 1]), np.int32(number)))
        run(np.int32(3))
        for number in range(6):
            value, mark = tfc.transfer_from_outfeed("(f32[2], s32[])", timeout=10)
            np.testing.assert_array_equal(value, [2 * number, 2])
            assert mark == number
        with pytest.raises(TfcError, match="nothing came within"):
            tfc.transfer_from_outfeed("f32[2]", timeout=0.01)


def test_a_program_waits_for_its_infeed():
    for run in runners(DOUBLE):
        done = threading.Event()

        def work(run=run, done=done) -> None:
            run(np.int32(1))
            done.set()

        threading.Thread(target=work, daemon=True).start()
        for number in range(2):
            assert not done.wait(0.02)
            tfc.transfer_to_infeed((np.float32([number, 0]), np.int32(number)))
            got = tfc.transfer_from_outfeed("(f32[2], s32[])", timeout=30)
            assert got[1] == number
        assert done.wait(30)


def test_values_of_other_shapes_are_errors():
    for run in runners(DOUBLE):
        tfc.transfer_to_infeed(np.float32([1]))
        message = r"expected \(float32\[2\], int32\[\]\), got float32\[1\]"
        with pytest.raises(ShapeError, match=message):
            run(np.int32(1))
    out = "x = f32[2] parameter(0)\nt = token[] after-all()\nROOT o = token[] outfeed(x, t)"
    for run in runners(out):
        run(np.float32([1, 2]))
        with pytest.raises(ShapeError, match=r"expected int32\[2\], got float32\[2\]"):
            tfc.transfer_from_outfeed("s32[2]", timeout=10)
        np.testing.assert_array_equal(tfc.transfer_from_outfeed("f32[2]", timeout=10), [1, 2])
    with pytest.raises(ParseError, match="expected nothing more"):
        tfc.transfer_from_outfeed("f32[2] x")


def test_an_empty_tuple_transfers_nothing():
    text = "t = token[] after-all()\nin = ((), token[]) infeed(t)\n"
    text += "e = () get-tuple-element(in), index=0\nu = token[] get-tuple-element(in), index=1\n"
    text += "o = token[] outfeed(e, u)\nROOT c = s32[] constant(7)"
    for run in runners(text):
        run()
        with pytest.raises(TfcError, match="nothing came"):
            tfc.transfer_from_outfeed("()", timeout=0.01)


def test_what_is_fed_is_a_copy():
    x = np.float32([1, 2])
    tfc.transfer_to_infeed((x, np.int32(0)))
    tfc.transfer_to_infeed((x, np.int32(0)))
    x[:] = 9
    tfc.compile(parse(DOUBLE))(np.int32(1))
    got = [tfc.transfer_from_outfeed("(f32[2], s32[])", timeout=10)[0] for _ in range(2)]
    np.testing.assert_array_equal(got, [[2, 4]] * 2)


HOST = """
p = f32[3]{0} parameter(0)
t = token[] after-all()
s = (f32[3]{0}, u32[], token[]) send(p, t), channel_id=1, is_host_transfer=true
d = token[] send-done(s), channel_id=1, is_host_transfer=true
r = (f32[3]{0}, u32[], token[]) recv(d), channel_id=2, is_host_transfer=true
e = (f32[3]{0}, token[]) recv-done(r), channel_id=2, is_host_transfer=true
v = f32[3]{0} get-tuple-element(e), index=0
ROOT a = f32[3]{0} add(v, p)
"""


def test_channels_to_and_from_the_host():
    x = np.float32([1, 2, 3])
    for run in runners(HOST):
        tfc.transfer_to_channel(2, x * 10)
        np.testing.assert_array_equal(np.reshape(run(x), 3), x * 11)
        np.testing.assert_array_equal(tfc.transfer_from_channel(1, "f32[3]", timeout=10), x)


def program(first: str, second: str) -> str:
    return f"p = f32[] parameter(0)\nt = token[] after-all()\n{first}{second}"


SEND = (
    "s = (f32[], u32[], token[]) send(p, t), channel_id=7\nu = token[] send-done(s), channel_id=7\n"
)
RECV = """r1 = (f32[], u32[], token[]) recv(t), channel_id=7
r2 = (f32[], u32[], token[]) recv(t), channel_id=7
d2 = (f32[], token[]) recv-done(r2), channel_id=7
d1 = (f32[], token[]) recv-done(r1), channel_id=7
a = f32[] get-tuple-element(d1), index=0
b = f32[] get-tuple-element(d2), index=0
ROOT c = f32[] subtract(a, b)"""


def test_programs_send_to_each_other_in_the_order_of_requests():
    for send, receive in zip(
        runners(program(SEND, "ROOT z = negate(p)")), runners(program("", RECV))
    ):
        results = []
        thread = threading.Thread(target=lambda: results.append(receive(np.float32(0))))  # noqa: B023
        thread.start()
        send(np.float32(5))
        time.sleep(0.02)
        assert not results
        send(np.float32(3))
        thread.join(30)
        assert np.reshape(results[0], -1) == [2]


def test_devices_send_to_the_ones_that_the_text_names():
    """0 to 1, 1 to 2, 2 to 0; whom nobody sends to gets zeros. Each sends before it receives."""

    def module_of(pairs: str):
        stated = f"frontend_attributes={{_xla_send_recv_source_target_pairs={pairs}}}"
        return parse(f"""HloModule m, num_partitions=3
        ENTRY e {{ p = f32[] parameter(0)
          t = token[] after-all()
          s = (f32[], u32[], token[]) send(p, t), channel_id=7, {stated}
          u = token[] send-done(s), channel_id=7
          r = (f32[], u32[], token[]) recv(u), channel_id=7, {stated}
          ROOT d = (f32[], token[]) recv-done(r), channel_id=7 }}""")

    given = [[np.float32(n)] for n in (10, 11, 12)]
    for pairs, expected in (("{{0,1},{1,2},{2,0}}", [12, 10, 11]), ('"{{0,2}}"', [0, 0, 10])):
        module = module_of(pairs)
        assert [int(v[0]) for v in evaluate_replicas(module, *given)] == expected
        assert [int(v[0]) for v in tfc.compile(module).run_replicas(given)] == expected


def test_replicas_send_among_themselves():
    text = f"""HloModule m, replica_count=2
    f {{ p = f32[] parameter(0)
      t = token[] after-all()
      {SEND}
      ROOT r = f32[] negate(p) }}
    g {{ p = f32[] parameter(0)
      t = token[] after-all()
      r = (f32[], u32[], token[]) recv(t), channel_id=7
      d = (f32[], token[]) recv-done(r), channel_id=7
      ROOT a = f32[] get-tuple-element(d), index=0 }}
    ENTRY e {{ p = f32[] parameter(0)
      i = u32[] replica-id()
      zero = u32[] constant(0)
      t = pred[] compare(i, zero), direction=EQ
      ROOT r = f32[] conditional(t, p, p), true_computation=f, false_computation=g }}"""
    module = parse(text)
    arrays = [[np.float32(4)], [np.float32(6)]]
    assert evaluate_replicas(module, *arrays) == [-4, 4]
    assert tfc.compile(module).run_replicas(arrays) == [[-4], [4]]
    silent = parse(text.replace("f { p = f32[] parameter(0)", "f { p = f32[] parameter(0)", 1)
                   .replace("true_computation=f", "true_computation=g"))  # fmt: skip
    with pytest.raises(TfcError, match="waits in d for others"):
        tfc.compile(silent).run_replicas(arrays)


def test_replicas_have_feeds_of_their_own():
    text = "HloModule m, replica_count=2\nENTRY e { t = token[] after-all()\n"
    text += "in = (s32[], token[]) infeed(t)\nx = s32[] get-tuple-element(in), index=0\n"
    exe = tfc.compile(parse(text + "o = token[] outfeed(x, t)\nROOT y = s32[] negate(x) }"))
    for device in range(2):
        tfc.transfer_to_infeed(np.int32(device + 5), device=device)
    assert exe.run_replicas([[], []]) == [[-5], [-6]]
    assert [tfc.transfer_from_outfeed("s32[]", device=d, timeout=9) for d in range(2)] == [5, 6]


TOKENS = """
x = f32[2] parameter(0)
k = token[] parameter(1)
a = token[] after-all(k)
b = f32[2] add-dependency(x, a)
p = (f32[2], token[]) tuple(b, a)
q = (f32[2], token[]) opt-barrier(p)
c = f32[2] get-tuple-element(q), index=0
d = f32[2] domain(c), domain={kind="sharding", entry={maximal device=0}, exit={maximal device=1}}
n = s32[] get-dimension-size(d), dimensions={0}
m = s32[] constant(2)
e = f32[2] set-dimension-size(d, m), dimensions={0}
cs = (f32[2], f32[2], u32[]) copy-start(e)
f = f32[2] copy-done(cs)
ROOT r = (f32[2], token[], s32[]) tuple(f, a, n)
"""


def test_tokens_take_no_memory():
    module, x = parse(TOKENS), np.float32([1, 2])
    value = evaluate(module, x, ())
    assert value[1] == ()
    exe = tfc.compile(module)
    results = exe(x)  # neither the token argument nor the token result is an array
    assert len(results) == 2
    np.testing.assert_array_equal(results[0], value[0])
    assert results[1] == value[2] == 2
    assert exe.memory_analysis().argument_bytes == 8


def test_a_barrier_keeps_its_operand_apart():
    """Nothing is fused through an opt-barrier, and it runs no code."""
    text = "x = f32[8] parameter(0)\ny = f32[8] negate(x)\nb = f32[8] opt-barrier(y)\n"
    exe = tfc.compile(parse(text + "ROOT z = f32[8] add(b, b)"))
    opcodes = [i.opcode for i in exe.hlo.entry.instructions]
    assert opcodes == ["parameter", "negate", "opt-barrier", "add"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = f32[] parameter(0)\ni = (f32[], token[]) infeed(x)", "infeed requires a token"),
        ("t = token[] after-all()\ni = f32[] infeed(t)", r"\(what is read, token\[\]\)"),
        ("t = token[] after-all()\ni = ((f32[], (f32[])), token[]) infeed(t)", r"\(1.25\)"),
        ("x = f32[] parameter(0)\no = token[] outfeed(x, x)", "outfeed requires a token"),
        ("x = f32[] parameter(0)\nt = token[] after-all()\n"
         "o = token[] outfeed(x, t), outfeed_shape=f32[3]", "an outfeed_shape that is the operand"),
        ("x = f32[] parameter(0)\na = token[] after-all(x)", "after-all requires a token"),
        ("x = f32[] parameter(0)\na = f32[] add-dependency(x, x)", "add-dependency requires a tok"),
        ("x = f32[] parameter(0)\nd = token[] send-done(x)", r"the result \(data, u32\[\]"),
        ("t = token[] after-all()\nr = f32[] recv(t)", "recv requires the result"),
        ("x = f32[] parameter(0)\nd = get-dimension-size(x), dimensions={0}", "one dimension"),
        ("x = f32[2] parameter(0)\nd = set-dimension-size(x, x), dimensions={0}", "scalar s32"),
        ("t = token[] after-all()\nn = negate(t)", "requires an array operand, got the token"),
        ("c = (f32[], token[]) constant((1, 2))", "cannot hold a token"),
        ("x = f32[] parameter(0)\nc = (f32[], f32[]) copy-start(x)", "a stated result"),
        ("x = f32[] parameter(0)\nc = f32[] copy-done(x)", r"a tuple \(operands, result"),
        ("x = f32[] parameter(0)\nc = (f32[]) negate-start(x)", r"a tuple \(operands, result"),
        ("x = f32[] parameter(0)\nc = ((f32[]), s32[]) negate-start(x)", "negate"),
        ("c = ((), f32[]) constant-start()", "unknown operation"),
    ],
)  # fmt: skip
def test_shape_rules(text: str, message: str):
    with pytest.raises(ParseError, match=message):
        parse(text)


def test_dynamic_sizes_are_refused():
    text = "x = f32[2] parameter(0)\nn = s32[] {}\nROOT s = f32[2] set-dimension-size(x, n), "
    for size in ("parameter(1)", "constant(1)"):
        module = parse(text.format(size) + "dimensions={0}")
        with pytest.raises(UnsupportedError, match="must be the constant 2"):
            tfc.compile(module)
    with pytest.raises(UnsupportedError, match="must be the constant 2, got 1"):
        evaluate(module, np.float32([1, 2]))
