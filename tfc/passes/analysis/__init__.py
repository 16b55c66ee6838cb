"""Facts about modules: aliases, live ranges, costs, what may be overwritten.

An analysis changes nothing, so backends may import it. It imports the IR and `rewriting`, and no
pass.
"""
