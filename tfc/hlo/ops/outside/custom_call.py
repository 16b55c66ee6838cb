"""custom-call: a function outside of the program, called with pointers to the operands.

Semantics: CC-1…CC-3 of the operation semantics and void target(void* out, void** in); see
tfc.runtime.functions. Operands and result are row-major unless operand_layout_constraints gives
the layouts.
"""

from collections.abc import Sequence

from tfc.errors import UnsupportedError
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import Attribute, Call, Op, Value, describe, register, require
from tfc.hlo.shape import AnyShape
from tfc.hlo.specs import spec_of
from tfc.hlo.traits import Accuracy, Category, Cost
from tfc.runtime.functions import custom_call_target

NAME = "custom-call"
ORIGINAL = "API_VERSION_ORIGINAL"
# Targets that only say how values are spread over devices, or where they lie.
ANNOTATIONS = frozenset({
    "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
    "MoveToDevice", "MoveToHost", "xla.sdy.FuncResultSharding", "xla.sdy.GlobalToLocalShape",
    "xla.sdy.LocalToGlobalShape", "xla.sdy.PropagationBarrier",
})  # fmt: skip


def _infer(shapes: Sequence[AnyShape], a: Attributes, stated: AnyShape | None) -> AnyShape:
    require(stated is not None, NAME, "its result shape to be stated", "none")
    assert stated is not None
    layouts = a.get("operand_layout_constraints", tuple(shapes))
    require(
        len(layouts) == len(shapes) and all(a.is_compatible(b) for a, b in zip(layouts, shapes)),
        NAME,
        f"operand_layout_constraints for the operands {describe(shapes)}",
        describe(layouts),
        "CC-1",
    )
    return stated


def is_annotation(x: Instruction) -> bool:
    """Whether a custom call gives its operand as it is, since there is one device.

    Raises:
        UnsupportedError: its result is of another shape, that of a part on one of several devices.
    """
    target = x["custom_call_target"]
    if target not in ANNOTATIONS or len(x.operands) != 1:
        return False
    if not x.operands[0].shape.is_compatible(x.shape):
        raise UnsupportedError(
            f"the custom call '{target}' makes {x.shape.without_layout()} of "
            f"{x.operands[0].shape.without_layout()}, which is for several devices: "
            "export the program for one"
        )
    return True


def require_callable(x: Instruction) -> None:
    """Check that a custom call is of a kind that can run.

    Raises:
        UnsupportedError: its calling convention is another, or it asks for shared buffers.
    """
    version = x.attributes.get("api_version", ORIGINAL)
    target = x["custom_call_target"]
    if version != ORIGINAL:
        raise UnsupportedError(
            f"the custom call '{target}' has {version}, which is not supported: "
            f"write its target as void target(void* out, void** in), which is {ORIGINAL}"
        )
    if "output_to_operand_aliasing" in x.attributes:
        raise UnsupportedError(
            f"the custom call '{target}' has output_to_operand_aliasing, which is not supported: "
            "let its target copy what it changes"
        )


def _evaluate(x: Instruction, values: Sequence[Value], _: Call) -> Value:
    if is_annotation(x):
        return values[0]
    require_callable(x)
    return custom_call_target(x["custom_call_target"])(values, spec_of(x.shape))


# fmt: off
register(Op(NAME, None, _infer, _evaluate, (
    Attribute("window", "raw", required=False),
    Attribute("dim_labels", "raw", required=False),
    Attribute("feature_group_count", "int", required=False, default=1),
    Attribute("batch_group_count", "int", required=False, default=1),
    Attribute("operand_precision", "raw", required=False),
    Attribute("padding_type", "name", required=False),
    Attribute("custom_call_target", "string"),
    Attribute("operand_layout_constraints", "shapes", required=False),
    Attribute("custom_call_has_side_effect", "bool", required=False, default=False),
    Attribute("literal", "literal", required=False),
    Attribute("output_to_operand_aliasing", "raw", required=False),
    Attribute("schedule", "name", required=False, default="SCHEDULE_NONE"),
    Attribute("api_version", "name", required=False, default=ORIGINAL),
    Attribute("to_apply", "computation", required=False),
    Attribute("called_computations", "computations", required=False),
), needs_shape=True, side_effect=lambda a: a.get("custom_call_has_side_effect", False),
            category=Category.OTHER, cost=Cost.OWN, accuracy=Accuracy.APPROXIMATE))
# fmt: on
