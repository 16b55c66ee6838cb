"""Bindings by language: which files each is made of."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from tfc.aot.bindings.javascript import javascript_text, typescript_text
from tfc.aot.bindings.python import python_text
from tfc.aot.bindings.rust import rust_text
from tfc.aot.bindings.wasm import wasm_module
from tfc.aot.libraries import shared_object
from tfc.aot.signature import Signature
from tfc.backends.interfaces import Constants
from tfc.backends.target import Target
from tfc.errors import TfcError, UnsupportedError

# Names of files, and what they hold.
Files = list[tuple[str, bytes]]


def _javascript(stem: str, signature: Signature, target: Target, code: bytes) -> Files:
    if target.architecture != "wasm32":
        raise UnsupportedError(
            f"JavaScript runs WebAssembly: make the code for wasm32-unknown-unknown, not {target}"
        )
    wasm = f"{stem}.wasm"
    exports = [signature.entry_point, *(name for name, _ in signature.initial_arrays)]
    return [
        (f"{stem}.mjs", javascript_text(signature, wasm).encode()),
        (f"{stem}.d.mts", typescript_text(signature, wasm).encode()),
        (wasm, wasm_module(code, exports, signature.symbols)),
    ]


def _rust(stem: str, signature: Signature, target: Target, code: bytes) -> Files:
    return [(f"{stem}.rs", rust_text(signature, stem).encode())]


def _python(stem: str, signature: Signature, target: Target, code: bytes) -> Files:
    library = f"lib{stem}.so"  # STEM.so would be a module of Python, too
    return [
        (f"{stem}.py", python_text(signature, library).encode()),
        (library, shared_object(code, library, target)),
    ]


_LANGUAGES: dict[str, Callable[[str, Signature, Target, bytes], Files]] = {
    "js": _javascript,
    "rust": _rust,
    "python": _python,
}


def _languages(context: click.Context, option: click.Parameter, text: str) -> tuple[str, ...]:
    return tuple(filter(None, (word.strip() for word in text.split(","))))


# For command lines: "js,rust" as ("js", "rust").
bindings_option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--bindings", metavar="js,rust,python", default="", callback=_languages,
    help="Which languages to write bindings for, beside the header and named like it: for "
    "JavaScript .mjs, .d.mts and .wasm, for Rust .rs, for Python .py and a lib….so.",
)  # fmt: skip


def binding_files(
    languages: Sequence[str], stem: str, signature: Signature, target: Target, code: bytes
) -> Files:
    """The files beside header and object, as names and contents.

    Args:
        stem: the name of all files without their endings.

    Raises:
        TfcError: there are no bindings for a language, the class has a name that one uses, or a
            linker refuses.
        UnsupportedError: the code is for another machine than the language needs, or for several
            sizes of batch; its weights lie elsewhere; or there is no linker.
    """
    if languages and signature.batch is not None:
        raise UnsupportedError(
            "a class for several sizes of batch has no bindings: compile the size that is needed"
        )
    if languages and signature.constants is not Constants.INSIDE:
        raise UnsupportedError(
            "bindings do not load weights: leave those in the object file, or leave bindings out"
        )
    for language in languages:
        if language not in _LANGUAGES:
            known = ", ".join(_LANGUAGES)
            raise TfcError(f"there are no bindings for '{language}'; there are those for {known}")
    return [
        file
        for language in dict.fromkeys(languages)
        for file in _LANGUAGES[language](stem, signature, target, code)
    ]
