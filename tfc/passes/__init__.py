"""HLO to HLO: the passes by name, and the pipeline that every compilation runs."""

import re
from dataclasses import MISSING, fields
from typing import Any

from tfc.errors import TfcError
from tfc.passes.expand.convolutions import Convolutions
from tfc.passes.expand.dense_collectives import DenseCollectives
from tfc.passes.expand.devices import Devices
from tfc.passes.expand.dots import Dots
from tfc.passes.expand.expand import Expand
from tfc.passes.expand.inline import Flatten, Inline
from tfc.passes.expand.integer_products import IntegerProducts
from tfc.passes.expand.selections import Selections
from tfc.passes.expand.split_operands import SplitOperands
from tfc.passes.expand.split_products import SplitProducts
from tfc.passes.fusion.attention import AttentionFusion
from tfc.passes.fusion.element_loops import ElementLoops
from tfc.passes.fusion.epilogues import EpilogueFusion
from tfc.passes.fusion.fusion import Fusion
from tfc.passes.fusion.horizontal import Horizontal
from tfc.passes.fusion.kernel_kinds import LOOPS_ONLY, KernelKinds
from tfc.passes.fusion.loop_kernels import LoopKernels
from tfc.passes.fusion.masks import Masks
from tfc.passes.fusion.multi_output import MultiOutput
from tfc.passes.fusion.number_tables import NumberTables
from tfc.passes.fusion.rows import RowFusion
from tfc.passes.fusion.widenings import Widenings
from tfc.passes.fusion.window_edges import WindowEdges
from tfc.passes.layout.arg_extremes import ArgExtremes
from tfc.passes.layout.dot_merger import DotMerger
from tfc.passes.layout.layout import Layouts
from tfc.passes.layout.shared_reductions import SharedReductions
from tfc.passes.layout.split_reductions import SplitReductions
from tfc.passes.layout.stated_layouts import StatedLayouts
from tfc.passes.layout.sums_together import SumsTogether
from tfc.passes.loops.conditionals import Conditionals
from tfc.passes.loops.input_projections import InputProjections
from tfc.passes.loops.known_trip_counts import TripCounts
from tfc.passes.loops.licm import Licm
from tfc.passes.loops.loop_simplify import LoopSimplify
from tfc.passes.loops.unroll import Unroll
from tfc.passes.loops.value_range_propagation import ValueRangePropagation
from tfc.passes.memory.collective_order import CollectiveOrder
from tfc.passes.memory.copies import Copies
from tfc.passes.memory.overlap import Overlap
from tfc.passes.memory.remat import Remat
from tfc.passes.memory.schedule import Schedule
from tfc.passes.pipeline import Ordering, Pass, Pipeline, PipelineReport, Repeat
from tfc.passes.simplify.cse import Cse
from tfc.passes.simplify.dce import Dce
from tfc.passes.simplify.dead_results import DeadResults
from tfc.passes.simplify.fold import Fold
from tfc.passes.simplify.simplify import Simplify
from tfc.passes.simplify.sinking import Sinking
from tfc.passes.spmd.spmd import Spmd

__all__ = [
    "ORDERINGS",
    "PASSES",
    "KernelKinds",
    "Pass",
    "Pipeline",
    "PipelineReport",
    "Repeat",
    "default_pipeline",
    "parse_passes",
]

_LAUNCH_BYTES = 1 << 22  # that a GPU moves in the time that starting a kernel takes

_MADE = (
    StatedLayouts,
    Inline,
    Spmd,
    Expand,
    Devices,
    DenseCollectives,
    CollectiveOrder,
    IntegerProducts,
    SplitProducts,
    Convolutions,
    Dots,
    SplitOperands,
    Simplify,
    Sinking,
    DeadResults,
    Fold,
    Cse,
    Dce,
    Conditionals,
    LoopSimplify,
    ValueRangePropagation,
    Licm,
    Unroll,
    InputProjections,
    TripCounts,
    Selections,
    DotMerger,
    Layouts,
    SumsTogether,
    SharedReductions,
    ArgExtremes,
    SplitReductions,
    ElementLoops,
    AttentionFusion,
    Widenings,
    Masks,
    EpilogueFusion,
    WindowEdges,
    RowFusion,
    Fusion,
    MultiOutput,
    Horizontal,
    NumberTables,
    Flatten,
    Copies,
    Schedule,
    LoopKernels,
    Overlap,
    Remat,
)
PASSES: dict[str, Any] = {made.name: made for made in _MADE}

ORDERINGS: tuple[Ordering, ...] = (
    ("stated-layouts", "inline", "a callee's layouts are forgotten with its call"),
    ("inline", "fusion", "a call hides producers from their consumers"),
    ("inline", "flatten", "inlining a call twice gives its loops two callers"),
    ("expand", "convolutions", "expansions may contain convolutions"),
    ("expand", "integer-products", "expansions may contain products"),
    ("inline", "integer-products", "a call hides what makes an operand"),
    ("integer-products", "convolutions", "operands are found before they are moved"),
    ("expand", "split-products", "expansions may contain products"),
    ("split-products", "convolutions", "what is moved is narrow then"),
    ("split-products", "dots", "what is moved is narrow then"),
    ("integer-products", "dots", "operands are found before they are moved"),
    ("convolutions", "dots", "some convolutions are dots"),
    ("expand", "dots", "expansions may contain dots"),
    ("expand", "devices", "an asynchronous collective becomes a plain one"),
    ("expand", "split-operands", "expansions may contain sorts and concatenates"),
    ("split-operands", "fusion", "what fuses is the parts"),
    ("dead-results", "selections", "what nobody reads is no reason to sort all elements"),
    ("expand", "selections", "a topk that selects stays"),
    ("selections", "layout", "it takes rows along the last dimension, in row-major order"),
    ("selections", "fusion", "what is read of a sort is seen in its parts"),
    ("dots", "fusion", "the transposes of operands fuse with what makes them"),
    ("dots", "dot-merger", "dots are compared in canonical form"),
    ("dot-merger", "layout", "the merged dot is one more whose layout is chosen"),
    ("dot-merger", "epilogues", "what follows one of two merged dots is no epilogue of theirs"),
    ("dots", "epilogues", "an epilogue hides the dot that it belongs to"),
    ("convolutions", "epilogues", "an epilogue hides the convolution that it belongs to"),
    ("simplify", "epilogues", "rules see only the parts of a computation that was fused apart"),
    ("simplify", "element-loops", "a turn is seen in its parts, in simple form"),
    ("trip-counts", "element-loops", "how often a loop runs is written into what is no kernel"),
    ("layout", "sums-together", "what lies otherwise for other reasons is seen"),
    ("sums-together", "epilogues", "a copy becomes part of what makes an operand"),
    ("layout", "element-loops", "threads read what lies side by side"),
    ("element-loops", "fusion", "a turn is seen in its parts"),
    ("element-loops", "rows", "a turn is seen in its parts"),
    ("element-loops", "epilogues", "a turn is seen in its parts"),
    ("simplify", "attention", "only simple forms of its parts are known"),
    ("cse", "attention", "a value computed twice has other users than those of each"),
    ("attention", "epilogues", "a product takes what is between both products"),
    ("attention", "rows", "rows take the softmax"),
    ("cse", "widenings", "equal conversions become one"),
    ("cse", "shared-reductions", "equal arrays become one"),
    ("simplify", "shared-reductions", "simplify makes one reduction of two"),
    ("attention", "shared-reductions", "its parts are known by what they share"),
    ("shared-reductions", "widenings", "a copy for each reader is another array"),
    ("shared-reductions", "split-reductions", "two reductions of one array are seen"),
    ("shared-reductions", "rows", "a row's reduction is a first step"),
    ("cse", "masks", "equal comparisons become one"),
    ("attention", "masks", "its parts are known by what they share"),
    ("masks", "epilogues", "what others compare ends an epilogue"),
    ("attention", "widenings", "its parts are known by what they share"),
    ("widenings", "epilogues", "a conversion that others read ends an epilogue"),
    ("widenings", "rows", "a conversion that others read is stored"),
    ("widenings", "fusion", "a conversion that others read is stored"),
    ("attention", "split-reductions", "long rows are halves of themselves afterwards"),
    ("cse", "epilogues", "a value computed twice has other users than those of each"),
    ("epilogues", "fusion", "loops take the elementwise operations that a product could have"),
    ("layout", "epilogues", "a kernel reads and writes in the layouts that it is formed with"),
    ("simplify", "split-reductions", "simplify makes one reduction of two"),
    ("layout", "arg-extremes", "rows are what lies together"),
    ("arg-extremes", "rows", "both steps are in one kernel of rows"),
    ("layout", "split-reductions", "rows are what lies together"),
    ("split-reductions", "rows", "the first step is a reduction along rows"),
    ("epilogues", "rows", "rows take the elementwise operations that a product could have"),
    ("inline", "loops", "a call in a body hides what it does to the state"),
    ("dots", "input-projections", "only dots of matrices in canonical form are taken out of loops"),
    ("loops", "fusion", "loops are understood from the parts of their conditions and bodies"),
    ("unroll", "input-projections", "a short loop's iterations need no dot in advance"),
    ("trip-counts", "fusion", "conditions are counted before they are fused apart"),
    ("simplify", "fusion", "rules see only the parts of a computation that was fused apart"),
    ("cse", "fusion", "fusion counts users, and equal values have too few each"),
    ("simplify", "rows", "rules see only the parts of a computation that was fused apart"),
    ("cse", "rows", "equal values have too few users each"),
    ("layout", "window-edges", "the kernel is for some layouts of its arrays only"),
    ("window-edges", "fusion", "loops take the padding and the slice that windows could have"),
    ("rows", "fusion", "reductions fused with their producers are no part of larger kernels"),
    ("simplify", "copies", "simplify removes copies"),
    ("convolutions", "layout", "a canonical convolution has transposes around it"),
    ("dots", "layout", "a canonical dot has transposes before it"),
    ("layout", "fusion", "a transpose that moves no byte is not fused"),
    ("cse", "copies", "cse merges copies of one value"),
    ("copies", "schedule", "copies makes computations anew, in an order of its own"),
    ("expand", "collective-order", "expansions order effects as they are in the text"),
    ("devices", "dense-collectives", "a group of one is no collective any more"),
    ("expand", "dense-collectives", "an asynchronous collective becomes a plain one"),
    ("dense-collectives", "collective-order", "it makes two collectives of some"),
    ("dense-collectives", "split-operands", "what is gathered is cut in parts"),
    ("devices", "collective-order", "a group of one is no collective any more"),
    ("schedule", "overlap", "it begins with an order that needs little memory"),
    ("loop-kernels", "overlap", "steps are moved as they are to run"),
    ("overlap", "remat", "what is needed at one time depends on the order"),
    ("schedule", "remat", "what is needed at one time depends on the order"),
    ("flatten", "schedule", "flatten makes computations anew, in an order of its own"),
    ("schedule", "loop-kernels", "what runs in a kernel is ordered as steps are, which it was"),
    ("copies", "loop-kernels", "values that change places are copied while they are steps"),
    ("flatten", "loop-kernels", "each loop's computations are its kernel's own"),
    ("multi-output", "loop-kernels", "an iteration runs kernels, which must be formed"),
    ("fusion", "loop-kernels", "an iteration runs kernels, which must be formed"),
    ("loop-kernels", "remat", "what an iteration needs is scratch memory of its kernel"),
    ("multi-output", "number-tables", "kernels are compared as they are to be"),
    ("horizontal", "number-tables", "kernels are compared as they are to be"),
    (
        "number-tables",
        "flatten",
        "a loop that is copied for each caller has its kernels compared once",
    ),
    ("fusion", "multi-output", "only kernels are merged, not their parts"),
    ("multi-output", "horizontal", "what shares elements is merged first"),
    ("horizontal", "copies", "a copy must stay the last thing that happens to a loop's state"),
    ("multi-output", "copies", "a copy must stay the last thing that happens to a loop's state"),
    ("fusion", "copies", "a copy must stay the last thing that happens to a loop's state"),
)


def default_pipeline(
    exact: bool = True,
    max_instructions: int = 128,
    kinds: KernelKinds = LOOPS_ONLY,
    memory_limit: int = 0,
) -> Pipeline:
    """The passes that make a module ready for a backend.

    Args:
        kinds: what the backend has code for.
        exact: keep every bit of the module's meaning.
        max_instructions: how much code a fusion may become.
        memory_limit: the bytes above which values are computed again; 0 for no limit.
    """
    simplify, fold = Simplify(exact=exact), Fold(narrow_floats=kinds.narrow_products)
    simple = (simplify, Sinking(), DeadResults(), fold, Cse(), Dce())
    hoisting = (Licm(), Unroll(), InputProjections())
    control = (Conditionals(), LoopSimplify(), ValueRangePropagation(), *hoisting)
    in_transit = kinds.reduces_in_transit
    layouts = (
        *((Layouts(kinds.takes_layouts),) if kinds.takes_layouts else ()),
        *((SumsTogether(kinds.takes_sums_together),) if kinds.takes_sums_together else ()),
    )
    return Pipeline(
        "default",
        (
            StatedLayouts(),
            Inline(),
            Spmd(),
            Expand(kinds.selections, kinds.takes_transform),
            Devices(),
            *((DenseCollectives(in_transit),) if in_transit else ()),
            CollectiveOrder(),
            *((IntegerProducts(),) if kinds.byte_products else ()),
            *((SplitProducts(),) if kinds.splits_products else ()),
            Convolutions(),
            Dots(kinds.narrow_products),
            SplitOperands(),
            Repeat((*simple, *control)),
            TripCounts(),
            *((Selections(),) if kinds.selections else ()),
            DotMerger(),
            *layouts,
            *((Repeat((simplify, fold, Cse(), Dce())),) if layouts else ()),
            *_forming_kernels(max_instructions, kinds),
            Flatten(),
            Copies(),
            Schedule(),
            *((LoopKernels(),) if kinds.whole_loops else ()),
            *((Overlap(),) if kinds.begins_collectives else ()),
            *([Remat(memory_limit)] if memory_limit else []),
        ),
        ORDERINGS,
    )


def _forming_kernels(max_instructions: int, kinds: KernelKinds) -> tuple[Pass, ...]:
    """The passes that put together what becomes one kernel."""
    launch = _LAUNCH_BYTES if kinds.launch_overhead else 0
    several = MultiOutput(reducing_stores=kinds.reducing_stores, launch_bytes=launch)
    epilogues = EpilogueFusion(
        narrow_floats=kinds.narrow_products,
        instructions_a_byte=kinds.instructions_a_byte,
        several_results=kinds.epilogue_results,
        takes_slices=kinds.launch_overhead,
    )
    return (
        *((ElementLoops(),) if kinds.element_loops else ()),
        *((AttentionFusion(kinds.takes_attention),) if kinds.takes_attention else ()),
        SharedReductions(),
        *((Widenings(),) if kinds.narrow_products else ()),
        *((ArgExtremes(), SplitReductions()) if kinds.row_steps else ()),
        *((Masks(), epilogues) if kinds.epilogues else ()),
        *((WindowEdges(kinds.takes_edges),) if kinds.takes_edges else ()),
        *_row_fusion(max_instructions, kinds),
        Fusion(max_instructions, kinds.instructions_a_byte),
        *((several,) if kinds.several_results else ()),
        *((Horizontal(),) if kinds.launch_overhead else ()),
        *((NumberTables(),) if kinds.equal_once else ()),
    )


def _row_fusion(max_instructions: int, kinds: KernelKinds) -> tuple[Pass, ...]:
    if not kinds.rows:
        return ()
    longer = kinds.takes_longer_row or (lambda plan: False)
    narrow, rate = kinds.narrow_products, kinds.instructions_a_byte
    return (RowFusion(max_instructions, kinds.longest_row, longer, narrow, rate),)


def parse_passes(text: str) -> tuple[Pass, ...]:
    """The passes named in text such as `simplify,fusion{max_instructions=8}`.

    Raises:
        TfcError: a pass or option does not exist, or a value does not fit; the message lists what
            there is.
    """
    found = []
    for part in re.findall(r"[^,{\s]+\s*(?:\{[^}]*\})?|[{}]", text):
        name, _, stated = part.partition("{")
        made = PASSES.get(name.strip())
        if made is None:
            listed = ", ".join(PASSES)
            raise TfcError(f"there is no pass '{name.strip() or part}'; there are {listed}")
        found.append(made(**_parse_options(made, stated.rstrip("}"))))
    return tuple(found)


def _parse_options(made: Any, text: str) -> dict[str, Any]:
    known = {f.name: f for f in fields(made) if f.default is not MISSING}
    options = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, _, value = (p.strip() for p in part.partition("="))
        if key not in known:
            listed = ", ".join(known) or "none"
            raise TfcError(f"{made.name} has no option '{key}'; there are {listed}")
        options[key] = _parse_value(f"{made.name}{{{key}}}", value, known[key].default)
    return options


def _parse_value(option: str, text: str, default: object) -> object:
    """The value in text, of the type of the option's default."""
    if isinstance(default, bool):
        if text not in ("true", "false"):
            raise TfcError(f"{option} must be true or false, got '{text}'")
        return text == "true"
    if isinstance(default, int):
        if not re.fullmatch(r"\d+", text):
            raise TfcError(f"{option} must be a whole number, got '{text}'")
        return int(text)
    return text
