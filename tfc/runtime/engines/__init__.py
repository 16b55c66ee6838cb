"""Engines: what carries out the collectives of a program, among threads or processes.

Each is an `Engine` of tfc/runtime/collectives.py; tfc/runtime/replicas.py says which one a thread
uses.
"""
