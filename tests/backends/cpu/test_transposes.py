"""Transposes in tiles, alone and fused with elementwise ops: the CPU against the evaluator.

Results are compared bit for bit. Small arrays need no tiles, so most tests here make them of
small arrays too.
"""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tfc.backends.cpu.compiler import CpuCompiler
from tfc.backends.cpu.loops import tiled_movement
from tfc.compiler import compile as compile_module
from tfc.hlo import parse
from tfc.hlo.evaluation.evaluator import evaluate
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.options import Options
from tfc.testing import arguments_for
from tfc.testing.compare import flat

TYPES = [t for t in ELEMENT_TYPES if t != "token"]
SIZES = (1, 2, 3, 5, 8, 16, 17, 33, 40)


def tiled_kernels(text: str) -> int:
    """Compare a program with the evaluator, bit for bit; how many tiles its kernels turn."""
    module = parse(text)
    arguments = tuple(arguments_for(module, np.random.default_rng(0)))
    executable = compile_module(module, backend="cpu")
    for got, want in zip(executable(*arguments), flat(evaluate(module, *arguments)), strict=True):
        got = np.asarray(got)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if got.dtype.name == "int4":  # of which four bits of a byte count
            got, want = got.astype(np.int8), np.asarray(want).astype(np.int8)
        assert got.tobytes() == want.tobytes()
    return executable.as_text("mlir").count("memref.alloca")


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of at most 32 bytes a side, of arrays of any size."""
    monkeypatch.setattr(tiled_movement, "_LEAST_BYTES", 0)
    monkeypatch.setattr(tiled_movement, "_FAR_BYTES", 0)
    monkeypatch.setattr(tiled_movement, "_EDGE_BYTES", 32)


def array(element_type: str, dims: Sequence[int]) -> str:
    """A shape's text."""
    return f"{element_type}[{','.join(map(str, dims))}]"


class Maker:
    """Writes a program of several results, each some transposes between elementwise ops."""

    def __init__(self, seed: int, element_type: str):
        self.choose, self.element_type = random.Random(seed), element_type
        self.lines: list[str] = []
        self.parameters = 0

    def line(self, dims: Sequence[int], expression: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {array(self.element_type, dims)} {expression}")
        return name

    def parameter(self, dims: Sequence[int]) -> str:
        self.parameters += 1
        return self.line(dims, f"parameter({self.parameters - 1})")

    def either(self, dims: Sequence[int], x: str, y: str) -> str:
        """An op of two operands that all types have and that is exact."""
        return self.line(dims, f"{'xor' if self.element_type == 'pred' else 'add'}({x}, {y})")

    def turned(self, dims: Sequence[int]) -> str:
        """An array of these dimensions that was a parameter with them in another order."""
        order = list(range(len(dims)))
        self.choose.shuffle(order)
        before = [0] * len(dims)
        for d, source in enumerate(order):
            before[source] = dims[d]
        x = self.parameter(before)
        if self.choose.random() < 0.5:
            x = self.either(before, x, self.parameter(before))
        if self.choose.random() < 0.2:
            x = self.line(
                before, f"reverse({x}), dimensions={{{self.choose.randrange(len(dims))}}}"
            )
        return self.line(dims, f"transpose({x}), dimensions={{{','.join(map(str, order))}}}")

    def result(self, rank: int) -> tuple[str, str]:
        """The name and shape of one result."""
        dims = [self.choose.choice(SIZES) for _ in range(rank)]
        while np.prod(dims) > 6000:
            dims[self.choose.randrange(rank)] = self.choose.choice(SIZES[:4])
        name = self.turned(dims)
        for _ in range(self.choose.randrange(4)):
            other = self.turned(dims) if self.choose.random() < 0.7 else self.parameter(dims)
            name = self.either(dims, name, other)
        return name, array(self.element_type, dims)

    def program(self) -> str:
        results = [self.result(rank) for rank in (2, 3, 4, 5)]
        names, shapes = zip(*results)
        root = f"ROOT r = ({', '.join(shapes)}) tuple({', '.join(names)})"
        return "\n".join(["ENTRY main {", *self.lines, root, "}"])


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("seed", range(10))
def test_random_permutations(seed: int) -> None:
    tiled_kernels(Maker(seed, ("f32", "s8", "bf16", "f64", "c64")[seed % 5]).program())


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("element_type", TYPES)
def test_all_types(element_type: str) -> None:
    x, y = array(element_type, (19, 3, 37)), array(element_type, (37, 3, 19))
    negation = "not" if element_type == "pred" else "copy"
    program = f"""ENTRY main {{ x = {x} parameter(0)
      n = {x} {negation}(x)
      ROOT t = {y} transpose(n), dimensions={{2,1,0}} }}"""
    assert tiled_kernels(program) == 1


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("dims", [(0, 7), (7, 0), (1, 9), (9, 1), (3, 4), (4, 3), (64, 65)])
def test_edges(dims: tuple[int, int]) -> None:
    tiled_kernels(f"""ENTRY main {{ x = {array("f32", dims)} parameter(0)
      ROOT t = {array("f32", dims[::-1])} transpose(x), dimensions={{1,0}} }}""")


# fmt: off
PROGRAMS = {
    "several orders at once":
        ("x = f32[6,40,9] parameter(0); y = f32[9,6,40] parameter(1); z = f32[40,9,6] parameter(2);"
         "a = f32[9,40,6] transpose(x), dimensions={2,1,0};"
         "b = f32[9,40,6] transpose(y), dimensions={0,2,1};"
         "c = f32[9,40,6] transpose(z), dimensions={1,0,2};"
         "d = f32[9,40,6] add(a, b); ROOT e = f32[9,40,6] multiply(c, d)", 2),
    "an array and its transpose":
        ("x = f32[37,37] parameter(0); t = f32[37,37] transpose(x), dimensions={1,0};"
         "ROOT s = f32[37,37] add(x, t)", 1),
    "a copy to another layout":
        ("x = f32[21,35]{1,0} parameter(0); n = f32[21,35]{1,0} negate(x);"
         "ROOT c = f32[21,35]{0,1} copy(n)", 1),
    "a copy from another layout":
        ("x = f32[5,21,35]{1,2,0} parameter(0); ROOT n = f32[5,21,35]{2,1,0} negate(x)", 1),
    "a part of an array":
        ("x = f32[30,50] parameter(0); s = f32[21,35] slice(x), slice={[5:26], [9:44]};"
         "ROOT t = f32[35,21] transpose(s), dimensions={1,0}", 1),
    "every other element":
        ("x = f32[30,50] parameter(0); s = f32[15,25] slice(x), slice={[0:30:2], [1:50:2]};"
         "ROOT t = f32[25,15] transpose(s), dimensions={1,0}", 1),
    "a part that the run decides on":
        ("x = f32[30,50] parameter(0); i = s32[] parameter(1); j = s32[] parameter(2);"
         "s = f32[21,35] dynamic-slice(x, i, j), dynamic_slice_sizes={21,35};"
         "ROOT t = f32[35,21] transpose(s), dimensions={1,0}", 1),
    "the pieces of a concatenate":
        ("x = f32[21,35] parameter(0); y = f32[21,10] parameter(1);"
         "c = f32[21,45] concatenate(x, y), dimensions={1};"
         "ROOT t = f32[45,21] transpose(c), dimensions={1,0}", 2),
    "one number for each row":
        ("x = f32[21,35] parameter(0); y = f32[35] parameter(1);"
         "b = f32[21,35] broadcast(y), dimensions={1}; s = f32[21,35] subtract(x, b);"
         "ROOT t = f32[35,21] transpose(s), dimensions={1,0}", 1),
    "a type that changes":
        ("x = s8[21,35] parameter(0); f = f32[21,35] convert(x);"
         "ROOT t = f32[35,21] transpose(f), dimensions={1,0}", 1),
    "two results":
        ("x = f32[21,35] parameter(0); t = f32[35,21] transpose(x), dimensions={1,0};"
         "n = f32[35,21] negate(t); a = f32[35,21] abs(t);"
         "ROOT r = (f32[35,21], f32[35,21]) tuple(n, a)", 1),
}
UNTURNED = {
    "the fastest dimension stays":
        "x = f32[9,10,40] parameter(0); ROOT t = f32[10,9,40] transpose(x), dimensions={1,0,2}",
    "elements between, which are read under a condition":
        "x = f32[21,35] parameter(0); z = f32[] constant(0);"
        "p = f32[21,69] pad(x, z), padding=0_0x0_0_1;"
        "ROOT t = f32[69,21] transpose(p), dimensions={1,0}",
    "pieces along the fastest dimension, which share the loops outside of them":
        "x = f32[21,35] parameter(0); y = f32[10,35] parameter(1);"
        "c = f32[31,35] concatenate(x, y), dimensions={0};"
        "ROOT t = f32[35,31] transpose(c), dimensions={1,0}",
    "a reverse":
        "x = f32[21,35] parameter(0); ROOT r = f32[21,35] reverse(x), dimensions={0,1}",
}
# fmt: on


def entry(lines: str) -> str:
    """A program of one computation."""
    return "ENTRY main {\n" + lines.replace(";", "\n") + "}"


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize(("lines", "count"), PROGRAMS.values(), ids=PROGRAMS)
def test_programs(lines: str, count: int) -> None:
    assert tiled_kernels(entry(lines)) == count


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("lines", UNTURNED.values(), ids=UNTURNED)
def test_other_movement_has_no_tiles(lines: str) -> None:
    assert tiled_kernels(entry(lines)) == 0


@pytest.mark.parametrize(
    ("dims", "order"),
    [((130, 260), (1, 0)), ((3, 70, 90), (0, 2, 1)), ((5, 6, 7, 80), (3, 2, 1, 0))],
)
def test_tiles_as_large_as_they_are_made(dims: tuple[int, ...], order: tuple[int, ...]) -> None:
    turned = array("f32", [dims[d] for d in order])
    program = f"""ENTRY main {{ x = {array("f32", dims)} parameter(0)
      ROOT t = {turned} transpose(x), dimensions={{{",".join(map(str, order))}}} }}"""
    assert tiled_kernels(program) == 1


def test_small_arrays_have_no_tiles() -> None:
    assert not tiled_kernels(entry(
        "x = f32[20,30] parameter(0); ROOT t = f32[30,20] transpose(x), dimensions={1,0}"
    ))  # fmt: skip


def test_tiles_fit_on_a_stack() -> None:
    lines = [f"x{n} = s8[300,301] parameter({n})" for n in range(8)]
    total = "x0"
    for n in range(1, 8):
        lines.append(f"s{n} = s8[300,301] add({total}, x{n})")
        total = f"s{n}"
    lines.append(f"ROOT t = s8[301,300] transpose({total}), dimensions={{1,0}}")
    code = CpuCompiler().emit_text(parse(entry(";".join(lines))), "mlir", Options(), None)
    sizes = [int(line.split("memref<")[1].split("x")[0]) for line in code.splitlines()
             if "memref.alloca" in line]  # fmt: skip
    assert len(sizes) == 8
    assert sum(sizes) <= 1 << 16
