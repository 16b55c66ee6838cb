"""Writes arrays as PNG pictures."""

import struct
import zlib
from pathlib import Path

import numpy as np


def write_png(path, values):
    """Write bytes as a picture: grey for two dimensions, colours for three.

    values: uint8[height, width] or uint8[height, width, 3].
    """
    values = np.ascontiguousarray(values, np.uint8)
    height, width = values.shape[:2]
    kind = 0 if values.ndim == 2 else 2
    rows = values.reshape(height, -1)
    filtered = np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)),
        (b"IDAT", zlib.compress(filtered, 9)),
        (b"IEND", b""),
    ]
    content = b"\x89PNG\r\n\x1a\n"
    for name, data in parts:
        content += struct.pack(">I", len(data)) + name + data
        content += struct.pack(">I", zlib.crc32(name + data))
    Path(path).write_bytes(content)
