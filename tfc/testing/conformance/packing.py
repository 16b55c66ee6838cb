"""Compiling cases into a pack: the code, arguments and results of each, unit by unit.

units ─processes: make, evaluate, compile─► groups ─► programs.zip, run.py
"""

import io
import json
import lzma
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tfc.aot.gpu.bundles import LOADER_PARTS, archive_of, bundle, one_file
from tfc.aot.gpu.compiling import gpu_programs
from tfc.aot.gpu.manifest import Json
from tfc.aot.signature import CppClass, signature_of
from tfc.aot.source import with_row_major_entry
from tfc.backends.choices import Preference, asking
from tfc.backends.gpu.driver import using
from tfc.backends.target import Target
from tfc.compiler import compile as compile_module
from tfc.errors import TfcError, UnsupportedError
from tfc.files import write_files
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.hlo.text.printer import print_module
from tfc.options import Options
from tfc.testing.conformance.cases.case import Case, Drawn, Unit
from tfc.testing.conformance.expected import Expected, as_expected, expected_results
from tfc.testing.conformance.runner.checking import sums_of
from tfc.testing.conformance.runner.packs import PACK_FORMAT, PACK_NAME
from tfc.testing.ptx.driver import InterpretedDriver
from tfc.testing.report import reason_of

RUNNER_PARTS = tuple(
    f"tfc.testing.conformance.runner.{part}"
    for part in ("packs", "checking", "worker", "processes", "reports", "running", "main")
)
_HEAD = '''\
"""Runs the programs of a conformance pack on a GPU, and says which gave what they should.

    python {name} --limit-seconds 120 --results conformance.json

This file and {pack} beside it are all there is: it needs NumPy, NVIDIA's driver, and one of the
packages cuda-bindings and pycuda; neither tfc nor a compiler.
"""
'''
_XZ = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 64 << 20}]
_LARGE = 256  # elements, from which on a drawn array is stored as what it is drawn from


@dataclass(frozen=True)
class Forms:
    """Which code a pack has of each program.

    cubins: architectures of which there is machine code of all programs.
    ptx: one of which there is PTX of every `each`-th program, or "".
    every_ptx: architectures of which there is PTX of all, for machines without ptxas.
    """

    cubins: tuple[str, ...] = ("sm_90a",)
    ptx: str = "sm_80"
    each: int = 8
    every_ptx: tuple[str, ...] = ()


@dataclass
class Group:
    """A unit that was compiled."""

    programs: list[Json] = field(default_factory=list)
    content: bytes = b""
    refused: Counter[str] = field(default_factory=Counter)
    defects: list[str] = field(default_factory=list)


@dataclass
class Packed:
    """What was written: how many programs and bytes, and why others are not among them.

    defects: programs that the compiler failed on, and how.
    """

    programs: int = 0
    size: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    defects: list[str] = field(default_factory=list)


def build_pack(
    folder: Path,
    units: Sequence[Unit],
    forms: Forms,
    processes: int = 1,
    progress: Callable[[Packed], None] = lambda packed: None,
) -> Packed:
    """Compile units and write a pack to a folder.

    Raises:
        TfcError: a file cannot be written.
        UnsupportedError: there is no such architecture.
    """
    packed, groups = Packed(), list[Group]()
    for group in _compiled(units, forms, processes):
        packed.programs += len(group.programs)
        packed.refused.update(group.refused)
        packed.defects += group.defects
        packed.size += len(group.content)
        if group.programs:
            groups.append(group)
        progress(packed)
    groups.sort(key=lambda g: g.programs[0]["place"])
    archive = _archive(groups)
    script = _HEAD.format(name="run.py", pack=PACK_NAME)
    text = one_file(script, (*LOADER_PARTS, *RUNNER_PARTS))
    folder.mkdir(parents=True, exist_ok=True)
    write_files((folder / PACK_NAME, archive), (folder / "run.py", text.encode()))
    return replace(packed, size=len(archive) + len(text))


def _compiled(units: Sequence[Unit], forms: Forms, processes: int) -> Any:
    numbered = list(enumerate(units))
    if processes == 1:
        yield from (compile_unit(number, unit, forms) for number, unit in numbered)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for done in as_completed(pool.submit(compile_unit, n, u, forms) for n, u in numbered):
            yield done.result()


def compile_unit(place: int, unit: Unit, forms: Forms) -> Group:
    """Make, evaluate and compile the cases of a unit; what is refused is counted by reason."""
    group, members = Group(), dict[str, bytes]()
    for number, case in enumerate(unit.cases()):
        try:
            about, own = compile_case(case, forms, number % forms.each == 0)
        except UnsupportedError as error:
            group.refused[reason_of(str(error))] += 1
            continue
        except Exception as error:  # whatever it is, the other programs are not concerned
            said = str(error).partition("\n")[0]
            group.defects.append(f"{case.name}: {type(error).__name__}: {said}")
            continue
        if about is None:
            group.refused["it does nothing"] += 1
            continue
        about |= {"place": place, "number": len(group.programs)}
        members |= {f"{about['number']}/{name}": content for name, content in own.items()}
        group.programs.append(about)
    stored = archive_of(members, is_compressed=False)
    group.content = lzma.compress(stored, filters=_XZ) if members else b""
    return group


def compile_case(case: Case, forms: Forms, has_ptx: bool) -> tuple[Json | None, dict[str, bytes]]:
    """What the index says of a case, None if it does nothing, and what its members hold.

    Raises:
        UnsupportedError: some op has no GPU code, or is run by Python.
    """
    variants = compiled_forms(case, forms, has_ptx or bool(case.measured))
    if not variants:
        return None, {}
    arrays, own = case.arrays(), dict[str, bytes]()
    if case.wanted is not None:
        expected = [as_expected(v) for v in case.wanted(*arrays)]
    else:
        expected = expected_results(case.module, arrays, case.tolerance)
    arguments = []
    for number, argument in enumerate(case.arguments):
        about, content = _described(argument)
        arguments.append(about)
        if content:
            own[f"argument{number}"] = content
    results = []
    for number, result in enumerate(expected):
        about, contents = _result(result, case.folded)
        results.append(about)
        own |= {f"{what}{number}": content for what, content in contents.items()}
    if case.measured and forms.ptx:
        for number, array in enumerate(interpreted(case, arrays, forms.ptx)):
            results[number]["interpreted"] = forms.ptx
            own[f"interpreted{number}"] = array.tobytes()
    own["text"] = print_module(case.module).encode()
    about = {
        "name": case.name, "kind": case.kind, "variants": sorted(variants),
        "arguments": arguments, "results": results,
        **({"measured": case.measured, "sums": case.has_sums} if case.measured else {}),
    }  # fmt: skip
    return about, own | variants


def compiled_forms(case: Case, forms: Forms, has_ptx: bool) -> dict[str, bytes]:
    """A case's bundles by the names of their code; none if it does nothing."""
    module, made = with_row_major_entry(case.module), dict[str, bytes]()
    signature = signature_of(module, CppClass((), "Program"))
    texts = (*forms.every_ptx, *([forms.ptx] if has_ptx and forms.ptx else []))
    wanted = [*((a, "cubin") for a in forms.cubins), *((a, "ptx") for a in texts)]
    options = replace(Options.from_environment(), tuned=False)
    for architecture, kind in wanted:
        with asking(Preference(case.prefers)):
            (code,) = gpu_programs(module, [architecture], options)
        if not code.steps:
            return {}
        kept = replace(code, ptx="") if kind == "cubin" else replace(code, cubin=b"")
        if kind == "cubin" and not code.cubin:
            raise TfcError(
                "machine code needs NVIDIA's ptxas: pip install nvidia-cuda-nvcc, or ask for PTX"
            )
        made[f"{architecture}.{kind}"] = bundle(signature, [kept], is_compressed=False)
    return made


def interpreted(case: Case, arrays: Sequence[np.ndarray], architecture: str) -> list[np.ndarray]:
    """What the interpreter of PTX gives for the code of an architecture."""
    options = replace(Options.from_environment(), tuned=False)
    target = Target.parse(f"nvptx64-nvidia-cuda,{architecture}")
    with using(InterpretedDriver(architecture)), asking(Preference(case.prefers)):
        executable = compile_module(case.module, "gpu", options, target)
        return [np.ascontiguousarray(np.asarray(r)) for r in executable(*arrays)]


def _described(argument: np.ndarray | Drawn) -> tuple[Json, bytes]:
    if isinstance(argument, Drawn) and argument.shape.size >= _LARGE:
        name, dims = argument.choices.dtype.name, argument.shape.dims
        choices = argument.choices.tobytes().hex()
        return {"dtype": name, "dims": dims, "seed": argument.seed, "choices": choices}, b""
    array = argument.array() if isinstance(argument, Drawn) else argument
    return {"dtype": array.dtype.name, "dims": array.shape}, array.tobytes() or b""


def _result(result: Expected, folded: bool) -> tuple[Json, dict[str, bytes]]:
    value = np.ascontiguousarray(result.value)
    about: Json = {"dtype": value.dtype.name, "dims": value.shape}
    if folded:
        return about | {"folded": True}, {w: s.tobytes() for w, s in sums_of(value).items()}
    about |= {"relative": result.relative, "absolute": result.absolute}
    about |= {"unit": result.unit, "least": result.least}
    contents = {"result": value.tobytes()}
    if result.allowed is not None:
        about["allowed"], contents["allowed"] = True, result.allowed.tobytes()
    return about, contents


def _archive(groups: Sequence[Group]) -> bytes:
    """The pack's file; the same groups give the same bytes."""
    programs = []
    for number, group in enumerate(groups):
        programs += [{**p, "group": number} for p in group.programs]
        for p in programs[-len(group.programs) :]:
            del p["place"]
    index = {
        "format": PACK_FORMAT, "about": {"programs": len(programs)}, "tables": tables(),
        "programs": programs,
    }  # fmt: skip
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        about = zipfile.ZipInfo("index.json")
        about.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(about, json.dumps(index, separators=(",", ":")))
        for number, group in enumerate(groups):
            archive.writestr(zipfile.ZipInfo(f"{number:03}.xz"), group.content)
    return stream.getvalue()


def tables() -> dict[str, list[str]]:
    """What each pattern of bits means, of the types that NumPy has not and that have 8 bits."""
    found = {}
    for element in ELEMENT_TYPES.values():
        dtype = element.dtype
        if dtype.itemsize == 1 and hasattr(ml_dtypes, dtype.name):
            values = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
            found[dtype.name] = [str(v) for v in values]
    return found
