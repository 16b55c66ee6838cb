"""Operators by torch's own samples of them, and docs/pytorch.md, made of these.

`pytest tests/importers/pytorch/test_torch_operators.py -m slow --bless` writes the page.
"""

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch
from torch_samples import Outcome, core_operators, outcomes, outcomes_of, sample_sets

from tfc.importers.torch.operators import ATEN
from tfc.importers.torch.reader import decompositions, name_of

PAGE = Path(__file__).parents[3] / "docs" / "pytorch.md"
HEAD = """# PyTorch, operator by operator

A test writes this page. It calls the operators that torch counts as core with torch's own samples
(OpInfo), in float32, int64, bool, float16 and bfloat16, and compares with what torch computes: tfc
gives the same for {passed} of {there} calls ({percent:.1f} %).

- **by**: tfc's table of operators, or torch's definition by other operators, which are imported
  instead. – where sizes of results depend on values, which is refused: no program can be compiled
  for them.
- **passed**: of the calls of torch's samples that run this operator, how many tfc passes. Not
  counted are {refused} with results of such sizes, and {untraced} of which torch makes no graph.

Other operators are imported as far as the table or torch's definitions have them. Those that are in
neither are refused in one message, with all their names.

| operator | by | passed |
|---|---|---|
"""
PARTS, MOST = 16, 4
QUICK = [
    "add", "div", "pow", "clamp", "where", "sum", "amax", "argmax", "cumsum", "gather",
    "scatter_add", "cat", "flip", "addmm", "nn.functional.conv2d", "nn.functional.conv_transpose2d",
    "nn.functional.max_pool2d", "nn.functional.avg_pool2d", "remainder", "eq", "softmax",
    "nn.functional.layer_norm", "nn.functional.gelu", "nn.functional.embedding", "index_put",
    "masked_scatter", "sign", "sort", "topk", "fft.rfftn", "fft.irfftn", "cdist",
    "nn.functional.embedding_bag", "nn.functional.interpolate", "narrow",
]  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_operators_compute_what_torch_does(name: str):
    torch.manual_seed(0)
    info = next(info for info in sample_sets() if info.name == name)
    found = dict(outcomes_of(info, 1))
    assert {label: made.reason for label, made in found.items() if made.kind != "equal"} == {}
    assert found


@pytest.mark.slow
def test_the_page_says_what_works_of_each_operator(request: pytest.FixtureRequest):
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        parts = pool.map(partial(outcomes, parts=PARTS, most=MOST), range(PARTS))
        found = [pair for part in parts for pair in part]
    failures = {label: made.reason for label, made in found
                if made.kind in ("different", "failed")}  # fmt: skip
    page = written(made for _, made in found)
    if request.config.getoption("--bless"):
        PAGE.write_text(page)
    assert len(failures) < 0.01 * len(found), failures
    assert PAGE.read_text() == page, failures


def written(found: Iterable[Outcome]) -> str:
    """The page for what became of calls."""
    kinds, there, passed = Counter[str](), Counter[str](), Counter[str]()
    for made in found:
        kinds[made.kind] += 1
        if made.kind in ("equal", "different", "failed"):
            there.update(made.called)
            passed.update(made.called if made.kind == "equal" else ())
    count = kinds["equal"] + kinds["different"] + kinds["failed"]
    head = HEAD.format(
        passed=kinds["equal"], there=count, percent=100 * kinds["equal"] / count,
        refused=kinds["refused"], untraced=kinds["untraced"],
    )  # fmt: skip
    defined = {name_of(op) for op in decompositions()}
    rows = []
    for name in core_operators():
        has_row = name in ATEN or name.replace("_.", ".") in ATEN
        by = "tfc" if has_row else "torch" if name in defined else "–"
        tried = f"{passed[name]} of {there[name]}" if there[name] else "–"
        rows.append(f"| `{name}` | {by} | {tried} |")
    return head + "\n".join(rows) + "\n"
