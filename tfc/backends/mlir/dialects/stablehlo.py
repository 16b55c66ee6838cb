"""The operations of StableHLO have no classes of their own; plain ones do."""
