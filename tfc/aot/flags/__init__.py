"""Flags of TensorFlow's tfcompile that are not about what is compiled into which files.

--debug_info, --xla_…, and those that are accepted or refused so that build files for tfcompile
work as they stand, or fail with the way round.
"""
