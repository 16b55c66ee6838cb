"""Models of other frameworks as functions, read from their files without the framework.

    file → reader → Graph (nodes, constants, ports) → Walk with a table of operators → a function

An importer is a folder here. It has three parts:

- a **reader** that makes a `Graph` (graph.py) of a file: names, attributes as Python values and
  NumPy arrays, subgraphs. It checks sizes before it allocates, and raises ModelFileError;
- a **table** (table.py): one function over `tfc.numpy`, `tfc.nn` … for each operator, whose
  positional parameters are the inputs and whose keyword ones are the attributes with their
  defaults. Versions of an operator are rows of their own, by the first version they are for;
- **control flow**: rows that are handed `node: Call`, and run subgraphs by `node.run(graph, …)`.

The rest is common. `Walk` (walk.py) goes through a graph in the current trace. A value is a Tensor;
a NumPy array where it is known while importing; `Held` (values.py) where it is a parameter whose
value is known, too; a list, or None. What depends on constants and static shapes alone is evaluated
while importing: the row is traced by itself and evaluated by the reference evaluator, so that rows
know nothing of it. A row names the inputs it `needs` as values (a shape, a trip count), and gets
NumPy arrays for them. What a node emits has its name and its operator as HLO metadata. Operators
without a row are reported at once, with counts, names and the file.

`Model` (model.py) is what users get: a callable with named inputs, outputs and parameters, whose
`function(params, *inputs)` can be traced and differentiated. Whatever importers give, also those
that have no graph, has what `ImportedModel` (interface.py) says, which is all that the command line
asks for; `inspection.py` describes it.

May import the frontend, `jit`, `numpy`, `nn`, `random`, `fft` and `protos`; only the command lines
import it.
"""
