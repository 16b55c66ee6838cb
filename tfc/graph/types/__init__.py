"""Element types and shapes of graphs. Knows nothing of graphs themselves."""
