"""The one way to the CUDA driver: what is asked of it, and which binding answers.

driver = current_driver()       cuda-bindings', or PyCUDA's; DriverError if there is no GPU
with using(other): …            another one for a while, such as an interpreter of PTX
"""

from tfc.backends.gpu.driver.choice import current_driver, opened_driver, using
from tfc.backends.gpu.driver.interface import Driver, Graph

__all__ = ["Driver", "Graph", "current_driver", "opened_driver", "using"]
