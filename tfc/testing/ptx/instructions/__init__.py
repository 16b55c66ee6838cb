"""What instructions do: a table of decoders for each family, which give closures for many threads.

They know text and state; they do not know which instruction comes next.
"""
