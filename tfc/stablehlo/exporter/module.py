"""Exporting modules and computations; what becomes of an instruction is in the rows."""

from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.errors import InternalError, TfcError, UnsupportedError
from tfc.hlo.ir import Computation, Instruction, Module, map_computations, rebuild
from tfc.hlo.shape import Shape
from tfc.hlo.text.printer import clean_name, unique_names
from tfc.passes.expand.expand import expand
from tfc.passes.expand.mapped import scan_loop
from tfc.stablehlo.exporter import forms
from tfc.stablehlo.exporter.operand_types import with_operands_alike
from tfc.stablehlo.importer.module import DEVICES
from tfc.stablehlo.operations import ROWS
from tfc.stablehlo.operations.emission import Emission, flat, i32, nested, parts
from tfc.stablehlo.source import new_context
from tfc.stablehlo.types import mlir_type

WRITERS = {**{row.opcode: row.write for row in ROWS}, **forms.WRITERS}


def export_text(module: Module) -> str:
    """The verified StableHLO text of a module; the entry is @main, of arrays only.

    Raises:
        UnsupportedError: StableHLO has no counterpart of some operation.
    """
    module = map_computations(module, lambda c: rebuild(c, _with_counterpart))
    with new_context() as context, ir.Location.unknown(context):
        made = ir.Module.create()
        made.operation.attributes["sym_name"] = ir.StringAttr.get(clean_name(module.name))
        for name, key in DEVICES.items():
            count = int(dict(module.attributes).get(name, 1))
            if count != 1:
                made.operation.attributes[key] = i32(count)
        with ir.InsertionPoint(made.body):
            exported = ExportedFunctions(module)
            for computation in reversed(exported.wanted()):
                exported.define(computation)
        try:
            made.operation.verify()
        except ir.MLIRError as error:
            raise InternalError(f"the exported module is no valid StableHLO: {error}") from error
        return made.operation.get_asm(enable_debug_info=False)


def _with_counterpart(instruction: Instruction) -> Instruction:
    """The instruction, in plain operations if StableHLO has none like it (scan, ragged-dot …)."""
    if instruction.opcode == "scan":
        return scan_loop(instruction)
    smallest = instruction.opcode == "topk" and not instruction.attributes.get("largest", True)
    if smallest or instruction.opcode not in WRITERS:
        return expand(instruction)
    return with_operands_alike(instruction)


class ExportedFunctions:
    """The functions of the module that is made: the entry, and each computation that is called."""

    def __init__(self, module: Module):
        self.entry = module.entry
        self.replicas = int(dict(module.attributes).get("replica_count", 1))
        called = [i["calls" if i.opcode == "fusion" else "to_apply"]
                  for c in module.computations for i in c.instructions
                  if i.opcode in ("call", "fusion")]  # fmt: skip
        others = [c for c in dict.fromkeys(called) if c is not module.entry]
        names = unique_names(["main", *(c.name or "computation" for c in others)])
        self._names = dict(zip([module.entry, *others], names))

    def wanted(self) -> list[Computation]:
        """The computations that become functions, the entry first."""
        return list(self._names)

    def symbol(self, computation: Computation) -> str:
        """The name of the function that is this computation."""
        return self._names[computation]

    def define(self, computation: Computation) -> None:
        """Add the function of a computation, in front of those that are there."""
        parameters = [mlir_type(s) for p in computation.parameters for s in parts(p.shape)]
        results = [mlir_type(s) for s in parts(computation.root.shape)]
        signature = f"({', '.join(parameters)}) -> ({', '.join(results)})"
        visible = "public" if computation is self.entry else "private"
        function = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get(self.symbol(computation)),
                "sym_visibility": ir.StringAttr.get(visible),
                "function_type": ir.TypeAttr.get(ir.Type.parse(signature)),
                **self._shardings(computation),
            },
            regions=1,
        )
        self.fill(function.regions[0], computation, ending="func.return")

    def _shardings(self, computation: Computation) -> dict[str, Any]:
        """What the entry states of the arrays of its parameters, and of its result if it is one."""
        found = {}
        for name, values in (
            ("arg_attrs", computation.parameters),
            ("res_attrs", [computation.root]),
        ):
            stated = [dict(x.annotations).get("sharding", "") for x in values]
            plain = all(isinstance(x.shape, Shape) for x in values)
            if computation is self.entry and plain and any(stated):
                each = [f'{{mhlo.sharding = "{text}"}}' if text else "{}" for text in stated]
                found[name] = ir.Attribute.parse(f"[{', '.join(each)}]")
        return found

    def fill(
        self,
        region: Any,
        computation: Computation,
        given: Sequence[Any] | None = None,
        ending: str = "stablehlo.return",
    ) -> None:
        """Write a computation into an empty region.

        Args:
            given: values from outside for the parameters, where the region has no arguments.
        """
        types = [ir.Type.parse(mlir_type(s)) for p in computation.parameters
                 for s in parts(p.shape)]  # fmt: skip
        block = region.blocks.append(*([] if given is not None else types))
        arguments = iter(block.arguments)
        values: dict[Instruction, Any] = {}
        for number, parameter in enumerate(computation.parameters):
            values[parameter] = (
                nested(parameter.shape, arguments) if given is None else given[number]
            )
        with ir.InsertionPoint(block):
            for instruction in computation.instructions:
                if instruction.opcode != "parameter":
                    values[instruction] = self._emit(instruction, values)
            ir.Operation.create(ending, operands=flat(values[computation.root]))

    def _emit(self, instruction: Instruction, values: dict[Instruction, Any]) -> Any:
        write = WRITERS.get(instruction.opcode)
        if write is None:
            raise UnsupportedError(f"{instruction.opcode} has no counterpart in StableHLO")
        operands = tuple(values[o] for o in instruction.operands)
        try:
            return write(Emission(instruction, operands, self))
        except TfcError as error:
            error.add_note(f"exporting {instruction.name}")
            raise
