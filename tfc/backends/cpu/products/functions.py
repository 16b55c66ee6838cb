"""Parts of kernels as functions of their own, so that code wanted at several places is made once.

The tiles of products and convolutions are the same in kernels of all sizes, whatever these compute
around them: sizes and steps are arguments. Epilogues, and other code that a kernel's own
computation makes, are one function where they are equal but for numbers.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2s
from typing import Any

from tfc.backends.mlir.provider import func, ir
from tfc.backends.mlir.vectors import Position, index_value

_LARGEST = 1 << 56  # elements: more than any memory has
# Operands that numbers are to stay: divisors, and the steps of loops.
_FIXED = {("scf.for", 2)} | {
    (f"arith.{name}", 1) for name in ("divui", "divsi", "remui", "remsi", "floordivsi", "ceildivsi")
}


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
    passed = _Passed(memories, values, any_size)
    types = [str(a.type) for a in passed.arguments]
    name = f"{stem}.{_digest(repr((key, passed.places, passed.known, types)))}"
    if name not in ir.SymbolTable(enclosing_function().operation.parent.operation):
        if _is_made.get()(name):
            _declare(name, [a.type for a in passed.arguments])
        else:
            passed.define(name, body)
    func.CallOp([], name, passed.arguments)


_is_made: ContextVar[Callable[[str], bool]] = ContextVar("is_made", default=lambda _: False)


@contextmanager
def leaving_out(is_made: Callable[[str], bool]) -> Iterator[None]:
    """Emit no functions of which there is code already: they are declared only.

    Args:
        is_made: asked for the name of each that is called.
    """
    token = _is_made.set(is_made)
    try:
        yield
    finally:
        _is_made.reset(token)


def _declare(name: str, types: Sequence[Any]) -> None:
    """Declare a function, before the one that the insertion point is in."""
    with ir.InsertionPoint(enclosing_function()):
        func.FuncOp(name, (list(types), []), visibility="private")


class SharedPart:
    """A function for code that is equal but for the numbers in it, wherever it is wanted.

    Args:
        stem: what its name begins with.
        body: emits it in terms of what stands for the memories and values inside. It may know
            nothing of the memories' sizes, and nothing else that its calls do not share.
    """

    def __init__(self, stem: str, body: Callable[[list[Any], list[Position]], None]):
        self.stem, self.body = stem, body
        self._made: dict[str, tuple[str, list[int]]] = {}  # by what is known of the arguments

    def call(self, memories: Sequence[Any], values: Sequence[Position]) -> None:
        """Emit a call, and the function unless the module has one like it.

        Args:
            memories: flat memrefs, none of them part of another; one given twice is one argument.
            values: further arguments. Numbers that are known become part of the code.
        """
        passed = _Passed(memories, values, any_size=True)
        key = repr((passed.places, passed.known))
        if key not in self._made:
            self._made[key] = self._define(passed)
        name, numbers = self._made[key]
        func.CallOp([], name, [*passed.arguments, *map(index_value, numbers)])

    def _define(self, passed: "_Passed") -> tuple[str, list[int]]:
        """The name of the function, and the numbers that it wants as further arguments."""
        module = enclosing_function().operation.parent.operation
        made = passed.define(_UNNAMED, self.body)
        numbers = _as_arguments(made, passed.memories)
        text = made.operation.get_asm(use_local_scope=True, assume_verified=True)
        name = f"{self.stem}.{_digest(text)}"
        is_there = name in ir.SymbolTable(module)
        if is_there or _is_made.get()(name):
            types = list(made.type.inputs)
            made.operation.erase()
            if not is_there:
                _declare(name, types)
        else:
            made.attributes["sym_name"] = ir.StringAttr.get(name)
        return name, numbers


_UNNAMED = "unnamed"


def _digest(text: str) -> str:
    return blake2s(text.encode(), digest_size=8).hexdigest()


class _Passed:
    """What a function is called with.

    places: for each memory, which of the arguments it is; known: the values that are numbers.
    """

    def __init__(self, memories: Sequence[Any], values: Sequence[Position], any_size: bool):
        distinct = list(dict.fromkeys(memories))
        self.memories = len(distinct)
        self.places = [distinct.index(m) for m in memories]
        self.known = [v if isinstance(v, int) else None for v in values]
        held = map(_of_any_size, distinct) if any_size else distinct
        self.arguments = [*held, *(v for v in values if not isinstance(v, int))]

    def define(self, name: str, body: Callable[[list[Any], list[Position]], None]) -> Any:
        """Define a function of such arguments, before the one that the insertion point is in."""
        types = [a.type for a in self.arguments]
        with ir.InsertionPoint(enclosing_function()):
            function = func.FuncOp(name, (types, []), visibility="private")
        keep_apart(function)
        set_noalias(function, self.memories)
        block = function.add_entry_block()
        held = list(block.arguments)
        rest = iter(held[self.memories :])
        with ir.InsertionPoint(block):
            values = [next(rest) if k is None else k for k in self.known]
            body([held[p] for p in self.places], values)
            func.return_([])
        return function


def set_noalias(function: Any, memories: int) -> None:
    """Say that the first arguments of a function are apart from all other memory."""
    noalias = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
    plain = ir.DictAttr.get({})
    function.arg_attrs = ir.ArrayAttr.get(
        [noalias if n < memories else plain for n in range(len(function.type.inputs))]
    )


def _as_arguments(function: Any, memories: int) -> list[int]:
    """Make further arguments of the numbers in a function, each once, and return them.

    Those by which something is divided stay, as division by a known number is none, and steps of
    loops; so do 0 and 1.
    """
    (block,) = function.body.blocks
    index, found = ir.IndexType.get(), dict[int, Any]()
    for constant in list(_index_constants(block)):
        number = ir.IntegerAttr(constant.attributes["value"]).value
        uses = [(u.owner.name, u.operand_number) for u in constant.result.uses]
        if number in (0, 1) or any(u in _FIXED for u in uses):
            continue
        if number not in found:
            found[number] = block.add_argument(index, ir.Location.unknown())
        constant.result.replace_all_uses_with(found[number])
        constant.erase()
    types = [a.type for a in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
    set_noalias(function, memories)
    return list(found)


def _index_constants(block: Any) -> Iterator[Any]:
    """The constants of type `index` in a block and in the blocks inside it."""
    for view in block.operations:
        operation = view.operation
        if operation.name == "arith.constant" and operation.result.type == ir.IndexType.get():
            yield operation
        for region in operation.regions:
            for inner in region.blocks:
                yield from _index_constants(inner)


def _of_any_size(memory: Any) -> Any:
    """A flat memref in a type that does not say how large it is; lowering leaves nothing of it."""
    kind = ir.MemRefType.get([_LARGEST], memory.type.element_type)
    return ir.Operation.create(
        "builtin.unrealized_conversion_cast", results=[kind], operands=[memory]
    ).result


def enclosing_function() -> Any:
    """The `func.FuncOp` that the insertion point is in."""
    operation = ir.InsertionPoint.current.block.owner.operation
    while operation.name != "func.func":
        operation = operation.parent.operation
    return operation.opview


def keep_apart(function: Any) -> None:
    """Keep a function one of its own.

    LLVM's work then stays linear in the number of kernels, and a profile shows their names.
    """
    function.attributes["llvm.no_inline"] = ir.UnitAttr.get()
