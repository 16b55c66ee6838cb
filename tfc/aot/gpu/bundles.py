"""Bundles: programs for several GPUs with their code and constants, in one archive; the loader.

module ─compile, for each architecture─► steps, PTX ─ptxas─► cubin ─► NAME.gpu, NAME_gpu.py
"""

import ast
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tfc.aot.gpu.loader.bundles import FORMAT
from tfc.aot.gpu.manifest import Json, interface_of, steps_of
from tfc.aot.signature import Signature
from tfc.backends.gpu.assembler.cubins import assemble
from tfc.backends.gpu.assembler.programs import has_program
from tfc.backends.gpu.executable import GpuExecutable

LOADER_PARTS = (
    "tfc.aot.gpu.loader.bundles",
    "tfc.backends.gpu.driver.contexts",
    "tfc.backends.gpu.driver.descriptors",
    "tfc.aot.gpu.loader.drivers",
    "tfc.aot.gpu.loader.programs",
)
_LOADER = '''\
"""Runs a program that `tfc compile --backend gpu` has compiled.

    from {module} import load

    model = load()                 the bundle {bundle} beside this file; or load("path/to/it.gpu")
    y = model(x)                   arrays of NumPy, or on the GPU (__cuda_array_interface__)

This file is all there is: it needs NumPy, NVIDIA's driver, and one of the packages cuda-bindings
and pycuda; neither tfc nor a compiler. A bundle is a zip archive: manifest.json says what the
program takes, gives and does; the other members are machine code (cubins), PTX, and constants.
"""
'''


@dataclass(frozen=True)
class GpuProgramCode:
    """A program for one architecture.

    cubin: its machine code; empty where there is no assembler.
    ptx: its text, which the driver compiles where there is no machine code for a GPU; "" for none.
    """

    architecture: str
    steps: list[Json]
    arena: int
    constants: bytes
    cubin: bytes = b""
    ptx: str = ""


def program_codes(executables: Sequence[tuple[str, GpuExecutable]]) -> list[GpuProgramCode]:
    """The programs of a module for some architectures, the oldest first.

    There is machine code of all where ptxas is found, and PTX of the first; without it PTX of all.

    Raises:
        UnsupportedError: the host runs one of the steps, or ptxas does not know an architecture.
    """
    made, can_assemble = [], has_program("ptxas")
    for number, (architecture, executable) in enumerate(executables):
        ptx = executable.code(architecture)
        made.append(
            GpuProgramCode(
                architecture,
                steps_of(executable),
                executable.assignment.arena_size,
                _constants(executable),
                assemble(ptx, architecture).code if can_assemble else b"",
                ptx if number == 0 or not can_assemble else "",
            )
        )
    return made


def _constants(executable: GpuExecutable) -> bytes:
    pool = np.zeros(executable.assignment.constant_size, np.uint8)
    for offset, literal in executable.assignment.constants:
        pool[offset : offset + literal.bytes.size] = literal.bytes
    return pool.tobytes()


def bundle(
    signature: Signature, programs: Sequence[GpuProgramCode], *, is_compressed: bool = True
) -> bytes:
    """The archive of some programs; the same ones give the same bytes.

    Args:
        is_compressed: whether texts are; not, if the archive is compressed as a whole.
    """
    members: dict[str, bytes] = {}

    def member(kind: str, content: bytes) -> Json:
        digest = hashlib.sha256(content).hexdigest()
        name = f"{digest[:16]}.{kind}"
        members[name] = content
        return {"member": name, "bytes": len(content), "sha256": digest}

    described = []
    for program in programs:
        code = [
            {"kind": kind, "architecture": program.architecture, **member(kind, content)}
            for kind, content in (("cubin", program.cubin), ("ptx", program.ptx.encode()))
            if content
        ]
        described.append({
            "code": code,
            "arena": program.arena,
            "constants": member("constants", program.constants),
            "steps": program.steps,
        })  # fmt: skip
    manifest = {"format": FORMAT, **interface_of(signature), "programs": described}
    text = json.dumps(manifest, indent=1).encode()
    return archive_of({"manifest.json": text, **members}, is_compressed)


def archive_of(members: Mapping[str, bytes], is_compressed: bool) -> bytes:
    """A zip archive; texts are compressed, if that is asked for."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            about = zipfile.ZipInfo(name)  # of 1980: nothing depends on the clock
            is_text = is_compressed and name.endswith((".json", ".ptx"))
            about.compress_type = zipfile.ZIP_DEFLATED if is_text else zipfile.ZIP_STORED
            archive.writestr(about, content)
    return stream.getvalue()


def loader_text(stem: str) -> str:
    """The loader of a bundle `stem`.gpu, as one file of Python."""
    head = _LOADER.format(module=f"{stem}_gpu", bundle=f"{stem}.gpu")
    return one_file(head, LOADER_PARTS)


def one_file(head: str, parts: Sequence[str]) -> str:
    """Modules of tfc that import nothing of it but each other, as one file of Python.

    Args:
        head: what stands before the imports.
        parts: the modules' names, each after those that it imports. No two of them define one name.
    """
    imports: set[str] = set()
    bodies: list[str] = []
    for part in parts:
        spec = find_spec(part)
        assert spec is not None
        assert spec.origin is not None
        text = Path(spec.origin).read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines, end = text.split("\n"), 0
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tfc."):
                end = node.end_lineno or 0
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                end = node.end_lineno or 0
                imports.add(ast.unparse(node))
        bodies.append("\n".join(lines[end:]).strip("\n"))
    return "\n".join([head, *_merged(imports), "", "\n" + "\n\n\n".join(bodies), ""])


def _merged(statements: set[str]) -> list[str]:
    """Imports in order, one statement for each module."""
    names: dict[str, set[str]] = {}
    plain = sorted(s for s in statements if s.startswith("import "))
    for statement in statements - set(plain):
        module, _, imported = statement.removeprefix("from ").partition(" import ")
        names.setdefault(module, set()).update(imported.split(", "))
    own = [s for s in plain if "numpy" not in s]
    others = [f"from {m} import {', '.join(sorted(n))}" for m, n in sorted(names.items())]
    return [*own, *others, "", *(s for s in plain if s not in own)]
