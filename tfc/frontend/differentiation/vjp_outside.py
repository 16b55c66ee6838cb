"""The gradients of what talks to the world: most of it has none, and says what to do instead."""

from tfc.errors import TraceError
from tfc.frontend.differentiation.reverse import Cotangent, nondifferentiable, refused, vjp
from tfc.frontend.tensor import Tensor
from tfc.runtime.functions import callback_title, is_callback

nondifferentiable("after-all", "partition-id", "replica-id", "get-dimension-size")


@vjp("opt-barrier", "add-dependency", "domain", "set-dimension-size")
def _passed_on(g: Tensor, _: Tensor, *operands: Tensor) -> list[Cotangent]:
    return [g, *[None] * (len(operands) - 1)]


refused(
    "what is outside of the program is not differentiated; pass what it transfers as arguments",
    "infeed", "outfeed", "send", "send-done", "recv", "recv-done",
)  # fmt: skip


@vjp("custom-call")
def _custom_call(_: Tensor, y: Tensor, *__: Tensor) -> list[Cotangent]:
    target = y.instruction["custom_call_target"]
    if is_callback(target):
        raise TraceError(
            f"{callback_title(target)} has no derivative: give it one by tfc.custom_jvp or "
            "tfc.custom_vjp, or by the argument grad of tfc.py_func"
        )
    raise TraceError(
        "custom-call has no gradient: its target is opaque (CC-3); differentiate what is around it"
    )


refused(
    "differentiate what each replica computes, and combine the gradients by an all-reduce",
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute",
    "collective-broadcast",
)  # fmt: skip
refused(
    "differentiate the synchronous operation instead",
    "async-start", "async-update", "async-done", "copy-start", "copy-done", "all-reduce-start",
    "all-reduce-done", "all-gather-start", "all-gather-done", "collective-permute-start",
    "collective-permute-done",
)  # fmt: skip
