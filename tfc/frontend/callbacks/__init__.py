"""Python functions that compiled programs call while they run: callbacks, printing, py_func.

Each is a custom call of a name that this process gave the function (tfc.runtime.functions). May
import the rest of `tfc.frontend`.
"""
