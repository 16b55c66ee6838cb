"""Every flag of TensorFlow's tfcompile is taken, or refused in a sentence, as the page says."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tf_graphs import feed, fetch

import tfc.graph as tf
from tfc.aot.flags.xla import REFUSED, SETTINGS, WITHOUT_EFFECT
from tfc.aot.tfcompile import tfcompile
from tfc.graph.files.messages import write

PAGE = (Path(__file__).parents[3] / "docs" / "tfcompile.md").read_text(encoding="utf-8")
ROWS: list[tuple[str, str]] = re.findall(r"^\| (`--.*?) \| (.*) \|$", PAGE, re.MULTILINE)
MEANINGS = {flag: said for flags, said in ROWS for flag in re.findall(r"`--(\w+)`", flags)}
# What TensorFlow's own source lists.
FLAGS = """
    graph config debug_info debug_info_path_begin_marker dump_fetch_nodes target_triple target_cpu
    target_features entry_point cpp_class out_function_object out_header out_metadata_object
    out_session_module mlir_components experimental_quantize sanitize_dataflow
    sanitize_abilists_dataflow gen_name_to_index gen_program_shape use_xla_nanort_runtime
    tensorflow_header_root
"""


TWICE = "ENTRY f {\n x = f32[4] parameter(0)\n n = negate(x)\n ROOT y = negate(n)\n}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a function in HLO text."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.hlo").write_text(TWICE)
    return tmp_path


def run(*flags: str) -> Result:
    return CliRunner().invoke(tfcompile, ["--graph", "f.hlo", "--cpp_class", "C", *flags])


def test_the_page_has_every_flag_of_the_tool_and_no_other():
    options = {name.removeprefix("--") for p in tfcompile.params for name in p.opts}
    assert set(FLAGS.split()) <= set(MEANINGS)
    assert set(FLAGS.split()) <= options
    assert set(MEANINGS) <= options | {*SETTINGS, *REFUSED, *WITHOUT_EFFECT}
    assert {*SETTINGS, *REFUSED} <= set(MEANINGS)


@pytest.mark.parametrize("flag", [f for f, said in MEANINGS.items() if said.startswith("refused")])
def test_what_the_page_refuses_is_refused_with_the_way_round(folder, flag):
    made = run(f"--{flag}=true")
    assert made.exit_code == 1
    assert made.output.startswith(f"error: --{flag} is not offered: ")
    assert made.output.count("\n") == 1
    assert [p.name for p in folder.iterdir()] == ["f.hlo"]


def test_what_the_page_says_has_no_effect_has_none(folder):
    assert run().output == ""
    plain = (folder / "out_model.o").read_bytes(), (folder / "out.h").read_bytes()
    flags = [f"--{flag}=true" for flag, said in MEANINGS.items() if said.startswith("no effect")]
    flags = [f for f in flags if "mlir" not in f]
    flags += ["--sanitize_dataflow=false", "--experimental_quantize=false", "--mlir_components="]
    for components in ("None", "Bridge"):
        made = run(*flags, "--xla_gpu_autotune_level=4", f"--mlir_components={components}")
        assert (made.exit_code, made.output) == (0, "")
        assert ((folder / "out_model.o").read_bytes(), (folder / "out.h").read_bytes()) == plain


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--xla_cpu_enable_fast_maht=true", "is no flag of XLA that is known here; did you mean "),
        ("--xla_dump_hlo_as_text=perhaps", "--xla_dump_hlo_as_text is true or false, got"),
        ("--xla_disable_hlo_passes=none_such", "there is no pass 'none_such' to disable"),
        ("--debug_info=f.hlo", "f.hlo is no GraphDebugInfo"),
        ("--debug_info=none.pb", "cannot read none.pb: No such file"),
    ],
)
def test_flags_that_say_nothing_are_refused(flag, message):
    made = run(flag)
    assert made.exit_code == 1, made.output
    assert message in made.output


def test_programs_are_dumped_and_passes_left_out_as_xlas_flags_say(folder):
    def dumped(to: str, *flags: str) -> set[str]:
        assert run(f"--xla_dump_to={to}", *flags).output == ""
        return {path.name.partition(".")[2] for path in (folder / to).iterdir()}

    every = dumped("all", "--xla_dump_hlo_as_dot")
    assert {"input.hlo", "input.dot", "simplify.hlo", "simplify.dot"} <= every
    fewer = dumped("fewer", "--xla_disable_hlo_passes=simplify,fusion")
    assert "input.hlo" in fewer
    assert "simplify.hlo" not in fewer
    pictures = dumped("pictures", "--xla_dump_hlo_as_dot=true", "--xla_dump_hlo_as_text=false")
    assert pictures == {name for name in every if name.endswith(".dot")}


TRACES = """
files: "/home/somebody/project/model.py"
files: "/home/somebody/project/main.py"
traces { key: "picture@" value {
  file_line_cols { file_index: 0 line: 12 func: "build" code: "  return decode(x)" }
  file_line_cols { file_index: 1 line: 3 }
} }
"""
BY_NUMBER = """
files: "model.py"
frames_by_id { key: 7 value { file_index: 0 line: 30 } }
traces_by_id { key: 5 value { frame_id: 7 } }
name_to_trace_id { key: "picture" value: 5 }
"""


@pytest.mark.parametrize(
    ("traces", "marker", "place"),
    [
        (TRACES, "", "/home/somebody/project/model.py:12, in build: return decode(x)"),
        (TRACES, "project/", "model.py:12, in build: return decode(x)"),
        (BY_NUMBER, "", "model.py:30"),
    ],
)
def test_errors_say_where_the_nodes_they_name_were_made(folder, traces, marker, place):
    with tf.Graph().as_default() as made:
        tf.placeholder(tf.float32, name="x")
    graph_def = made.as_graph_def()
    graph_def.node.add(name="picture", op="DecodeJpeg", input=["x"])
    write(graph_def, folder / "g.pb", as_text=False)
    (folder / "c.pbtxt").write_text(feed("x", 2) + fetch("picture"))
    (folder / "traces.pbtxt").write_text(traces)
    flags = ["--graph", "g.pb", "--config", "c.pbtxt", "--debug_info", "traces.pbtxt"]
    shown = run(*flags, f"--debug_info_path_begin_marker={marker}")
    assert shown.exit_code == 1
    assert "DecodeJpeg" in shown.output
    assert f"\n  the node 'picture' was made at {place}\n" in shown.output
