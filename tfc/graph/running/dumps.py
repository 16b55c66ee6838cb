"""Pictures of clusters while they are compiled, as TF_XLA_FLAGS=--xla_generate_hlo_graph=.* asks.

    computation cluster_0[_XlaCompiledKernel=true,_XlaNumConstantArgs=0].v9 [CPU:
    pipeline start, before inline]: /tmp/hlo_graph_0.dot

Each stage of a compilation that changed the program and whose title fits the regular expression is
a Graphviz file. They are numbered through the process.
"""

import re
import sys
import tempfile
from dataclasses import replace
from itertools import count
from pathlib import Path

from tfc import compiler
from tfc.backends.interfaces import Executable
from tfc.files import write_files
from tfc.graph.running.state import State
from tfc.hlo.ir import Module
from tfc.options import GraphDumps, Options
from tfc.passes import default_pipeline
from tfc.passes.pipeline import names

_numbers = count()


def compile_with_dumps(module: Module, title: str, state: State) -> Executable:
    """Compile a cluster's module, and write the pictures that the environment asks for.

    Args:
        title: what the cluster is called in them.
    """
    wanted = GraphDumps.from_environment()
    if wanted is None:
        return compiler.compile(module, state.backend)
    options = Options.from_environment()
    with tempfile.TemporaryDirectory(prefix="tfc-") as folder:
        asked = replace(options, dump_dir=folder, dump_as=("dot",), cache_dir="")
        made = compiler.compile(module, state.backend, asked)
        size = len(module.entry.instructions)
        for stage in sorted(Path(folder).glob("*.dot")):
            _keep(stage, f"{title}.v{size} [{state.backend.upper()}: {_stage(stage)}]", wanted)
    return made


def _stage(path: Path) -> str:
    """What TensorFlow calls the stage of a file such as 07.fusion.dot."""
    name = path.stem.partition(".")[2]
    passes = list(names(default_pipeline().passes))
    if name == "input":
        return f"pipeline start, before {passes[0]}"
    following = passes.index(name) + 1 if name in passes else len(passes)
    later = f", before {passes[following]}" if following < len(passes) else ", pipeline end"
    return f"after {name}{later}"


def _keep(path: Path, title: str, wanted: GraphDumps) -> None:
    """Give a picture its number, and print where it is."""
    if not re.search(wanted.pattern, title):
        return
    folder = Path(wanted.folder or tempfile.gettempdir())
    target = folder / f"hlo_graph_{next(_numbers)}.dot"
    write_files((target, path.read_bytes()))
    sys.stdout.write(f"computation {title}: {target}\n")
