"""The source distribution and the wheel: made, installed by themselves, and used."""

import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

ROOT = Path(__file__).parent.parent
MADE = ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "tfc-fuzz")


def run(*command: object, where: Path) -> str:
    done = subprocess.run(
        [str(c) for c in command], cwd=where, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both; the wheel is made of what the source distribution has."""
    folder = tmp_path_factory.mktemp("package")
    copytree(ROOT, folder / "source", ignore=MADE)
    run(sys.executable, "-m", "build", "-o", folder / "dist", ".", where=folder / "source")
    return folder / "dist"


def files_of(folder: str) -> set[str]:
    found = (f for f in (ROOT / folder).rglob("*") if f.is_file() and f.suffix != ".pyc")
    return {f.relative_to(ROOT).as_posix() for f in found}


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package_and_no_other(distributions: Path):
    (wheel,) = distributions.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {n for n in names if n.startswith("tfc/")}
    assert package == files_of("tfc")
    assert "tfc/py.typed" in package
    assert {n.partition("/")[0].partition("-")[0] for n in names - package} == {"tfc"}


@pytest.mark.slow
def test_the_source_distribution_has_what_the_tests_need(distributions: Path):
    (archive,) = distributions.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {n.partition("/")[2] for n in opened.getnames()}
    for folder in ("tests", "docs", "examples", "benchmarks"):
        assert files_of(folder) <= names
    assert {"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml"} <= names


@pytest.mark.slow
def test_the_installed_wheel_compiles_and_its_commands_run(distributions: Path, tmp_path: Path):
    (wheel,) = distributions.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    (site,) = (tmp_path / "venv").rglob("site-packages")
    # The libraries that tfc needs are those at hand; a path named so runs no hooks of its own.
    (site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    programs = site.parents[2] / "bin" if (site.parents[2] / "bin").exists() else site.parents[1]
    run(programs / "python", "-m", "pip", "install", "--no-deps", "--quiet", wheel, where=tmp_path)
    (tmp_path / "twice.py").write_text(
        "import numpy as np, tfc\n"
        "def twice(x): return 2 * x\n"
        "print(tfc.__file__)\n"
        "print(tfc.jit(twice)(np.arange(3, dtype=np.float32)))\n"
    )
    place, values = run(programs / "python", "twice.py", where=tmp_path).splitlines()
    assert Path(place).is_relative_to(site)
    assert values == "[0. 2. 4.]"
    assert run(programs / "tfc", "--version", where=tmp_path).split()[-1] in wheel.name
    folder = Path(run(programs / "tfc", "--cmakedir", where=tmp_path).strip())
    assert (folder / "tfcConfig.cmake").is_file()
    (tmp_path / "twice.hlo").write_text(
        "HloModule twice\nENTRY e { x = f32[3] parameter(0)\n ROOT y = f32[3] add(x, x) }\n"
    )
    compile_it = (programs / "tfc", "compile", "twice.hlo", "--cpp-class", "demo::Twice")
    run(*compile_it, where=tmp_path)
    assert {f.suffix for f in tmp_path.glob("*.[oh]")} == {".o", ".h"}
    assert "--cpp_class" in run(programs / "tfcompile", "--help", where=tmp_path)
