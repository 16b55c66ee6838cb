"""Importing modules, functions and regions; what becomes of an operation is in the rows."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.errors import TfcError, UnsupportedError
from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, has_side_effect, postorder
from tfc.hlo.shape import TupleShape
from tfc.stablehlo.importer import composites, forms, library_calls, shardings
from tfc.stablehlo.importer.location import metadata_of
from tfc.stablehlo.operations import ROWS
from tfc.stablehlo.operations.operation import Operation, Reader, integer_of
from tfc.stablehlo.operations.values import as_one, elements, is_constant
from tfc.stablehlo.types import shape_from

RETURNS = ("func.return", "stablehlo.return", "sdy.return")
MAX_REGIONS = 50
# The attributes of a module that say for how many devices it is, in HLO and in MLIR.
DEVICES = {"replica_count": "mhlo.num_replicas", "num_partitions": "mhlo.num_partitions"}

READERS: dict[str, Reader] = {
    **{name: row.read for row in ROWS for name in (row.name, *row.also)},
    **forms.READERS,
    **library_calls.READERS,
    **composites.READERS,
    **shardings.READERS,
}


def import_module(module: Any) -> Module:
    """The HLO module of a StableHLO module; its entry is @main, or the one public function.

    The entry has a parameter for each argument. Several results become a tuple.

    Raises:
        UnsupportedError: some operation or type has no counterpart in HLO.
    """
    name = module.operation.attributes
    try:
        functions = Functions(module)
        entry = functions.computation(functions.entry)
    except UnsupportedError as error:
        missing = without_counterpart(module)
        if len(missing) > 1:
            listed = ", ".join(f"{label} ({n})" for label, n in sorted(missing.items()))
            error.add_note(f"operations without a counterpart: {listed}")
        raise
    title = name["sym_name"].value if "sym_name" in name else "stablehlo"
    header = functions.header()
    if "num_partitions" in dict(header):
        entry = shardings.annotated(entry, functions.mlir[functions.entry].attributes)
    return Module(title, entry, header)


def without_counterpart(module: Any) -> Counter[str]:
    """How often each operation occurs, also a custom call by its target, that nothing reads."""
    found: Counter[str] = Counter()
    regions = [*module.operation.regions]
    while regions:
        for operation in (o.operation for block in regions.pop().blocks for o in block.operations):
            regions += operation.regions
            is_read = operation.name in (*RETURNS, "func.func", "sdy.mesh") or _reader(operation)
            target = library_calls.refused_target(operation)
            if target or not is_read:
                found[target or operation.name] += 1
    return found


def _reader(mlir: Any) -> Reader | None:
    return READERS.get(mlir.name) or READERS.get(mlir.name.partition(".")[0] + ".*")


class Functions:
    """The functions of a module, each imported when it is first called."""

    def __init__(self, module: Any):
        self._module = module.operation.attributes
        self.mlir: dict[str, Any] = {}
        for operation in module.body.operations:
            if operation.operation.name == "func.func":
                self.mlir[operation.attributes["sym_name"].value] = operation.operation
            elif operation.operation.name not in ("sdy.mesh",):
                raise UnsupportedError(
                    f"the module holds a {operation.operation.name}, no function"
                )
        self._done: dict[str, Computation] = {}
        self._open: list[str] = []
        self.entry = self._entry()

    def _entry(self) -> str:
        if "main" in self.mlir:
            return "main"
        public = [name for name, f in self.mlir.items() if not _is_private(f)]
        if len(public) != 1:
            raise UnsupportedError(
                "the module must have a function main, or one public function, "
                f"got {', '.join(public) or 'none'}"
            )
        return public[0]

    def computation(self, name: str) -> Computation:
        """The computation of a function.

        Raises:
            UnsupportedError: there is no such function, it has no body, or it calls itself.
        """
        if name in self._done:
            return self._done[name]
        if name not in self.mlir or not len(self.mlir[name].regions[0].blocks):
            raise UnsupportedError(f"the module has no function '{name}' with a body")
        if name in self._open or len(self._open) > MAX_REGIONS:
            raise UnsupportedError(f"the function '{name}' is called by itself, or too deeply")
        self._open.append(name)
        made = ImportedBody(self, len(self._open)).block(self.mlir[name].regions[0], name)
        self._open.pop()
        self._done[name] = made
        return made

    def header(self) -> tuple[tuple[str, str], ...]:
        """The module's attributes, in XLA's notation: devices, and arguments that may be reused."""
        counts = {
            n: integer_of(self._module[k], k) for n, k in DEVICES.items() if k in self._module
        }
        found = [(name, str(count)) for name, count in counts.items() if count != 1]
        function = self.mlir[self.entry].attributes
        arguments = function["arg_attrs"] if "arg_attrs" in function else ()  # noqa: SIM401
        donors = [n for n, a in enumerate(arguments) if "jax.buffer_donor" in a]
        if donors:
            listed = ", ".join(f"({n}, {{}})" for n in donors)
            found.append(("buffer_donor", f"{{ {listed} }}"))
        key = "tf.aliasing_output"
        aliases = {n: integer_of(a[key], key) for n, a in enumerate(arguments) if key in a}
        if aliases:
            count = len(function["function_type"].value.results)
            if not all(0 <= k < count for k in aliases.values()):
                raise UnsupportedError(f"{key} must be the number of one of {count} results")
            listed = ", ".join(f"{{{k if count > 1 else ''}}}: ({n}, {{}}, may-alias)"
                               for n, k in aliases.items())  # fmt: skip
            found.append(("input_output_alias", f"{{ {listed} }}"))
        return tuple(found)


def _is_private(function: Any) -> bool:
    attributes = function.attributes
    return "sym_visibility" in attributes and attributes["sym_visibility"].value == "private"


class ImportedBody:
    """A computation being made: the instruction of each MLIR value that is known in it."""

    def __init__(self, functions: Functions, depth: int = 0):
        if depth > MAX_REGIONS:
            raise UnsupportedError(f"regions nest deeper than {MAX_REGIONS}")
        self.functions, self.depth = functions, depth
        self.values: dict[Any, Instruction] = {}
        self.made: list[Instruction] = []

    def block(self, region: Any, name: str) -> Computation:
        """The computation of a function's or a region's only block."""
        arguments = list(_only_block(region).arguments)
        parameters = [
            builder.parameter(n, shape_from(a.type), argument_name(a))
            for n, a in enumerate(arguments)
        ]
        self.values.update(zip(arguments, parameters))
        root = as_one(self.run(region))
        return Computation.make(name, parameters, root, self.effects(parameters))

    def region(self, region: Any, name: str) -> Computation:
        """The computation of a region that uses nothing from outside but constants."""
        return ImportedBody(self.functions, self.depth + 1).block(region, name)

    def closure(
        self, region: Any, name: str, captures: Sequence[Any], carried: bool
    ) -> Computation:
        """The computation, of one parameter, of a region that uses `captures` from outside.

        The parameter is a tuple of the block's arguments and the captured values; the value alone
        if there is but one. A result is such a tuple, too; with the captured values if `carried`.
        """
        inner = ImportedBody(self.functions, self.depth + 1)
        known = [*_only_block(region).arguments, *captures]
        shapes = [shape_from(v.type) for v in known]
        shape = shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes))
        parameter = builder.parameter(0, shape)
        inner.values.update(zip(known, elements(parameter, len(known))))
        results = inner.run(region)
        if carried:
            results = [*results, *(inner.values[c] for c in captures)]
        return Computation.make(name, [parameter], as_one(results), inner.effects([parameter]))

    def function(self, name: str) -> Computation:
        """The computation of a function of the module."""
        return self.functions.computation(name)

    def inline(self, region: Any, operands: Sequence[Instruction]) -> list[Instruction]:
        """The results of a region on these operands, in this computation."""
        inner = ImportedBody(self.functions, self.depth + 1)
        inner.made = self.made
        inner.values.update(zip(_only_block(region).arguments, operands))
        return inner.run(region)

    def effects(self, parameters: Sequence[Instruction]) -> list[Instruction]:
        """What is to be kept though nothing may need its value, in the order of the program."""
        return [i for i in postorder([*parameters, *self.made]) if has_side_effect(i)]

    def run(self, region: Any) -> list[Instruction]:
        """Import the operations of a region's block; what it returns."""
        for operation in _only_block(region).operations:
            if operation.operation.name in RETURNS:
                return [self.value(v) for v in operation.operands]
            self.add(operation.operation)
        raise UnsupportedError("a region must end in a return")

    def add(self, mlir: Any) -> None:
        """Import one operation."""
        read = _reader(mlir)
        if read is None:
            known = mlir.name.startswith(("stablehlo.", "chlo."))
            advice = "" if known else ": lower the program to StableHLO before"
            raise UnsupportedError(f"{mlir.name} has no counterpart in HLO{advice}")
        operands = tuple(self.value(v) for v in mlir.operands)
        operation = Operation(mlir, operands, self, metadata_of(mlir.location))
        try:
            made = read(operation)
        except TfcError as error:
            if not getattr(error, "__notes__", ()):
                error.add_note(f"{mlir.name} at {_where(operation)}")
            raise
        count = len(mlir.results)
        self.made += [made] if isinstance(made, Instruction) else made
        if isinstance(made, Instruction):
            made = [made] if count == 1 else elements(made, count, always=True)
        self.values.update(zip(mlir.results, made))

    def value(self, value: Any) -> Instruction:
        """The instruction of a value; a constant from outside is made anew.

        Raises:
            UnsupportedError: the value is from outside.
        """
        if value not in self.values:
            if not is_constant(value):
                raise UnsupportedError(
                    "a region uses a value from outside that is no constant: "
                    "only if, case and while may"
                )
            self.add(value.owner)
        return self.values[value]


def _only_block(region: Any) -> Any:
    if len(region.blocks) != 1:
        raise UnsupportedError(
            f"a region must have one block, got {len(region.blocks)}: "
            "control flow must be in the form of StableHLO's if, case and while"
        )
    return region.blocks[0]


def argument_name(argument: Any) -> str:
    """The name of a function's argument, if its location tells."""
    location = argument.location
    name = location.name_str if isinstance(location, ir.NameLoc) else ""
    return re.sub(r"\W+", "_", name).strip("_")


def _where(operation: Operation) -> str:
    found = operation.metadata
    if found is None or not found.source_file:
        return "an unknown place" if found is None else found.op_name
    return f"{found.source_file}:{found.source_line}"
