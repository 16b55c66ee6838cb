"""Control flow: torch's higher-order operators, whose branches and steps are graphs."""

from collections.abc import Sequence
from typing import Any

import tfc.numpy as tnp
from tfc.frontend.control.branches import cond
from tfc.frontend.control.loops import while_loop
from tfc.frontend.control.scan import scan
from tfc.importers.torch.table import Call, aten


@aten("higher_order.cond")
def branches(
    predicate: Any, yes: Any, no: Any, operands: Sequence[Any] = (), *, node: Call
) -> list[Any]:
    """What one of two graphs gives."""
    if isinstance(predicate, bool):
        return list(node.run(yes if predicate else no, operands))
    return list(
        cond(
            tnp.reshape(predicate, ()),
            lambda *given: tuple(node.run(yes, given)),
            lambda *given: tuple(node.run(no, given)),
            *operands,
        )
    )


@aten("higher_order.while_loop")
def loop(
    test: Any, step: Any, state: Sequence[Any], further: Sequence[Any] = (), *, node: Call
) -> list[Any]:
    """The state after as many steps as a test allows."""
    return list(
        while_loop(
            lambda now: tnp.reshape(node.run(test, [*now, *further])[0], ()),
            lambda now: tuple(node.run(step, [*now, *further])),
            tuple(state),
        )
    )


@aten("higher_order.scan")
def scanned(
    step: Any, state: Sequence[Any], arrays: Sequence[Any], further: Sequence[Any] = (), *,
    node: Call,
) -> list[Any]:  # fmt: skip
    """The state after a step for each place of the first dimension, and what each step gives."""
    count = len(state)

    def one(now: Any, parts: Any) -> Any:
        found = node.run(step, [*now, *parts, *further])
        return tuple(found[:count]), tuple(found[count:])

    last, stacked = scan(one, tuple(state), tuple(arrays))
    return [*last, *stacked]


@aten("higher_order.map_impl")
def mapped(
    step: Any, arrays: Sequence[Any], further: Sequence[Any] = (), *, node: Call
) -> list[Any]:
    """What a graph gives for each place of the first dimension."""
    return scanned(step, (), arrays, further, node=node)


@aten("higher_order.wrap_with_set_grad_enabled", "higher_order.wrap_with_autocast")
def wrapped(*given: Any, node: Call) -> list[Any]:
    """What a graph gives; the settings around it are torch's own."""
    number = next(n for n, value in enumerate(given) if hasattr(value, "nodes"))
    return node.run(given[number], given[number + 1 :])
