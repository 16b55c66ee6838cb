"""ONNX Runtime on the CPU, given PyTorch's export of a program, with weights as constants.

Arguments and results stay in its own arrays, which it uses again from call to call.
"""

import logging
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx.parser
import onnxruntime
import torch

from benchmarks import peers
from benchmarks.case import Case, Torch
from benchmarks.peers import Compile
from benchmarks.peers.torch_library import Library as TorchLibrary
from benchmarks.peers.torch_library import array, statement, tensor
from benchmarks.protocol import Task


class Library(peers.Library):
    """ONNX Runtime."""

    def __init__(self, threads: int):
        super().__init__(threads)
        self.torch = TorchLibrary(threads)
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)

    def compiler(self, case: Case, task: Task) -> Compile:
        """From the model on: its optimisation and the preparation of its kernels."""
        model = onnx.parser.parse_model(case.onnx).SerializeToString() if case.onnx else None
        model = model or _export(statement(case), self.torch.prepared(case, task))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        options.log_severity_level = 4
        return lambda: onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])

    def call(self, case: Case, task: Task, compiled: Any) -> Callable[[], Any]:
        """The session with its arguments."""
        if case.onnx:
            arrays = self.arguments(task)
        else:
            rest = self.torch.prepared(case, task)[statement(case).weights :]
            arrays = [np.ascontiguousarray(array(t)) for t in rest]
        names = [i.name for i in compiled.get_inputs()]
        if case.host:
            return lambda: compiled.run(None, dict(zip(names, arrays, strict=True)))
        binding = compiled.io_binding()
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(a) for a in arrays]
        for name, value in zip(names, values, strict=True):
            binding.bind_ortvalue_input(name, value)
        for output in compiled.get_outputs():
            binding.bind_output(output.name)

        def run() -> Any:
            compiled.run_with_iobinding(binding)
            return binding

        return run

    def fetch(self, case: Case, results: Any) -> list[np.ndarray]:
        """The results in JAX's layout."""
        arrays = results if case.host else results.copy_outputs_to_cpu()
        if case.host or case.torch is None or not case.torch.exported:
            return arrays
        tensors = tuple(map(tensor, arrays))
        return self.torch.fetch(case, tensors if len(tensors) > 1 else tensors[0])


class _Program(torch.nn.Module):
    """A statement as a module that holds its weights."""

    def __init__(self, stated: Torch, weights: tuple[Any, ...]):
        super().__init__()
        self.stated, self.weights = stated, weights

    def forward(self, *arguments: torch.Tensor) -> Any:
        return self.stated.function(torch, *self.weights, *arguments)


def _export(stated: Torch, arguments: tuple[Any, ...]) -> bytes:
    program = _Program(stated, arguments[: stated.weights]).eval()
    exported = torch.onnx.export(program, arguments[stated.weights :], dynamo=True, verbose=False)
    assert exported is not None
    return exported.model_proto.SerializeToString()
