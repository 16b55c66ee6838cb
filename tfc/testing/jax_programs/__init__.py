"""Random JAX programs: what they are, how they are drawn, run and made small. This needs jax."""
