"""PTX inside MLIR: for instructions that its dialects, or LLVM behind them, have no name for."""

from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.provider import arith, ir
from tfc.hlo.shape import U32

_LETTERS = {"i16": "h", "i32": "r", "i64": "l", "index": "l", "f32": "f", "f64": "d"}


def assembly(
    text: str,
    results: Sequence[str],
    operands: Sequence[Any],
    memory: bool = False,
    tied: int = 0,
    pure: bool = False,
) -> list[Any]:
    """Emit PTX, which stays where it is in the order of what has effects.

    Args:
        text: with $0, $1 … for the results and then the operands.
        results: the names of the results' types: i16, i32, i64, f32, f64.
        operands: values of such types.
        memory: whether it reads or writes memory.
        tied: how many operands, the last ones, are in the registers of the first results.
        pure: whether it has no effect, so that it need not be, or be once for all with these
            operands.

    Returns:
        The results' values.
    """
    own = operands[: len(operands) - tied]
    letters = [f"={_LETTERS[r]}" for r in results] + [_LETTERS[str(o.type)] for o in own]
    letters += map(str, range(tied))
    attributes = {
        "asm_string": ir.StringAttr.get(text),
        "constraints": ir.StringAttr.get(",".join([*letters, *(["~{memory}"] * memory)])),
    }
    if not pure:
        attributes["has_side_effects"] = ir.UnitAttr.get()
    types = [ir.Type.parse(r) for r in results]
    if len(types) > 1:
        types = [ir.Type.parse(f"!llvm.struct<({', '.join(results)})>")]
    made = ir.Operation.create("llvm.inline_asm", types, list(operands), attributes)
    if len(results) < 2:
        return list(made.results)
    return [_part(made.result, n, r) for n, r in enumerate(results)]


def _part(struct: Any, number: int, name: str) -> Any:
    position = {"position": ir.DenseI64ArrayAttr.get([number])}
    kind = ir.Type.parse(name)
    return ir.Operation.create("llvm.extractvalue", [kind], [struct], position).result


def number(x: Any) -> Scalar:
    """A value of type `index` as 32 bits, which is what places inside of a block need."""
    return Scalar(arith.index_castui(ir.Type.parse("i32"), x), U32)


def index(x: Scalar) -> Any:
    """An integer of any width as a value of type `index`."""
    cast = arith.index_cast if x.element_type.kind == "signed" else arith.index_castui
    return cast(ir.IndexType.get(), x.value)


def shared_address(memref: Any) -> Scalar:
    """The address in the block's shared memory at which a memref of it begins."""
    place = ir.Operation.create(
        "memref.extract_aligned_pointer_as_index", [ir.IndexType.get()], [memref]
    ).result
    return number(place)


def global_address(memref: Any) -> Any:
    """The address in global memory at which a memref begins, an i64."""
    place = ir.Operation.create(
        "memref.extract_aligned_pointer_as_index", [ir.IndexType.get()], [memref]
    ).result
    wide = arith.index_castui(ir.Type.parse("i64"), place)
    return assembly("cvta.to.global.u64 $0, $1;", ["i64"], [wide])[0]
