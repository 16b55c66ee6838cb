"""Programs to be compiled whose weights are kept in fewer bits."""

from dataclasses import replace

from tfc.aot.export import module_in
from tfc.aot.interface import Batched, Interface
from tfc.hlo.ir import Module
from tfc.quantization.modules import store_weights
from tfc.quantization.report import Report
from tfc.quantization.weights import Storage

Source = Module | Interface | Batched


def with_stored_weights(source: Source, storage: Storage) -> tuple[Source, Report]:
    """What to compile with weights in few bits, and what that changes.

    Raises:
        TfcError: a weight has an element that is NaN or infinite.
    """
    made, report = store_weights(module_in(source), storage)
    if isinstance(source, Batched):
        smaller = [store_weights(p.module, storage)[0] for p in source.programs[:-1]]
        found = [replace(p, module=m) for p, m in zip(source.programs, [*smaller, made])]
        return replace(source, programs=tuple(found)), report
    return (replace(source, module=made) if isinstance(source, Interface) else made), report
