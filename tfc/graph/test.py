"""`tf.test`: gradients against differences, test cases, benchmarks, under TensorFlow 1's names."""

from tfc.graph.testing.benchmarks import Benchmark, main
from tfc.graph.testing.cases import TestCase
from tfc.graph.testing.gradient_checker import compute_gradient, compute_gradient_error

__all__ = ["Benchmark", "TestCase", "compute_gradient", "compute_gradient_error", "main"]
