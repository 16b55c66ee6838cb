"""What TensorFlow 1 has and graph mode has not: why, and what to use instead."""

import re
from collections.abc import Collection

from tfc.errors import did_you_mean

# Patterns of names, and what is said of them; the first that fits.
_ABSENT = (
    (r".*Queue.*|train_batch|QueueRunner|Coordinator", "queues are out: feed arrays"),
    (r".*Reader|data|parse_.*|decode_.*|read_file|write_file|matching_files|gfile|TFRecord.*",
     "reading files is out: read them with Python or NumPy, and feed arrays"),
    (r"summary|.*[sS]ummary.*", "summaries are out: fetch values and log them with Python"),
    (r"string.*|as_string|substr|reduce_join|regex_.*|encode_.*|strings|bytes_.*",
     "there are no tensors of text: compute with text in Python"),
    (r"[sS]parse.*|serialize_.*|deserialize_.*", "sparse tensors are out: use dense ones"),
    (r"estimator|feature_column|keras|flags|app|logging|resource_loader|profiler",
     "that part of TensorFlow is out: use sessions and Python's own modules"),
    (r"ctc_.*", "losses of alignments are out: align labels with steps, and use cross entropy"),
    (r"contrib_.*|distribute.*|tpu.*", "distributed programs are out: a session runs here"),
)  # fmt: skip


def absence(name: str, names: Collection[str], where: str = "tfc.graph") -> str:
    """The sentence that says why a name is not there, in the module that it was looked for in."""
    for pattern, words in _ABSENT:
        if re.fullmatch(pattern, name):
            return f"{where} has no {name!r}: {words}"
    return f"{where} has no {name!r}{did_you_mean(name, names)}"
