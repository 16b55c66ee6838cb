"""What tests of graphs use: gradients against differences, test cases, benchmarks."""
