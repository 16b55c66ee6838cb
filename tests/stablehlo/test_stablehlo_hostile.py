"""Programs made to harm the process that reads them, and the process that parses in its place."""

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tfc
from tfc.backends.mlir.package import PROVIDER
from tfc.errors import TfcError, UnsupportedError
from tfc.imported import read_stablehlo
from tfc.runtime import service
from tfc.stablehlo import parser_process
from tfc.stablehlo.parser_process import PARSER, Parser

IDENTITY = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"
X = np.arange(3, dtype=np.float32)


def program(lines: str, attributes: str = "", argument: str = "") -> str:
    """A module of one function, which returns its argument after these operations."""
    return f"""module attributes {{{attributes}}} {{
      func.func @main(%x: tensor<3x4xf32> {{{argument}}}) -> tensor<3x4xf32> {{
        {lines}
        return %x : tensor<3x4xf32>
      }}
      func.func private @top(%x: tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {{
        %v, %i = chlo.top_k(%x, k = 2) : tensor<3x4xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
        return %v, %i : tensor<3x2xf32>, tensor<3x2xi32>
      }} }}"""


def doubling(sign: str, first: str, pair: str, use: str) -> str:
    """Aliases each of which holds the one before twice."""
    lines = [f"{sign}a0 = {first}"]
    lines += [f"{sign}a{n + 1} = {pair.format(f'{sign}a{n}')}" for n in range(40)]
    return "\n".join([*lines, use])


TOP = "(tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)"
BLOB = "%b = stablehlo.constant dense_resource<blob> : tensor<2xi64>"
HOSTILE = {
    "a result number beyond 32 bits": (program("%y = stablehlo.abs %x : tensor<3x4xf32>\n"
        "stablehlo.custom_call @f(%y#2147483648) : (tensor<3x4xf32>) -> ()"), "ends MLIR's parser"),
    "a result number beyond 64 bits": (program("%y = stablehlo.abs %x : tensor<3x4xf32>\n"
        "stablehlo.custom_call @f(%y#99999999999999999999) : (tensor<3x4xf32>) -> ()"), "invalid"),
    "dimension numbers beyond the rank": (program("%y = stablehlo.transpose %x, "
        "dims = [99999999999, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>"), "permutation"),
    "types that double": (doubling("!", "tensor<1xf32>", "tuple<{0}, {0}>",
        "func.func @main(%x: !a40) -> !a40 { return %x : !a40 }"), "too long when it is printed"),
    "types that double in one line": (doubling("!", "tensor<1xf32>", "tuple<{0}, {0}>",
        "func.func @main(%x: !a40) -> !a40 { return %x : !a40 }").replace("\n", " "), "too long"),
    "attributes that double": (doubling("#", "[1]", "[{0}, {0}]",
        "module attributes {a.b = #a40} { " + IDENTITY + "}"), "too long when it is printed"),
    "a count of replicas that is text": (program("", 'mhlo.num_replicas = "f"'), "an integer, got"),
    "a count of replicas that is a unit": (program("", "mhlo.num_replicas"), "an integer, got"),
    "an alias that is text": (program("", "", 'tf.aliasing_output = "f"'), "an integer, got"),
    "an alias of no result": (program("", "", "tf.aliasing_output = 7 : i32"), "one of 1 results"),
    "a composite whose k is text": (program('%v:2 = stablehlo.composite "chlo.top_k" %x '
        '{decomposition = @top, composite_attributes = {k = "x"}} : ' + TOP),
        "k must be an integer"),
    "a composite without k": (program('%v:2 = stablehlo.composite "chlo.top_k" %x '
        "{decomposition = @top} : " + TOP), "lacks the attribute composite_attributes"),
    "a known call without attributes": (program(
        "%v:2 = stablehlo.custom_call @mhlo.topk(%x) : " + TOP), "lacks the attribute mhlo.attrib"),
    "a known call of another type": (program("%v = stablehlo.custom_call @mhlo.erf(%x) : "
        "(tensor<3x4xf32>) -> tensor<3x4xi32>"), "became erf of f32"),
    "a sharding of nothing": (program(
        "%v = stablehlo.custom_call @Sharding() : () -> tensor<3xf32>"),
        "must have an operand for each result"),
    "a resource that is too short": (program(BLOB) + '\n{-# dialect_resources: { builtin: { '
        'blob: "0x0800000001" } } #-}', "does not hold 2 elements"),
    "a resource that is not there": (program(BLOB), "does not hold the elements"),
    "more elements than an address has bits": (
        "func.func @main() { %0 = stablehlo.constant dense<1.0> : "
        "tensor<9223372036854775807x9223372036854775807xf32>\n return }",
        "fewer than 2\\^63 bytes"),
    "half a character": ("module { \ud800 }", "is half a character"),
    "a string that is not UTF-8": ('module attributes {a = "\\FF"} {}', "not UTF-8"),
    "brackets": ("{" * 100_000, "nest deeper than 200"),
    "an unknown operation": ('module { "foo.bar"() : () -> () }', "holds a foo.bar, no function"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_programs_are_refused(text: str, message: str):
    with pytest.raises(TfcError, match=message):
        tfc.from_stablehlo(text)


@pytest.mark.parametrize("element", ["1.0|f32", "1.0|bf16", "(1.0, -2.0)|complex<f32>", "7|i64"])
def test_hostile_sizes_of_uniform_constants_take_no_memory(element: str):
    value, _, kind = element.partition("|")
    shape = f"tensor<1000000000000x{kind}>"
    module = read_stablehlo(f"""func.func @main() -> tensor<2x{kind}> {{
      %0 = stablehlo.constant dense<{value}> : {shape}
      %1 = stablehlo.slice %0 [5:7] : ({shape}) -> tensor<2x{kind}>
      return %1 : tensor<2x{kind}> }}""")
    (got,) = tfc.compile(module)()
    np.testing.assert_array_equal(got, [complex(value.replace(", -", "-").replace(")", "j)"))] * 2)


# The process that parses.


def test_one_process_parses_program_after_program():
    read_stablehlo(IDENTITY)
    before = PARSER.identity()
    assert before is not None
    with pytest.raises(TfcError):
        read_stablehlo("module {")
    np.testing.assert_array_equal(tfc.from_stablehlo(IDENTITY)(X), X)
    assert PARSER.identity() == before


def test_another_process_parses_after_a_hostile_program():
    with pytest.raises(TfcError, match="ends MLIR's parser"):
        read_stablehlo(HOSTILE["a result number beyond 32 bits"][0])
    assert PARSER.identity() is None
    np.testing.assert_array_equal(tfc.from_stablehlo(IDENTITY)(X), X)


def test_threads_may_parse_at_the_same_time():
    def read(number: int) -> int:
        size = number % 7 + 1
        text = IDENTITY.replace("3xf32", f"{size}xf32")
        return read_stablehlo(text).entry.root.array_shape.dims[0] - size

    with ThreadPoolExecutor(4) as threads:
        assert not any(threads.map(read, range(40)))


def test_a_process_that_left_between_programs_is_replaced():
    read_stablehlo(IDENTITY)
    process = PARSER._process
    assert process is not None
    process.kill()
    process.wait()
    read_stablehlo(IDENTITY)


def test_a_hostile_program_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch):
    """The parser is replaced by one that never answers."""
    monkeypatch.setattr(parser_process, "SECONDS", 0.5)
    waiting = Parser(PROVIDER)
    waiting._process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    (refused,) = waiting.parse("text", b"module {}").refused
    assert "takes too much time" in refused[1]
    waiting.stop()


def test_a_parser_that_cannot_be_started_is_an_error_of_the_users(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(UnsupportedError, match="cannot be started as '/no/such/python'"):
        Parser(PROVIDER).parse("text", b"module {}")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_has_a_parser_of_its_own():
    read_stablehlo(IDENTITY)
    before = PARSER.identity()

    def child(report: Callable[[object], None]) -> None:
        read_stablehlo(IDENTITY)
        report(PARSER.identity())
        PARSER.stop()

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(theirs.send,))
    process.start()
    assert ours.poll(60)
    assert ours.recv() not in (None, before)
    process.join()
    read_stablehlo(IDENTITY)
    assert PARSER.identity() == before


def test_the_parser_ends_with_the_process_that_started_it():
    script = (
        "import tfc, tfc.imported\n"
        f"tfc.imported.read_stablehlo({IDENTITY!r})\n"
        "from tfc.stablehlo.parser_process import PARSER\n"
        "print(PARSER.identity(), flush=True)\n"
        "import os; os._exit(0)  # nothing is cleaned up\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    number = int(ran.stdout)
    for _ in range(100):
        if not _is_alive(number):
            return
        time.sleep(0.1)
    raise AssertionError("the parser goes on")


def _is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except OSError:
        return False
    state = Path(f"/proc/{number}/stat")  # where the first process of a system reaps no children
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_an_interrupted_request_leaves_no_reply_behind(monkeypatch: pytest.MonkeyPatch):
    read_stablehlo(IDENTITY)

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(service.json, "loads", interrupt)
        with pytest.raises(KeyboardInterrupt):
            read_stablehlo(IDENTITY.replace("3xf32", "5xf32"))
    assert read_stablehlo(IDENTITY).entry.root.array_shape.dims == (3,)
