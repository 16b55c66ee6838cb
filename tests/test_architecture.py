"""The shape of the code: import order, sizes, docstrings. What fails here names file and line."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "tfc").rglob("*.py"))
C_SOURCES = sorted((ROOT / "tfc").rglob("*.[ch]"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MAX_FILE, MAX_FUNCTION, MAX_COLUMN, MAX_ROOM = 450, 60, 100, 22

# A room is a folder, or a file that lies in `tfc` itself. Each may import itself and what is named
# here: a room, whose files are meant, or `room.*` for the rooms within it too. Where a folder
# has rooms, its own files are below or above them as the rows say.
ROOTS = ("errors", "files", "options", "tracebacks")
RUNTIME = ("runtime", "runtime.engines")
IR = (*ROOTS, *RUNTIME, "hlo", "hlo.attributes", "hlo.evaluation", "hlo.ops.*")
HLO = (*ROOTS, *RUNTIME, "hlo.*")
ANALYSIS = (*HLO, "passes.rewriting", "passes.analysis", "passes.analysis.loops")
KERNELS = (*ANALYSIS, "backends", "backends.mlir.*")  # what the rooms of the CPU's kernels know
COMPILER = (*HLO, "passes.*", "tools.pictures", "backends.*", "stablehlo.*", "compiler")
TRACING = (*COMPILER, "frontend.*", "imported", "bound", "compiled", "eager", "jitted")
LIBRARIES = ("numpy", "nn", "random", "linalg", "fft", "special", "optim", "tree")
GRAPH = (*TRACING, *LIBRARIES, "graph", "graph.types", "graph.operators")
OPERATORS = (*TRACING, *LIBRARIES, "importers", "importers.onnx")
ALLOWED: dict[str, tuple[str, ...]] = {
    "errors": (),
    "files": ("errors",),
    "options": ("errors",),
    "tracebacks": ("errors", "options"),
    "runtime": (*ROOTS, "runtime.engines"),
    "runtime.engines": (*ROOTS, "runtime"),
    "runtime.engines.mpi": (*ROOTS, "runtime"),
    "runtime.engines.nccl": (*ROOTS, "runtime", "runtime.engines.mpi"),
    "hlo": (*ROOTS, "runtime"),
    "hlo.attributes": (*ROOTS, "hlo"),
    "hlo.evaluation": (*ROOTS, *RUNTIME, "hlo", "hlo.attributes"),
    "hlo.ops.elementwise": (*ROOTS, "hlo", "hlo.attributes", "hlo.evaluation"),
    "hlo.ops": IR,
    "hlo.ops.outside": IR,
    "hlo.loops": IR,
    "hlo.verification": IR,
    "hlo.text": HLO,
    "frontend": HLO,
    "frontend.control": (*HLO, "frontend"),
    "frontend.sharding": (*HLO, "frontend"),
    "frontend.batching": (*HLO, "frontend", "frontend.control", "frontend.sharding"),
    "frontend.numpy": (*HLO, "frontend", "frontend.control", "frontend.batching"),
    "frontend.callbacks": (*HLO, "frontend.*"),
    "frontend.numpy.indexing": (*HLO, "frontend", "frontend.control", "frontend.numpy"),
    "frontend.numpy.numbers": (*HLO, "frontend", "frontend.control", "frontend.numpy"),
    "frontend.numpy.rearranging": (
        *HLO,
        "frontend",
        "frontend.numpy",
        "frontend.numpy.statistics",
    ),
    "frontend.numpy.statistics": (*HLO, "frontend", "frontend.numpy", "frontend.numpy.numbers"),
    "frontend.differentiation": (*HLO, "frontend.*"),
    "frontend.differentiation.custom": (*HLO, "frontend.*"),
    "frontend.linalg": (
        *HLO,
        "frontend",
        "frontend.control",
        "frontend.numpy.*",
        "frontend.differentiation.*",
    ),
    "frontend.special": (
        *HLO,
        "frontend",
        "frontend.control",
        "frontend.linalg",
        "frontend.numpy.*",
        "frontend.differentiation.*",
    ),
    "passes.rewriting": HLO,
    "passes.analysis": (*HLO, "passes.rewriting"),
    "passes.analysis.loops": (*HLO, "passes.rewriting", "passes.analysis"),
    "passes.attention": ANALYSIS,
    "passes.expand": ANALYSIS,
    "passes.spmd": (*ANALYSIS, "passes.expand"),
    "passes.simplify": (*ANALYSIS, "passes.expand"),
    "passes.loops": (*ANALYSIS, "passes.expand", "passes.simplify"),
    "passes.layout": (*ANALYSIS, "passes.expand", "passes.simplify", "passes.loops"),
    "passes.fusion": (
        *ANALYSIS,
        "passes.attention",
        "passes.expand",
        "passes.simplify",
        "passes.loops",
        "passes.layout",
    ),
    "passes.memory": (*HLO, "passes.*"),
    "passes": (*HLO, "passes.*", "tools.pictures"),  # dumps are drawn
    "backends": (*ANALYSIS, "passes", "tools.pictures"),
    "backends.llvm": (*ROOTS, "runtime", "backends", "backends.mlir"),
    "backends.mlir.arithmetic": (*HLO, "backends.mlir"),
    "backends.mlir.dialects": (),
    "backends.mlir": (*ANALYSIS, "backends.mlir.*"),
    "backends.mlir.ordered": (*ANALYSIS, "backends.mlir", "backends.mlir.arithmetic"),
    "backends.cache": (*HLO, "backends", "backends.mlir"),
    "backends.cpu.runtime": (*HLO, "backends", "backends.llvm", "passes.memory"),
    "backends.cpu.loops": KERNELS,
    "backends.cpu.products": (*KERNELS, "backends.cpu.loops"),
    "backends.cpu.convolutions": (*KERNELS, "backends.cpu.loops", "backends.cpu.products"),
    "backends.cpu.ordered": (*KERNELS, "backends.cpu.loops"),
    "backends.cpu.sorting": (*KERNELS, "backends.cpu.loops"),
    "backends.cpu.windows": (*KERNELS, "backends.cpu.loops", "backends.cpu.ordered"),
    "backends.cpu": (
        *KERNELS,
        "backends.llvm",
        "backends.cache",
        "backends.cpu.*",
        "passes",
        "passes.memory",
        "tools.pictures",
    ),
    "backends.gpu.driver": ("errors", "runtime"),
    "backends.gpu.assembler": ("errors",),
    "backends.gpu.running": (*KERNELS, "backends.gpu", "backends.gpu.driver", "passes.memory"),
    "backends.gpu.measuring": (
        *KERNELS,
        "backends.gpu",
        "backends.gpu.driver",
        "backends.gpu.running",
    ),
    "backends.gpu": (
        *KERNELS,
        "runtime.engines.nccl",
        "passes.attention",
        "backends.llvm",
        "backends.cache",
        "backends.gpu.driver",
        "backends.gpu.assembler",
        "backends.gpu.attention",
        "backends.gpu.convolutions",
        "backends.gpu.products",
        "backends.gpu.rows",
        "backends.gpu.measuring",
        "backends.gpu.running",
        "backends.gpu.movement",
        "backends.gpu.ordered",
        "backends.gpu.sorting",
        "backends.gpu.triangular",
        "passes",
        "passes.expand",
        "passes.memory",
        "hlo.evaluation",
    ),
    "backends.gpu.attention": (
        *KERNELS,
        "backends.gpu",
        "backends.gpu.driver",
        "backends.gpu.products",
        "passes.attention",
    ),
    "backends.gpu.products": (*KERNELS, "backends.gpu", "backends.gpu.driver"),
    "backends.gpu.convolutions": (
        *KERNELS,
        "backends.gpu",
        "backends.gpu.driver",
        "backends.gpu.products",
    ),
    "backends.gpu.rows": (*KERNELS, "backends.gpu", "backends.gpu.movement"),
    "backends.gpu.triangular": (*KERNELS, "backends.gpu"),
    "backends.gpu.movement": (*KERNELS, "backends.gpu"),
    "backends.gpu.ordered": (*KERNELS, "backends.gpu", "backends.gpu.movement"),
    "backends.gpu.sorting": (*KERNELS, "backends.gpu", "backends.gpu.ordered"),
    "stablehlo": (*ANALYSIS, "backends.mlir", "stablehlo.importer"),
    "stablehlo.operations": (*ANALYSIS, "backends.mlir", "stablehlo"),
    "stablehlo.importer": (
        *ANALYSIS,
        "backends.mlir",
        "stablehlo",
        "stablehlo.operations",
        "stablehlo.libraries",
    ),
    "stablehlo.exporter": (*ANALYSIS, "passes.expand", "backends.mlir", "stablehlo.*"),
    "stablehlo.libraries": (*ANALYSIS, "backends.mlir", "stablehlo.operations", "frontend.*"),
    "compiler": COMPILER,
    "compiled": (*COMPILER, "frontend.*"),
    "eager": (*COMPILER, "frontend.*", "compiled"),
    "bound": (*COMPILER, "frontend.*", "compiled"),
    "tree": (*HLO, "frontend.*"),
    "jitted": (*COMPILER, "frontend.*", "bound", "compiled"),
    "imported": (*COMPILER, "frontend.*"),
    "transfers": (*COMPILER, "frontend"),
    "checkpoint_policies": (*HLO, "frontend.*"),
    "distributed": (*HLO, "runtime.engines.*", "frontend"),
    "debug": (*HLO, "frontend.*"),
    "fft": (*HLO, "frontend.*"),
    "linalg": (*HLO, "frontend.*"),
    "sharding": (*HLO, "frontend.*"),
    "special": (*HLO, "frontend.*"),
    "numpy": (*HLO, "frontend.*", "fft", "linalg"),
    "nn": (*HLO, "frontend.*", "random"),
    "random": (*HLO, "frontend.*"),
    "optim": (*HLO, "frontend.*"),
    "protos": ("errors",),
    "graph.types": ("errors",),
    "graph.operators": (*TRACING, "graph.types", *LIBRARIES),
    "graph.operators.matrices": (*TRACING, "graph.types", "graph.operators", *LIBRARIES),
    "graph.operators.networks": (
        *TRACING,
        "graph.types",
        "graph.operators",
        "graph.operators.matrices",
        *LIBRARIES,
    ),
    "graph.operators.random": (*TRACING, "graph.types", "graph.operators", *LIBRARIES),
    "graph.operators.xla": (
        *TRACING,
        "graph.types",
        "graph.operators",
        "graph.operators.random",
        *LIBRARIES,
    ),
    "graph": (*TRACING, "graph.*", *LIBRARIES),
    "graph.running": (*TRACING, "graph", "graph.types", "graph.operators", *LIBRARIES),
    "graph.differentiation": (*TRACING, "graph", "graph.types", "graph.operators"),
    "graph.variables": (*TRACING, "graph", "graph.types", "graph.operators", *LIBRARIES),
    "graph.functions": (*GRAPH, "graph.variables"),
    "graph.control": (*GRAPH, "graph.operators.xla", "graph.differentiation", "graph.functions"),
    "graph.files": (*GRAPH, "graph.running", "graph.variables", "protos"),
    "graph.training": (*GRAPH, "graph.variables", "graph.differentiation", "graph.files"),
    "graph.testing": (*GRAPH, "graph.differentiation", "graph.functions", "graph.running"),
    "graph.eager": (
        *GRAPH,
        "graph.control",
        "graph.differentiation",
        "graph.files",
        "graph.functions",
        "graph.running",
        "graph.training",
        "graph.variables",
    ),
    "graph.networks": (*GRAPH, "graph.control", "graph.functions", "graph.variables"),
    "graph.names": ("graph", "graph.functions", "graph.networks", "graph.variables"),
    "graph.contrib": ("graph.running", "graph.eager", "graph.differentiation"),
    "graph.contrib.compiler": ("graph.running",),
    "importers": (*TRACING, *LIBRARIES),
    "importers.jax": (*TRACING, *LIBRARIES, "importers"),
    "importers.onnx.operators": OPERATORS,
    "importers.onnx.operators.layers": (*OPERATORS, "importers.onnx.operators"),
    "importers.onnx.operators.domains": (*OPERATORS, "importers.onnx.operators.*"),
    "importers.onnx": (*OPERATORS, "protos", "importers.onnx.operators"),
    "importers.tensorflow": (*TRACING, *LIBRARIES, "importers", "protos", "graph.*"),
    "importers.keras.operators": (*TRACING, *LIBRARIES, "importers", "importers.keras"),
    "importers.keras": (*TRACING, *LIBRARIES, "importers", "importers.keras.operators"),
    "importers.torch.operators": (*TRACING, *LIBRARIES, "importers", "importers.torch"),
    "importers.torch.pt2": (*TRACING, *LIBRARIES, "importers", "importers.torch"),
    "importers.torch": (*TRACING, *LIBRARIES, "importers", "importers.torch.*"),
    "quantization": TRACING,
    "testing": (*TRACING, "testing.*"),
    "testing.generators": HLO,
    "testing.conformance.runner": ("aot.gpu.loader",),
    "testing.conformance.cases": (
        *TRACING,
        *LIBRARIES,
        "tfc",
        "aot",
        "testing",
        "testing.generators",
        "testing.conformance.runner",
    ),
    "testing.conformance": (
        *TRACING,
        "aot",
        "aot.gpu",
        "aot.gpu.loader",
        "testing.*",
    ),
    "testing.ptx.text": ("errors",),
    "testing.ptx.state": ("errors",),
    "testing.ptx.instructions": ("errors", "testing.ptx.text", "testing.ptx.state"),
    "testing.ptx": (
        "errors",
        "testing.ptx.*",
        "backends.gpu.driver",
        "backends.gpu.assembler",
    ),
    "testing.jax_programs": (*COMPILER, "imported", "testing.*"),
    "console": HLO,  # what the command lines share
    "aot.bindings": (*TRACING, "aot"),
    "aot.flags": (*ROOTS, "console", "protos"),
    "aot.configured": (
        *TRACING,
        "aot",
        "graph",
        "graph.types",
        "graph.files",
        "importers",
        "importers.tensorflow",
    ),
    "aot.batches": (*TRACING, "aot", "importers"),
    "aot.devices": HLO,
    "aot.gpu.loader": ("backends.gpu.driver",),  # descriptors.py, which is a part of it as well
    "aot.gpu": (*TRACING, "aot", "aot.gpu.loader"),
    "aot": (
        *TRACING,
        "aot.batches",
        "aot.bindings",
        "aot.flags",
        "aot.configured",
        "aot.devices",
        "console",
        "graph.files",
        "importers",
        "importers.*",
        "quantization",
    ),
    "tools.pictures": HLO,  # it draws programs, and nothing that a compiler finds out
    "tools.collectives": (*COMPILER, "distributed"),
    "tools.profiling": (*TRACING, "tools.profiling"),
    "tools.simulation": (*COMPILER, "tools.profiling"),
    "tools.explore": (*COMPILER, "tools.*"),
    "tools": (*TRACING, "runtime.engines.nccl", "tools.*", "aot", "nn", "numpy", "random", "tfc"),
}
ANYTHING = ("tfc", "cli", "__main__")  # the public surface and the command line


def room_of(path: Path) -> str:
    """The room that a file is in."""
    parts = path.relative_to(ROOT / "tfc").with_suffix("").parts
    if len(parts) == 1:
        return "tfc" if parts == ("__init__",) else parts[0]
    return ".".join(parts[:-1])


@cache
def room_named(name: str) -> str | None:
    """The room of a module `tfc.…`; None if there is no such module."""
    path = ROOT / name.replace(".", "/")
    if path.is_dir():
        return room_of(path / "__init__.py")
    return room_of(path.with_suffix(".py")) if path.with_suffix(".py").exists() else None


def _imports_by_string(call: ast.Call) -> bool:
    """Whether a call imports the module that its first argument names, at once or later."""
    called = call.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name.endswith("import_module") or name.removeprefix("_") in ("later", "load")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, room) for every import of a part of tfc, also of those that strings name."""
    for node in ast.walk(tree_of(path)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from tfc.hlo import ir` means the module, `from tfc.hlo.ir import Module` its room.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if room_named(name) else node.module for name in names]
        elif isinstance(node, ast.Call) and node.args and _imports_by_string(node):
            names = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
        for name in names:
            if isinstance(name, str) and name.split(".")[0] == "tfc" and (room := room_named(name)):
                yield node.lineno, room


def is_allowed(room: str, other: str) -> bool:
    """Whether a file of one room may import from another."""
    if room == other:
        return True
    return any(
        other == name or (name.endswith(".*") and f"{other}.".startswith(name[:-1]))
        for name in ALLOWED[room]
    )


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def show(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))


def imports_out_of_order(path: Path) -> Iterator[str]:
    room = room_of(path)
    own = path.name == "__init__.py"  # a room's list of what it consists of
    if room in ANYTHING:
        return
    if room not in ALLOWED:
        yield f"{show(path)} is in a room that ALLOWED has no row for"
        return
    for line, other in imports(path):
        if not is_allowed(room, other) and not (own and other.startswith(f"{room}.")):
            yield f"{show(path)}:{line} imports {other}"


def test_imports_follow_the_order_of_the_rooms():
    assert [problem for path in SOURCES for problem in imports_out_of_order(path)] == []


def test_the_rooms_are_those_that_exist():
    assert set(ALLOWED) | set(ANYTHING) == {room_of(path) for path in SOURCES}


def test_no_two_rooms_import_each_other():
    """But for a folder and the rooms within it, whose order the rows above say."""
    graph: dict[str, set[str]] = {room: set() for room in ALLOWED}
    for path in SOURCES:
        if path.name != "__init__.py" and (room := room_of(path)) in graph:
            used = {other for _, other in imports(path)}
            graph[room] |= {o for o in used if not f"{room}.".startswith(f"{o}.")}
    order: list[str] = []
    open_rooms = dict(graph)
    while free := [room for room, uses in open_rooms.items() if not uses & set(open_rooms)]:
        order += free
        for room in free:
            del open_rooms[room]
    assert not open_rooms, f"these rooms import each other in a circle: {sorted(open_rooms)}"


def test_rooms_are_small_and_say_what_they_are():
    folders = Counter(path.parent for path in SOURCES)
    crowded = [f"{show(folder)}: {n} files" for folder, n in folders.items() if n > MAX_ROOM]
    assert not crowded, "these are several rooms"
    assert [show(f) for f in folders if not ast.get_docstring(tree_of(f / "__init__.py"))] == []


def test_imports_stand_at_the_top():
    local = [
        f"{show(path)}:{node.lineno}"
        for path in SOURCES
        for function in functions(tree_of(path))
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert not local


def test_functions_are_short():
    long = [
        f"{show(path)}:{f.lineno} {f.name} has {(f.end_lineno or 0) - f.lineno + 1} lines"
        for path in SOURCES
        for f in functions(tree_of(path))
        if (f.end_lineno or 0) - f.lineno + 1 > MAX_FUNCTION
    ]
    assert not long


def test_files_are_short_and_narrow():
    lines = {path: path.read_text().split("\n") for path in (*SOURCES, *C_SOURCES)}
    assert [
        f"{show(p)}: {len(text) - 1}" for p, text in lines.items() if len(text) > MAX_FILE + 1
    ] == []
    wide = [
        f"{show(path)}:{n}"
        for path, text in lines.items()
        for n, line in enumerate(text, 1)
        if len(line) > MAX_COLUMN
    ]
    assert not wide


def is_overload(node: ast.AST) -> bool:
    """True for the signatures of an @overload, which the implementation documents."""
    decorators = getattr(node, "decorator_list", [])
    return any(isinstance(d, ast.Name) and d.id == "overload" for d in decorators)


def public(tree: ast.Module) -> Iterator[ast.AST]:
    """The module, its public classes and functions, and the public methods of those classes."""
    yield tree
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from (
                    n
                    for n in node.body
                    if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")
                )


def test_what_is_public_has_a_docstring():
    missing = [
        f"{show(path)}:{getattr(n, 'lineno', 1)} {getattr(n, 'name', 'module')}"
        for path in SOURCES
        if tree_of(path).body
        for n in public(tree_of(path))
        if isinstance(n, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and not ast.get_docstring(n)
        and not is_overload(n)
    ]
    assert not missing


PAGES = [*SOURCES, *(ROOT / n for n in ("README.md", "CONTRIBUTING.md", "docs/design.md"))]
EXAMPLES = {"file.py", "train.py", "_gpu.py", "model_gpu.py", "build/model_gpu.py"}  # of a user


def test_the_files_that_are_named_exist():
    others = [p for folder in ("benchmarks", "examples") for p in (ROOT / folder).rglob("*.py")]
    ends = {
        "/".join(file.parts[n:])
        for file in (path.relative_to(ROOT) for path in (*SOURCES, *TESTS, *others))
        for n in range(len(file.parts))
    }
    missing = [
        f"{show(page)}: {name}"
        for page in PAGES
        for name in re.findall(r"[a-z_]+(?:/[a-z_]+)*\.py\b", page.read_text())
        if name not in ends | EXAMPLES
    ]
    assert not missing


def test_no_two_files_of_tests_have_one_name():
    """Tests are no package: pytest imports each file by its name alone."""
    names = Counter(path.name for path in TESTS if path.name.startswith("test_"))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_test_file_says_what_it_proves():
    texts = {path: path.read_text() for path in TESTS}
    assert [show(p) for p, text in texts.items() if text.strip() and text[:3] != '"""'] == []
