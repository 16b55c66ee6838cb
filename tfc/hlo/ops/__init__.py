"""The operations by family: attributes, shape rule, traits and reference semantics.

Importing a family's file enters its ops into the registry, in the order of the documentation. May
import the IR, attributes and evaluation; never text, verification or anything outside of `tfc.hlo`.
"""

from tfc.hlo.ops.elementwise import arithmetic, selection, conversions  # noqa: F401, I001
from tfc.hlo.ops import movement, dynamic, indexed  # noqa: F401
from tfc.hlo.ops import contraction, convolution, ragged_dot, windows, mapped  # noqa: F401
from tfc.hlo.ops import sorting, triangular, control  # noqa: F401
from tfc.hlo.ops import fft, normalization, random  # noqa: F401
from tfc.hlo.ops.outside import tokens, communication, custom_call  # noqa: F401
from tfc.hlo.ops.outside import collectives, asynchronous  # noqa: F401
