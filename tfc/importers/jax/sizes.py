"""Sizes that JAX left open: expressions of symbols such as "b", "2*b + 1" or "floordiv(b, 2)"."""

import ast
from collections.abc import Callable, Iterable, Mapping
from operator import add, floordiv, mod, mul, neg, sub

from tfc.errors import ShapeError

_BINARY: dict[type, Callable[[int, int], int]] = {
    ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.FloorDiv: floordiv, ast.Mod: mod,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., int]] = {
    "floordiv": floordiv, "mod": mod, "max": max, "min": min,
    "non_negative": lambda n: max(n, 0),
}  # fmt: skip
_MOST = 1000  # characters of an expression
_LARGEST = 1 << 40


def symbols(expressions: Iterable[int | str]) -> set[str]:
    """The names that occur in sizes."""
    found = set()
    for expression in expressions:
        if isinstance(expression, str):
            nodes = ast.walk(_parsed(expression))
            found |= {node.id for node in nodes if isinstance(node, ast.Name)}
    return found - set(_FUNCTIONS)


def size_of(expression: int | str, known: Mapping[str, int]) -> int | str:
    """The size that an expression is, or the expression where a symbol in it is not known.

    Raises:
        ShapeError: it is no expression that JAX writes, or is negative or too large.
    """
    if isinstance(expression, int) or not symbols([expression]) <= set(known):
        return expression
    try:
        found = _value(_parsed(expression), known)
    except (ZeroDivisionError, TypeError, OverflowError, RecursionError):
        found = -1
    if not 0 <= found <= _LARGEST:
        raise ShapeError(f"the size {expression} is not one for {dict(known)}")
    return found


def _parsed(expression: str) -> ast.expr:
    try:
        if len(expression) <= _MOST:
            # JAX writes powers as b^2.
            return ast.parse(expression.replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    raise ShapeError(f"'{expression[:100]}' is no expression of sizes")


def _value(node: ast.expr, known: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return neg(_value(operand, known))
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))) if power < 9:
            return _bounded(_value(left, known) ** power)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(_BINARY[type(op)](_value(left, known), _value(right, known)))
        case ast.Call(func=ast.Name(id=name), args=args) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(a, known) for a in args))
    raise ShapeError(f"'{ast.unparse(node)}' is no expression of sizes")


def _bounded(number: int) -> int:
    if abs(number) > _LARGEST:
        raise OverflowError
    return number
