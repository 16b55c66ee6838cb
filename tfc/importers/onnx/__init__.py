"""ONNX models: `tfc.from_onnx`. Rooms: `operators`, the table's rows by family.

The reader takes the files of all versions of ONNX that have `opset_import`; the table has the
operators of ai.onnx, ai.onnx.ml and com.microsoft. May import `protos` and what importers may.
"""
