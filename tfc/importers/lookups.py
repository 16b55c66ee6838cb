"""Tables whose keys are integers that are known while importing: a search among them in order."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import tfc.numpy as tnp


@dataclass(frozen=True)
class Lookup:
    """What a table holds: keys in order, and the value of each."""

    keys: np.ndarray
    values: np.ndarray

    @staticmethod
    def of(keys: np.ndarray, values: np.ndarray) -> "Lookup":
        """The table of keys in any order; of several that are alike the first counts."""
        order = np.argsort(keys, kind="stable")
        return Lookup(keys[order], values[order])

    def find(self, keys: Any, default: Any) -> Any:
        """The value of each key, or the default."""
        if not self.keys.size:
            return tnp.broadcast_to(default, (*keys.shape, *self.values.shape[1:]))
        places = tnp.searchsorted(self.keys, keys)
        places = tnp.minimum(places, np.asarray(self.keys.size - 1, places.dtype))
        is_there = tnp.take(self.keys, places) == keys
        is_there = tnp.reshape(is_there, (*keys.shape, *[1] * (self.values.ndim - 1)))
        return tnp.where(is_there, tnp.take(self.values, places, axis=0), default)
