"""Operands of products are copied so that sums lie together, where the target wants that."""

import numpy as np
import pytest

from tfc.hlo import Module, evaluate, parse, verify
from tfc.hlo.ir import Instruction
from tfc.passes import KernelKinds, default_pipeline
from tfc.passes.analysis.products import dot_groups, group_stride
from tfc.passes.layout.sums_together import SumsTogether

EACH = SumsTogether(lambda dot: True)


def product(made: str = "parameter(1)", rows: int = 256) -> Module:
    """s8 rows by s8 columns, whose sums lie apart in the second."""
    second = "" if made.startswith("parameter") else "z = s8[64,80] parameter(1)\n"
    return parse(
        f"""ENTRY main {{
  x = s8[{rows},64] parameter(0)
  {second}
  y = s8[64,80] {made}
  a = s32[{rows},64] convert(x)
  b = s32[64,80] convert(y)
  ROOT d = s32[{rows},80] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}"""
    )


def strides_of_sums(module: Module) -> list[int | None]:
    (dot,) = (i for i in module.entry.instructions if i.opcode == "dot")
    (_, (_, _, left)), (_, (_, right, _)), _ = dot_groups(dot)
    return [group_stride(o.array_shape, s) for o, s in zip(dot.operands, (left, right))]


def test_the_narrow_array_is_copied():
    before = product()
    after = EACH(before)
    verify(after)
    assert strides_of_sums(before) == [1, 80]
    assert strides_of_sums(after) == [1, 1]
    (copy,) = (i for i in after.entry.instructions if i.opcode == "copy")
    assert str(copy.shape) == "s8[64,80]{0,1}"
    rng = np.random.default_rng(1)
    x, y = (rng.integers(-9, 9, d).astype(np.int8) for d in ((256, 64), (64, 80)))
    got, want = evaluate(after, x, y), evaluate(before, x, y)
    np.testing.assert_array_equal(got, want)


def test_batches_stay_outside():
    module = parse(
        """ENTRY main {
  x = s8[3,64,256] parameter(0)
  y = s8[3,64,300] parameter(1)
  ROOT d = s32[3,256,300] dot(x, y), lhs_batch_dims={0}, lhs_contracting_dims={1},
    rhs_batch_dims={0}, rhs_contracting_dims={1}
}"""
    )
    after = EACH(module)
    verify(after)
    assert strides_of_sums(after) == [1, 1]
    copies = [str(i.shape) for i in after.entry.instructions if i.opcode == "copy"]
    assert copies == ["s8[3,64,256]{1,2,0}", "s8[3,64,300]{1,2,0}"]


def test_of_a_convolution_the_kernel_is_copied():
    text = """ENTRY main {
  x = f32[2,32,WIDTH,8] parameter(0)
  k = f32[3,3,8,16] parameter(1)
  ROOT y = f32[2,32,WIDTH,16] convolution(x, k), window={size=3x3 pad=1_1x1_1},
    dim_labels=b01f_01io->b01f
}"""
    before = parse(text.replace("WIDTH", "16"))  # 1024 places
    after = EACH(before)
    verify(after)
    assert str(after.entry.root.operands[1].shape) == "f32[3,3,8,16]{2,3,1,0}"
    rng = np.random.default_rng(1)
    x, k = (rng.integers(-9, 9, d).astype(np.float32) for d in ((2, 32, 16, 8), (3, 3, 8, 16)))
    np.testing.assert_array_equal(evaluate(after, x, k), evaluate(before, x, k))
    few = parse(text.replace("WIDTH", "15"))
    assert EACH(few) is few


def test_the_target_is_asked_for_the_product_as_it_would_be():
    asked: list[Instruction] = []

    def refuses(dot: Instruction) -> bool:
        asked.append(dot)
        return False

    module = product()
    assert SumsTogether(refuses)(module) is module
    assert [str(o.shape) for o in asked[0].operands] == ["s32[256,64]{1,0}", "s32[64,80]{0,1}"]


ZEROS = str(np.zeros((64, 80), int).tolist()).replace("[", "{").replace("]", "}")


@pytest.mark.parametrize(("made", "least"), [("parameter(1)", 256), ("negate(z)", 64),
                                             (f"constant({ZEROS})", 64)])  # fmt: skip
def test_what_is_multiplied_too_seldom_stays(made: str, least: int):
    enough, few = product(made, least), product(made, least - 1)
    assert strides_of_sums(EACH(enough)) == [1, 1]
    assert EACH(few) is few


def test_a_target_that_does_not_want_it_is_left_alone():
    module = product()
    assert SumsTogether()(module) is module
    kinds = KernelKinds(takes_sums_together=lambda dot: False)
    assert strides_of_sums(default_pipeline(kinds=kinds).run(module)) == [1, 80]
