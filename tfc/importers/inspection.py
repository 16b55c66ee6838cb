"""What a program consists of, as text: inputs, outputs, operators with counts, parameters, work."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from tfc.errors import TfcError
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.shape import leaves
from tfc.importers.interface import ImportedModel
from tfc.passes.analysis.cost import cost_analysis

_NO_OPERATORS = ("parameter", "constant")


def inspection(program: Module | ImportedModel, name: str = "") -> str:
    """A description of a program, with what of it is not supported.

    Args:
        name: what a module was read from.
    """
    return _of_module(program, name) if isinstance(program, Module) else _of_model(program)


def _of_model(model: ImportedModel) -> str:
    graph = getattr(model, "graph", None)  # whose name says what the model's author called it
    own = "" if graph is None or graph.name == model.file else graph.name
    title = f"{model.file}: {own}" if own else model.file
    unsupported = model.unsupported()
    return "\n".join(
        (
            *_described(title, model.inputs, model.outputs, model.operators(), unsupported),
            _sizes("parameters", model.parameters.values()),
            _model_work(model, unsupported),
            *([f"not supported: {', '.join(sorted(unsupported))}"] if unsupported else ()),
        )
    )


def _of_module(module: Module, name: str) -> str:
    instructions = [i for c in module.computations for i in c.instructions]
    counts = Counter(_label(i) for i in instructions if i.opcode not in _NO_OPERATORS)
    constants = [i["literal"].array for i in instructions if i.opcode == "constant"]
    taken = [f"{p.name or n}: {p.shape.without_layout()}"
             for n, p in enumerate(module.entry.parameters)]  # fmt: skip
    given = [f"{n}: {s.without_layout()}" for n, s in enumerate(leaves(module.entry.root.shape))]
    title = f"{name}: {module.name}" if name else module.name
    return "\n".join(
        (
            *_described(title, taken, given, counts, ()),
            _sizes("constants", constants),
            _work(module),
        )
    )


def _label(instruction: Instruction) -> str:
    """The opcode, with the name of what is called outside of the program."""
    target = instruction.attributes.get("custom_call_target")
    return f"{instruction.opcode} {target}" if target else instruction.opcode


def _described(
    title: str,
    inputs: Sequence[object],
    outputs: Sequence[object],
    counts: Counter[str],
    unsupported: Collection[str],
) -> list[str]:
    lines = [title, "inputs:", *(f"  {port}" for port in inputs)]
    lines += ["outputs:", *(f"  {port}" for port in outputs)]
    lines.append(f"operators ({counts.total()} nodes):")
    for label, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        mark = "  not supported" if label in unsupported else ""
        lines.append(f"  {count:6} {label}{mark}")
    return lines


def _sizes(title: str, arrays: Iterable[Any]) -> str:
    kept = list(arrays)
    numbers, size = sum(a.size for a in kept), sum(a.nbytes for a in kept)
    return f"{title}: {len(kept)} arrays, {numbers} numbers, {size} bytes"


def _model_work(model: ImportedModel, unsupported: Collection[str]) -> str:
    if unsupported:
        return "FLOPs: not known, as there are operators that are not supported"
    try:
        return _work(model.hlo)
    except TfcError as error:
        return f"FLOPs: not known: {str(error).partition(chr(10))[0]}"


def _work(module: Module) -> str:
    """The arithmetic of one run, where loops of which it is not known count once."""
    found = cost_analysis(module)
    return f"FLOPs: {found.flops}, and {found.transcendentals} transcendental functions"
