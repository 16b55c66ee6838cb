"""The page of `tfc explore`: whole, self-contained, of bounded size, and working in a browser."""

import re
import shutil
import subprocess
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest
from click.testing import CliRunner
from markup import Markup, external_references

import tfc
from tfc.aot.load import load
from tfc.cli import tfc as command
from tfc.errors import TfcError
from tfc.hlo.text.parser import parse
from tfc.hlo.text.printer import print_module
from tfc.passes import PipelineReport
from tfc.passes.report import Step
from tfc.passes.rewriting.decisions import Refused
from tfc.tools.explore.code import kernel_code
from tfc.tools.explore.diff import diff_html
from tfc.tools.explore.page import Page
from tfc.tools.explore.roofline import BODY, Point, Roofline
from tfc.tools.profiling import Level, Peaks

ROOT = Path(__file__).parents[2]
LAYER = f"{ROOT}/examples/transformer.py:layer"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PEAKS = Peaks({32: 100e9, 64: 50e9}, (Level("L1", 1e5, 200e9), Level("memory", np.inf, 10e9)))

# Goes through every pane and tab, and says of each whether it can be seen.
WALK = """<script>addEventListener("load", async () => {
  const seen = [];
  for (const link of document.querySelectorAll("nav a")) {
    link.click();
    await new Promise((done) => setTimeout(done, 10));
    const shown = [...document.querySelectorAll(".pane")].filter((p) => p.offsetHeight > 0);
    const tabs = shown.flatMap((pane) => [...pane.querySelectorAll("[role=tab]")].map((tab) => {
      tab.click();
      const panels = [...pane.querySelectorAll("[role=tabpanel]")].filter((p) => p.offsetHeight);
      return panels.length === 1 && panels[0].id === tab.getAttribute("aria-controls")
        ? tab.textContent.replace(" ", "_") : "WRONG";
    }));
    seen.push([shown.map((p) => p.id).join("+"), ...tabs].join(":"));
  }
  document.documentElement.dataset.seen = seen.join(" ");
});</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("explore") / "report.html"
    made = CliRunner().invoke(command, ["explore", LAYER, "-o", str(path), "-n", "2"])
    assert made.exit_code == 0, made.output
    return path.read_text(encoding="utf-8")


def test_the_page_is_well_formed_and_fetches_nothing(page: str):
    markup = Markup(page)
    assert external_references(page) == []
    identities = [a["id"] for _, a in markup.elements if "id" in a]
    assert len(identities) == len(set(identities))
    for link in markup.all("a"):
        assert link["href"].removeprefix("#") in identities
    for button in markup.all("button"):
        assert button["aria-controls"] in identities
    assert "prefers-color-scheme:dark" in page
    assert len(page) < 4_000_000


def test_all_panes_are_there(page: str):
    markup = Markup(page)
    panes = [a["id"] for a in markup.all("section", "pane")]
    links = [a["href"].removeprefix("#") for a in markup.all("a")]
    assert panes == links
    assert panes[0] == "overview"
    assert panes[-1] == "memory"
    passes = [p for p in panes if p.startswith("pass-")]
    kernels = [p for p in panes if p.startswith("kernel-")]
    assert len(passes) >= 3
    assert len(kernels) >= 5
    assert len(markup.all("svg", "graph")) == len(passes)
    assert len(markup.all("svg", "roofline")) == len(kernels) + 1
    assert markup.all("g", "cluster")  # fusions have boundaries
    assert {"graph", "diff", "text", "HLO", "MLIR", "LLVM IR", "assembly"} <= set(markup.texts)


def test_each_kernel_has_its_code_alone(page: str):
    panes = re.split(r'<section id="', page)
    dot = next(p for p in panes if p.startswith("kernel-") and "· tfc_entry.0.dot<" in p)
    assert dot.count("func.func private @tfc_entry.0.dot(") == 1
    assert dot.count("func.func") == 1
    assert len(re.findall(r"^(?:<pre[^>]*>)?.*define [^@]*@tfc_entry", dot, re.M)) == 1
    assert "dot(%x, %weights_query)" in dot
    for kernel in panes:
        if kernel.startswith("kernel-") and "memory copies" not in kernel:
            assert all(name in kernel for name in (">MLIR<", ">LLVM IR<", ">assembly<"))


def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no browser: apt-get install chromium")
    return found


def dom(path: Path, fragment: str = "") -> str:
    """The document as the browser has it after some virtual time."""
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    arguments += ["--virtual-time-budget=10000", "--window-size=1400,900", "--dump-dom"]
    profile = f"--user-data-dir={path.parent / 'profile'}"
    done = subprocess.run(
        [browser(), *arguments, profile, f"file://{path}{fragment}"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


def test_a_browser_shows_every_pane_and_tab_without_errors(page: str, tmp_path: Path):
    path = tmp_path / "report.html"
    path.write_text(page.replace("</body>", WALK + "</body>"), encoding="utf-8")
    (root,) = re.findall(r"<html[^>]*>", dom(path))
    assert 'data-ready="yes"' in root
    assert "data-error" not in root
    seen = re.search(r'data-seen="([^"]*)"', root)
    assert seen is not None, root
    visited = [entry.split(":") for entry in seen[1].split(" ")]
    assert [v[0] for v in visited] == [a["id"] for a in Markup(page).all("section", "pane")]
    assert not any("WRONG" in v for v in visited)
    assert ["HLO", "MLIR", "LLVM_IR", "assembly"] in [v[1:] for v in visited]
    assert any(v[1:3] == ["graph", "diff"] for v in visited)


def test_a_browser_opens_the_pane_of_the_address(page: str, tmp_path: Path):
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    (root,) = re.findall(r"<html[^>]*>", dom(path, "#kernel-1"))
    assert 'data-pane="kernel-1"' in root
    assert "data-error" not in root


def long_module(count: int):
    lines = [f"x{n} = f32[4] negate(x{n - 1})" for n in range(1, count)]
    return parse("ENTRY e { x0 = f32[4] parameter(0)\n" + "\n".join(lines) + "\n}")


def test_pages_of_large_modules_are_bounded():
    before, after = long_module(4000), long_module(3900)
    page = Page("large")
    refusals = tuple(Refused(f"n{n}", "why") for n in range(10_000))
    steps = [Step("cut", 0.1, before, after, refusals), Step("cse", 0.1, after, after)]
    page.passes(before, PipelineReport(steps))
    html = page.html()
    Markup(html)
    assert len(html) < 3_000_000
    assert "4000 instructions are too many to draw" in html
    assert "… and 9800 more" in html
    assert "a large module" in html
    assert '<span class="idle">cse <em>unchanged</em></span>' in html


def test_differences_are_marked_and_escaped():
    made = diff_html("a\n<b>\nc", "a\n<d>\nc")
    Markup(made)
    assert '<span class="del">-&lt;b&gt;\n</span>' in made
    assert '<span class="add">+&lt;d&gt;\n</span>' in made
    assert '<span class="hunk">@@' in made


def test_texts_for_people_leave_out_metadata_and_large_constants():
    module = parse("""ENTRY e {
      k = f32[20] constant({1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20})
      s = f32[] constant(2)
      ROOT n = f32[20] negate(k), metadata={op_name="far"}
    }""")
    short = print_module(module, short=True)
    assert "constant({...})" in short
    assert "constant(2)" in short
    assert "far" not in short
    assert "far" in str(module)
    assert str(parse(short, fill_constants="iota")).count("constant") == 2


def test_the_roofline_has_every_kernel_that_computes():
    points = [Point("a", "product", 8, 50e9, 0.5), Point("b", "movement", 0, 0, 0.2),
              Point("c<", "elementwise", 0.1, 1e9, 0.3)]  # fmt: skip
    chart = Roofline(points, PEAKS)
    markup = Markup(chart.svg())
    circles = markup.all("circle", "kernel")
    assert len(circles) == 2
    # More operations a byte are further right, more a second further up.
    assert float(circles[0]["cx"]) > float(circles[1]["cx"])
    assert float(circles[0]["cy"]) < float(circles[1]["cy"])
    assert BODY in [a.get("id") for a in markup.all("g")]
    assert len(Markup(chart.svg_of(points[0])).all("circle", "ring")) == 1
    assert "no arithmetic" in chart.svg_of(points[1])
    Markup(Roofline([], PEAKS).svg())


def test_code_is_cut_out_by_function():
    executable = tfc.compile(parse("ENTRY e { x = f32[9] parameter(0) ROOT y = f32[9] tanh(x) }"))
    (found,) = kernel_code(executable, ["tfc_entry.0.tanh"]).values()
    assert found.mlir.strip().startswith("func.func private @tfc_entry.0.tanh(")
    assert found.llvm.startswith("define internal")
    assert found.llvm.rstrip().endswith("}")
    assert found.asm.splitlines()[0].startswith("tfc_entry.0.tanh:")
    assert "ret" in found.asm
    assert kernel_code(executable, ["none"])["none"].asm == ""


def test_functions_are_found_in_files_and_say_their_own_arguments(tmp_path: Path):
    (tmp_path / "beside.py").write_text("WIDTH = 3\n")
    (tmp_path / "net.py").write_text(
        "from beside import WIDTH\n"
        "def f(x=f'f32[{WIDTH}]', w={'a': 'f32[3]', 'b': ['f32[]']}):\n"
        "    return x * w['a'] + w['b'][0]\n"
        "def g(x, n=3):\n    return x * n\n"
    )
    module = load(f"{tmp_path}/net.py:f")
    assert [str(p.shape) for p in module.entry.parameters] == ["f32[3]{0}", "f32[3]{0}", "f32[]"]
    assert len(load(f"{tmp_path}/net.py:f", ["f32[3]", {"a": "f32[3]", "b": ["f32[]"]}])
               .entry.parameters) == 3  # fmt: skip
    with pytest.raises(TfcError, match=r"g\(x, n=3\) cannot take 0 arguments"):
        load(f"{tmp_path}/net.py:g")
    with pytest.raises(TfcError, match="No such file"):
        load(f"{tmp_path}/none.py:f")
    with pytest.raises(TfcError, match="has no 'h'"):
        load(f"{tmp_path}/net.py:h")


def test_the_example_computes_what_numpy_does():
    example = run_path(str(ROOT / "examples" / "transformer.py"))["layer"]
    generator = np.random.default_rng(0)
    weights = example.__wrapped__.__defaults__[1]
    dims = {n: [int(d) for d in s[4:-1].split(",")] for n, s in weights.items()}
    arrays = {n: (generator.standard_normal(d) / 16).astype(np.float32) for n, d in dims.items()}
    x = generator.standard_normal((128, 256)).astype(np.float32)
    got = example(x, arrays)

    def normal(v, scale, offset):
        centred = v - v.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + offset

    w = {n: a.astype(np.float64) for n, a in arrays.items()}
    q, k, v = ((x @ w[n]).reshape(128, 4, 64).transpose(1, 0, 2) for n in ("query", "key", "value"))
    scores = q @ k.transpose(0, 2, 1) / 8
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = (powers / powers.sum(-1, keepdims=True)) @ v
    y = normal(
        x + mixed.transpose(1, 0, 2).reshape(128, 256) @ w["output"], w["scale1"], w["offset1"]
    )
    inner = y @ w["dense1"] + w["bias1"]
    inner = 0.5 * inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
    expected = normal(y + inner @ w["dense2"] + w["bias2"], w["scale2"], w["offset2"])
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)
