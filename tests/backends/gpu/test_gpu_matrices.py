"""The instructions of matrices: tiles in shared memory, fragments, and products of a warp."""

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tfc.backends.gpu.assembly import assembly, global_address, number, shared_address
from tfc.backends.gpu.grid import gpu, thread_in_block
from tfc.backends.gpu.matrices import (
    KINDS,
    PIECE,
    Kind,
    Tile,
    TileForm,
    commit_copies,
    copy_async,
    multiply,
    place_of_sum,
    wait_for_copies,
    zeros,
)
from tfc.backends.llvm.compilation import compile_ptx, lower_gpu_to_llvm
from tfc.backends.mlir.arithmetic.value import Scalar, constant, emit, resize
from tfc.backends.mlir.provider import ir, new_context
from tfc.backends.target import Target
from tfc.hlo.shape import U32, U64
from tfc.testing.ptx import Machine
from tfc.testing.ptx.assembler import complaints

random = np.random.default_rng(3)
DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f64": np.float64,
    "s8": np.int8,
    "u8": np.uint8,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}


def code_of(body: Callable[[list], None], sizes: list[int], target: str = "sm_80") -> str:
    """The PTX of a kernel `one` of arrays of as many bytes, for one warp."""
    with new_context("gpu", "nvvm"), ir.Location.unknown():
        module = ir.Module.create()
        module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
        with ir.InsertionPoint(module.body):
            kernels = gpu.GPUModuleOp(ir.StringAttr.get("kernels"))
        block = (
            kernels.regions[0].blocks.append()
            if not len(kernels.regions[0].blocks)
            else (kernels.regions[0].blocks[0])
        )
        with ir.InsertionPoint(block):
            types = [ir.Type.parse(f"memref<{size}xi8>") for size in sizes]
            kind = ir.TypeAttr.get(ir.FunctionType.get(types, []))
            function = gpu.GPUFuncOp(kind, sym_name="one", kernel=True)
        with ir.InsertionPoint(function.add_entry_block()):
            body(list(function.body.blocks[0].arguments))
            gpu.return_([])
        llvm = lower_gpu_to_llvm(module)
    return compile_ptx(llvm, Target.parse(f"nvptx64-nvidia-cuda,{target}"))


def shared_memory() -> Scalar:
    """The address of the memory that the launch gives."""
    kind = ir.Type.parse("memref<?xi8, #gpu.address_space<workgroup>>")
    return shared_address(emit("gpu.dynamic_shared_memory", kind, []))


def warp_product(kind: Kind, along: tuple[bool, bool], size: int) -> Callable[[list], None]:
    """C = A·B by one warp: A has 16 rows, B 16 columns; `size` sums; lines as `along` says."""
    forms = [
        TileForm(16, size * kind.bytes // PIECE, True, kind)
        if a
        else TileForm(size, 16 * kind.bytes // PIECE, False, kind)
        for a in along
    ]

    def body(arguments: list) -> None:
        lane, base, zero = number(thread_in_block()), shared_memory(), constant(U32, 0)
        tiles = [Tile(forms[0], base, lane), Tile(forms[1], base + forms[0].bytes, lane)]
        for tile, argument in zip(tiles, arguments):
            source = Scalar(global_address(argument), U64)
            for n in range(tile.form.bytes // PIECE // 32):
                piece = lane + 32 * n
                to = tile.base + tile.form.place(piece / tile.form.pieces, piece % tile.form.pieces)
                copy_async(to, (source + resize(piece * PIECE, U64)).value)
        commit_copies()
        wait_for_copies()
        gpu.barrier()
        result = Scalar(global_address(arguments[2]), U64)
        width = 8 if kind.is_double else 4
        for row in range(0, 16, kind.rows):
            for column in range(0, 16, 8 if kind.is_double else 16):
                sums = [zeros(kind) for _ in range(1 if kind.is_double else 2)]
                for step in range(size // kind.depth):
                    a = tiles[0].rows(zero, row, step)
                    b = tiles[1].columns(zero, column, step)
                    sums = [multiply(kind, a, each, c) for each, c in zip(b, sums)]
                for n, c in enumerate(sums):
                    for i, value in enumerate(c):
                        r, k = place_of_sum(lane, i)
                        place = ((r + row) * 16 + k + (column + 8 * n)) * width
                        bits = f"b{8 * width}"
                        at = (result + resize(place, U64)).value
                        assembly(f"st.global.{bits} [$0], $1;", [], [at, value], memory=True)

    return body


QUICK = {"f16-f16-True-True"}


def cases() -> Iterator[Any]:
    """The kinds with the ways in which their tiles may lie; few of them are quick."""
    for kind in KINDS.values():
        for along in ((True, True), (True, False), (False, True), (False, False)):
            if all(along) or kind.bytes > 1:
                name = f"{kind.lhs}-{kind.rhs}-{along[0]}-{along[1]}"
                marks = () if name in QUICK else pytest.mark.slow
                yield pytest.param(kind, along, id=name, marks=marks)


@pytest.mark.parametrize(("kind", "along"), list(cases()))
def test_a_warp_multiplies_tiles_that_lie_either_way_without_bank_conflicts(
    kind: Kind, along: tuple[bool, bool]
):
    size = 128 // kind.bytes if all(along) else 4 * kind.depth
    a = random.integers(0 if "u8" in (kind.lhs, kind.rhs) else -4, 5, (16, size))
    b = random.integers(0 if "u8" in (kind.lhs, kind.rhs) else -4, 5, (size, 16))
    a_bytes = (a if along[0] else a.T).astype(DTYPES[kind.lhs]).tobytes()
    b_bytes = (b.T if along[1] else b).astype(DTYPES[kind.rhs]).tobytes()
    result = np.dtype(kind.sums.dtype)
    sizes = [len(a_bytes), len(b_bytes), 256 * result.itemsize]
    least = "sm_80" if kind.least == 80 else "sm_90a"
    features = "" if kind.least == 80 else ",+ptx84"
    ptx = code_of(warp_product(kind, along, size), sizes, least + features)
    assert complaints(ptx, least) == ""
    machine = Machine()
    places = [machine.allocate(size) for size in sizes]
    for place, data in zip(places, (a_bytes, b_bytes)):
        machine.write(place, data)
    report = machine.launch(machine.load(ptx)["one"], (1,), (32,), places, sum(sizes[:2]))
    got = machine.read(places[2], sizes[2]).view(result).reshape(16, 16)
    np.testing.assert_array_equal(got, (a @ b).astype(result))
    assert report.bank_conflicts == 0
    steps = size // kind.depth * (16 // kind.rows) * 2
    assert report.instructions["mma"] == 32 * steps
