"""Damaged files of TensorFlow: an error of tfc, in little time and memory, and never a crash."""

import random
import shutil
import tracemalloc
from typing import Any

import numpy as np
import pytest
from mutants import BYTES, TEXT, outcomes
from tensorflow_archives import unpacked

import tfc
import tfc.graph as tf
from tfc.errors import ModelFileError
from tfc.graph.operators.registry import OPERATORS
from tfc.importers.tensorflow.sources import graph_def
from tfc.protos import message_classes

GRAPH_DEF = message_classes("tensorflow")["tfc.tensorflow.GraphDef"]
NAMES = sorted(OPERATORS)
NUMBERS = (0, 1, -1, 2, 7, -5, 100, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63))
CONTROL = ("If", "While", "Enter", "Exit", "Merge", "Switch", "NextIteration", "PartitionedCall")


def mutated(content: bytes, chance: random.Random) -> bytes:
    """A graph that parses, with numbers, names and operators in it exchanged."""
    one = chance.choice
    made = GRAPH_DEF.FromString(content)
    functions = [f for f in made.library.function if f.node_def]
    for _ in range(chance.randint(1, 3)):
        nodes = one([made.node, *(f.node_def for f in functions)])
        node, other = one(nodes), one(nodes)
        kind = chance.randrange(7)
        if kind == 0 and node.attr:
            _change(node.attr[one(sorted(node.attr))], chance)
        elif kind == 1 and node.input and other.input:
            node.input[chance.randrange(len(node.input))] = one(other.input)
        elif kind == 2:
            node.op = one((other.op, one(CONTROL), one(NAMES)))
        elif kind == 3 and node.input:
            node.input[0] = one((f"{other.name}:{one((0, 1, 7, 1 << 40))}", f"^{other.name}"))
        elif kind == 4:
            node.input.append(one(other.input) if other.input else "")
        elif kind == 5 and node.input:
            del node.input[-1]
        else:
            nodes.remove(node)
            if not nodes:
                return content
    return made.SerializeToString()


def _change(value: Any, chance: random.Random) -> None:
    """Another value in an attribute."""
    number = chance.choice(NUMBERS)
    match value.WhichOneof("value"):
        case "i":
            value.i = number
        case "type":
            value.type = chance.randrange(1, 31)
        case "b":
            value.b = not value.b
        case "s":
            value.s = chance.choice((b"", b"VALID", b"nonsense", b"NCHW"))
        case "shape" if value.shape.dim:
            chance.choice(value.shape.dim).size = number
        case "tensor" if value.tensor.tensor_shape.dim:
            chance.choice(value.tensor.tensor_shape.dim).size = number
        case "tensor":
            value.tensor.int_val[:] = [chance.choice((0, -1, 3, 1 << 30, (1 << 31) - 1))]
        case "list" if value.list.i:
            value.list.i[0] = number
        case "func":
            value.func.name += chance.choice(("", "_", "x"))


def lowered(content: bytes) -> Any:
    """The module of a graph, its inputs of small sizes."""
    made = graph_def(content)[1]
    model = tfc.from_graphdef(made)
    shapes = {p.name: tuple(d if isinstance(d, int) and d < 64 else 3 for d in p.dims or ())
              for p in model.inputs}  # fmt: skip
    return tfc.from_graphdef(made, shapes=shapes).hlo


@pytest.fixture
def graphs(tmp_path):
    """Loops and branches of TensorFlow 1, and those that are functions."""
    found = []
    for name in ("v1_loops", "v1_branches"):
        path, _, _ = unpacked(name, tmp_path / name)
        found.append(path.read_bytes())
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.reshape(x, tf.stack([-1, tf.shape(x)[0]]))
        y = tf.cond(tf.reduce_sum(y) > 0.0, lambda: y * 2.0, lambda: tf.nn.softmax(y))
        tf.while_loop(
            lambda i, _: i < 3, lambda i, z: (i + 1, tf.concat([z[1:], z[:1]], 0)), [0, y]
        )
    return [*found, graph.as_graph_def().SerializeToString()]


@pytest.fixture
def saved(tmp_path):
    """What reads a SavedModel of which one file has other bytes, and that file's own."""
    folder, _, _ = unpacked("partitioned", tmp_path / "made")

    def reader(file: str):
        changed = tmp_path / file.rpartition("/")[2]
        shutil.copytree(folder, changed)

        def read(content: bytes) -> Any:
            (changed / file).write_bytes(content)
            return tfc.from_savedmodel(changed, shapes={"x": (2, 4)}).hlo

        return read, (folder / file).read_bytes()

    return reader


FILES = (
    "saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001",
)  # fmt: skip
KINDS = (*BYTES, *[mutated] * len(BYTES))


def test_a_few_damaged_graphs_are_refused_or_work(graphs):
    assert outcomes(lowered, graphs, 36, seed=1, kinds=KINDS)["refused"] > 10


def test_a_few_damaged_texts_are_refused_or_work(graphs):
    texts = [str(graph_def(content)[1]).encode() for content in graphs[:2]]
    assert outcomes(lowered, texts, 14, seed=2, kinds=TEXT)["refused"] > 4


def test_a_few_damaged_saved_models_are_refused_or_work(saved):
    for number, file in enumerate(FILES):
        read, content = saved(file)
        assert outcomes(read, [content], 12, seed=3 + number, kinds=BYTES)["refused"] > 4


@pytest.mark.slow
def test_many_damaged_graphs_are_refused_or_work(graphs):
    outcomes(lowered, graphs, 2000, seed=6, kinds=KINDS)


@pytest.mark.slow
def test_many_damaged_texts_are_refused_or_work(graphs):
    texts = [str(graph_def(content)[1]).encode() for content in graphs[1:]]
    outcomes(lowered, texts, 2000, seed=7, kinds=TEXT)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_many_damaged_saved_models_are_refused_or_work(saved, file):
    read, content = saved(file)
    outcomes(read, [content], 2000 if file == FILES[0] else 1000, seed=8, kinds=BYTES)


def test_constants_that_repeat_a_value_take_no_memory_before_they_are_used():
    made = GRAPH_DEF()
    node = made.node.add(name="large", op="Const")
    node.attr["dtype"].type = node.attr["value"].tensor.dtype = 1
    node.attr["value"].tensor.tensor_shape.dim.add(size=1 << 36)
    node.attr["value"].tensor.float_val.append(1)
    made.node.add(name="y", op="Neg", input=["large"])
    tracemalloc.start()
    try:
        module = tfc.from_graphdef(made, "y").hlo
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert module.entry.root.operands[0].array_shape.dims == (1 << 36,)
    assert peak < 1 << 24


def test_nodes_and_functions_that_need_themselves_are_refused():
    made = GRAPH_DEF()
    made.node.add(name="a", op="Neg", input=["b"])
    made.node.add(name="b", op="Neg", input=["a"])
    with pytest.raises(ModelFileError, match="need each other"):
        tfc.from_graphdef(made, "b")


def test_long_chains_of_nodes_are_read():
    made = GRAPH_DEF()
    node = made.node.add(name="n0", op="Placeholder")
    node.attr["dtype"].type = 1
    node.attr["shape"].shape.dim.add(size=2)
    for count in range(1500):
        made.node.add(name=f"n{count + 1}", op="Identity", input=[f"n{count}"])
    x = np.ones(2, np.float32)
    np.testing.assert_array_equal(tfc.from_graphdef(made)(x), x)
