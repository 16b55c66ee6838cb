"""Functions in LLVM IR, written by hand: what surrounds compiled programs in this process.

    with function(module, "sum", [POINTER, I64], I64) as (code, (numbers, count)):
        total = code.variable(I64, 0)
        with code.repeat(count) as n:
            total.set(code.add(total.get(), code.word(numbers, n)))
        code.ret(total.get())

Memory is seen as words of 64 bits, which hold a pointer of any width, and as tables of pointers,
which lie as close as the target's pointers do. Variables are stack slots, which LLVM makes
registers.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import llvmlite.ir as ir

I8, I32, I64, POINTER, VOID = (
    ir.IntType(8),
    ir.IntType(32),
    ir.IntType(64),
    ir.PointerType(),
    ir.VoidType(),
)
ORDERED = "seq_cst"


class Variable:
    """A place in memory that holds one value of a type."""

    def __init__(self, builder: ir.IRBuilder, kind: Any, place: Any):
        self.builder, self.kind, self.place = builder, kind, place

    def get(self) -> Any:
        """Its value."""
        return self.builder.load(self.place, typ=self.kind)

    def set(self, value: Any) -> None:
        """Give it a value, which may be a Python number."""
        self.builder.store(self._value(value), self.place)

    def exchange(self, value: Any) -> Any:
        """Give it a value and return the one before, in one step that all threads agree on."""
        return self.builder.atomic_rmw("xchg", self.place, self._value(value), ORDERED)

    def add(self, value: Any) -> Any:
        """Add to it and return the value before, likewise."""
        return self.builder.atomic_rmw("add", self.place, self._value(value), ORDERED)

    def read(self) -> Any:
        """Its value, as other threads have set it."""
        return self.builder.load_atomic(self.place, ORDERED, 8, typ=self.kind)

    def _value(self, value: Any) -> Any:
        return ir.Constant(self.kind, value) if isinstance(value, int) else value


class Code:
    """The statements of a function, in the order in which the methods are called."""

    def __init__(self, module: ir.Module, function: ir.Function):
        self.module, self.function = module, function
        self._after: list[Any] = []  # where each loop ends, outermost first
        self.builder: Any = ir.IRBuilder(function.append_basic_block("entry"))

    # --- Values ---

    def pointer(self, address: int) -> Any:
        """The pointer to an address of this process."""
        return ir.Constant(I64, address).inttoptr(POINTER)

    def symbol(self, name: str) -> Any:
        """The address of memory that is defined elsewhere."""
        known = self.module.globals.get(name)
        return untyped(known or ir.GlobalVariable(self.module, I8, name))

    def as_pointer(self, word: Any) -> Any:
        """A word as a pointer."""
        return self.builder.inttoptr(word, POINTER)

    def null(self) -> Any:
        """The null pointer."""
        return ir.Constant(POINTER, None)

    def add(self, x: Any, y: Any) -> Any:
        """x + y; as for all operations, one of them may be a Python number."""
        return self.builder.add(*self._pair(x, y))

    def subtract(self, x: Any, y: Any) -> Any:
        """x - y."""
        return self.builder.sub(*self._pair(x, y))

    def multiply(self, x: Any, y: Any) -> Any:
        """x · y."""
        return self.builder.mul(*self._pair(x, y))

    def widened(self, x: Any) -> Any:
        """An integer with a sign as a word."""
        return self.builder.sext(x, I64)

    def mask(self, x: Any, y: Any) -> Any:
        """The bits that x and y share."""
        return self.builder.and_(*self._pair(x, y))

    def both(self, *conditions: Any) -> Any:
        """True if all conditions, which have been computed, are."""
        total = conditions[0]
        for condition in conditions[1:]:
            total = self.builder.and_(total, condition)
        return total

    def compare(self, how: str, x: Any, y: Any) -> Any:
        """Compare integers with a sign, or pointers for equality: "==", "!=", "<" …"""
        return self.builder.icmp_signed(how, *self._pair(x, y))

    def is_null(self, pointer: Any) -> Any:
        """True for the null pointer."""
        return self.compare("==", pointer, self.null())

    def _pair(self, x: Any, y: Any) -> tuple[Any, Any]:
        if isinstance(x, int):
            x = ir.Constant(y.type, x)
        return x, ir.Constant(x.type, y) if isinstance(y, int) else y

    # --- Memory ---

    def place(self, base: Any, index: Any) -> Any:
        """The address of a word."""
        index = ir.Constant(I64, index) if isinstance(index, int) else index
        return self.builder.gep(base, [index], source_etype=I64)

    def byte(self, base: Any, offset: Any) -> Any:
        """The address of a byte."""
        return self.builder.gep(base, [offset], source_etype=I8)

    def load(self, address: Any, kind: Any) -> Any:
        """The value of a type at an address."""
        return self.builder.load(address, typ=kind)

    def row(self, base: Any, number: Any, width: int) -> Any:
        """The address of a row of a table whose rows have so many words."""
        return self.place(base, self.builder.mul(number, ir.Constant(I64, width)))

    def word(self, base: Any, index: Any, kind: Any = I64) -> Any:
        """The value in a word."""
        return self.builder.load(self.place(base, index), typ=kind)

    def put(self, value: Any, base: Any, index: Any) -> None:
        """Store a value in a word."""
        self.builder.store(value, self.place(base, index))

    def entry(self, table: Any, index: Any) -> Any:
        """A pointer in a table of pointers."""
        place = self.builder.gep(table, [index], source_etype=POINTER)
        return self.builder.load(place, typ=POINTER)

    def variable(self, kind: Any, value: Any) -> Variable:
        """A variable of the function."""
        with self.builder.goto_entry_block():
            place = untyped(self.builder.alloca(kind))
        made = Variable(self.builder, kind, place)
        made.set(value)
        return made

    def field(self, base: Any, index: Any, kind: Any = I64) -> Variable:
        """A word as a variable."""
        return Variable(self.builder, kind, self.place(base, index))

    def array(self, count: Any) -> Any:
        """So many words on the stack; to be asked for outside of loops."""
        return untyped(self.builder.alloca(I64, count))

    # --- Control ---

    @contextmanager
    def when(self, condition: Any, likely: bool | None = None) -> Iterator[None]:
        """What is written inside runs if a condition holds."""
        with self.builder.if_then(condition, likely):
            yield

    @contextmanager
    def repeat(self, count: Any) -> Iterator[Any]:
        """What is written inside runs for each number below `count`; `leave` ends it early."""
        number = self.variable(I64, 0)
        with self.forever():
            at = number.get()
            with self.when(self.compare(">=", at, count)):
                self.leave()
            number.set(self.add(at, 1))
            yield at

    @contextmanager
    def forever(self) -> Iterator[None]:
        """What is written inside runs until `leave` or a return."""
        builder = self.builder
        body, after = (self.function.append_basic_block(n) for n in ("loop", "after"))
        builder.branch(body)
        builder.position_at_end(body)
        self._after.append(after)
        yield
        self._after.pop()
        if not builder.block.is_terminated:
            builder.branch(body)
        builder.position_at_end(after)

    def leave(self) -> None:
        """End the innermost loop."""
        self.builder.branch(self._after[-1])

    def ret(self, value: Any = None) -> None:
        """Return from the function."""
        if value is None:
            self.builder.ret_void()
        else:
            kind = self.function.function_type.return_type
            self.builder.ret(ir.Constant(kind, value) if isinstance(value, int) else value)

    def call(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call a function of this module, or one outside of it, which gets declared."""
        values = [ir.Constant(I64, a) if isinstance(a, int) else a for a in arguments]
        known = self.module.globals.get(name)
        if known is None:
            kind = ir.FunctionType(result, [v.type for v in values])
            known = ir.Function(self.module, kind, name)
        return self.builder.call(known, values)

    def call_pointer(self, address: Any, result: Any, *arguments: Any) -> Any:
        """Call the function at an address, a word or a pointer."""
        values = [ir.Constant(I64, a) if isinstance(a, int) else a for a in arguments]
        kind = ir.FunctionType(result, [v.type for v in values])
        if not isinstance(address.type, ir.IntType):
            address = self.builder.ptrtoint(address, I64)
        return self.builder.call(self.builder.inttoptr(address, kind.as_pointer()), values)

    def string(self, text: str) -> Any:
        """The address of a C string."""
        data = ir.Constant(ir.ArrayType(I8, len(text) + 1), bytearray(text.encode() + b"\0"))
        name = self.module.get_unique_name("text")
        made: Any = ir.GlobalVariable(self.module, data.type, name)
        made.initializer, made.global_constant, made.linkage = data, True, "internal"
        return untyped(made)


@contextmanager
def function(
    module: ir.Module, name: str, arguments: Sequence[Any], result: Any, internal: bool = False
) -> Iterator[tuple[Code, Sequence[Any]]]:
    """Define a function, whose body is what is written inside; it has to end with a return."""
    made = module.globals.get(name)
    if made is None:
        made = ir.Function(module, ir.FunctionType(result, list(arguments)), name)
    if internal:
        made.linkage = "internal"
    yield Code(module, made), made.args


def words(module: ir.Module, name: str, count: int) -> Any:
    """Define words of memory that are 0 at first, and return their address."""
    made: Any = ir.GlobalVariable(module, ir.ArrayType(I64, count), name)
    made.initializer, made.align = ir.Constant(made.value_type, None), 64
    return untyped(made)


def untyped(address: Any) -> Any:
    """An address for which llvmlite does not remember what lies there."""
    address.type = POINTER
    return address
