"""Control flow on values that are not known while tracing: branches, loops, scans.

Branches and bodies are traced as inner computations. What they use of the function around them is
captured, and travels in the tuple that a conditional's branches and a loop's state are given. May
import `tfc.frontend`, and no other room of it.
"""
