"""The command `tfcompile`: a graph becomes a C++ header and an object file (AOT-1, AOT-4).

    tfcompile --graph matmul.pb --config matmul.config.pbtxt --cpp_class foo::bar::MatMulComp
    tfcompile --graph matmul.hlo --cpp_class foo::bar::MatMulComp
    tfcompile --graph model:predict --arg 'f32[1,64]' --cpp_class digits::Classifier

The flags are those of TensorFlow's tfcompile; docs/tfcompile.md has what each means here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tfc.aot.batches.options import batch_options, report_batches
from tfc.aot.batches.programs import Asked, programs
from tfc.aot.bindings.languages import binding_files, bindings_option
from tfc.aot.description import constants_object, description, metadata_object
from tfc.aot.export import Features, generate, module_in, with_stored_weights
from tfc.aot.flags.compatible import compatible_flags
from tfc.aot.flags.xla import XlaCommand
from tfc.aot.graphs import (
    fetch_nodes,
    is_graph,
    is_saved_model,
    read_graph,
    read_saved_model,
)
from tfc.aot.interface import Batched, Interface
from tfc.aot.libraries import archive, shared_object
from tfc.aot.load import load_sized
from tfc.aot.processors import chosen_targets
from tfc.aot.signature import CppClass
from tfc.backends.interfaces import Constants
from tfc.backends.target import Target
from tfc.console import run_command, sizes_given
from tfc.errors import TfcError
from tfc.files import write_files
from tfc.hlo.ir import Module
from tfc.options import Options
from tfc.quantization.weights import Storage

# The header of tfc::ThreadPool.
THREAD_POOL = Path(__file__).parent / "thread_pool.h"
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


_SOME_THREADS = 8
_STATED = click.core.ParameterSource.COMMANDLINE


def _text(name: str, metavar: str, help: str, **more: Any) -> Decorator:
    return click.option(name, metavar=metavar, help=help, **more)


def _switch(name: str, help: str) -> Decorator:
    """A flag that is given alone, or as --flag=true and --flag=false."""
    return click.option(
        name, type=click.BOOL, is_flag=False, flag_value="true", default="false", metavar="[BOOL]",
        help=help,
    )  # fmt: skip


_INPUTS = (
    click.option(
        "--graph", "--dir", metavar="FILE.pb|FILE.pbtxt|FOLDER|FILE.hlo|MODULE:FUNCTION",
        help="What to compile: a GraphDef, for which --config says what of it, the folder of a "
        "SavedModel, HLO text, StableHLO, ONNX, or a Python function; modules are also looked for "
        "in the current folder.",
    ),
    _text(
        "--config", "FILE.pb|FILE.pbtxt",
        "A tf2xla.Config: the feeds, which are the arguments, the fetches, which are the results, "
        "and the variables. Text if its name ends with .pbtxt.",
    ),
    _text(
        "--arg", "SHAPE",
        "Element type and shape of a Python function's next argument, such as 'f32[2,3]'.",
        multiple=True,
    ),
    _text("--tag_set", "TAG,…", "Which graph of a SavedModel; serve when left out."),
    _text("--signature_def_key", "NAME",
          "Which signature of a SavedModel; serving_default when left out. Its inputs are called "
          "feed_NAME and its outputs fetch_NAME."),
    _text("--variables_to_feed", "NODE,…|all",
          "Which variables of a SavedModel the class keeps as state, called param_NODE; others are "
          "constants.", default=""),
    _text("--checkpoint_path", "PREFIX",
          "The checkpoint with the values of variables, without the endings of its files: of a "
          "SavedModel its own when left out; of a GraphDef, variables that --config does not state "
          "become constants."),
    _switch("--initial_values",
            "Let variables that are state begin as what the checkpoint holds, not with zeros."),
    _text("--shape", "NAME=1,224,224,3",
          "The sizes of a SavedModel's input that are open in the file; -1 for its batch.",
          multiple=True),
    _switch(
        "--dump_fetch_nodes",
        "Print the nodes that --config fetches, with commas between them, and do nothing else.",
    ),
)  # fmt: skip
_OUTPUTS = (
    _text(
        "--cpp_class", "[NAMESPACE::]CLASS",
        "The C++ class to generate, such as foo::bar::MatMulComp.",
    ),
    _text("--out_header", "FILE", "Where to write the header.",
          default="out.h", show_default=True),
    click.option("--out_object", "--out_function_object", metavar="FILE",
                 help="Where to write the object file.", default="out_model.o", show_default=True),
    _text("--output_prefix", "PREFIX",
          "Write PREFIX.h, PREFIX.o and PREFIX_metadata.o, but for those that have an option of "
          "their own."),
    click.option("--out_weights", "--weights-file", metavar="FILE",
                 help="Where to write the constants as a file of their own, which the class maps "
                 "into memory by LoadWeights()."),
    _text("--out_constant_buffers_object", "FILE",
          "Where to write an object file with the constants, to be linked beside the other."),
    _text("--out_archive", "FILE.a", "Where to write a static library of the object file."),
    _text("--out_shared_object", "FILE.so", "Where to write a shared library of it; for this kind "
          "of machine alone, by its C compiler."),
    _text("--soname", "NAME", "What programs linked with the shared library ask for by name."),
    _text(
        "--out_metadata_object", "FILE",
        "Where to write an object file with the program's description (see --out_json) as the "
        "string ENTRY_POINT_metadata; none is written when left out, and none is needed.",
    ),
    _text("--out_json", "FILE",
          "Where to write the signature, sizes, target and digest of the object file as JSON."),
    _text("--out_session_module", "FILE",
          "Where to write the program as HLO text, which `tfc run` takes."),
    _text("--out_thread_pool", "FILE",
          "Where to write a header with a small pool of threads, to give to set_thread_pool()."),
    bindings_option,
    _text(
        "--entry_point", "NAME",
        "The C name of the code in the object, unique in the program that links it; made of the "
        "class's when left out.",
    ),
    _switch("--gen_name_to_index", "Let the class tell the index of an argument, variable or "
            "result by its name."),
    _switch("--gen_program_shape", "Let the class tell the program's shape."),
    _switch("--xla_hlo_profile", "Let the class count the time that each kernel takes."),
    click.option("-O", "optimize", type=click.Choice(["speed", "size"]), default="speed",
                 show_default=True, help="What the code is to be good at."),
    click.option("--quantize_weights", type=click.Choice(["int8", "f16"]),
                 help="Store weights of products in so few bits, and say what that changes."),
    click.option("--threads", type=int, default=1, metavar="N", show_default=True,
                 help="Share large kernels among at most so many threads, of a pool that the "
                 "program gives to set_thread_pool()."),
    _switch("--multithreading", f"The same as --threads {_SOME_THREADS}."),
)  # fmt: skip
_TARGETS = (
    _text("--target_triple", "TRIPLE",
          "LLVM's name of the machine to make code for, such as aarch64-linux-gnu.", default=""),
    _text("--cpu", "NAME,…",
          "LLVM's names of its processors to make code for, such as x86-64,x86-64-v4, or native "
          "for the one at hand: Run() takes the code for the last of them, in the order of what "
          "they need, that the processor can run. When left out, x86-64,x86-64-v3,x86-64-v4 on "
          "x86-64, and else the least that fits the triple. Several are for x86-64 alone.",
          default=""),
    _text(
        "--target_cpu", "NAME",
        "LLVM's name of the one processor to make code for, as in --cpu.",
        default="",
    ),
    _text("--target_features", "LIST", "Features to add to it and remove, such as +avx2,-fma4; the "
          "processor is the least that fits the triple if there is no --target_cpu.", default=""),
)  # fmt: skip


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed((*_INPUTS, *_OUTPUTS, *_TARGETS)):
        command = option(command)
    return command


@click.command(cls=XlaCommand, context_settings={"max_content_width": 100})
@_options
@batch_options
@compatible_flags
@click.version_option(package_name="tfc", message="tfcompile (tfc) %(version)s")
def tfcompile(
    graph: str | None,
    config: str | None,
    arg: Sequence[str],
    tag_set: str | None,
    signature_def_key: str | None,
    variables_to_feed: str,
    shape: Sequence[str],
    checkpoint_path: str | None,
    initial_values: bool,
    asked: Asked | None,
    dump_fetch_nodes: bool,
    cpp_class: str | None,
    entry_point: str | None,
    target_triple: str,
    cpu: str,
    target_cpu: str,
    target_features: str,
    gen_name_to_index: bool,
    gen_program_shape: bool,
    xla_hlo_profile: bool,
    optimize: str,
    quantize_weights: Storage | None,
    threads: int,
    bindings: Sequence[str],
    options: Options,
    multithreading: bool,
    output_prefix: str | None,
    **outputs: str | None,
) -> None:
    """Compile a graph ahead of time into a C++ header and an object file.

    Unless told the code is for machines of this kind in general, and never for the one at hand
    alone: on x86-64 there are versions for any processor, for those with AVX2 (x86-64-v3) and for
    those with AVX-512 (x86-64-v4), of which the first Run() chooses one; on aarch64 it is for
    armv8-a. Versions differ in the last bits of results, as from x86-64-v3 on product and sum are
    rounded once. With --cpu native the code uses all that the processor at hand offers. On x86-64
    Run() fails with a message where the processor lacks what all of the code is made for.
    """
    if dump_fetch_nodes:
        click.echo(fetch_nodes(_required("--config", config)))
        return
    graph, name = _required("--graph", graph), _required("--cpp_class", cpp_class)
    chosen = CppClass.parse(name)
    threads = max(threads, _SOME_THREADS) if multithreading else threads
    outputs = _with_prefix(outputs, output_prefix)
    targets = _targets(target_triple, cpu, target_cpu, target_features)
    features = Features(
        gen_name_to_index, gen_program_shape, threads, xla_hlo_profile, optimize == "size",
        _place_of_constants(outputs),
    )  # fmt: skip
    flags = SavedModelFlags(
        tag_set, signature_def_key, variables_to_feed, tuple(shape), checkpoint_path,
        initial_values,
    )  # fmt: skip
    source = _source(graph, config, arg, flags, asked)
    if quantize_weights is not None:
        source, changed = with_stored_weights(source, quantize_weights)
        click.echo(changed)
    _write(source, chosen, targets, entry_point, features, options, bindings, outputs)


def main() -> None:
    """The entry point of the command `tfcompile`."""
    run_command(tfcompile, "tfcompile")


def _with_prefix(outputs: dict[str, str | None], prefix: str | None) -> dict[str, str | None]:
    """The names of files, of a prefix where no option names them."""
    if prefix is None:
        return outputs
    ends = {"out_header": ".h", "out_object": ".o", "out_metadata_object": "_metadata.o"}
    context = click.get_current_context()
    stated = {name for name in ends if context.get_parameter_source(name) is _STATED}
    return outputs | {name: prefix + end for name, end in ends.items() if name not in stated}


def _required(option: str, value: str | None) -> str:
    if value is None:
        raise click.UsageError(f"Missing option '{option}'.", click.get_current_context())
    return value


@dataclass(frozen=True)
class SavedModelFlags:
    """Flags of saved_model_cli: what to compile of a SavedModel."""

    tag_set: str | None
    signature_def_key: str | None
    variables_to_feed: str
    shape: tuple[str, ...]
    checkpoint_path: str | None
    initial_values: bool

    def __bool__(self) -> bool:
        return any((self.tag_set, self.signature_def_key, self.variables_to_feed, self.shape))

    def read(self, folder: str, batch: int | None = None) -> Interface:
        """The signature that they mean, for a batch of a size."""
        sizes = dict(map(sizes_given, self.shape))
        shapes = {name: (n,) if isinstance(n, int) else tuple(n) for name, n in sizes.items()}
        return read_saved_model(
            folder, self.tag_set, self.signature_def_key, self.variables_to_feed, shapes, batch,
            self.checkpoint_path, self.initial_values,
        )  # fmt: skip


def _source(
    graph: str, config: str | None, args: Sequence[str], flags: SavedModelFlags, asked: Asked | None
) -> Module | Interface | Batched:
    """What to compile.

    Raises:
        TfcError: the flags do not go together.
    """
    if args and (config is not None or is_saved_model(graph)):
        raise TfcError("--arg is for Python functions: what is fed has its shape already")
    if is_saved_model(graph) and config is None:
        if flags.initial_values and not flags.variables_to_feed:
            raise TfcError("--initial_values is of variables: give --variables_to_feed")
        return _sized(lambda size: flags.read(graph, size), asked)
    if flags.initial_values and not flags.checkpoint_path:
        raise TfcError("--initial_values are those of a checkpoint: give --checkpoint_path")
    if flags:
        raise TfcError(
            "--tag_set, --signature_def_key, --variables_to_feed and --shape are for the folder of "
            f"a SavedModel, got {graph}"
        )
    if is_graph(graph) and config is None:
        raise TfcError(f"{graph} is a GraphDef by its name: give --config, which says what of it")
    if config is None:
        if flags.checkpoint_path or flags.initial_values:
            raise TfcError(
                "--checkpoint_path and --initial_values are for SavedModels, and GraphDefs with "
                f"--config, got {graph}"
            )
        return load_sized(graph, args, asked)
    if not is_graph(graph):
        raise TfcError(
            f"--config is for a GraphDef in a file that ends with .pb or .pbtxt, got {graph}"
        )
    values = flags.checkpoint_path, flags.initial_values
    return _sized(lambda size: read_graph(graph, config, size, *values), asked)


def _sized(
    make: Callable[[int | None], Interface], asked: Asked | None
) -> Module | Interface | Batched:
    """What is made for the sizes of batch that are asked for; for none if none are."""
    return make(None) if asked is None else report_batches(programs(make, asked))


def _write(
    source: Module | Interface | Batched,
    cpp_class: CppClass,
    targets: Sequence[Target],
    entry_point: str | None,
    features: Features,
    options: Options,
    bindings: Sequence[str],
    outputs: dict[str, str | None],
) -> None:
    """Make the files that are asked for."""
    soname = outputs.pop("soname")
    if soname and not outputs["out_shared_object"]:
        raise TfcError("--soname is the name of a shared library: give --out_shared_object, too")
    header, found, signature = generate(source, cpp_class, targets, entry_point, options, features)
    code, target, said = found.code, found.target, description(signature, found)
    module = module_in(source)
    made: dict[str, Callable[[], bytes]] = {
        "out_header": header.encode,
        "out_object": lambda: code,
        "out_weights": lambda: found.constants,
        "out_constant_buffers_object": lambda: constants_object(signature.entry_point, found),
        "out_archive": lambda: archive([("model.o", code)], [signature.entry_point]),
        "out_shared_object": lambda: shared_object(code, soname, target),
        "out_metadata_object": lambda: metadata_object(signature.entry_point, said, target),
        "out_json": said.encode,
        "out_session_module": lambda: str(module).encode(),
        "out_thread_pool": THREAD_POOL.read_bytes,
    }
    files = [(Path(outputs[name] or ""), make()) for name, make in made.items() if outputs[name]]
    header_file = Path(outputs["out_header"] or "out.h")
    for file, content in binding_files(bindings, header_file.stem, signature, target, code):
        files.append((header_file.with_name(file), content))
    write_files(*files)


def _place_of_constants(outputs: dict[str, str | None]) -> Constants:
    """Where constants lie, by the files that are asked for.

    Raises:
        TfcError: they do not go together.
    """
    if not outputs["out_constant_buffers_object"]:
        return Constants.GIVEN if outputs["out_weights"] else Constants.INSIDE
    for other in ("out_weights", "out_shared_object"):
        if outputs[other]:
            raise TfcError(f"give one of --out_constant_buffers_object and --{other}")
    return Constants.LINKED


def _targets(triple: str, cpus: str, cpu: str, features: str) -> tuple[Target, ...]:
    """The machines to make code for.

    Raises:
        TfcError: the flags do not go together.
    """
    if not (cpu or features):
        return chosen_targets(triple or None, cpus)
    if cpus:
        raise TfcError(
            "--cpu names all processors: give it in place of --target_cpu and --target_features"
        )
    return chosen_targets(f"{triple or Target.host().triple},{cpu},{features}")
