"""The simulator: timelines of small programs are those computed by hand, bytes are conserved."""

import json
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import tfc
from tfc.cli import tfc as command
from tfc.errors import TfcError
from tfc.tools.simulation import Assumptions, Simulation, parse_mesh, simulate, timeline
from tfc.tools.simulation.algorithms import offered, rounds_of
from tfc.tools.simulation.network import pairs_of
from tfc.tools.simulation.speeds import machine_names, parse_speeds, read_speeds
from tfc.tools.simulation.traces import chrome_trace

# Round figures: a byte of memory takes 1 ns, an operation too, a byte on the link 10 ns.
TABLE = """
name = "slow"
[device]
launch = {launch}
transcendentals = 1e9
[[device.memory]]
bandwidth = 1e9
[device.vector]
f32 = 1e9
s32 = 1e9
[[links]]
name = "wire"
bandwidth = 1e8
latency = 1e-6
"""
SUM = "sum { a = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT c = f32[] add(a, b) }\n"


def run(
    body: str,
    mesh: str = "d=4",
    algorithm: str = "",
    trips: int | None = None,
    launch: float = 0.0,
    extra: str = "",
    overlaps: bool = False,
    before: str = "",
) -> Simulation:
    """The simulation of an entry's text as it is."""
    table = TABLE.format(launch=launch) + extra
    if algorithm:
        kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-broadcast")
        table += "[algorithms]\n" + "".join(f'{k} = "{algorithm}"\n' for k in kinds)
    devices = parse_mesh(mesh)
    text = f"HloModule m, num_partitions={devices.size}\n{SUM}{before}\nENTRY e {{ {body} }}"
    text = text.replace("GROUPS", GROUPS)
    assumed = Assumptions("none", {} if trips is None else {"": trips}, overlaps)
    return simulate(tfc.hlo.parse(text), devices, parse_speeds(table, "table"), assumed)


def everyone(devices: int) -> str:
    return "{{" + ",".join(map(str, range(devices))) + "}}"


REDUCE = ("ROOT y = f32[{n}] all-reduce(x), to_apply=sum, channel_id=1, "
          "use_global_device_ids=true, replica_groups={groups}")  # fmt: skip
GROUPS = "channel_id=1, use_global_device_ids=true, replica_groups={{0,1,2,3}}"
LATENCY, BYTE = 1e-6, 1e-8


# --- Cost formulas ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm", "seconds"),
    [
        ("ring", 2 * 3 * (LATENCY + 4000 / 4 * BYTE)),
        ("tree", 2 * 2 * (LATENCY + 4000 * BYTE)),
        ("direct", LATENCY + 3 * 4000 * BYTE),
    ],
)
def test_an_all_reduce_takes_what_its_formula_says(algorithm: str, seconds: float):
    found = run(f"x = f32[1000] parameter(0)\n{REDUCE.format(n=1000, groups=everyone(4))}",
                algorithm=algorithm)  # fmt: skip
    assert found.seconds == pytest.approx(seconds, rel=1e-12)
    assert found.exposed_seconds == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("algorithm", ["ring", "tree", "direct"])
@pytest.mark.parametrize("members", [2, 3, 4, 7, 8])
def test_what_each_member_must_receive_is_sent(algorithm: str, members: int):
    """An all-gather gives each member all parts but its own, a reduce-scatter takes as many."""
    part = 24.0
    for kind in ("all-gather", "reduce-scatter"):
        into, out = np.zeros(members), np.zeros(members)
        for r in rounds_of(kind, algorithm, members, part * members):
            np.add.at(into, r.targets, r.sizes * r.count)
            np.add.at(out, r.sources, r.sizes * r.count)
        np.testing.assert_allclose(into, part * (members - 1))
        np.testing.assert_allclose(out, part * (members - 1))


@pytest.mark.parametrize("algorithm", ["ring", "tree"])
@pytest.mark.parametrize("members", [2, 3, 5, 8])
def test_a_broadcast_reaches_everybody_once(algorithm: str, members: int):
    rounds = rounds_of("collective-broadcast", algorithm, members, 60.0)
    into = np.zeros(members)
    for r in rounds:
        np.add.at(into, r.targets, r.sizes * r.count)
    np.testing.assert_allclose(into, [0.0] + [60.0] * (members - 1))


@pytest.mark.parametrize("members", [2, 3, 4, 6])
def test_gathering_by_a_tree_spreads_all_parts(members: int):
    """Bruck's rounds, followed part by part: at the end each member has them all."""
    held = [[i] for i in range(members)]  # in the order in which they came
    for r in rounds_of("all-gather", "tree", members, float(members)):
        sent = [held[s][: round(size)] for s, size in zip(r.sources, r.sizes)]
        for target, parts in zip(r.targets, sent):
            held[target] = held[target] + parts
    assert all(sorted(parts) == list(range(members)) for parts in held)


def test_a_hierarchical_all_reduce_sends_little_between_hosts():
    """Two hosts of four: B(3/4) within twice, 2(B/4)(1/2) across, per device."""
    extra = '[[links]]\nname = "never"\nbandwidth = 1\n'
    table = TABLE.format(launch=0).replace('name = "wire"', 'name = "wire"\ndevices = 4') + extra
    table = table.replace("bandwidth = 1\n", "bandwidth = 1e7\nlatency = 1e-5\n")
    mesh = parse_mesh("d=8")
    text = f"HloModule m, num_partitions=8\n{SUM}ENTRY e {{ x = f32[1000] parameter(0)\n" + (
        REDUCE.format(n=1000, groups=everyone(8)) + "}"
    )
    speeds = parse_speeds(table + '[algorithms]\nall-reduce = "hierarchical"\n', "table")
    found = simulate(tfc.hlo.parse(text), mesh, speeds)
    within = 2 * 3 * (LATENCY + 1000 * BYTE)
    across = 2 * (1e-5 + 500 * 1e-7)
    assert found.seconds == pytest.approx(within + across, rel=1e-9)
    assert found.link_bytes() == {"wire": 8 * 6000.0, "never": 8 * 1000.0}


# --- Timelines ----------------------------------------------------------------------------------

STARTED = """
  x = f32[1000] parameter(0)
  s = f32[1000] all-reduce-start(x), to_apply=sum, GROUPS
  a = f32[N] iota(), iota_dimension=0
  d = f32[1000] all-reduce-done(s)
  ROOT r = (f32[1000], f32[N]) tuple(d, a)
"""


def test_a_collective_that_was_started_hides_behind_kernels():
    ring = 6 * (LATENCY + 1000 * BYTE)  # 66 µs
    short, long = 4 * 1000 * 1e-9, 4 * 100_000 * 1e-9  # kernels of 4 µs and 400 µs
    found = run(STARTED.replace("N", "1000"), algorithm="ring")
    assert found.seconds == pytest.approx(ring)
    assert found.exposed_seconds == pytest.approx(ring - short)
    found = run(STARTED.replace("N", "100000"), algorithm="ring")
    assert found.seconds == pytest.approx(long)
    assert found.exposed_seconds == 0
    assert found.collective_seconds == pytest.approx(ring)


def test_a_collective_that_was_not_started_hides_behind_nothing():
    body = STARTED.replace("-start", "").replace(
        "d = f32[1000] all-reduce-done(s)", "d = f32[1000] reshape(s)"
    )
    ring, kernel = 6 * (LATENCY + 1000 * BYTE), 4e-4
    assert run(body.replace("N", "100000"), algorithm="ring").seconds == pytest.approx(
        ring + kernel
    )
    asked = run(body.replace("N", "100000"), algorithm="ring", overlaps=True)
    assert asked.seconds == pytest.approx(kernel, rel=0.05)


def test_a_group_waits_for_its_own_members_and_uses_its_own_links():
    groups = "{{0,1},{2,3}}"
    found = run(f"x = f32[1000] parameter(0)\n{REDUCE.format(n=1000, groups=groups)}",
                algorithm="ring")  # fmt: skip
    assert found.seconds == pytest.approx(2 * (LATENCY + 2000 * BYTE))
    sources, targets = pairs_of(found.traffic)
    assert set(zip(sources.tolist(), targets.tolist())) == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert found.traffic.sizes.tolist() == [4000.0] * 4


def test_a_permute_uses_the_links_of_its_pairs_and_others_go_on():
    found = run("x = f32[1000] parameter(0)\n"
                "ROOT y = f32[1000] collective-permute(x), channel_id=1, "
                "source_target_pairs={{0,2}}")  # fmt: skip
    sources, targets = pairs_of(found.traffic)
    assert (sources.tolist(), targets.tolist()) == ([0], [2])
    took = LATENCY + 4000 * BYTE
    assert found.device_seconds.tolist() == pytest.approx([took, 0, took, 0])
    assert [str(c) for c in found.classes] == ["0, 2", "1, 3"]


def test_a_message_is_waited_for_where_it_arrives():
    pairs = "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}"
    found = run(f"""x = f32[1000] parameter(0)
      t = token[] after-all()
      s = (f32[1000], u32[], token[]) send(x, t), channel_id=1, {pairs}
      r = (f32[1000], u32[], token[]) recv(t), channel_id=1, {pairs}
      a = f32[10000] iota(), iota_dimension=0
      got = (f32[1000], token[]) recv-done(r), channel_id=1
      sent = token[] send-done(s), channel_id=1
      y = f32[1000] get-tuple-element(got), index=0
      ROOT z = (f32[1000], f32[10000]) tuple(y, a)""", mesh="d=2")  # fmt: skip
    message, kernel = LATENCY + 4000 * BYTE, 4e-5
    assert found.device_seconds.tolist() == pytest.approx([message, message])
    assert found.exposed_seconds == pytest.approx(message - kernel)


LOOP = """
condition { s = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(COUNT)
  ROOT more = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f32[1000] get-tuple-element(s), index=1
  y = f32[1000] all-reduce(x), to_apply=sum, GROUPS
  ROOT r = (s32[], f32[1000]) tuple(j, y) }
"""
LOOPING = """i = s32[] constant(0)
  x = f32[1000] parameter(0)
  s = (s32[], f32[1000]) tuple(i, x)
  ROOT w = (s32[], f32[1000]) while(s), condition=condition, body=body"""


def test_a_loop_takes_as_long_as_its_iterations():
    once, test, count = 6 * (LATENCY + 1000 * BYTE) + 12e-9, 9e-9, 1_000_000
    found = run(LOOPING, before=LOOP.replace("COUNT", str(count)), algorithm="ring")
    assert found.seconds == pytest.approx(count * (once + test) + test, rel=1e-9)
    assert found.link_bytes() == {"wire": pytest.approx(count * 4 * 6000.0)}


def test_a_loop_of_unknown_length_takes_what_is_assumed():
    unknown = LOOP.replace(
        "n = s32[] constant(COUNT)",
        "m = f32[1000] get-tuple-element(s), index=1\n"
        "f = f32[1] slice(m), slice={[0:1]}\n"
        "g = f32[] reshape(f)\n n = s32[] convert(g)",
    )
    with pytest.raises(TfcError, match=r"how often the loop w runs is not known: state it by --tr"):
        run(LOOPING, before=unknown)
    found = run(LOOPING, before=unknown, trips=10, algorithm="ring")
    assert found.link_bytes() == {"wire": 10 * 4 * 6000.0}
    assert "assumed: w runs 10 times" in str(found)


def test_a_conditional_takes_its_longest_branch():
    branches = """short { x = f32[1000] parameter(0)
      ROOT y = f32[1000] negate(x) }
    long { x = f32[1000] parameter(0)
      y = f32[1000] negate(x)
      ROOT z = f32[1000] negate(y) }"""
    found = run("""p = s32[] parameter(0)
      x = f32[1000] parameter(1)
      ROOT c = f32[1000] conditional(p, x, x, x), branch_computations={short, long, short}""",
                before=branches)  # fmt: skip
    assert found.seconds == pytest.approx(2 * 8e-6)
    assert found.noted.branches == {"c": "long"}
    assert [e.name for e in found.lanes.events] == ["long/y", "long/z"]


def test_each_kernel_takes_its_launch():
    found = run("x = f32[10] parameter(0)\nROOT y = f32[10] negate(x)", mesh="d=1", launch=1e-3)
    assert found.seconds == pytest.approx(1e-3 + 80e-9)


def test_devices_beyond_the_processors_take_turns():
    body = "x = f32[1000] parameter(0)\nROOT y = f32[1000] negate(x)"
    table = "processors = 2\n" + TABLE.format(launch=0)
    text = f"HloModule m, num_partitions=4\nENTRY e {{ {body} }}"
    assumed = Assumptions("none")
    found = simulate(tfc.hlo.parse(text), parse_mesh("d=4"), parse_speeds(table, "t"), assumed)
    assert found.seconds == pytest.approx(2 * 8e-6)


# --- Memory -------------------------------------------------------------------------------------


def test_a_start_holds_its_operand_until_its_done():
    body = """
  p = f32[1000] parameter(0)
  x = f32[1000] negate(p)
  s = (f32[1000], f32[4000]) all-gather-start(x), dimensions={0}, GROUPS
  a = f32[500] iota(), iota_dimension=0
  d = f32[4000] all-gather-done(s)
  ROOT r = (f32[4000], f32[500]) tuple(d, a)"""
    found = run(body)
    assert found.memory.arguments == 4000
    assert found.memory.temporaries == 4000 + 16000 + 2000


def test_memory_is_what_the_buffers_need():
    """Of a program that the CPU's passes have put in order: arena and results."""

    def f(a, b):
        return tfc.numpy.tanh(a @ b) @ b + (a * a).sum()

    module = tfc.jit(f).lower(np.ones((32, 32), "f"), np.ones((32, 32), "f")).hlo
    found = simulate(module, parse_mesh("d=1"), read_speeds("h100"))
    from_plan = tfc.compile(module).memory_analysis()
    assert found.memory.arguments == from_plan.argument_bytes
    planned = from_plan.temporary_bytes + from_plan.result_bytes
    assert found.memory.temporaries <= planned <= 2 * found.memory.temporaries


# --- Traces, many devices, the command ----------------------------------------------------------

TENSOR_PARALLEL = """HloModule tp, num_partitions={n}
ENTRY main {{
  x = f32[1024,512] parameter(0), sharding={{devices=[{d},1,4]<=[{n}] LAST}}
  w = f32[512,1024] parameter(1), sharding={{devices=[1,4,{d}]<=[{d},4]T(1,0) LAST}}
  v = f32[1024,512] parameter(2), sharding={{devices=[4,1,{d}]<=[{d},4]T(1,0) LAST}}
  a = f32[1024,1024] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  h = f32[1024,1024] tanh(a)
  ROOT y = f32[1024,512] dot(h, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}},
    sharding={{devices=[{d},1,4]<=[{n}] LAST}}
}}""".replace("LAST", "last_tile_dim_replicate")


def test_events_of_a_lane_do_not_overlap_and_the_trace_is_json():
    for found in (
        run(STARTED.replace("N", "1000")),
        run(LOOPING, before=LOOP.replace("COUNT", "9")),
    ):
        events = json.loads(chrome_trace(found))["traceEvents"]
        lanes: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for e in events:
            if e["ph"] == "X":
                lanes.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
        assert len(lanes) == 2
        for spans in lanes.values():
            spans.sort()
            assert all(end <= after + 1e-6 for (_, end), (after, _) in pairwise(spans))
            assert spans[-1][1] <= found.seconds * 1e6 + 1e-6


def test_bytes_are_conserved():
    for algorithm in ("ring", "tree", "direct"):
        found = run(f"x = f32[1000] parameter(0)\n{REDUCE.format(n=1000, groups=everyone(4))}",
                    algorithm=algorithm)  # fmt: skip
        document = json.loads(found.to_json())
        assert sum(document["sent"]) == sum(document["received"])
        assert sum(document["sent"]) == sum(document["links"].values())
        assert sum(document["sent"]) == sum(p["bytes"] for p in document["pairs"])
    assert "ring" in offered("all-to-all")


def test_a_thousand_devices_take_little_time():
    module = tfc.hlo.parse(TENSOR_PARALLEL.format(n=1024, d=256))
    begin = time.perf_counter()
    found = simulate(module, parse_mesh("data=256,model=4"), read_speeds("h100"))
    assert time.perf_counter() - begin < 5
    assert [str(c) for c in found.classes] == ["0-1023"]
    assert found.link_bytes().keys() == {"NVLink"}


@pytest.mark.parametrize("name", machine_names())
def test_tables_that_are_shipped_can_be_read_and_say_where_they_are_from(name: str):
    assert len(read_speeds(name).source) > 50


def invoke(folder: Path, *arguments: str, text: str = ""):
    file = folder / "program.hlo"
    file.write_text(text or TENSOR_PARALLEL.format(n=8, d=2))
    return CliRunner().invoke(command, ["simulate", str(file), *arguments])


def test_the_command_prints_and_writes(tmp_path: Path):
    trace, figures = str(tmp_path / "trace.json"), str(tmp_path / "figures.json")
    done = invoke(tmp_path, "--mesh", "data=2,model=4", "--speeds", "a100", "--trace", trace,
                  "--json", figures)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "not hidden" in done.output
    assert json.loads(Path(figures).read_text())["seconds"] > 0
    assert json.loads(Path(trace).read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("mesh", "speeds", "message"),
    [
        ("data=3", "h100", "tp is for 8 devices, and the mesh data=3 has 3"),
        ("data=0", "h100", "a mesh has from 1 to 65536 devices, 'data=0' has 0"),
        ("data", "h100", "a mesh is written data=8,model=4, got 'data'"),
        ("a=2,a=4", "h100", "the mesh 'a=2,a=4' names an axis twice"),
        ("data=8", "nothing", "there is no table of speeds 'nothing': name a file, or one of a100"),
        ("data=8", "name = 3\n[device]", "speeds.toml: name must be text"),
        ("data=8", "[device", "speeds.toml is no TOML"),
        ("data=8", "[device]\nfast = 1", "speeds.toml: device has 'fast'; there are capacity"),
        ("data=8", "[device]\ntranscendentals = -1", "device.transcendentals must be"),
        ("data=8", "[device]\ntranscendentals = nan", "device.transcendentals must be"),
        ("data=8", "[device]\ntranscendentals = 1\nmemory = 3", "device.memory must be tables"),
        ("data=8", TABLE.format(launch=0).partition("[[links]]")[0], "have no link between the"),
        ("data=8", TABLE.format(launch=0).replace("f32 = 1e9", ""), "say nothing of f32"),
        ("data=8", TABLE.format(launch=0) + 'axis = "rows"', "is of an axis 'rows', and the mesh"),
        ("data=8", TABLE.format(launch=0) + "[algorithms]\nall-reduce = 'x'", "must be fastest or"),
    ],
)  # fmt: skip
def test_mistakes_get_one_sentence(tmp_path: Path, mesh: str, speeds: str, message: str):
    if "=" in speeds or "[" in speeds:
        (tmp_path / "speeds.toml").write_text(speeds)
        speeds = str(tmp_path / "speeds.toml")
    done = invoke(tmp_path, "--mesh", mesh, "--speeds", speeds)
    assert done.exit_code == 1
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_program_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Calls that double at each level."""
    monkeypatch.setattr(timeline, "_MOST_STEPS", 1000)
    levels = ["c0 { x = f32[] parameter(0)\nROOT y = f32[] negate(x) }"] + [
        f"c{n} {{ x = f32[] parameter(0)\ny = f32[] call(x), to_apply=c{n - 1}\n"
        f"ROOT z = f32[] call(y), to_apply=c{n - 1} }}" for n in range(1, 40)
    ]  # fmt: skip
    text = (
        "HloModule m, is_scheduled=true\n"
        + "\n".join(levels)
        + ("\nENTRY e { x = f32[] parameter(0)\nROOT y = f32[] call(x), to_apply=c39 }")
    )
    done = invoke(tmp_path, "--mesh", "d=1", "--speeds", "h100", text=text)
    assert "the program takes more than" in done.stderr
