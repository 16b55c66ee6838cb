"""What is known of loops as a whole: which of them kernels can run."""
