"""Slices that are views: which are, where they lie, that their arrays stay while they are read."""

import pytest
from test_buffers import check

from tfc.compiler import compile as compile_module
from tfc.hlo import Module, parse
from tfc.passes.expand.inline import Flatten
from tfc.passes.memory.buffers import BufferAssignment
from tfc.passes.memory.copies import Copies

HELPERS = """
twice { a = f32[2,5] parameter(0)
  ROOT b = f32[2,5] add(a, a) }
raise { c = f32[4,2,5] parameter(0)
  ROOT d = f32[4,2,5] exponential(c) }
"""


def flat_module(text: str) -> Module:
    """A module with its fusions."""
    return Copies()(Flatten()(parse(text)))


def program(*lines: str) -> Module:
    """A program that makes an array c; the last line is its result."""
    text = "\n".join(["x = f32[4,2,5] parameter(0)", "c = f32[4,2,5] tanh(x)", *lines])
    return flat_module(HELPERS + "ENTRY main {\n" + text + "}")


def views(plan: BufferAssignment) -> dict[str, int]:
    """The views, and where in their arrays they begin."""
    return {
        view.name: plan.slices[view][0].offset - plan.slices[view.operands[0]][0].offset
        for view in plan.views
    }


PART = "s = f32[1,2,5] slice(c), slice={[2:3],[0:2],[0:5]}"
READ = "r = f32[2,5] reshape(s)\nf = f32[2,5] fusion(r), kind=kLoop, calls=twice"
BOTH = "ROOT t = (f32[2,5], f32[4,2,5]) tuple(f, c)"


def test_a_part_that_lies_together_is_read_where_it_is() -> None:
    """Two of the dimensions are whole, and one has one place; what reshapes it is there too."""
    plan = check(program(PART, READ, BOTH))
    assert views(plan) == {"s": 2 * 2 * 5 * 4}
    (reshaped,) = (i for i in plan.slices if i.name == "r")
    assert plan.slices[reshaped][0].offset == 2 * 2 * 5 * 4
    assert plan.slices[reshaped][0].size == 2 * 5 * 4


def test_a_part_of_an_argument() -> None:
    """The caller's memory is there throughout."""
    assert views(check(program(PART.replace("(c)", "(x)"), READ, BOTH))) == {"s": 80}


@pytest.mark.parametrize(
    ("shape", "bounds", "layout", "begin"),
    [
        ("2,2,5", "[1:3],[0:2],[0:5]", "", 40),
        ("1,1,5", "[3:4],[1:2],[0:5]", "", 140),
        ("1,1,2", "[3:4],[1:2],[2:4]", "", 148),
        ("1,1,1", "[3:4],[1:2],[2:5:3]", "", 148),
        ("2,1,5", "[0:2],[1:2],[0:5]", "", None),  # two rows, another between them
        ("1,2,4", "[0:1],[0:2],[0:4]", "", None),
        ("2,2,5", "[0:4:2],[0:2],[0:5]", "", None),
        ("4,2,1", "[0:4],[0:2],[3:4]", "", None),
        ("4,2,1", "[0:4],[0:2],[3:4]", "{0,1,2}", 96),  # as it is in Fortran
    ],
)
def test_what_lies_together(shape: str, bounds: str, layout: str, begin: int | None) -> None:
    """Only the slowest dimension of those with several places may be a part."""
    text = f"""
    twice {{ a = f32[{shape}]{layout} parameter(0)
      ROOT b = f32[{shape}]{layout} add(a, a) }}
    ENTRY main {{ x = f32[4,2,5]{layout} parameter(0)
      s = f32[{shape}]{layout} slice(x), slice={{{bounds}}}
      ROOT f = f32[{shape}]{layout} fusion(s), kind=kLoop, calls=twice }}"""
    assert views(check(flat_module(text))) == ({} if begin is None else {"s": begin})


@pytest.mark.parametrize(
    "lines",
    [
        (PART, "ROOT t = (f32[1,2,5], f32[4,2,5]) tuple(s, c)"),  # a result
        (PART, "n = f32[1,2,5] negate(s)", "ROOT t = (f32[1,2,5], f32[4,2,5]) tuple(n, c)"),
        (PART, READ, "ROOT t = (f32[2,5]) tuple(f)"),  # the array is not needed any more
        (PART, "d = f32[4,2,5] fusion(c), kind=kLoop, calls=raise", READ,
         "ROOT t = (f32[4,2,5], f32[2,5]) tuple(d, f)"),  # which goes over the array
    ],
)  # fmt: skip
def test_other_parts_are_copied(lines: tuple[str, ...]) -> None:
    assert not check(program(*lines)).views


def test_an_update_after_the_last_reader_goes_over_the_array() -> None:
    """As a step of decoding does with its cache: nothing is copied."""
    plan = check(
        program(
            PART, READ, "z = s32[] constant(0)", "u = f32[1,2,5] reshape(f)",
            "d = f32[4,2,5] dynamic-update-slice(c, u, z, z, z)",
            "ROOT t = (f32[4,2,5]) tuple(d)",
        )
    )  # fmt: skip
    (array, updated) = (i for i in plan.slices if i.name in "cd")
    assert views(plan) == {"s": 80}
    assert plan.slices[array] == plan.slices[updated]


def test_views_in_loops_have_no_code() -> None:
    """A row of the state in each iteration."""
    text = """
    square { a = f32[1,8] parameter(0)
      ROOT b = f32[1,8] multiply(a, a) }
    test { s = (s32[], f32[9,8]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(5)
      ROOT c = pred[] compare(i, n), direction=LT }
    body { s = (s32[], f32[9,8]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      a = f32[9,8] get-tuple-element(s), index=1
      one = s32[] constant(1)
      z = s32[] constant(0)
      j = s32[] add(i, one)
      row = f32[1,8] slice(a), slice={[7:8],[0:8]}
      f = f32[1,8] fusion(row), kind=kLoop, calls=square
      b = f32[9,8] dynamic-update-slice(a, f, j, z)
      ROOT r = (s32[], f32[9,8]) tuple(j, b) }
    ENTRY main { x = f32[9,8] parameter(0)
      z = s32[] constant(0)
      q = (s32[], f32[9,8]) tuple(z, x)
      w = (s32[], f32[9,8]) while(q), condition=test, body=body
      ROOT o = f32[9,8] get-tuple-element(w), index=1 }"""
    plan = check(flat_module(text))
    assert views(plan) == {"row": 7 * 8 * 4}


def test_the_cpu_makes_no_kernel_of_a_view() -> None:
    """The dot reads the array, from its place in it."""
    module = parse("""
    ENTRY main { x = f32[3,16,64] parameter(0)
      y = f32[1,64] parameter(1)
      t = f32[3,16,64] tanh(x)
      s = f32[1,16,64] slice(t), slice={[1:2],[0:16],[0:64]}
      r = f32[16,64] reshape(s)
      d = f32[1,16] dot(y, r), lhs_contracting_dims={1}, rhs_contracting_dims={1}
      ROOT o = (f32[3,16,64], f32[1,16]) tuple(t, d) }""")
    steps = compile_module(module, backend="cpu").as_text("mlir").split("// bytecode")[1]
    assert steps.count("kernel") == 2
    assert "result 0 + 4096" in steps
