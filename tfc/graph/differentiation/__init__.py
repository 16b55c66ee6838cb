"""Gradients of graphs: operations that compute them are added to the graph.

`registered` is the table of gradient functions, the user's among them; `gradients` walks a graph
backwards. What has no function of its own gets a `Vjp` operation, which differentiates its row.
"""
