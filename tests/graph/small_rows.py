"""Operators for tests of what graphs are made of, and functions that use them."""

import numpy as np

import tfc
from tfc import numpy as tnp
from tfc.graph.building import alike, result
from tfc.graph.evaluation import evaluate, order
from tfc.graph.graph import get_default_graph
from tfc.graph.operators.inference import comparison, elementwise
from tfc.graph.operators.registry import OPERATORS, operator
from tfc.graph.running.effects import Effects
from tfc.graph.running.session import Session
from tfc.graph.types.dtypes import as_dtype, float32
from tfc.graph.types.shapes import TensorShape

if "TestProduct" not in OPERATORS:
    operator("TestProduct", infer=elementwise)(lambda x, y: x * y)
    operator("TestSum", infer=elementwise)(lambda x, y: x + y)
    operator("TestLess", infer=comparison)(lambda x, y: x < y)
    operator("TestSine")(lambda x: tnp.sin(x) * 1)
    operator("TestTwice")(lambda x: tnp.concatenate([x, x]))
    operator("TestNoise", infer=lambda *_: [(float32, TensorShape([2]))], effect="read")(
        lambda *, context: tfc.random.uniform(context.key(0, 0), (2,), np.float32)
    )


def product(x, y):
    """x * y."""
    return result("TestProduct", *alike(x, y))


def plus(x, y):
    """x + y."""
    return result("TestSum", *alike(x, y))


def less(x, y):
    """x < y."""
    return result("TestLess", *alike(x, y))


def sine(x):
    """sin(x)."""
    return result("TestSine", x)


def twice(x):
    """x behind itself."""
    return result("TestTwice", x)


def noise():
    """Two random numbers, of the operation's own."""
    return result("TestNoise")


def fed(dtype, shape):
    """A placeholder."""
    attributes = {"dtype": as_dtype(dtype), "shape": TensorShape(shape)}
    made = get_default_graph().create_operation("Placeholder", (), attributes)
    return made.outputs[0]


def run(fetches, feeds=None):
    """The values of fetches, once with arrays; variables begin anew."""
    graph = get_default_graph()
    with Session() as session:
        for op in graph.get_operations():
            if op.type == "AssignVariableOp" and op.name.endswith("/Assign"):
                session.run(op)
        return session.run(fetches, feeds)


def compiled(fetches, feeds):
    """The values of a list of fetches in one compiled program that takes the feeds."""
    names = list(feeds)

    def program(*values):
        found = dict(zip(names, values))
        evaluate(order([x.op for x in fetches], found), found, Effects({}, np.uint32(1)))
        return [tnp.asarray(found[x]) for x in fetches]

    return tfc.jit(program)(*(np.asarray(feeds[x], x.dtype.dtype) for x in names))
