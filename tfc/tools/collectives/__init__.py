"""Measuring collectives: what programs take for them, beside MPI's own calls."""
