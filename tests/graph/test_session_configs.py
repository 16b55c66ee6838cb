"""Sessions' configuration, devices, timelines and pictures of clusters."""

import json
import re

import numpy as np
import pytest
from session_nodes import enter_rows, twice_on_host

import tfc.graph as tf
from tfc.errors import TfcError
from tfc.graph import errors
from tfc.options import GraphDumps

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


@pytest.fixture(autouse=True)
def graph():
    enter_rows()
    with tf.Graph().as_default() as made:
        yield made


def test_configurations_are_made_as_a_whole_or_by_their_fields():
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True), allow_soft_placement=True)
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    assert config.gpu_options.allow_growth
    assert tf.ConfigProto().graph_options.optimizer_options.global_jit_level == 0
    with pytest.raises(AttributeError):
        config.graph_options.optimizer_options.global_jit_levle = 1
    with pytest.raises(TypeError):
        tf.ConfigProto(jit=True)


def test_the_options_of_a_run_are_checked_and_may_ask_for_its_graph():
    session, metadata = tf.Session(), tf.RunMetadata()
    x = tf.constant(1.0, name="x")
    session.run(x, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    (graph,) = metadata.partition_graphs
    assert [node.name for node in graph.node] == ["x"]
    assert session.graph_def == graph
    with pytest.raises(errors.UnimplementedError, match="timeout_in_ms"):
        session.run(x, options=tf.RunOptions(timeout_in_ms=5))
    with pytest.raises(errors.UnimplementedError, match="operation_timeout_in_ms"):
        tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=5))
    with pytest.raises(TypeError, match="RunOptions"):
        session.run(x, options={"trace_level": 3})


def test_the_devices_are_listed():
    names = [d.name for d in tf.Session().list_devices()]
    assert names == [CPU, CPU.replace("CPU:", "XLA_CPU:")]
    two = tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})).list_devices()
    assert two[1].name.endswith("/device:CPU:1")


def test_device_strings_of_scopes_add_up_and_are_written_in_one_way(graph):
    with graph.device("/job:worker"), graph.device("/cpu:0"):
        assert tf.constant(1.0).device == "/job:worker/device:CPU:0"
        with graph.device("/task:3"):
            assert tf.constant(1.0).device == "/job:worker/task:3/device:CPU:0"
        with graph.device(None):
            assert tf.constant(1.0).device == ""
        with graph.device(lambda op: "/gpu:1" if op.type == "Const" else None):
            assert tf.constant(1.0).device == "/job:worker/device:GPU:1"
    spec = tf.DeviceSpec.from_string("/job:ps/replica:1/task:2/device:XLA_GPU:3")
    assert (spec.job, spec.replica, spec.task) == ("ps", 1, 2)
    assert (spec.device_type, spec.device_index) == ("XLA_GPU", 3)
    assert tf.DeviceSpec.from_string("/gpu:*").to_string() == "/device:GPU:*"


@pytest.mark.parametrize("wrong", ["foo", "/cpu", "/cpu:x", "/device:CPU:0/gpu:1", "/task:x", "/"])
def test_malformed_device_strings_are_refused(graph, wrong):
    with pytest.raises(ValueError, match="is no device"), graph.device(wrong):
        pass


def test_a_device_that_is_not_there_is_an_error_that_names_those_that_are(graph):
    with graph.device("/device:GPU:2"):
        b = tf.constant([1.0], name="b") + 1
    with tf.Session() as session:
        with pytest.raises(errors.InvalidArgumentError, match=r"/device:GPU:2.*\[ /job") as raised:
            session.run(b)
        assert "made at" in "".join(raised.value.__notes__)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(b).tolist() == [2]


def test_devices_that_compile_take_no_python():
    with tf.get_default_graph().device("/device:XLA_CPU:0"):
        y = twice_on_host(tf.constant([1.0]))
    with pytest.raises(errors.InvalidArgumentError, match="XLA_CPU"):
        tf.Session().run(y)


def test_placement_is_logged_once(capsys):
    config = tf.ConfigProto(log_device_placement=True)
    with tf.get_default_graph().device("/cpu:0"):
        a = tf.constant([1.0], name="a")
    with tf.Session(config=config) as session:
        session.run(a)
        session.run([a])
    assert capsys.readouterr().err == f"a: (Const): {CPU}\n"


def test_a_timeline_has_one_launch_for_a_cluster_and_one_event_for_each_other_operation():
    x = tf.placeholder(tf.float32, [2])
    y = twice_on_host(x * x + x)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert session.run(y, {x: [1, 2]}, options, metadata).tolist() == [4, 12]
    text = tf.timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
    events = [e for e in json.loads(text)["traceEvents"] if e["ph"] == "X"]
    assert [(e["name"], e["args"]["name"]) for e in events] == [
        ("_XlaLaunch", "cluster_0[_XlaCompiledKernel=true,_XlaNumConstantArgs=0]"),
        ("NodeTwiceOnHost", "NodeTwiceOnHost"),
    ]
    assert all(e["dur"] >= 1 for e in events)
    assert events[0]["ts"] <= events[1]["ts"]


def test_without_a_trace_nothing_is_recorded():
    metadata = tf.RunMetadata()
    tf.Session().run(tf.constant(1.0), run_metadata=metadata)
    assert metadata.step_stats.dev_stats == []
    with pytest.raises(TypeError, match="step_stats"):
        tf.timeline.Timeline(metadata)


def test_the_stages_of_clusters_are_drawn_where_the_environment_asks(monkeypatch, tmp_path, capsys):
    flags = f"--xla_generate_hlo_graph=.* --xla_hlo_graph_path={tmp_path}"
    monkeypatch.setenv("TF_XLA_FLAGS", flags)
    x = tf.placeholder(tf.float32, [2])
    tf.Session().run(tf.exp(x) * x + 1, {x: [1, 2]})
    lines = capsys.readouterr().out.splitlines()
    first = re.fullmatch(
        r"computation cluster_0\[_XlaCompiledKernel=true,_XlaNumConstantArgs=0\]\.v\d+ "
        r"\[CPU: pipeline start, before [\w-]+\]: (.*/hlo_graph_(\d+)\.dot)",
        lines[0],
    )
    assert first is not None
    numbers = [int(re.search(r"hlo_graph_(\d+)\.dot", line)[1]) for line in lines]
    assert len(lines) > 1
    assert numbers == list(range(numbers[0], numbers[0] + len(lines)))
    for number in numbers:
        text = (tmp_path / f"hlo_graph_{number}.dot").read_text()
        assert text.startswith("digraph")
    assert any("after fusion" in line for line in lines)


def test_only_the_stages_that_fit_the_expression_are_drawn(monkeypatch, tmp_path, capsys):
    flags = f"--xla_generate_hlo_graph=start --xla_hlo_graph_path={tmp_path}"
    monkeypatch.setenv("TF_XLA_FLAGS", flags)
    x = tf.placeholder(tf.float32, [2])
    tf.Session().run(tf.exp(x) * x + 1, {x: np.ones(2)})
    assert len(capsys.readouterr().out.splitlines()) == len(list(tmp_path.iterdir())) == 1


def test_flags_are_checked():
    assert GraphDumps.from_environment({}) is None
    assert GraphDumps.from_environment({"TF_XLA_FLAGS": "--tf_xla_auto_jit=2"}) is None
    with pytest.raises(TfcError, match="TF_XLA_FLAGS has no flag '--xla_dump_to'"):
        GraphDumps.from_environment({"TF_XLA_FLAGS": "--xla_dump_to=/tmp"})
    with pytest.raises(TfcError, match="must be a regular expression"):
        GraphDumps.from_environment({"TF_XLA_FLAGS": "--xla_generate_hlo_graph=("})
