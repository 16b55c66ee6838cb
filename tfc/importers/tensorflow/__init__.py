"""TensorFlow's files without TensorFlow: `tfc.from_graphdef`, `tfc.from_savedmodel`.

The table of operators is graph mode's own (`graph/operators`, `graph/control`): `table.py` makes
a row of the importers of each, so that an operator is written once. Beside it `rows.py` has what
only files have, or what means less in a compiled model. No `tfc.graph.Graph` is made,
where shapes that may be unknown are inferred node by node: the importers' Walk calls the rows with
arrays, where a call's shapes make values known, and with Tensors for the rest.

- `sources.py` finds the message in a file, bytes or a text; `nodes.py` says which nodes are needed
  and in which order; `reader.py` makes the importers' Graph of them, and Functions of the library;
  `meanings.py` knows what attributes, types and shapes mean.
  What only checks, shows or feeds (Assert, NoOp, tf.data) is not needed by values, and left out;
  what changes variables is kept (`Graph.also`) where an output waits for it.
- `frames.py` and `switches.py` put While and If, with functions, in place of TensorFlow 1's control
  flow (Enter … Exit, Switch … Merge) before anything else is read.
- `savedmodel.py` finds signatures, and which array of the checkpoint each variable holds.
- `inlining.py` puts functions in place of their calls, so that any value has a name to cut the
  graph at; `cutting.py` finds where what is text has become numbers.
- `tables.py` looks up integers in tables that a SavedModel fills.
- `loops.py` unrolls loops whose shapes change, or that need numbers to be known; others are loops.
- `arrays.py` has TensorArrays, whose flow is a list as graph mode has it.
- `context.py` is what graph mode's rows with effects act on: variables, random keys. Functions are
  `Body`s there, which its control flow takes for subgraphs.
- `model.py` is the Model with variables. Whoever has a parsed GraphDef and knows what it takes and
  gives in which order uses

      reader = Reader(file, graph_def)                       # reader.py
      model_of(reader, feeds, fetches, arguments)            # load.py
          feeds:     [Feed("node" or "node:1", name, dtype, dims), …], or reader.feed("node")
          fetches:   [Fetch("node:1", name), …]
          arguments: [VariableArgument(variable, dtype, dims, name, readonly), …]
      model.inputs   feeds, then variables; model.outputs fetches, then variables not readonly

Random numbers are the same in each call, as a model is a pure function. May import `graph`,
`protos` and what importers may.
"""
