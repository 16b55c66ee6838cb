"""The groups of ops that tests draw random programs from; see tfc.testing for the generators."""

STATIC = ("broadcast", "reshape", "transpose", "reverse", "slice", "concatenate", "pad", "copy")
MOVEMENT = (*STATIC, "dynamic-slice", "dynamic-update-slice", "gather")
CONTROL = ("tuple", "call", "fusion", "while", "conditional")
# What waits for somebody outside of the program, or calls into it.
OUTSIDE = ("infeed", "outfeed", "send", "send-done", "recv", "recv-done", "custom-call")
# Exact in any order of evaluation for small whole numbers, contraction to FMA included.
# XLA's CPU compiler crashes on some dynamic slices without elements, so these stay out.
EXACT = (*STATIC, "dot", "reduce", "iota", "constant", "add", "subtract", "negate", "abs",
         "maximum", "minimum", "compare", "select", "clamp", "and", "or", "xor", "not",
         *CONTROL)  # fmt: skip
