"""What shows and measures: pictures, profiles, the explorer, the catalogue, doctor and demo.

May import everything but the command line; nothing of the compiler imports it.
"""
