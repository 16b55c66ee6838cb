"""What runs a conformance pack on a machine with a GPU: it becomes one file with the loader.

May import the loader of bundles and NumPy alone. Names are unique in the whole room and the loader.
"""
