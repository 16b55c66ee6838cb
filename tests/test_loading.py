"""What is loaded when: `import tfc` loads no library, a decorator no compiler, and public names are
found where type checkers are told that they are."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tfc

HERE = Path(tfc.__file__).parent
SOURCE = ast.parse((HERE / "__init__.py").read_text())

# What only compiling needs, and the command line; a user's module may be imported without them.
COMPILER = (
    "click", "google.protobuf", "jax", "llvmlite", "mlir", "rich", "tfc.aot", "tfc.backends",
    "tfc.cli", "tfc.compiler", "tfc.eager", "tfc.graph", "tfc.importers", "tfc.passes",
    "tfc.protos", "tfc.stablehlo", "tfc.testing", "tfc.tools", "torch_mlir",
)  # fmt: skip
LIBRARIES = ("ml_dtypes", "numpy", "tfc.frontend", "tfc.hlo", "tfc.numpy")


def loaded(program: str) -> set[str]:
    """The modules that a program has loaded in the end, in a process of its own."""
    code = f"import sys\n{program}\nprint(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HERE.parent
    )
    return set(found.stdout.split())


def among(modules: set[str], names: tuple[str, ...]) -> list[str]:
    """Those of the modules that are named, or lie in a package that is."""
    return sorted(m for m in modules if any(f"{m}.".startswith(f"{name}.") for name in names))


def imported_for_type_checkers() -> dict[str, tuple[str, str]]:
    """Each public name, with the module that it is imported from and its name there."""
    [block] = [
        n for n in SOURCE.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"
    ]
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_importing_tfc_loads_no_library():
    modules = loaded("import tfc")
    assert "tfc" in modules
    assert among(modules, COMPILER + LIBRARIES) == []


def test_decorating_loads_no_compiler():
    modules = loaded(
        "import tfc\nimport tfc.numpy as tnp\n"
        "@tfc.jit\ndef double(x):\n    return tnp.sin(x) * 2\n"
        "slope = tfc.grad(double)\nmapped = tfc.vmap(double)\n"
    )
    assert "tfc.frontend.tensor" in modules
    assert among(modules, COMPILER) == []


def test_calls_load_what_they_need():
    modules = loaded("import tfc.numpy as tnp\nassert tnp.arange(3).sum() == 3")
    assert among(modules, COMPILER) == []  # NumPy's own functions
    modules = loaded("import tfc\nassert tfc.jit(lambda x: x + x)(2.0) == 4")
    assert {"llvmlite", "tfc.passes", "tfc.backends.cpu"} <= modules
    assert among(modules, ("click", "rich", "tfc.backends.gpu", "tfc.tools.explore")) == []
    # Each takes 5 to 30 ms.
    slow = ("importlib.metadata", "numpy.random", "subprocess", "torch_mlir.dialects.llvm")
    assert among(modules, slow) == []


@pytest.mark.eager
def test_functions_that_numpy_lacks_find_the_compiler():
    found = loaded("import tfc.special\nassert abs(tfc.special.erf(0.5) - 0.5204999) < 1e-6")
    assert {"tfc.eager", "tfc.compiler"} <= found


def test_public_names_are_those_that_type_checkers_see():
    imported = imported_for_type_checkers()
    assert set(imported) == set(tfc.__all__) - {"__version__"}
    table = {name: place for name, (place, _) in imported.items() if place != "tfc"}
    assert table == tfc._PLACES


def test_public_names_are_found_and_listed():
    assert set(tfc.__all__) <= set(dir(tfc))
    for name, (place, defined_as) in imported_for_type_checkers().items():
        found = getattr(tfc, name)
        module = sys.modules[f"tfc.{name}" if place == "tfc" else place]
        assert found is (module if place == "tfc" else getattr(module, defined_as))


def test_functions_have_no_name_of_a_module():
    """Importing the module would put it in the function's place."""
    modules = {path.stem for path in HERE.iterdir() if path.suffix in ("", ".py")}
    assert set(tfc._PLACES) & modules == set()


def test_names_that_are_not_there_are_refused():
    with pytest.raises(AttributeError, match="module 'tfc' has no attribute 'jitt'"):
        tfc.jitt  # noqa: B018
