"""The kernels that decide in a graph: one thread reads what decides, and sets a condition.

    go_on       a loop has another round: a pred is true, and nobody wants loops to stop
    choose      which of several branches is taken
    is_chosen   whether that is the one of a number, for drivers whose graphs have but if and while
    nothing     what a branch without steps does, since older drivers take no empty one

They are a text of their own, since programs are the same for drivers without conditions, and
drivers find `cudaGraphSetConditional` when they make code of a text, not when they link.
"""

from typing import Any
from weakref import WeakKeyDictionary

from tfc.backends.gpu.driver import Driver

_CHOICE = """
    ld.param.u64 %handle, [NAME_0];
    ld.param.u64 %place, [NAME_1];
    ld.param.u64 %wide, [NAME_2];
    cvt.u32.u64 %by_index, %wide;
    ld.param.u64 %wide, [NAME_3];
    cvt.u32.u64 %count, %wide;
    cvta.to.global.u64 %place, %place;
    sub.u32 %last, %count, 1;
    setp.ne.u32 %p, %by_index, 0;
    @%p bra index;
    ld.global.u8 %byte, [%place];
    setp.eq.u16 %p, %byte, 0;
    selp.u32 %value, 1, 0, %p;
    bra chosen;
index:
    ld.global.u32 %value, [%place];
    min.u32 %value, %value, %last;
chosen:
"""  # a negative index is a large one, unsigned, so it means the last branch, as all beyond do

_BODIES = {
    "go_on": (3, """
    ld.param.u64 %handle, [NAME_0];
    ld.param.u64 %place, [NAME_1];
    ld.param.u64 %wide, [NAME_2];
    cvta.to.global.u64 %place, %place;
    cvta.to.global.u64 %wide, %wide;
    ld.global.u8 %byte, [%place];
    ld.volatile.global.u32 %last, [%wide];
    setp.ne.u16 %p, %byte, 0;
    setp.eq.and.u32 %p, %last, 0, %p;
    selp.u32 %value, 1, 0, %p;
"""),
    "choose": (4, _CHOICE),
    "is_chosen": (5, _CHOICE + """
    ld.param.u64 %wide, [NAME_4];
    cvt.u32.u64 %last, %wide;
    setp.eq.u32 %p, %value, %last;
    selp.u32 %value, 1, 0, %p;
"""),
}  # fmt: skip


def _kernel(name: str, count: int, body: str) -> str:
    parameters = ", ".join(f".param .u64 {name}_{n}" for n in range(count))
    return f""".visible .entry {name}({parameters})
{{
    .reg .pred %p;
    .reg .b16 %byte;
    .reg .b32 %by_index, %count, %last, %value;
    .reg .b64 %handle, %place, %wide;
{body.replace("NAME", name)}    {{
    .param .b64 condition;
    .param .b32 to;
    st.param.b64 [condition], %handle;
    st.param.b32 [to], %value;
    call.uni cudaGraphSetConditional, (condition, to);
    }}
    ret;
}}
"""


PTX = (
    ".version 7.1\n.target sm_80\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 condition, .param .b32 to);\n"
    + "".join(_kernel(name, *row) for name, row in _BODIES.items())
    + ".visible .entry nothing()\n{\n    ret;\n}\n"
)
_ONE = (1, 1, 1)


class Deciders:
    """These kernels, loaded by a driver.

    Attributes:
        stop: where what ends loops lies.
    """

    def __init__(self, driver: Driver):
        self.stop = driver.stop_address
        module = driver.load(PTX.encode())
        self._functions = {n: driver.function(module, n) for n in (*_BODIES, "nothing")}

    def launch(self, driver: Driver, name: str, *numbers: int) -> None:
        """Launch one of them."""
        arguments: list[Any] = list(numbers)
        driver.launch(self._functions[name], _ONE, _ONE, arguments)


_loaded: "WeakKeyDictionary[Driver, Deciders]" = WeakKeyDictionary()


def deciders_of(driver: Driver) -> Deciders:
    """The kernels as a driver has them, which loads them when they are first asked for."""
    found = _loaded.get(driver)
    if found is None:
        found = _loaded[driver] = Deciders(driver)
    return found
