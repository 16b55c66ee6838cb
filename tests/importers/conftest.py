"""Which tests of importers are collected: those that need a framework, where it is installed."""

from importlib.util import find_spec

collect_ignore = [
    folder for folder, package in (("pytorch", "torch"), ("with_keras", "keras"))
    if not find_spec(package)
]  # fmt: skip
