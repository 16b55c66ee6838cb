"""Targets: reading and writing them as text, and what is known of each."""

import pytest

from tfc.backends.target import Target
from tfc.errors import UnsupportedError


def test_host_is_described():
    host = Target.host()
    assert host.pointer_bits == 64
    assert host.lanes(32) * 32 == max(host.vector_bits, 32)
    assert 1 << 12 <= host.l1_bytes <= host.l2_bytes
    assert Target.parse("host") == host


@pytest.mark.parametrize(
    ("text", "architecture", "vector_bits", "has_fma"),
    [
        ("x86_64-linux-gnu", "x86_64", 128, False),
        ("x86_64-linux-gnu,x86-64-v3", "x86_64", 256, True),
        ("x86_64-linux-gnu,x86-64-v4", "x86_64", 512, True),
        ("aarch64-linux-gnu", "aarch64", 128, True),
        ("wasm32-unknown-unknown", "wasm32", 128, False),
        ("wasm32-unknown-unknown,generic", "wasm32", 0, False),
        ("wasm32-unknown-unknown,generic,+simd128", "wasm32", 128, False),
        ("riscv64-linux-gnu", "riscv64", 0, True),
    ],
)
def test_processors_are_described_by_the_code_made_for_them(
    text: str, architecture: str, vector_bits: int, has_fma: bool
):
    target = Target.parse(text)
    assert (target.architecture, target.vector_bits, target.has_fma) == (
        architecture,
        vector_bits,
        has_fma,
    )
    assert Target.parse(str(target)) == target


def test_gpus_are_targets_too():
    target = Target.parse("nvptx64-nvidia-cuda,sm_90")
    assert (target.is_gpu, target.cpu) == (True, "sm_90")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("z80-zilog", 'target triple "z80-zilog"'),
        ("", 'target triple ""'),
        ("x86_64-linux-gnu,pentium9", "no processor 'pentium9'"),
        ("x86_64-linux-gnu,x86-64,+magic", "no feature '\\+magic'"),
        ("nvptx64-nvidia-cuda,sm_7", "no processor 'sm_7'"),
    ],
)
def test_unknown_machines_are_refused_by_name(text: str, message: str):
    with pytest.raises(UnsupportedError, match=message):
        Target.parse(text)
