"""Sorts (tiles, merges of them, digits of keys), and what is made by sorting: topk, scatters."""
