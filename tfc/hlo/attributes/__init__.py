"""Values of attributes that are more than numbers: windows, labels, replica groups, layouts.

Each knows its own notation. May import the IR (the files of `tfc.hlo` itself), and no ops.
"""
