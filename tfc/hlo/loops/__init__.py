"""Loops of the IR: their state element by element, and how often they run.

Facts that the frontend (derivatives of loops), passes and backends ask. May import the rest of
`tfc.hlo`.
"""
