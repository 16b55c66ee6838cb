"""Where attention and its gradient are in a program: facts, which backends ask, too.

`forward` finds two products around a softmax, `scores` all products around the same scores.

May import the rooms before it: `rewriting`, `analysis`.
"""
