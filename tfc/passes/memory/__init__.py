"""The order of execution, and where every value lies: schedule, copies, rematerialisation, buffers.

The last room of `tfc.passes`: it may import all others.
"""
