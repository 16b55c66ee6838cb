"""Reductions: threads that make results together."""
