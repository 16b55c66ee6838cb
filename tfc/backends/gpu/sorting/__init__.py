"""Sorts: networks for any comparator, digits of keys."""
