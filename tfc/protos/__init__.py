"""Schemas of the protobuf files that are read: as text, and compiled as descriptors beside it.

Each `NAME.proto` has only the fields that are read, by the numbers that the format publishes, in a
package `tfc.NAME` of its own, so that it meets no other library's. `NAME.binpb` is its serialized
FileDescriptorSet, made after a change by

    pip install grpcio-tools
    python -m grpc_tools.protoc -I tfc/protos --descriptor_set_out=tfc/protos/NAME.binpb \\
        tfc/protos/NAME.proto

Classes are built of descriptors when they are asked for, which no version of protobuf's generator
is tied to. May import `errors` alone.
"""

from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from tfc.errors import ModelFileError


@cache
def message_classes(schema: str) -> dict[str, Any]:
    """The message classes of a schema, by their full names: `tfc.onnx.Model` …"""
    content = (Path(__file__).parent / f"{schema}.binpb").read_bytes()
    files = descriptor_pb2.FileDescriptorSet.FromString(content)
    pool = descriptor_pool.DescriptorPool()
    return message_factory.GetMessages(list(files.file), pool)


def parse_message(schema: str, name: str, content: bytes, file: str) -> Any:
    """The message that a file's content is.

    Args:
        name: the message's name in the schema.
        file: what to call the source in errors.

    Raises:
        ModelFileError: the content is no such message, or only a part of one.
    """
    try:
        return message_classes(schema)[f"tfc.{schema}.{name}"].FromString(content)
    except DecodeError as error:
        raise ModelFileError(
            f"{file} is damaged, or no file of this kind: its bytes do not parse"
        ) from error
