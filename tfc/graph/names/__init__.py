"""The namespaces within `tfc.graph`, `tf.nn` and others: each lists functions made elsewhere."""
