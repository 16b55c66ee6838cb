"""ai.onnx.ml: ensembles of decision trees, as arrays that all rows walk down together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import ModelFileError, UnsupportedError
from tfc.frontend.control.loops import fori_loop
from tfc.importers.onnx.operators.domains.learning import decided, labels_of, transformed
from tfc.importers.onnx.table import ML, operator

_MODES = {
    "BRANCH_LEQ": lambda x, y: x <= y,
    "BRANCH_LT": lambda x, y: x < y,
    "BRANCH_GTE": lambda x, y: x >= y,
    "BRANCH_GT": lambda x, y: x > y,
    "BRANCH_EQ": lambda x, y: x == y,
    "BRANCH_NEQ": lambda x, y: x != y,
}
_LEAF = "LEAF"


@dataclass(frozen=True)
class _Forest:
    """Nodes of all trees in one array; those of a leaf lead to itself.

    roots: the first node of each tree.
    leaves: what each node adds to the targets, [nodes, targets].
    depth: how many steps lead to every leaf.
    """

    roots: np.ndarray
    feature: np.ndarray
    value: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    modes: tuple[str, ...]
    missing: np.ndarray
    leaves: np.ndarray

    @property
    def depth(self) -> int:
        """The greatest number of steps from a root.

        Raises:
            ModelFileError: there is a circle.
        """
        level = np.unique(self.roots)
        for depth in range(len(self.feature) + 1):
            inner = level[(self.yes[level] != level) | (self.no[level] != level)]
            if not inner.size:
                return depth
            level = np.unique(np.concatenate([self.yes[inner], self.no[inner]]))
        raise ModelFileError("a decision tree has a circle")

    def walk(self, x: Any) -> Any:
        """The leaf of each row in each tree, [rows, trees]."""
        kinds = sorted(set(self.modes) - {_LEAF})
        kind = np.array([kinds.index(m) if m in kinds else 0 for m in self.modes])
        start = tnp.zeros((x.shape[0], 1), np.int32) + self.roots.astype(np.int32)
        feature, yes, no = (v.astype(np.int32) for v in (self.feature, self.yes, self.no))

        def step(_: Any, at: Any) -> Any:
            seen = tnp.take_along_axis(x, tnp.take(feature, at, 0), 1)
            bound = tnp.take(self.value, at, 0)
            here = tnp.take(kind, at, 0)
            goes: Any = False
            for number, name in enumerate(kinds):
                holds = tnp.logical_and(here == number, _MODES[name](seen, bound))
                goes = tnp.logical_or(goes, holds)
            if self.missing.any():
                goes = tnp.logical_or(goes, tnp.isnan(seen) & tnp.take(self.missing, at, 0))
            return tnp.where(goes, tnp.take(yes, at, 0), tnp.take(no, at, 0))

        return fori_loop(0, self.depth, step, start)

    def values(self, x: Any, aggregate: str) -> Any:
        """What the trees' leaves give together, [rows, targets]."""
        found = tnp.take(self.leaves, self.walk(x), 0)  # [rows, trees, targets]
        if aggregate == "AVERAGE":
            return tnp.sum(found, 1) / len(self.roots)
        functions = {"SUM": tnp.sum, "MIN": tnp.min, "MAX": tnp.max}
        return functions[aggregate](found, 1)


def _forest(nodes: dict[str, Any], leaves: dict[str, Any], targets: int, kind: str) -> _Forest:
    """The forest of the attributes of ensembles until version 4.

    Raises:
        ModelFileError: a node leads to one that is not there, or lists have different lengths.
    """
    trees, ids = (np.array(nodes[f"nodes_{k}"], np.int64) for k in ("treeids", "nodeids"))
    place = {key: n for n, key in enumerate(zip(trees.tolist(), ids.tolist()))}
    modes = tuple(nodes["nodes_modes"])
    feature, yes, no = (
        np.array(nodes[f"nodes_{k}"], np.int64)
        for k in ("featureids", "truenodeids", "falsenodeids")
    )
    value = _floats(nodes, "nodes_values")
    if len({len(v) for v in (trees, ids, modes, feature, yes, no, value)}) != 1:
        raise ModelFileError("the lists of a tree ensemble have different lengths")
    to = np.tile(np.arange(len(ids)), (2, 1))
    children: set[int] = set()
    for n, mode in enumerate(modes):
        if mode == _LEAF:
            continue
        for side, other in enumerate((yes[n], no[n])):
            key = int(trees[n]), int(other)
            if key not in place:
                raise ModelFileError(f"a decision tree has no node {other}")
            to[side, n] = place[key]
            children.add(place[key])
    added = np.zeros((len(ids), targets), value.dtype)
    lists = (leaves[f"{kind}_{k}"] for k in ("treeids", "nodeids", "ids"))
    for tree, node, target, weight in zip(*lists, _floats(leaves, f"{kind}_weights")):
        added[place[tree, node], target] += weight
    roots = []
    for tree in dict.fromkeys(trees.tolist()):
        own = [place[tree, node] for node in ids[trees == tree].tolist()]
        roots.append(min(n for n in own if n not in children))
    track = nodes.get("nodes_missing_value_tracks_true") or [0] * len(ids)
    feature = np.where([m == _LEAF for m in modes], 0, feature)
    missing = np.array(track, bool)
    return _Forest(np.array(roots), feature, value, to[0], to[1], modes, missing, added)


def _floats(attributes: dict[str, Any], name: str) -> np.ndarray:
    """Numbers of a list, or of a tensor in its place that may be of float64."""
    tensor = attributes.get(f"{name}_as_tensor")
    return np.array(attributes.get(name) or (), np.float32) if tensor is None else tensor


_NODES = tuple(
    f"nodes_{k}"
    for k in (
        "falsenodeids", "featureids", "hitrates", "hitrates_as_tensor",
        "missing_value_tracks_true", "modes", "nodeids", "treeids", "truenodeids", "values",
        "values_as_tensor",
    )
)  # fmt: skip


def _leaves(kind: str) -> tuple[str, ...]:
    names = ("ids", "nodeids", "treeids", "weights", "weights_as_tensor")
    return tuple(f"{kind}_{k}" for k in names)


def _features(x: Any, forest: _Forest) -> Any:
    """The features in the dtype that they are compared in."""
    return tnp.astype(x if x.ndim > 1 else x[None], forest.value.dtype)


@operator("TreeEnsembleRegressor", domain=ML, attributes=(*_NODES, *_leaves("target")))
def tree_regressor(
    x: Any, *, aggregate_function: str = "SUM", base_values: Any = None,
    base_values_as_tensor: Any = None, n_targets: int = 1, post_transform: str = "NONE",
    **lists: Any,
) -> Any:  # fmt: skip
    """What the leaves of all trees give together."""
    forest = _forest(lists, lists, n_targets, "target")
    made = forest.values(_features(x, forest), aggregate_function)
    base = base_values if base_values_as_tensor is None else base_values_as_tensor
    made = made if base is None else made + np.asarray(base, forest.value.dtype)
    return tnp.astype(transformed(made, post_transform), np.float32)


@operator("TreeEnsembleClassifier", domain=ML, attributes=(*_NODES, *_leaves("class")))
def tree_classifier(
    x: Any, *, base_values: Any = None, base_values_as_tensor: Any = None,
    classlabels_int64s: Any = None, classlabels_strings: Any = None, post_transform: str = "NONE",
    **lists: Any,
) -> Any:  # fmt: skip
    """The class of the greatest sum of leaves, and the scores of all classes."""
    labels = classlabels_int64s or classlabels_strings or ()
    forest = _forest(lists, lists, len(labels), "class")
    scores = forest.values(_features(x, forest), "SUM")
    base = base_values if base_values_as_tensor is None else base_values_as_tensor
    targets = sorted(set(lists["class_ids"]))
    if len(labels) == 2 and len(targets) == 1:  # one number that speaks for the second class
        second = scores[:, targets[0]]
        if base is not None:
            second = second + np.asarray(base, forest.value.dtype).reshape(-1)[-1]
        is_positive = (_floats(lists, "class_weights") >= 0).all()
        bound = 0.5 if is_positive else 0.0
        first = 1 - second if is_positive or post_transform != "NONE" else -second
        if post_transform == "LOGISTIC":
            first = -second
        places = tnp.astype(second > bound, np.int64)
        both = transformed(tnp.stack([first, second], 1), post_transform)
        found = labels_of(places, classlabels_int64s, classlabels_strings)
        return found, tnp.astype(both, np.float32)
    scores = scores if base is None else scores + np.asarray(base, forest.value.dtype)
    found = decided(scores, classlabels_int64s, classlabels_strings)
    return found, tnp.astype(transformed(scores, post_transform), np.float32)


_NEW_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


@operator("TreeEnsemble", since=5, domain=ML)
def tree_ensemble(
    x: Any, *, aggregate_function: int = 1, leaf_targetids: Sequence[int], leaf_weights: Any,
    membership_values: Any = None, n_targets: int = 1, nodes_falseleafs: Sequence[int],
    nodes_falsenodeids: Sequence[int], nodes_featureids: Sequence[int], nodes_hitrates: Any = None,
    nodes_missing_value_tracks_true: Any = None, nodes_modes: Any, nodes_splits: Any,
    nodes_truenodeids: Sequence[int], nodes_trueleafs: Sequence[int], post_transform: int = 0,
    tree_roots: Sequence[int],
) -> Any:  # fmt: skip
    """What the leaves of all trees give together, of nodes and leaves in arrays of their own.

    Raises:
        UnsupportedError: nodes ask for members of a set.
    """
    if membership_values is not None and (np.asarray(nodes_modes) == 6).any():
        raise UnsupportedError("trees with sets of values are not supported")
    count, leaves = len(nodes_featureids), len(leaf_targetids)
    own = np.arange(count, count + leaves)

    def side(to: Sequence[int], is_leaf: Sequence[int]) -> np.ndarray:
        found = np.array(to, np.int64) + np.where(np.array(is_leaf, bool), count, 0)
        if ((found < 0) | (found >= count + leaves)).any():
            raise ModelFileError("a decision tree has no such node")
        return np.concatenate([found, own])

    added = np.zeros((count + leaves, n_targets), nodes_splits.dtype)
    added[own, np.array(leaf_targetids)] = leaf_weights
    modes = (*(_NEW_MODES[m] for m in np.asarray(nodes_modes).tolist()), *[_LEAF] * leaves)
    nothing = np.zeros(leaves)
    track = nodes_missing_value_tracks_true or [0] * count
    forest = _Forest(
        np.array(tree_roots), np.concatenate([np.array(nodes_featureids), nothing]).astype(int),
        np.concatenate([nodes_splits, nothing.astype(nodes_splits.dtype)]),
        side(nodes_truenodeids, nodes_trueleafs), side(nodes_falsenodeids, nodes_falseleafs), modes,
        np.concatenate([np.array(track, bool), nothing.astype(bool)]), added,
    )  # fmt: skip
    how = ("AVERAGE", "SUM", "MIN", "MAX")[aggregate_function]
    made = forest.values(_features(x, forest), how)
    name = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")[post_transform]
    return tnp.astype(transformed(made, name), x.dtype)
