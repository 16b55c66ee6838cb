"""What `tfc inspect` says of programs, and how the kind of a file is told: one table for all."""

import os
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from click.testing import CliRunner, Result
from onnx import helper
from onnx_models import model_of

from tfc.aot.formats import FORMATS, read_program
from tfc.cli import tfc
from tfc.hlo.ir import Module

HLO = """
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[3,4] parameter(0)
 w = f32[4,5] constant({...})
 y = f32[3,5] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
 z = f32[3,5] custom-call(y), custom_call_target="mine"
 t = f32[3,5] tanh(z)
 zero = f32[] constant(0)
 ROOT s = f32[3] reduce(t, zero), dimensions={1}, to_apply=add }
"""
MLIR = """
// a comment
module @twice {
  func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.add %x, %x : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
"""


def run(*args: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(tfc, [*map(str, args)], input=stdin)


def test_a_module_is_inspected_as_models_are(tmp_path: Path):
    path = tmp_path / "text.hlo"
    path.write_text(HLO)
    printed = run("inspect", path, "--fill-constants").output
    for line in ("x: f32[3,4]", "0: f32[3]", "1 custom-call mine", "1 dot", "1 tanh",
                 "constants: 2 arrays, 21 numbers, 84 bytes",
                 "FLOPs: 135, and 15 transcendental functions"):  # fmt: skip
        assert line in printed  # 2·3·4·5 products, 15 sums


def test_the_work_of_a_model_is_known_when_its_sizes_are(tmp_path: Path):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    made = model_of(nodes, {"x": (np.float32, ("n", 3))}, ["y"], {"w": np.ones((3, 5), np.float32)})
    path = tmp_path / "dense.onnx"
    path.write_bytes(made.SerializeToString())
    assert "FLOPs: 60, and 0" in run("inspect", path, "--shape", "n=2").output
    assert "FLOPs: not known: the input x: float32[n,3] has open sizes (n)" in (
        run("inspect", path).output
    )


@pytest.mark.parametrize("name", ["m.mlir", "m.MLIR", "m.txt", "-"])
def test_the_kind_is_told_by_the_name_or_the_content(name: str, tmp_path: Path):
    path = "-" if name == "-" else tmp_path / name
    if name != "-":
        (tmp_path / name).write_text(MLIR)
    printed = run("inspect", path, stdin=MLIR.encode()).output
    assert ": f32[2,3]" in printed
    assert "1 add" in printed


def test_what_can_be_read_only_once_is_read_once(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = Thread(target=path.write_text, args=(MLIR,))
    writer.start()
    program = read_program(str(path))
    writer.join()
    assert isinstance(program, Module)
    assert program.name == "twice"


def test_options_that_a_kind_lacks_are_refused(tmp_path: Path):
    (tmp_path / "m.mlir").write_text(MLIR)
    result = run("run", tmp_path / "m.mlir", "--shape", "x=2,3")
    assert result.exit_code == 1
    assert "is StableHLO, which takes no --shape" in result.output


def test_folders_of_no_known_kind_are_refused(tmp_path: Path):
    result = run("inspect", tmp_path)
    assert result.exit_code == 1
    assert "Is a directory" in result.output


def test_every_file_has_a_row_in_the_end():
    """The last row takes what no other does, and no ending means two kinds."""
    assert FORMATS[-1].begins is not None
    assert FORMATS[-1].begins.match(b"anything")
    suffixes = [suffix for row in FORMATS for suffix in row.suffixes]
    assert len(suffixes) == len(set(suffixes))
