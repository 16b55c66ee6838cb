"""Measurements of tfc beside its peers; `python benchmarks/run.py` is the command."""
