"""Kernels that move elements: what they read lies otherwise than what they store."""
