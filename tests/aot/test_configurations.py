"""Configurations of graphs that cannot be: refused in a sentence, and nothing is written."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from google.protobuf import text_format
from tf_graphs import feed, fetch

import tfc.graph as tf
from tfc.aot.configured.config import TensorName, checked
from tfc.aot.tfcompile import tfcompile
from tfc.errors import TfcError
from tfc.graph.files.messages import message_class, write

X, Y = feed("x_hold", 2, 3), feed("y_hold", 3, 2)
PRODUCT = fetch("x_y_prod")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with a product, a variable, a picture, and something that Python runs."""
    folder = tmp_path_factory.mktemp("graph")
    with tf.Graph().as_default() as made:
        x = tf.placeholder(tf.float32, name="x_hold")
        y = tf.placeholder(tf.float32, name="y_hold")
        product = tf.matmul(x, y, name="x_y_prod")
        variable = tf.get_variable("v", [2, 2], tf.float32)
        tf.add(product, variable, name="with_variable")
        with tf.control_dependencies([tf.assign_add(variable, product, name="update").op]):
            tf.identity(variable, name="updated")
    graph_def = made.as_graph_def()
    graph_def.node.add(name="picture", op="DecodeJpeg", input=["x_hold"])
    graph_def.node.add(name="called", op="PyFunc", input=["x_hold"])
    graph_def.node.add(name="python", op="Neg", input=["called"]).attr["T"].type = 1
    write(graph_def, folder / "graph.pb", as_text=False)
    return folder / "graph.pb"


def run(graph: Path, folder: Path, config: str, *arguments: str) -> Result:
    path = folder / "c.config.pbtxt"
    path.write_text(config, encoding="utf-8")
    return CliRunner().invoke(
        tfcompile,
        ["--graph", str(graph), "--config", str(path), "--cpp_class", "C",
         "--out_header", str(folder / "c.h"), "--out_object", str(folder / "c.o"), *arguments],
    )  # fmt: skip


VARIABLE = 'variable { node_name: "v" }'


@pytest.mark.parametrize(
    ("config", "message"),
    [
        # What the specification's list has.
        (X + PRODUCT, "need the placeholder 'y_hold' of"),
        (X + Y + fetch("with_variable"), "need the variable 'v' of"),
        (X + Y + fetch("x_y_product"), "'x_y_product', which is not in"),
        (X + Y + fetch("x_y_product"), "did you mean 'x_y_prod'?"),
        (X + feed("z_hold", 3, 2) + PRODUCT, "a feed of .* names the node 'z_hold', which is not"),
        (X + 'feed { id { node_name: "y_hold" } shape { unknown_rank: true } }' + PRODUCT,
         r"feed 1 \(y_hold:0\) has a shape of unknown rank"),
        (X + feed("y_hold", 3, -1) + PRODUCT, "has an unknown size in dimension 1"),
        # Configurations that say too little, too much, or one thing twice.
        (X + Y, "there is no fetch"),
        ('feed { shape { } }' + PRODUCT, "feed 0 has no node_name"),
        ("fetch { }", "fetch 0 has no node_name"),
        ("variable { }" + PRODUCT, "variable 0 has no node_name"),
        (fetch("x_y_prod", -1), "output_index -1, which is below 0"),
        (X + X + Y + PRODUCT, "x_hold:0 is a feed more than once"),
        (X + Y + VARIABLE + VARIABLE + PRODUCT, "v is a variable more than once"),
        (feed("x_hold", 2, 3, name="a b") + Y + PRODUCT, "'a b' of a feed is no identifier"),
        (feed("x_hold", 2, 3, name="1x") + Y + PRODUCT, "'1x' of a feed is no identifier"),
        (X + Y + fetch("x_y_prod", name="ä"), "'ä' of a fetch is no identifier"),
        (X + Y + 'variable { node_name: "v" name: "a/b" }' + PRODUCT, "of a variable is no ident"),
        (feed("x_hold", 2, 3, name="x") + feed("y_hold", 3, 2, name="x") + PRODUCT,
         "the name 'x' of a feed is there more than once"),
        (feed("x_hold", 2, 3, name="x") + feed("y_hold", 3, 2, name="x_data") + PRODUCT,
         "cannot be called 'x_data' beside 'x'"),
        ("fech { }", "is no tf2xla.Config as text"),
        ("feed {", "is no tf2xla.Config as text"),
        ("fetch { id { node_name: 'x' } type: 99999999999 }", "is no tf2xla.Config as text"),
        ("conversion_options { custom_fake_quant_op_calls: true }" + PRODUCT, "is not offered"),
        # Configurations that contradict the graph.
        (feed("x_hold", 2, 3, more="type: DT_INT32") + Y + PRODUCT,
         "states the type int32 for x_hold:0, which is float32"),
        (feed("x_hold", 2, 3, more="type: DT_STRING") + Y + PRODUCT, "no arrays"),
        ('feed { id { node_name: "x_hold" output_index: 1 } shape { } }' + Y + PRODUCT,
         "has 1 output"),
        ('feed { id { node_name: "x_y_prod" output_index: 3 } shape { } }' + fetch("v"),
         "has 1 output"),
        (X + Y + fetch("x_y_prod", 2), "'x_y_prod' .* has 3 outputs, of which its operator"),
        (X + feed("y_hold", 5, 2) + PRODUCT, "x_y_prod"),
        (X + Y + 'fetch { id { node_name: "x_y_prod" } shape { dim { size: 3 } } }',
         "states another type or shape for the fetch"),
        (X + Y + 'variable { node_name: "x_hold" }' + PRODUCT, "is no variable in"),
        (X + Y + 'variable { node_name: "w" }' + PRODUCT, "names the node 'w', which is not in"),
        (X + Y + 'variable { node_name: "v" shape { dim { size: 9 } } }' + fetch("with_variable"),
         r"is stated to be \[9\], but has the shape"),
        (X + Y + 'variable { node_name: "v" type: DT_INT32 }' + fetch("with_variable"),
         "is stated as int32, but holds float32"),
        (X + Y + 'variable { node_name: "v" readonly: true }' + fetch("updated"),
         "states the variable 'v' as readonly, but the graph writes it"),
        (X + fetch("picture"), "picture.*DecodeJpeg|DecodeJpeg.*picture"),
        (X + fetch("python"), r"it runs Python.*\n  at the node 'called' \(PyFunc\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_sentence(graph, tmp_path, config, message):
    made = run(graph, tmp_path, config)
    assert made.exit_code == 1, made.output
    assert made.output.startswith("error: ")
    assert "Traceback" not in made.output
    assert list(tmp_path.iterdir()) == [tmp_path / "c.config.pbtxt"]
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(made.output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--graph", "GRAPH", "--config", "none.pbtxt"], "cannot read none.pbtxt: No such file"),
        (["--graph", "none.pb", "--config", "CONFIG"], "none.pb: No such file"),
        (["--graph", "CONFIG", "--config", "CONFIG"], "no valid GraphDef|one without nodes"),
        (["--graph", "GRAPH", "--config", "GRAPH"], "is no binary tf2xla.Config|node_name"),
        (["--graph", "GRAPH"], "give --config"),
        (["--graph", "m:f", "--config", "CONFIG"], "--config is for a GraphDef"),
        (["--graph", "GRAPH", "--config", "CONFIG", "--arg", "f32[2]"], "--arg is for Python"),
        (["--graph", "GRAPH", "--config", "CONFIG", "--threads", "0"], "threads must be 1 to"),
        (["--graph", "GRAPH", "--config", "CONFIG", "--xla_hlo_profile", "--target_triple",
          "armv7-linux-gnueabihf"], "counters of time need a target with pointers of 64 bits"),
    ],
)  # fmt: skip
def test_flags_that_do_not_go_together_are_refused(
    graph, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.pbtxt").write_text(X + Y + PRODUCT)
    places = {"GRAPH": str(graph), "CONFIG": "c.pbtxt"}
    given = [places.get(argument, argument) for argument in arguments]
    made = CliRunner().invoke(tfcompile, [*given, "--cpp_class", "C"])
    assert made.exit_code == 1, made.output
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(made.output)
    assert list(tmp_path.iterdir()) == [tmp_path / "c.pbtxt"]


def test_a_configuration_says_what_it_says():
    text = (
        feed("x", 2, name="a", more="type: DT_HALF")
        + fetch("y", 1, name="b")
        + 'variable { node_name: "v" shape { dim { size: 4 } } readonly: true }'
    )
    found = checked(text_format.Parse(text, message_class("Config")()), "c")
    (fed,), (fetched,), (variable,) = found.feeds, found.fetches, found.variables
    assert (fed.id, fed.dims, fed.name) == (TensorName("x", 0), (2,), "a")
    assert fed.dtype is not None
    assert fed.dtype.name == "float16"
    assert (fetched.id, fetched.name, fetched.dims) == (TensorName("y", 1), "b", None)
    assert (variable.node, variable.name, variable.dims, variable.readonly) == (
        "v",
        "v",
        (4,),
        True,
    )
    with pytest.raises(TfcError, match="the type 77, which there is not"):
        checked(message_class("Config")(feed=[{"id": {"node_name": "x"}, "type": 77}],
                                        fetch=[{"id": {"node_name": "x"}}]), "c")  # fmt: skip


def test_fetch_nodes_are_dumped_without_a_graph(tmp_path):
    (tmp_path / "c.pbtxt").write_text(PRODUCT + fetch("other", 1))
    done = CliRunner().invoke(
        tfcompile, ["--dump_fetch_nodes", "--config", str(tmp_path / "c.pbtxt")]
    )
    assert (done.exit_code, done.output) == (0, "x_y_prod,other\n")


def test_feeds_override_whatever_the_graph_has_there(graph, tmp_path):
    """A constant is compiled in, unless it is fed; a product that is fed needs no placeholders."""
    made = run(graph, tmp_path, feed("x_y_prod", 2, 2) + VARIABLE + fetch("with_variable"))
    assert (made.exit_code, made.output) == (0, "")
    assert (
        "(x_y_prod: f32[2,2], v: f32[2,2]) -> (f32[2,2], f32[2,2])"
        in (tmp_path / "c.h").read_text()
    )
