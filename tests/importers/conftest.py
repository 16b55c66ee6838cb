"""Which tests of importers are collected: those of a framework where it is installed."""

from importlib.util import find_spec

_FRAMEWORKS = {"torch": "pytorch", "tensorflow": "tensorflow_operators", "keras": "with_keras"}
collect_ignore = [folder for name, folder in _FRAMEWORKS.items() if not find_spec(name)]
