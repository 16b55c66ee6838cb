"""Which tests of importers are collected: those of PyTorch where torch is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["pytorch"]
