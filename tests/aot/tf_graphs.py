"""The graphs that TensorFlow tests its tfcompile with, made here, and their configurations."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tfc.graph as tf
from tfc.graph.files.messages import message, write
from tfc.graph.files.tensors import tensor_to_proto


@dataclass(frozen=True)
class TestGraph:
    """A graph, its configuration as text, and the class to make of it."""

    __test__ = False

    build: Callable[[], Any]
    config: str
    cpp_class: str
    flags: tuple[str, ...] = ()


def feed(node: str, *sizes: int, name: str = "", more: str = "") -> str:
    """A feed of a configuration."""
    dims = " ".join(f"dim {{ size: {n} }}" for n in sizes)
    named = f'name: "{name}"' if name else ""
    return f'feed {{ id {{ node_name: "{node}" }} shape {{ {dims} }} {named} {more} }}\n'


def fetch(node: str, index: int = 0, name: str = "") -> str:
    """A fetch of a configuration."""
    named = f'name: "{name}"' if name else ""
    return f'fetch {{ id {{ node_name: "{node}" output_index: {index} }} {named} }}\n'


def _add() -> None:
    x, y = tf.constant([1], name="x_const"), tf.constant([2], name="y_const")
    tf.add(x, y, name="x_y_sum")


def _add_with_checkpoint() -> Any:
    """The variable's value is frozen into the graph, as tf_library does it."""
    x = tf.placeholder(tf.int32, name="x_hold")
    y = tf.Variable(tf.constant([0]), name="y_saved")
    tf.add(x, y, name="x_y_sum")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(y.assign(y + 42))
        graph_def = tf.get_default_graph().as_graph_def()
        return tf.graph_util.convert_variables_to_constants(session, graph_def, ["x_y_sum"])


def _assert_eq() -> None:
    x, y = tf.placeholder(tf.int32, name="x_hold"), tf.placeholder(tf.int32, name="y_hold")
    check = tf.Assert(tf.equal(x, y), ["Expected x == y."], name="assert_eq")
    with tf.control_dependencies([check]):
        tf.add(x, tf.negative(y), name="x_y_diff")


def _cond() -> None:
    p = tf.placeholder(tf.bool, name="p_hold")
    x, y = tf.placeholder(tf.int32, name="x_hold"), tf.placeholder(tf.int32, name="y_hold")
    tf.identity(tf.cond(p, lambda: x, lambda: y), name="result")


def _function() -> Any:
    """A node whose operator is a function of the library, as older graphs call them."""
    made = message("GraphDef")
    body = made.library.function.add()
    body.signature.name = "test_func"
    for name in ("a", "b"):
        body.signature.input_arg.add(name=name, type=3)
    body.signature.output_arg.add(name="sum", type=3)
    body.node_def.add(name="add", op="AddV2", input=["a", "b"]).attr["T"].type = 3
    body.ret["sum"] = "add:z:0"
    for name in ("x_const", "y_const"):
        node = made.node.add(name=name, op="Const")
        node.attr["dtype"].type = 3
        node.attr["value"].tensor.MergeFrom(tensor_to_proto(np.ones(1, np.int32)))
    made.node.add(name="func_call", op="test_func", input=["x_const", "y_const"])
    return made


def _frames() -> Any:
    """A branch and a loop as TensorFlow 1 wrote them: p ? x : y, and y + 5 x."""
    made = message("GraphDef")

    def add(name: str, op: str, *inputs: str, type: int = 3, **attributes: Any) -> None:
        node = made.node.add(name=name, op=op, input=inputs)
        node.attr["dtype" if op in ("Placeholder", "Const") else "T"].type = type
        if op == "Enter":
            node.attr["frame_name"].s = b"loop"
            node.attr["is_constant"].b = attributes.get("is_constant", False)
        if op == "Const":
            array = np.array(attributes["value"], np.int32)
            node.attr["value"].tensor.CopyFrom(tensor_to_proto(array))

    add("p", "Placeholder", type=10)
    add("x", "Placeholder")
    add("y", "Placeholder")
    add("unused", "Placeholder")
    add("x_if", "Switch", "x", "p")
    add("y_if", "Switch", "y", "p")
    add("merged", "Merge", "y_if", "x_if:1")
    add("chosen", "Identity", "merged")
    add("zero", "Const", value=0)
    add("number", "Enter", "zero")
    add("start", "Enter", "y")
    add("step", "Enter", "x", is_constant=True)
    add("i", "Merge", "number", "next_i")
    add("sum", "Merge", "start", "next_sum")
    add("five", "Const", "^i", value=5)
    add("goes_on", "Less", "i", "five")
    made.node.add(name="condition", op="LoopCond", input=["goes_on"])
    add("i_in", "Switch", "i", "condition")
    add("sum_in", "Switch", "sum", "condition")
    add("one", "Const", "^i_in", value=1)
    add("i_more", "Add", "i_in:1", "one")
    add("sum_more", "Add", "sum_in:1", "step")
    add("next_i", "NextIteration", "i_more")
    add("next_sum", "NextIteration", "sum_more")
    add("total", "Exit", "sum_in")
    return made


def _gather() -> None:
    params = tf.placeholder(tf.float32, name="params")
    tf.gather(params, tf.placeholder(tf.int32, name="indices"), name="gather_output")


def _matmul() -> None:
    x, y = tf.placeholder(tf.float32, name="x_hold"), tf.placeholder(tf.float32, name="y_hold")
    tf.matmul(x, y, name="x_y_prod")


def _matmul_and_add() -> None:
    x, y = tf.placeholder(tf.float32, name="x_hold"), tf.placeholder(tf.float32, name="y_hold")
    tf.matmul(x, y, name="x_y_prod")
    tf.add(x, y, name="x_y_sum")


def _matmul_with_constant() -> None:
    x = tf.placeholder(tf.float32, [2, 3], name="x_hold")
    y = tf.constant(np.arange(3000).reshape(3, 1000), tf.float32, name="y")
    tf.matmul(x, y, name="x_y_prod")


def _splits() -> None:
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    y = tf.placeholder(tf.float32, [2, 2], name="y")
    for _ in range(3):
        (x0, x1), (y0, y1) = tf.split(x, 2, 0), tf.split(y, 2, 0)
        product = tf.matmul(x, y)
        rows = tf.concat([x0 + 1, y1], axis=0)
        x = tf.matmul(rows, tf.concat([y0 + 1, x1], axis=0))
        y = tf.add(x, product)
    tf.identity(y, name="result")


def _top_k() -> None:
    found = tf.nn.top_k(tf.placeholder(tf.int32, [5], name="x"), 2, name="values")
    tf.identity(found[1], name="indices")


def _variable_readonly() -> None:
    x = tf.get_variable("x", [], tf.float32)
    tf.add(x, 42.0, name="result")


def _variable() -> None:
    """The value before and after 42 is added."""
    x = tf.get_variable("x", [], tf.float32)
    old = tf.identity(x)
    with tf.control_dependencies([old]):
        update = tf.assign_add(x, 42.0)
    with tf.control_dependencies([update]):
        new = tf.identity(x)
    tf.expand_dims(tf.stack([old, new]), 1, name="result")


def _sequential_updates() -> None:
    """Three steps of gradient descent on x in one run."""
    x, y = tf.get_variable("x", [], tf.float32), tf.get_variable("y", [], tf.float32)
    before: list[Any] = []
    for _ in range(3):
        with tf.control_dependencies(before):
            before = [tf.assign_sub(x, 0.1 * (tf.identity(x) + y))]
    with tf.control_dependencies(before):
        tf.no_op(name="updates")
        tf.identity(x, name="result")


def _reference() -> Any:
    """A variable of an older graph, which is a reference, and counts."""
    made = message("GraphDef")
    variable = made.node.add(name="count", op="VariableV2")
    variable.attr["dtype"].type = 1
    variable.attr["shape"].shape.dim.add(size=2)
    one = made.node.add(name="one", op="Const")
    one.attr["dtype"].type = 1
    one.attr["value"].tensor.MergeFrom(tensor_to_proto(np.ones(2, np.float32)))
    add = made.node.add(name="add", op="AssignAdd", input=["count", "one"])
    add.attr["T"].type = 1
    # What an assignment gives is the variable itself, so that the second one follows the first.
    again = made.node.add(name="again", op="AssignAdd", input=["add", "add"])
    again.attr["T"].type = 1
    made.node.add(name="old", op="Identity", input=["count"]).attr["T"].type = 1
    made.node.add(name="new", op="Identity", input=["again"]).attr["T"].type = 1
    return made


def _random() -> None:
    tf.identity(tf.random_uniform([4], name="uniform"), name="result")


def _scatter() -> None:
    x = tf.placeholder(tf.float32, [3], name="x")
    tf.scatter_nd(tf.constant([[0], [2], [4]]), x, tf.constant([5]), name="result")


def _unknown_operator() -> Any:
    """Of operators that nobody knows one is fed, and one is not needed."""
    made = message("GraphDef")
    made.node.add(name="x", op="UnknownOp")
    made.node.add(name="other", op="AnotherUnknownOp", input=["x"])
    made.node.add(name="y", op="Neg", input=["x"]).attr["T"].type = 1
    return made


_VALUES = 'variable { node_name: "x" }\nvariable { node_name: "y" readonly: true }\n'
GRAPHS = {
    "tfadd": TestGraph(
        _add, feed("x_const") + feed("y_const") + fetch("x_y_sum"), "AddComp"
    ),
    "tfadd_with_ckpt": TestGraph(
        _add_with_checkpoint, feed("x_hold") + fetch("x_y_sum"), "AddWithCkptComp"
    ),
    "tfassert_eq": TestGraph(
        _assert_eq, feed("x_hold") + feed("y_hold") + fetch("x_y_diff"), "AssertComp"
    ),
    "tfcond": TestGraph(
        _cond, feed("p_hold") + feed("x_hold") + feed("y_hold") + fetch("result"), "CondComp"
    ),
    "control_flow_of_an_older_graph": TestGraph(
        _frames,
        feed("p") + feed("x", name="x") + feed("y", name="y") + feed("unused")
        + fetch("chosen") + fetch("total"),
        "FramesComp",
    ),
    "tffunction": TestGraph(
        _function, feed("x_const") + feed("y_const") + fetch("func_call"), "FunctionComp"
    ),
    "tfgather": TestGraph(
        _gather, feed("params", 4) + feed("indices", 2) + fetch("gather_output"), "GatherComp"
    ),
    "tfmatmul": TestGraph(
        _matmul, feed("x_hold", 2, 3) + feed("y_hold", 3, 2) + fetch("x_y_prod"),
        "foo::bar::MatMulComp",
    ),
    "tfmatmulandadd": TestGraph(
        _matmul_and_add,
        feed("x_hold", 2, 2, name="x") + feed("y_hold", 2, 2, name="y")
        + fetch("x_y_prod", name="x_y_prod") + fetch("x_y_sum", name="x_y_sum"),
        "::foo::bar::MatMulAndAddComp", ("--gen_name_to_index", "--gen_program_shape"),
    ),
    "tfmatmulandadd_with_profiling": TestGraph(
        _matmul_and_add,
        feed("x_hold", 2, 2, name="x") + feed("y_hold", 2, 2, name="y")
        + fetch("x_y_prod", name="x_y_prod") + fetch("x_y_sum", name="x_y_sum"),
        "MatMulAndAddCompWithProfiling", ("--xla_hlo_profile=true",),
    ),
    "tfmatmul_with_constant": TestGraph(
        _matmul_with_constant, feed("x_hold", 2, 3) + fetch("x_y_prod"), "MatMulConstantComp"
    ),
    "tfsplits": TestGraph(
        _splits, feed("x", 2, 2) + feed("y", 2, 2) + fetch("result"), "SplitsComp"
    ),
    "tftop_k": TestGraph(
        _top_k, feed("x", 5) + fetch("values") + fetch("indices"), "TopKComp"
    ),
    "tfvariable_readonly": TestGraph(
        _variable_readonly,
        fetch("result") + 'variable { node_name: "x" readonly: true type: DT_FLOAT shape { } }',
        "VariableReadonlyComp",
    ),
    "tfvariable": TestGraph(
        _variable, fetch("result") + 'variable { node_name: "x" }', "VariableComp"
    ),
    "tfvariable_sequential_updates": TestGraph(
        _sequential_updates, fetch("result") + _VALUES, "VariableSequentialUpdatesComp"
    ),
    "variable_of_an_older_graph": TestGraph(
        _reference, fetch("old") + fetch("new") + 'variable { node_name: "count" name: "n" }',
        "ReferenceComp",
    ),
    "tfrandom_uniform": TestGraph(_random, fetch("result"), "RandomComp"),
    "tfscatter": TestGraph(_scatter, feed("x", 3) + fetch("result"), "ScatterComp"),
    "tfunknownop": TestGraph(
        _unknown_operator, feed("x", 2, more="type: DT_FLOAT") + fetch("y"), "UnknownOpComp"
    ),
}  # fmt: skip


def write_files(name: str, folder: Path) -> tuple[str, str]:
    """Write test_graph_NAME.pb and its configuration; the paths of both."""
    graph = GRAPHS[name]
    with tf.Graph().as_default() as held:
        made = graph.build() or held.as_graph_def()
    paths = folder / f"test_graph_{name}.pb", folder / f"test_graph_{name}.config.pbtxt"
    write(made, paths[0], as_text=False)
    paths[1].write_text(graph.config, encoding="utf-8")
    return str(paths[0]), str(paths[1])
