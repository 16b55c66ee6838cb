"""What is known of an op stands in its definition: tfc has no lists of opcodes beside it.

A literal that names four opcodes or more is one of those below, with the reason why it is not a
trait, or it is to become one.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tfc.hlo.op import OPS

ROOT = Path(__file__).parents[2]
MOST = 3
ROWS = "an interpretation: a row of code for each op"
VOCABULARY = "the ops that formulas here are written with"
RULES = "about these very ops: the pass has rules for them"
NUMBERS = "the places are numbers that a C header knows the ops by"
NCCL = "the numbers that NCCL knows its reductions by"
DRAWN = "what random programs draw, and how often"

# Rooms whose operators are other systems', by their names.
OTHERS = ("graph/", "importers/", "testing/ptx/")

# file: {name of what holds the literal: why it may}
ALLOWED: dict[str, dict[str, str]] = {
    "aot/devices/collectives.py": {"KINDS": NUMBERS, "REDUCTIONS": NUMBERS},
    "aot/batches/resizing.py": {"_OWN": ROWS},
    "aot/batches/rules.py": {"RULES": ROWS},
    "backends/cpu/kernels.py": {"SEQUENTIAL": ROWS},
    "backends/gpu/attention/visible.py": {"_FLOATS": ROWS},
    "backends/gpu/instructions.py": {"INSTRUCTIONS": ROWS},
    "backends/gpu/kernels.py": {"FORMS": ROWS},
    "backends/gpu/ordered/scatters.py": {"_ATOMICS": ROWS},
    "backends/mlir/bodies.py": {"BODIES": ROWS},
    "backends/mlir/arithmetic/elemental.py": {"EMISSION": ROWS},
    "backends/mlir/arithmetic/complex_arithmetic.py": {"COMPLEX_ARITHMETIC": ROWS},
    "backends/mlir/arithmetic/complex_functions.py": {"COMPLEX_FUNCTIONS": ROWS},
    "backends/mlir/arithmetic/math_functions.py": {"__all__": "names of Python functions"},
    "backends/mlir/arithmetic/value.py": {"__all__": "names of Python functions"},
    "backends/mlir/scalar_computation.py": {
        "_OF_LEAVES": "the ops of which this file emits several scalars",
    },
    "distributed/__init__.py": {"_REDUCTIONS": "what users may ask for, by names of HLO's"},
    "frontend/differentiation/vjp_indexed.py": {
        "_SCATTERS": "a table of code: the gradient of a scatter by what it combines with",
    },
    "frontend/differentiation/vjp.py": {
        "_cos": VOCABULARY,
        "plain": "the reductions that have a gradient rule",
    },
    "hlo/ops/outside/collectives.py": {"_name": "definitions"},
    "passes/analysis/value_ranges.py": {"_RULES": ROWS},
    "passes/analysis/zero_signs.py": {"_DIFFER": ROWS},
    "passes/expand/expand.py": {"EXPANSIONS": ROWS},
    "passes/expand/outside.py": {"RUNTIME": ROWS},
    "passes/fusion/epilogues.py": {"_VIEWS": RULES},
    "passes/layout/stated_layouts.py": {"_ROWS": ROWS},
    "passes/loops/value_range_propagation.py": {"_DECIDABLE": RULES},
    "passes/simplify/arithmetic.py": {"_ROUNDINGS": RULES},
    "passes/simplify/control.py": {"CONTROL_FLOW": ROWS},
    "passes/simplify/elementwise.py": {"_OF_OPS": ROWS},
    "passes/simplify/indexed.py": {"INDEXED": ROWS},
    "stablehlo/exporter/forms.py": {"WRITERS": ROWS},
    "runtime/engines/nccl/reductions.py": {"_EXACT": NCCL, "_OF_PRED": NCCL},
    "testing/conformance/cases/operations.py": {"_PASSING": DRAWN, "_RANGES": DRAWN},
    "testing/generators/contraction.py": {"_OF_INTEGERS": DRAWN},
    "testing/generators/grower.py": {"__init__": DRAWN},
    "testing/generators/runtime.py": {"_COLLECTIVES": DRAWN, "_name": DRAWN},
    "testing/xla.py": {"DIFFERS": "about XLA: where it gives other values than its code computes"},
    "tools/catalogue.py": {"_PROGRAM": "what the CPU's program is for each, in a word"},
}


def opcodes_in(node: ast.AST) -> int:
    """How many opcodes a literal collection, a case or the words of a text name."""
    match node:
        case ast.Dict():
            items: list[ast.expr] = [k for k in node.keys if k]
        case ast.Set() | ast.List() | ast.Tuple():
            items = [e.elts[0] if isinstance(e, ast.Tuple) and e.elts else e for e in node.elts]
        case ast.MatchOr():
            items = [p.value for p in node.patterns if isinstance(p, ast.MatchValue)]
        case ast.Call(ast.Attribute(ast.Constant(str(text)), "split")):
            items = [ast.Constant(word) for word in text.split()]
        case _:
            return 0
    return sum(isinstance(i, ast.Constant) and i.value in OPS for i in items)


def name_of(node: ast.AST, outer: str) -> str:
    """What a statement names, by which the allow-list knows what is inside."""
    match node:
        case ast.Assign(targets=[ast.Name(name), *_]) | ast.AnnAssign(target=ast.Name(name)):
            return name
        case ast.Assign(targets=[ast.Tuple([ast.Name(name), *_]), *_]):
            return name
        case ast.For(target=ast.Name(name)) | ast.For(target=ast.Tuple([ast.Name(name), *_])):
            return name
        case ast.FunctionDef(name) | ast.ClassDef(name):
            return name
    return outer


def tables(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(name, line) of every literal that names more opcodes than a rule does."""
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, outer = pending.pop()
        name = name_of(node, outer)
        if opcodes_in(node) > MOST:
            yield name, getattr(node, "lineno", 1)
        pending += [(child, name) for child in ast.iter_child_nodes(node)]


def test_there_are_no_tables_of_opcodes_but_those_with_a_reason():
    found: dict[str, set[str]] = {}
    wrong = []
    for path in sorted((ROOT / "tfc").rglob("*.py")):
        file = path.relative_to(ROOT / "tfc").as_posix()
        if file.startswith(OTHERS):
            continue
        for name, line in tables(ast.parse(path.read_text())):
            found.setdefault(file, set()).add(name)
            if name not in ALLOWED.get(file, ()):
                wrong.append(f"tfc/{file}:{line} {name}: make it a trait (tfc/hlo/traits.py)")
    assert wrong == []
    unused = {f: set(names) - found.get(f, set()) for f, names in ALLOWED.items()}
    assert {f: names for f, names in unused.items() if names} == {}, "reasons without a table"


def test_tables_are_seen_in_all_their_forms():
    for text in ('A = frozenset({"add", "sine", "dot", "copy"})', 'A = "add sine dot copy".split()',
                 'A = {"add": 1, "sine": 2, "dot": 3, "copy": 4}',
                 'def A(x):\n return x in ("add", "sine", "dot", "copy")',
                 'def A(x):\n match x:\n  case "add" | "sine" | "dot" | "copy":\n   pass',
                 'for A, _ in (("add", 1), ("sine", 2), ("dot", 3), ("copy", 4)):\n pass',
                 ):  # fmt: skip
        assert [name for name, _ in tables(ast.parse(text))] == ["A"], text
    assert list(tables(ast.parse('A = {"add", "sine", "dot", "no such op"}'))) == []
