"""The table that ONNX's operators are entered in."""

from tfc.importers.table import Table

ONNX = Table("ONNX", ignored=("consumed_inputs", "doc_string"))
operator = ONNX.operator
MICROSOFT = "com.microsoft"
ML = "ai.onnx.ml"
