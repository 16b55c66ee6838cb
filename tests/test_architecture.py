"""The shape of the code: import order, sizes, docstrings. What fails here names file and line."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "tfc").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MAX_FILE, MAX_FUNCTION, MAX_COLUMN = 450, 60, 100

# A part may import the parts before it in some row, and itself:
#     errors, files, options, tracebacks ← runtime ← hlo ← {frontend, pictures ← passes} ← backends
#     ← compiler ← {jit, aot} ← profiling ← explore ← cli
# StableHLO is read and written through the MLIR bindings, which the backends find.
ROOTS = ("errors", "files", "options", "tracebacks")
LOW = (*ROOTS, "runtime", "hlo")
ALLOWED: dict[str, tuple[str, ...]] = {
    "errors": (),
    "files": ("errors",),
    "options": ("errors",),
    "tracebacks": ("errors", "options"),
    "runtime": ROOTS,
    "hlo": (*ROOTS, "runtime"),
    "frontend": LOW,
    "pictures": LOW,
    "passes": (*LOW, "pictures"),
    "backends": (*LOW, "pictures", "passes"),
    "stablehlo": (*LOW, "passes", "backends"),
    "compiler": (*LOW, "passes", "backends", "stablehlo"),
    "compiled": (*LOW, "frontend", "passes", "backends", "compiler"),
    "jit": (*LOW, "frontend", "passes", "backends", "compiler", "compiled"),
    "testing": (*LOW, "passes", "backends", "compiler", "imported"),
    "imported": (*LOW, "frontend", "passes", "backends", "compiler"),
    "console": LOW,  # what the command lines share
    "aot": (*LOW, "frontend", "passes", "backends", "compiler", "imported", "console"),
    "profiling": (*LOW, "passes", "backends", "compiler", "compiled", "jit", "imported"),
    "explore": (*LOW, "pictures", "passes", "backends", "compiler", "profiling"),
}


def part_of(path: Path) -> str:
    """The part of tfc that a file belongs to: a folder or a top-level module."""
    return path.relative_to(ROOT / "tfc").parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, part) for every import of a part of tfc."""
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "tfc":
                names = [f"tfc.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("tfc."):
                yield node.lineno, name.split(".")[1]


def show(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))


@pytest.mark.parametrize("path", SOURCES, ids=show)
def test_imports_follow_the_order_of_the_layers(path: Path):
    part = part_of(path)
    if part not in ALLOWED:
        return  # the public surface and the command line may import everything
    wrong = [
        f"{show(path)}:{line} imports {other}"
        for line, other in imports(path)
        if other != part and other not in ALLOWED[part]
    ]
    assert not wrong


@pytest.mark.parametrize("path", SOURCES, ids=show)
def test_imports_stand_at_the_top(path: Path):
    local = [
        f"{show(path)}:{node.lineno}"
        for function in functions(ast.parse(path.read_text()))
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert not local


@pytest.mark.parametrize("path", SOURCES, ids=show)
def test_functions_are_short(path: Path):
    long = [
        f"{show(path)}:{f.lineno} {f.name} has {(f.end_lineno or 0) - f.lineno + 1} lines"
        for f in functions(ast.parse(path.read_text()))
        if (f.end_lineno or 0) - f.lineno + 1 > MAX_FUNCTION
    ]
    assert not long


@pytest.mark.parametrize("path", SOURCES, ids=show)
def test_files_are_short_and_narrow(path: Path):
    lines = path.read_text().split("\n")
    assert len(lines) - 1 <= MAX_FILE
    assert [f"{show(path)}:{n}" for n, line in enumerate(lines, 1) if len(line) > MAX_COLUMN] == []


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


@pytest.mark.parametrize("path", SOURCES, ids=show)
def test_what_is_public_has_a_docstring(path: Path):
    tree = ast.parse(path.read_text())
    if not tree.body:
        return
    missing = [
        f"{show(path)}:{getattr(n, 'lineno', 1)} {getattr(n, 'name', 'module')}"
        for n in public(tree)
        if isinstance(n, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and not ast.get_docstring(n)
        and not is_overload(n)
    ]
    assert not missing


@pytest.mark.parametrize("path", [p for p in TESTS if p.read_text().strip()], ids=show)
def test_every_test_file_says_what_it_proves(path: Path):
    assert ast.get_docstring(ast.parse(path.read_text()))
