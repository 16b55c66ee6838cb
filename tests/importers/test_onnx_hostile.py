"""Damaged ONNX files: an error of tfc, in little time and memory, and never a crash."""

import random
import tracemalloc
from typing import Any

import numpy as np
import onnx
import onnx_networks as networks
import pytest
from mutants import BYTES, outcomes
from onnx import helper
from onnx_models import model_of

import tfc
from tfc.errors import ModelFileError, UnsupportedError
from tfc.importers import walk
from tfc.importers.onnx.operators import ONNX

OPERATORS = [op for (domain, op), _ in ONNX.rows() if not domain]


NUMBERS = (0, 1, -1, 2, 7, -5, 100, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63))


def mutated(content: bytes, chance: random.Random) -> bytes:
    """A model that parses, with numbers, names and operators in it exchanged."""
    one = chance.choice
    model = onnx.ModelProto.FromString(content)
    for _ in range(chance.randint(1, 3)):
        node, other = one(model.graph.node), one(model.graph.node)
        kind = chance.randrange(7)
        if kind == 0 and node.attribute:
            attribute = one(node.attribute)
            attribute.i = one(NUMBERS)
            if attribute.ints:
                attribute.ints[chance.randrange(len(attribute.ints))] = one(NUMBERS)
            attribute.s = one((b"", b"NOTSET", b"nonsense", attribute.s))
        elif kind == 1 and node.input and other.input:
            node.input[chance.randrange(len(node.input))] = one(other.input)
        elif kind == 2:
            node.op_type = one((other.op_type, *OPERATORS))
        elif kind == 3:
            tensor = one(model.graph.initializer)
            value = onnx.numpy_helper.to_array(tensor).copy()
            if value.dtype.kind == "i" and value.size:
                value.reshape(-1)[chance.randrange(value.size)] = one(NUMBERS)
            elif value.ndim > 1:
                value = value.reshape(-1, value.shape[0])
            tensor.CopyFrom(onnx.numpy_helper.from_array(value, tensor.name))
        elif kind == 4:
            node.input.append(one(other.input) if other.input else "")
        elif kind == 5 and len(node.input) > 1:
            del node.input[-1]
        elif kind == 6:
            model.graph.node.remove(node)
        if not model.graph.node:
            return content
    return model.SerializeToString()


KINDS = (*BYTES, *[mutated] * len(BYTES))


def lowered(content: bytes) -> Any:
    """The module of a file, its inputs of small sizes."""
    model = tfc.from_onnx(content)
    shapes = {p.name: tuple(d if isinstance(d, int) and d < 64 else 3 for d in p.dims or ())
              for p in model.inputs}  # fmt: skip
    return tfc.from_onnx(content, shapes=shapes).hlo


def contents() -> list[bytes]:
    made = (networks.encoder(), networks.tagger(), networks.mobilenet(), loops())
    return [model.SerializeToString() for model in made]


def loops():
    """A loop and a branch."""
    body = helper.make_graph(
        [helper.make_node("Add", ["state", "x"], ["next"]),
         helper.make_node("Identity", ["goes"], ["again"])],
        "body",
        [helper.make_empty_tensor_value_info(n) for n in ("i", "goes", "state")],
        [helper.make_empty_tensor_value_info(n) for n in ("again", "next")],
    )  # fmt: skip
    branch = helper.make_graph(
        [helper.make_node("Neg", ["total"], ["negated"])],
        "branch",
        [],
        [helper.make_empty_tensor_value_info("negated")],
    )
    nodes = [
        helper.make_node("Loop", ["count", "", "x"], ["total"], body=body),
        helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch),
    ]
    constants = {"count": np.array(9), "yes": np.array(True)}
    return model_of(nodes, {"x": (np.float32, (3,))}, ["y"], constants)


def test_a_few_damaged_files_of_each_kind_are_refused_or_work():
    assert outcomes(lowered, contents(), 48, seed=11, kinds=KINDS)["refused"] > 10


@pytest.mark.slow
def test_many_damaged_files_are_refused_or_work():
    outcomes(lowered, contents(), 4000, seed=12, kinds=KINDS)


def test_no_more_memory_is_taken_than_four_times_the_file():
    content = model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        {"x": (np.float32, (1 << 20,))},
        ["y"],
        {"w": np.ones(1 << 20, np.float32)},
    ).SerializeToString()
    tracemalloc.start()
    try:
        model = tfc.from_onnx(content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert model.parameters["w"].size == 1 << 20
    assert peak < 4 * len(content)


def test_large_results_are_not_computed_while_importing():
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["y"])]
    made = model_of(nodes, {}, ["y"], {"s": np.array([1 << 20, 1 << 15])})
    tracemalloc.start()
    try:
        module = tfc.from_onnx(made).hlo
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert module.entry.root.operands[0].array_shape.dims == (1 << 20, 1 << 15)
    assert peak < 1 << 22


def call(op: str, count: int):
    """A function that calls another `count` times, one after the other."""
    names = ["a", *(f"v{k}" for k in range(count))]
    nodes = [helper.make_node(op, [names[k]], [names[k + 1]], domain="local") for k in range(count)]
    return nodes, names[-1]


def function(name: str, inner: str, count: int):
    nodes, last = call(inner, count)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, ["a"], [last], nodes, imports)


def test_functions_that_call_themselves_or_each_other_without_end_are_refused(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(walk, "_MOST_STEPS", 1 << 12)
    endless = [function("f0", "f0", 1)]
    wide = [function(f"f{k}", f"f{k + 1}", 9) for k in range(12)]
    wide.append(helper.make_function("local", "f12", ["a"], ["b"],
                                     [helper.make_node("Neg", ["a"], ["b"])],
                                     [helper.make_opsetid("", 18)]))  # fmt: skip
    for functions, message in ((endless, "deep"), (wide, "unrolls to more than")):
        node = helper.make_node("f0", ["x"], ["y"], domain="local")
        made = model_of(
            [node], {"x": (np.float32, (2,))}, ["y"], functions=functions, domains={"local": 1}
        )
        with pytest.raises(UnsupportedError, match=message):
            _ = tfc.from_onnx(made).hlo


def test_a_value_that_nothing_computes_is_named():
    made = model_of([helper.make_node("Neg", ["z"], ["y"])], {"x": (np.float32, (2,))}, ["y"])
    with pytest.raises(ModelFileError, match="nothing computes the value 'z'"):
        _ = tfc.from_onnx(made).hlo


def test_attributes_and_inputs_that_an_operator_has_not_are_refused():
    x = {"x": (np.float32, (2,))}
    other = model_of([helper.make_node("Neg", ["x"], ["y"], slope=2)], x, ["y"])
    with pytest.raises(UnsupportedError, match="the attribute 'slope'"):
        _ = tfc.from_onnx(other).hlo
    more = model_of([helper.make_node("Neg", ["x", "x"], ["y"])], x, ["y"])
    with pytest.raises(ModelFileError, match="takes 1 inputs, got 2"):
        _ = tfc.from_onnx(more).hlo
