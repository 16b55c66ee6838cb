"""The machine code that this process runs, read: what `as_text` shows of it, and its loops."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import llvmlite.binding as llvmlite
import numpy as np
import pytest

import tfc
from tfc.backends.cpu.compiler import JIT_NAME, Compilation, CpuCompiler
from tfc.backends.cpu.products.schedule import MatmulSpec, make_schedule
from tfc.backends.llvm.compilation import compile_ir
from tfc.backends.llvm.library import LIBRARY
from tfc.backends.target import Target
from tfc.hlo.shape import F32, F64
from tfc.hlo.text.parser import parse
from tfc.options import Options

HOST = Target.host()
ON_X86 = pytest.mark.skipif(HOST.architecture != "x86_64", reason="reads x86-64's assembly")


def compilation(text: str, target: Target) -> Compilation:
    """A program on its way to code for this process, if it were the target."""
    return CpuCompiler().prepare(parse(text), JIT_NAME, target, Options(), "process")


def code_of(module: bytes) -> bytes:
    """The instructions in an object file."""
    sections = llvmlite.ObjectFileRef.from_data(module).sections()
    return b"".join(s.data() for s in sections if s.name() == b".text")


def assembled(text: str) -> bytes:
    """The instructions that an assembler makes of a text."""
    lines = (line.replace("\\", "\\5C").replace('"', "\\22") for line in text.split("\n"))
    module = "\n".join(f'module asm "{line}"' for line in lines)
    return code_of(compile_ir(module, HOST, optimise=False).object_code)


@ON_X86
def test_assembly_is_that_of_the_code_which_runs():
    text = """HloModule m
    ENTRY e {
      x = f32[64,96] parameter(0)
      y = f32[96,80] parameter(1)
      d = f32[64,80] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT t = f32[64,80] tanh(d)
    }"""
    made = compilation(text, HOST)
    LIBRARY.clear()  # all of the program is made here
    parts = re.split(r"^(?=\t\.file\t)", made.text("asm"), flags=re.MULTILINE)[1:]
    assert len(parts) > 2
    assert sorted(map(assembled, parts)) == sorted(map(code_of, made.machine_code().objects))


def test_texts_of_a_compiled_function_are_of_its_parts():
    x = np.ones((64, 64), np.float32)
    compiled = tfc.jit(lambda a, b: a @ b).lower(x, x).compile()
    for stage in ("llvm", "asm"):
        text = compiled.as_text(stage)
        assert "tiles." in text
        assert JIT_NAME in text


# --- Sums stay in registers ---------------------------------------------------------------------


def product(m: int, k: int, n: int, lhs: str = "{1}", rhs: str = "{0}") -> str:
    """A dot of matrices; which dimensions are contracted may be stated."""
    left = (m, k) if lhs == "{1}" else (k, m)
    right = (k, n) if rhs == "{0}" else (n, k)
    return (
        f"E[{m},{n}] dot(E[{left[0]},{left[1]}], E[{right[0]},{right[1]}]), "
        f"lhs_contracting_dims={lhs}, rhs_contracting_dims={rhs}"
    )


def batched(count: int, m: int, k: int, n: int) -> str:
    """A dot of batches of matrices."""
    return (
        f"E[{count},{m},{n}] dot(E[{count},{m},{k}], E[{count},{k},{n}]), lhs_batch_dims={{0}}, "
        "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
    )


def convolution(
    size: int, inputs: int, outputs: int, kernel: int, *, batch: int = 1, stride: int = 1,
    groups: int = 1, dilation: int = 1, padding: int | None = None,
) -> str:  # fmt: skip
    """A convolution of square images."""
    pad = kernel // 2 if padding is None else padding
    out = ((size - 1) * dilation + 1 + 2 * pad - kernel) // stride + 1
    apart = f" lhs_dilate={dilation}x{dilation}" if dilation > 1 else ""
    return (
        f"E[{batch},{out},{out},{outputs}] convolution(E[{batch},{size},{size},{inputs}], "
        f"E[{kernel},{kernel},{inputs // groups},{outputs}]), window={{size={kernel}x{kernel} "
        f"stride={stride}x{stride} pad={pad}_{pad}x{pad}_{pad}{apart}}}, "
        f"dim_labels=b01f_01io->b01f, feature_group_count={groups}"
    )


# fmt: off
PROGRAMS = {
    "products": [
        product(64, 64, 64), product(128, 128, 128), product(256, 256, 256),
        product(512, 512, 512), product(128, 768, 3072), product(100, 77, 90),
        product(5, 300, 70), product(20, 20, 20), product(256, 64, 9),
        product(256, 256, 256, lhs="{0}"), product(256, 256, 256, rhs="{1}"),
        batched(6, 128, 64, 128),
    ],
    "convolutions": [
        convolution(56, 64, 64, 3), convolution(14, 256, 256, 3), convolution(7, 512, 512, 3),
        convolution(7, 96, 96, 3), convolution(112, 3, 64, 7, stride=2),
        convolution(28, 64, 128, 3, stride=2), convolution(28, 128, 128, 3, groups=4),
        convolution(28, 64, 64, 3, groups=64),
        convolution(28, 64, 3, 7, dilation=2, padding=4),
        convolution(58, 8, 64, 56, batch=8, padding=0),
        convolution(58, 64, 64, 56, batch=2, groups=64, padding=0),
    ],
}
# fmt: on


def program(operations: list[str], element: str) -> str:
    """A module whose result is what each of some operations makes of arguments of its own."""
    lines, results, count = [], [], 0
    for number, operation in enumerate(operations):
        result, name, *operands, attributes = re.fullmatch(
            r"(\S+) (\w+)\((\S+), (\S+)\)(.*)", operation
        ).groups()  # type: ignore[union-attr]
        for operand in operands:
            lines.append(f"p{count} = {operand} parameter({count})")
            count += 1
        lines.append(f"r{number} = {result} {name}(p{count - 2}, p{count - 1}){attributes}")
        results.append((f"r{number}", result))
    names, types = (", ".join(some) for some in zip(*results))
    body = "\n".join([*lines, f"ROOT all = ({types}) tuple({names})"])
    return f"HloModule m\nENTRY e {{\n{body}\n}}".replace("E[", f"{element}[")


def innermost_loops(assembly: str) -> Iterator[tuple[str, list[str]]]:
    """The loops of an assembly text that have none inside: the function's name, its lines.

    A loop reaches from a label to the last branch back to it.
    """
    for function in re.findall(
        r'^"?([A-Za-z][\w.$-]*)"?:[^\n]*\n(.*?)^\.Lfunc_end', assembly, re.M | re.S
    ):
        name, lines = function[0], function[1].split("\n")
        labels = {m[1]: n for n, line in enumerate(lines) if (m := re.match(r"(\.LBB\w+):", line))}
        jumps = ((n, _BRANCH.match(line)) for n, line in enumerate(lines))
        loops = [(labels[j[1]], n) for n, j in jumps if j and labels[j[1]] < n]
        for first, last in loops:
            if not any((a, b) != (first, last) and first <= a and b <= last for a, b in loops):
                yield name, lines[first : last + 1]


_BRANCH = re.compile(r"\s+(?:j|b|cb|tb)[\w.]*\s+(?:[^.]+,\s*)?(\.LBB\w+)$")


@dataclass(frozen=True)
class Reading:
    """How to read an architecture's assembly.

    product: a multiply-add of vectors, whose register of sums it captures.
    moved: a vector that goes to the stack or comes from there.
    """

    product: re.Pattern[str]
    moved: re.Pattern[str]


READINGS = {
    "x86_64": Reading(
        re.compile(r"\s+vfmadd\w+p[sd]\s.*%([xyz]mm\d+)$"),
        re.compile(r".*\(%rsp.*%[xyz]mm|.*%[xyz]mm.*\(%rsp"),
    ),
    "aarch64": Reading(
        re.compile(r"\s+fmla\s+v(\d+)\."), re.compile(r"\s+(?:ld|st)[rp]\s+[qd]\d+.*\[sp")
    ),
    "riscv64": Reading(
        re.compile(r"\s+vfm(?:acc|add)\.v[vf]\s+(v\d+)"), re.compile(r"\s+v[ls]\d*r?\w*\.v.*\(sp\)")
    ),
}
PROCESSORS = [
    "x86_64-linux-gnu,x86-64-v3", "x86_64-linux-gnu,x86-64-v4", "aarch64-linux-gnu,neoverse-v1",
    "riscv64-linux-gnu,generic-rv64,+v,+d",
    *(pytest.param(name, marks=pytest.mark.slow) for name in (
        "x86_64-linux-gnu,znver4", "x86_64-linux-gnu,sapphirerapids",
        "aarch64-linux-gnu,neoverse-n1", "aarch64-linux-gnu,apple-m1",
        "riscv64-linux-gnu,sifive-p670",
    )),
]  # fmt: skip


@pytest.mark.parametrize("processor", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("element", [F32, F64], ids=str)
def test_a_tile_has_its_place_in_the_result_fetched_while_products_are_added(element, processor):
    target = Target.parse(f"x86_64-linux-gnu,{processor}")
    schedule = make_schedule(MatmulSpec.contiguous(element, 1056, 1056, 1056), target)
    assert (1056 % schedule.tile_rows, 1056 % schedule.tile_columns) == (0, 0)  # tiles of one size
    assembly = compilation(program([product(1056, 1056, 1056)], str(element)), target).text("asm")
    lines = schedule.tile_rows * schedule.tile_columns * element.bytes // 64
    assert assembly.count("\tprefetcht0\t") == lines


@pytest.mark.parametrize("processor", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_a_turn_of_a_tall_tile_fetches_a_line_of_the_next_panel(element: str, processor: str):
    target = Target.parse(f"x86_64-linux-gnu,{processor}")
    assembly = compilation(program([product(1056, 1056, 1056)], element), target).text("asm")
    pattern, turns = READINGS["x86_64"].product, 0
    for function, loop in innermost_loops(assembly):
        products = Counter(m[1] for line in loop if (m := pattern.match(line)))
        if function.startswith("tiles.") and products:
            fetched = sum(line.startswith("\tprefetcht1\t") for line in loop)
            assert fetched == (set(products.values()) == {2}), (function, loop)  # no rest of a turn
            turns += fetched
    assert turns


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_innermost_loops_of_multiply_adds_leave_the_stack_alone(
    name: str, element: str, processor: str
):
    target = Target.parse(processor)
    reading = READINGS[target.architecture]
    assembly = compilation(program(PROGRAMS[name], element), target).text("asm")
    found = 0
    for function, loop in innermost_loops(assembly):
        products = [m[1] for line in loop if (m := reading.product.match(line))]
        moved = [line for line in loop if reading.moved.match(line)]
        found += len(products) > 3
        assert not products or not moved, (function, len(products), moved)
        if function.startswith("tiles.") and target.architecture != "riscv64":
            # Each sum of the tile has as many products added in a turn. (RISC-V may put a sum where
            # a factor was.)
            assert len(set(Counter(products).values())) <= 1, (function, loop)
    assert found >= len(PROGRAMS[name])
