"""The pages of the site: their blocks run and print what they show, and the site is built of them.

A page's blocks run in order, in one folder. A block that begins with a comment that names a file is
that file. What another `python` block prints is in the `text` block after it; commands of a
`console` block begin with a dollar sign, and below each is what it prints, if the page shows that.
A command must succeed, unless what it prints is shown to be an error.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import tfc

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RUN = ["index.md", "start.md", "graph.md", "sessions.md", "sharding.md", "simulation.md", *sorted(
    f"{folder}/{p.name}" for folder in ("tutorials", "howto") for p in (DOCS / folder).glob("*.md")
)]  # fmt: skip
TEXT = DOCS / "reference" / "hlo_text.md"
# Pages whose blocks are run by tests of their own, which start what they need.
ELSEWHERE = {
    "README.md": "test_readme.py",
    "docs/aot.md": "aot/test_page.py",
    "docs/distributed.md": "distributed/test_distributed_page.py",
    "docs/quantization.md": "quantization/test_quantize.py",
}
# Pages that show parts of files, which do not run by themselves.
EXCERPTS = ("CONTRIBUTING.md", "docs/bindings.md", "docs/design.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
MARK = "-- what block {} printed --"

RUNNER = """
import re, subprocess, sys
scope = {"__name__": "__main__"}
for number, (language, text) in enumerate(BLOCKS):
    print(MARK.format(number), flush=True)
    if named := re.match(r"(?:#|//) (\\S+\\.\\w+)\\n", text):
        with open(named[1], "w") as file:
            file.write(text)
    elif language == "python":
        exec(compile(text, NAME, "exec"), scope)
    elif language == "console":
        for part in re.split(r"^[$] ", text, flags=re.M)[1:]:
            line, _, shown = part.partition("\\n")
            print("$ " + line, flush=True)
            done = subprocess.run(line, shell=True, stderr=subprocess.STDOUT)
            if (done.returncode != 0) != shown.startswith("error:"):
                sys.exit(f"exit code {done.returncode}: {line}")
    sys.stdout.flush()
"""


@dataclass(frozen=True)
class Page:
    """A page, and what its blocks printed."""

    path: Path
    blocks: list[tuple[str, str]]
    printed: list[str]


def run(path: Path, folder: Path) -> Page:
    """Run a page's blocks in a folder."""
    blocks = [match.groups() for match in BLOCK.finditer(path.read_text())]
    name = f"{path.stem}.py"
    (folder / "page.py").write_text(
        f"BLOCKS, MARK, NAME = {blocks!r}, {MARK!r}, {name!r}\n{RUNNER}"
    )
    shutil.copy(ROOT / "examples" / "digits.onnx", folder)
    if shutil.which("c++") is None:  # the package's own compiler stands in for the system's
        (folder / "c++").write_text(f'#!/bin/sh\nexec {sys.executable} -m ziglang c++ "$@"\n')
        (folder / "c++").chmod(0o755)
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], str(folder)])
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=folder, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PATH": search, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{path.name}: {done.stderr}"
    found = re.split(re.escape(MARK).replace(r"\{\}", r"\d+") + "\n", done.stdout)[1:]
    return Page(path, blocks, found)


def shown(page: Page) -> list[tuple[int, str]]:
    """The blocks that show what was printed, and what they should be."""
    found = []
    for number, (language, text) in enumerate(page.blocks):
        if language == "text":
            found.append((number, page.printed[number - 1]))
        elif language == "console" and any(not x.startswith("$ ") for x in text.splitlines()):
            found.append((number, page.printed[number]))
    return found


def check(page: Page, bless: bool) -> None:
    """Compare what is shown with what was printed, or write that."""
    numbered = dict(shown(page))
    if bless:
        counter = iter(range(len(page.blocks)))

        def written(match: re.Match[str]) -> str:
            number = next(counter)
            return f"```{match[1]}\n{numbered.get(number, match[2])}```"

        page.path.write_text(BLOCK.sub(written, page.path.read_text()))
    for number, wanted in numbered.items():
        if not bless:
            assert page.blocks[number][1] == wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_blocks_print_what_the_page_shows(name: str, tmp_path: Path, request):
    check(run(DOCS / name, tmp_path), request.config.getoption("--bless"))


def test_every_page_with_blocks_is_run():
    """By the test above, or by the one that is named for it."""
    here = {f"docs/{name}" for name in RUN} | {str(TEXT.relative_to(ROOT))}
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    found = {str(p.relative_to(ROOT)) for p in pages if BLOCK.search(p.read_text())}
    assert found == here | set(ELSEWHERE) | set(EXCERPTS)
    for page, test in ELSEWHERE.items():
        assert f'"{Path(page).name}"' in (ROOT / "tests" / test).read_text()


def test_examples_of_hlo_text_are_modules(tmp_path: Path, request):
    page = run(TEXT, tmp_path)
    modules = [
        text for language, text in page.blocks if language == "hlo" and not text.startswith("//")
    ]
    assert len(modules) > 3
    for text in modules:
        module = tfc.hlo.parse(text)
        assert str(tfc.hlo.parse(str(module))) == str(module)
    check(page, request.config.getoption("--bless"))


@pytest.mark.slow
def test_the_site_is_built_without_warnings(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    for page in ("index", "start", "tutorials/train", "reference/tfc", "design", "CHANGELOG"):
        assert (tmp_path / f"{page}.html").is_file()
    text = (tmp_path / "reference" / "tfc.html").read_text()
    assert all(name in text for name in ("value_and_grad", "constant_argnums", "while_loop"))
