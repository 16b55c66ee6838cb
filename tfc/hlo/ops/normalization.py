"""Batch normalization: training, inference and the gradient of training.

Semantics: BNT-1…4, BNI-1…3 and BNG-1…2 of the operation semantics. Each feature is an index of
`feature_index`, and is reduced over all other dimensions; the variance is divided by their size.
The reference computes in f64 and rounds once.
"""

from collections.abc import Sequence

import numpy as np

from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import Attribute, Call, Op, Value, describe, register, require, require_array
from tfc.hlo.ops.elementwise.families import FLOAT, require_kind
from tfc.hlo.shape import AnyShape, Shape, TupleShape
from tfc.hlo.traits import Accuracy, Category, Cost

Array = np.ndarray


def _require_features(name: str, shapes: Sequence[AnyShape], a: Attributes, rule: str) -> Shape:
    """What the three ask for: a float array, and vectors that have a value for each feature."""
    operand, *vectors = (require_array(name, s) for s in shapes)
    feature = a["feature_index"]
    require_kind(name, operand.element_type, FLOAT)
    require(
        0 <= feature < operand.rank,
        name,
        f"a feature_index within 0..{operand.rank - 1}",
        feature,
        rule,
    )
    require(bool(np.isfinite(np.float32(a["epsilon"]))), name, "a finite epsilon", a["epsilon"])
    expected = Shape(operand.element_type, operand.dims[feature : feature + 1])
    require(
        all(v.is_compatible(expected) for v in vectors),
        name,
        f"vectors {expected.without_layout()} for the features of {operand.without_layout()}",
        describe(vectors),
        rule,
    )
    return expected


def _infer_training(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> TupleShape:
    vector = _require_features("batch-norm-training", shapes, a, "BNT-1")
    return TupleShape((shapes[0], vector, vector))


def _infer_inference(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    _require_features("batch-norm-inference", shapes, a, "BNI-3")
    return shapes[0]


def _infer_grad(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> TupleShape:
    name = "batch-norm-grad"
    vector = _require_features(name, shapes[:4], a, "BNG-1")
    require(
        require_array(name, shapes[0]).is_compatible(shapes[4]),
        name,
        "a grad_output of the operand's shape",
        describe([shapes[0], shapes[4]]),
        "BNG-1",
    )
    return TupleShape((shapes[0], vector, vector))


class _Features:
    """The arithmetic of the formulas: what is summed over, and vectors in the operand's rank."""

    def __init__(self, x: Instruction):
        shape, feature = x.operands[0].array_shape, x["feature_index"]
        self.dtype, self.epsilon = shape.element_type.dtype, float(np.float32(x["epsilon"]))
        self.others = tuple(d for d in range(shape.rank) if d != feature)
        self.spread = [n if d == feature else 1 for d, n in enumerate(shape.dims)]
        self.count = np.float64(shape.size / max(shape.dims[feature], 1))

    def wide(self, *values: Array) -> list[Array]:
        """The values in f64; vectors of a feature broadcast along the operand."""
        return [v.astype(np.float64).reshape(self.spread if v.ndim == 1 else v.shape)
                for v in values]  # fmt: skip

    def sum(self, value: Array) -> Array:
        """The sum for each feature."""
        return value.sum(self.others, keepdims=True)

    def rounded(self, *values: Array) -> tuple[Array, ...]:
        """The results in the operand's type, vectors with one dimension."""
        return tuple(v.astype(self.dtype) for v in values)


def _normalize(f: _Features, x: Array, scale: Array, offset: Array, mean: Array, variance: Array):
    return scale * (x - mean) / np.sqrt(variance + f.epsilon) + offset


def _evaluate_training(x: Instruction, values: Sequence[Value], _: Call) -> Value:
    f = _Features(x)
    operand, scale, offset = f.wide(*values)
    with np.errstate(all="ignore"):
        mean = f.sum(operand) / f.count
        variance = f.sum((operand - mean) ** 2) / f.count
        result = _normalize(f, operand, scale, offset, mean, variance)
        return f.rounded(result, mean.reshape(-1), variance.reshape(-1))


def _evaluate_inference(x: Instruction, values: Sequence[Value], _: Call) -> Value:
    f = _Features(x)
    with np.errstate(all="ignore"):
        operand, *vectors = f.wide(*values)
        return f.rounded(_normalize(f, operand, *vectors))[0]


def _evaluate_grad(x: Instruction, values: Sequence[Value], _: Call) -> Value:
    f = _Features(x)
    operand, scale, mean, variance, grad = f.wide(*values)
    with np.errstate(all="ignore"):
        centred, guarded = operand - mean, variance + f.epsilon
        coefficient = f.sum(grad * centred / guarded) / f.count
        mean_grad = f.sum(grad) / f.count
        grad_operand = scale / np.sqrt(guarded) * (grad - mean_grad - centred * coefficient)
        grad_scale = f.sum(grad * (centred / np.sqrt(guarded)))
        return f.rounded(grad_operand, grad_scale.reshape(-1), f.sum(grad).reshape(-1))


_ATTRIBUTES = (Attribute("epsilon", "float"), Attribute("feature_index", "int"))
# fmt: off
register(Op("batch-norm-training",  3, _infer_training,  _evaluate_training,  _ATTRIBUTES,
            domain=FLOAT,
            category=Category.OTHER, cost=Cost.OWN, accuracy=Accuracy.APPROXIMATE))
register(Op("batch-norm-inference", 5, _infer_inference, _evaluate_inference, _ATTRIBUTES,
            domain=FLOAT,
            category=Category.OTHER, cost=Cost.OWN, accuracy=Accuracy.APPROXIMATE))
register(Op("batch-norm-grad",      5, _infer_grad,      _evaluate_grad,      _ATTRIBUTES,
            domain=FLOAT,
            category=Category.OTHER, cost=Cost.OWN, accuracy=Accuracy.APPROXIMATE))
# fmt: on
