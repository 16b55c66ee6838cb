"""Parts of kernels as functions of their own, so that code wanted at several places is made once.

The loops that do the work of a product are the same in all kernels of products of equal sizes,
whatever these compute around it; and an epilogue is the same for inner and outer blocks.
"""

from collections.abc import Callable, Hashable, Sequence
from hashlib import blake2s
from typing import Any

from tfc.backends.mlir.provider import func, ir, memref
from tfc.backends.mlir.vectors import Position

_LARGEST = 1 << 56  # elements: more than any memory has


def call_part(
    stem: str,
    key: Hashable,
    memories: Sequence[Any],
    values: Sequence[Position],
    body: Callable[[list[Any], list[Position]], None],
    *,
    any_size: bool = False,
) -> None:
    """Emit a call of a function, and the function unless the module has it.

    Args:
        stem: what its name begins with.
        key: with the stem all that `body` depends on; its `repr` says it.
        memories: flat memrefs, none of them part of another; one given twice is one argument.
        values: further arguments. Numbers that are known become part of the code.
        body: emits it in terms of what stands for the memories and values inside.
        any_size: the function is one for memories of all sizes, which must not be looked at inside.
    """
    distinct = list(dict.fromkeys(memories))
    places = [distinct.index(m) for m in memories]
    if any_size:
        distinct = [_of_any_size(m) for m in distinct]
    known = [v if isinstance(v, int) else None for v in values]
    arguments = distinct + [v for v in values if not isinstance(v, int)]
    types = [a.type for a in arguments]
    said = repr((key, places, known, [str(t) for t in types]))
    name = f"{stem}.{blake2s(said.encode(), digest_size=8).hexdigest()}"
    around = enclosing_function()
    if name not in ir.SymbolTable(around.operation.parent.operation):
        with ir.InsertionPoint(around):
            function = func.FuncOp(name, (types, []), visibility="private")
        make_internal(function)
        noalias = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
        plain = ir.DictAttr.get({})
        function.arg_attrs = ir.ArrayAttr.get(
            [noalias if n < len(distinct) else plain for n in range(len(types))]
        )
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            held = list(block.arguments)
            rest = iter(held[len(distinct) :])
            body([held[p] for p in places], [next(rest) if k is None else k for k in known])
            func.return_([])
    func.CallOp([], name, arguments)


def _of_any_size(memory: Any) -> Any:
    """A flat memref in a type that does not say how large it is."""
    kind = ir.MemRefType.get([_LARGEST], memory.type.element_type)
    return memref.reinterpret_cast(
        kind, memory, [], [], [], static_offsets=[0], static_sizes=[_LARGEST], static_strides=[1]
    )


def enclosing_function() -> Any:
    """The `func.FuncOp` that the insertion point is in."""
    operation = ir.InsertionPoint.current.block.owner.operation
    while operation.name != "func.func":
        operation = operation.parent.operation
    return operation.opview


def make_internal(function: Any) -> None:
    """Give a function a name that no linker sees, and keep it a function of its own.

    LLVM's work then stays linear in the number of kernels, and a profile shows their names.
    """
    function.attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
    function.attributes["llvm.no_inline"] = ir.UnitAttr.get()
