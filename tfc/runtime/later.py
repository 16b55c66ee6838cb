"""What is loaded when it is first used: `import tfc`, or a decorator, loads no compiler.

    if TYPE_CHECKING:
        from tfc import compiler            # for type checkers, and for who reads the imports
    else:
        compiler = later("tfc.compiler")    # nothing is loaded

    compiler.compile(module)                # loads it

With the table of names in `tfc/__init__.py` this is how what is public comes without what it may
need one day. These imports follow the order of the rooms as all others do: the test of that order
reads what type checkers are told, and the strings.
"""

from importlib import import_module
from types import ModuleType

from tfc.runtime.collection import paused_collection


@paused_collection()
def load(name: str) -> ModuleType:
    """The module of a name, with what it imports.

    Loading makes tens of thousands of objects that stay: the collector of cycles would go through
    all of them a few times over, which takes an eighth of the time.
    """
    return import_module(name)


class _Later(ModuleType):
    """A module that stands in for another, which it loads when it is asked for something."""

    def __getattr__(self, name: str) -> object:
        return getattr(load(self.__name__), name)


def later(name: str) -> ModuleType:
    """The module of a name, which is loaded when something in it is first asked for.

    What is put into the module later on is found as well: nothing is kept here.
    """
    return _Later(name)
