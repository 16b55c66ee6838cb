"""`timeline.Timeline`: a run's records as a trace for chrome://tracing."""

from tfc.graph.running.metadata import Timeline

__all__ = ["Timeline"]
