"""Pickles and copies of modules: nothing is lost, too deep, or of one process only."""

import copy
import pickle

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.hlo import evaluate, parse, verify
from tfc.hlo.ir import Attributes
from tfc.hlo.literal import Literal
from tfc.hlo.shape import ELEMENT_TYPES, Layout, Shape

X = np.arange(3, dtype=np.float32)


def again(value):
    return pickle.loads(pickle.dumps(value))


LOOP = """HloModule counted, frontend_attributes={"a":"b"}
body { s = (s32[], bf16[2,2]{0,1}) parameter(0)
  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)
  x = bf16[2,2]{0,1} get-tuple-element(s), index=1
  c = bf16[2,2]{0,1} constant({{nan, -0}, {1, 2}})
  j = s32[] add(i, one)  y = bf16[2,2]{0,1} add(x, c)
  ROOT r = (s32[], bf16[2,2]{0,1}) tuple(j, y) }
condition { s = (s32[], bf16[2,2]{0,1}) parameter(0)
  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY main { x = bf16[2,2]{0,1} parameter(0)
  zero = s32[] constant(0)  s = (s32[], bf16[2,2]{0,1}) tuple(zero, x)
  w = (s32[], bf16[2,2]{0,1}) while(s), condition=condition, body=body
  ROOT y = bf16[2,2]{0,1} get-tuple-element(w), index=1 }"""


@pytest.mark.parametrize("duplicate", [again, copy.deepcopy])
def test_modules_are_the_same_afterwards(duplicate):
    module = parse(LOOP)
    hash(module.entry.root.shape)
    made = duplicate(module)
    verify(made)
    assert str(made) == str(module)
    assert made.entry.root.array_shape.element_type is module.entry.root.array_shape.element_type
    x = np.ones((2, 2), made.entry.root.array_shape.element_type.dtype)
    for run in (evaluate, lambda m, a: tfc.compile(m)(a)[0]):
        assert np.asarray(run(made, x)).tobytes() == np.asarray(run(module, x)).tobytes()


def test_depth_is_no_limit_for_pickles_of_modules():
    def chain(x):
        for _ in range(5_000):
            x = tnp.sin(x)
        return x

    module = tfc.jit(chain).lower(X).hlo
    assert len(again(module).entry.instructions) == len(module.entry.instructions)
    lines = ["f0 { x = f32[] parameter(0) ROOT r = f32[] negate(x) }"]
    lines += [f"f{n} {{ x = f32[] parameter(0) ROOT r = f32[] call(x), to_apply=f{n - 1} }}"
              for n in range(1, 2_000)]  # fmt: skip
    lines.append("ENTRY e { x = f32[] parameter(0) ROOT r = f32[] call(x), to_apply=f1999 }")
    assert len(again(parse("\n".join(lines))).computations) == 2_001


def test_no_hash_is_pickled():
    # Another process hashes text otherwise: a hash from here would make equal values differ there.
    values = Shape(ELEMENT_TYPES["f32"], (2,), Layout((0,))), Attributes({"a": "b"}), Literal(X)
    for value in values:
        before = pickle.dumps(value)
        hash(value)
        assert pickle.dumps(value) == before
        assert again(value) == value
