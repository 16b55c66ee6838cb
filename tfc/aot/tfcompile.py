"""The command `tfcompile`: a graph becomes a C++ header and an object file (AOT-1, AOT-4).

    tfcompile --graph matmul.hlo --cpp_class foo::bar::MatMulComp
    tfcompile --graph model:predict --arg 'f32[1,64]' --cpp_class digits::Classifier

The flags are those of TensorFlow's tfcompile.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from tfc.aot.export import generate
from tfc.aot.load import load
from tfc.aot.signature import CppClass
from tfc.backends.target import Target
from tfc.console import Command, run_command
from tfc.files import write_files


@click.command(cls=Command, context_settings={"max_content_width": 100})
@click.option(
    "--graph",
    required=True,
    metavar="FILE.hlo|MODULE:FUNCTION",
    help="What to compile: HLO text, StableHLO, or a Python function; modules are also looked for "
    "in the current folder.",
)
@click.option(
    "--cpp_class",
    required=True,
    metavar="[NAMESPACE::]CLASS",
    help="The C++ class to generate, such as foo::bar::MatMulComp.",
)
@click.option(
    "--out_header",
    default="out.h",
    show_default=True,
    metavar="FILE",
    help="Where to write the header.",
)
@click.option(
    "--out_object",
    "--out_function_object",
    default="out_model.o",
    show_default=True,
    metavar="FILE",
    help="Where to write the object file.",
)
@click.option(
    "--arg",
    "args",
    multiple=True,
    metavar="SHAPE",
    help="Element type and shape of the function's next argument, such as 'f32[2,3]'.",
)
@click.option(
    "--entry_point",
    metavar="NAME",
    help="The C name of the code in the object, unique in the program that links it; "
    "made of the class's when left out.",
)
@click.option(
    "--target_triple",
    default="",
    metavar="TRIPLE",
    help="LLVM's name of the machine to make code for, such as aarch64-linux-gnu.",
)
@click.option(
    "--target_cpu",
    default="",
    metavar="NAME",
    help="LLVM's name of its processor, such as x86-64-v4, or native for the one at hand; the "
    "least that fits the triple when left out.",
)
@click.option(
    "--target_features",
    default="",
    metavar="LIST",
    help="Features to add and remove, such as +avx2,-fma4.",
)
@click.version_option(package_name="tfc", message="tfcompile (tfc) %(version)s")
def tfcompile(
    graph: str,
    cpp_class: str,
    out_header: str,
    out_object: str,
    args: Sequence[str],
    entry_point: str | None,
    target_triple: str,
    target_cpu: str,
    target_features: str,
) -> None:
    """Compile a graph ahead of time into a C++ header and an object file.

    Without any --target option the code is for machines of this kind in general: on x86-64 for
    x86-64-v3, on aarch64 for armv8-a. With --target_cpu native it uses all that the processor at
    hand offers. On x86-64 Run() fails with a message where the processor lacks what the code is
    made for.
    """
    chosen = CppClass.parse(cpp_class)
    target = _target(target_triple, target_cpu, target_features)
    module = load(graph, args)
    header, code, _ = generate(module, chosen, target, entry_point)
    write_files((Path(out_header), header.encode()), (Path(out_object), code))


def main() -> None:
    """The entry point of the command `tfcompile`."""
    run_command(tfcompile, "tfcompile")


def _target(triple: str, cpu: str, features: str) -> Target:
    if not (triple or cpu or features):
        return Target.portable()
    return Target.parse(f"{triple or Target.host().triple},{cpu},{features}")
