"""Operations that apply a computation to elements: reductions, windows, map and sort."""

from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Instruction
from tfc.stablehlo.importer.operation import Operation, row


@row("stablehlo.reduce")
def _reduce(operation: Operation) -> Instruction:
    return operation.make(
        "reduce", dimensions=operation.ints("dimensions"), to_apply=operation.region(0, "reducer")
    )


def _window(operation: Operation) -> Window:
    sizes = operation.ints("window_dimensions")
    ones = (1,) * len(sizes)
    padding = operation.ints("padding", (0,) * 2 * len(sizes))
    return Window(
        tuple(
            WindowDimension(*numbers)
            for numbers in zip(
                sizes,
                operation.ints("window_strides", ones),
                padding[::2],
                padding[1::2],
                operation.ints("base_dilations", ones),
                operation.ints("window_dilations", ones),
            )
        )
    )


@row("stablehlo.reduce_window")
def _reduce_window(operation: Operation) -> Instruction:
    return operation.make(
        "reduce-window", window=_window(operation), to_apply=operation.region(0, "reducer")
    )


@row("stablehlo.select_and_scatter")
def _select_and_scatter(operation: Operation) -> Instruction:
    return operation.make(
        "select-and-scatter",
        window=_window(operation),
        select=operation.region(0, "select"),
        scatter=operation.region(1, "scatter"),
    )


@row("stablehlo.map")
def _map(operation: Operation) -> Instruction:
    return operation.make(
        "map", dimensions=operation.ints("dimensions"), to_apply=operation.region(0, "mapped")
    )


@row("stablehlo.sort")
def _sort(operation: Operation) -> Instruction:
    rank = operation.operands[0].array_shape.rank
    dimension = operation.integer("dimension", -1)
    return operation.make(
        "sort",
        dimensions=(dimension + rank if dimension < 0 else dimension,),
        is_stable=operation.flag("is_stable"),
        to_apply=operation.region(0, "comparator"),
    )
