"""Programs for several devices ahead of time: their collectives are calls of a function to link."""
