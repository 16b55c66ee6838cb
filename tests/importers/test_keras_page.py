"""docs/keras.md, made of the table of layers and the names that Keras 3 has.

`pytest tests/importers/test_keras_page.py --bless` writes the page.
"""

from pathlib import Path

import pytest

from tfc.importers.keras.operators import KERAS
from tfc.importers.keras.table import KINDS

PAGE = Path(__file__).parent.parent.parent / "docs" / "keras.md"
HEAD = """# Keras, layer by layer

A test writes the tables of this page. `tfc.from_keras` reads `.keras` files, and `.h5` files of
Keras 1, 2 and 3 with architecture and weights, with neither Keras nor TensorFlow installed. It
needs h5py: `pip install 'tfc[keras]'`.

- Sequential and Functional models, with shared layers, models within models, several inputs and
  outputs, masks, and operations of `keras.ops` or TensorFlow between layers. What is code that is
  no part of the file (a subclass of Model, a layer or function of your own, a Lambda) is refused by
  name.
- A model computes what it does when it predicts: dropout does nothing, batch normalization takes
  the moving statistics. Stateful recurrent layers begin each call with zeros.
- Files of Keras 2 mean what they did there: hard_sigmoid has a slope of 1/5, a GRU without
  `reset_after` resets before its product, the mask of a sum shows what all masks show.
- Parameters are named after layers and weights: `conv1/kernel`; those within models and wrappers
  `encoder/dense/kernel`, `bidirectional/forward_layer/cell/kernel`. Inputs have the names of their
  layers; the open size of a batch is `batch`.
- Dtype policies are followed. Of quantized layers those are computed that `model.quantize("int8")`
  makes of Dense, EinsumDense and Embedding, by products of integers; others are refused.

A file whose weights are not those of its config is refused, too. HDF5 is read in a process of its
own, so that no file can end or stall the program.

## Layers

"""
# keras.layers of Keras 3.15 whose classes are layers with a meaning of their own.
OTHER = {
    "AutoContrast": "changes images", "ContrastLimitedAdaptiveHistogramEqualization": "",
    "Equalization": "", "FlaxLayer": "code of another framework", "HashedCrossing": "text",
    "Hashing": "text", "JaxLayer": "code of another framework",
    "Lambda": "code", "MaxNumBoundingBoxes": "", "Pipeline": "",
    "RandomCrop": "", "ReversibleEmbedding": "", "STFTSpectrogram": "", "Solarization": "",
    "StringLookup": "text", "TFSMLayer": "a SavedModel beside the file",
    "TextVectorization": "text",
    "TorchModuleWrapper": "code of another framework", "Wrapper": "only classes made of it",
}  # fmt: skip
INTERNAL = ("Output", "ConvLSTMCell", "CuDNNGRUCell", "CuDNNLSTMCell",
            "GroupedQueryAttention", "Functional", "Model", "Network",
            "Sequential")  # fmt: skip


def page() -> str:
    rows = [(name, "yes", kind.remark) for (domain, name), kind in KINDS.items()
            if not domain and name not in INTERNAL]  # fmt: skip
    rows += [(name, "no", remark) for name, remark in OTHER.items()]
    lines = [f"| `{name}` | {there} | {remark} |" for name, there, remark in sorted(rows)]
    made = HEAD + "\n".join(["| layer | supported | remark |", "|---|---|---|", *lines])
    for domain, title in (
        ("ops", "`keras.ops`, by their classes"),
        ("tf", "TensorFlow's, by name"),
    ):
        names = sorted(name for where, name in KINDS if where == domain)
        made += f"\n\n## Operations of {title}\n\n" + ", ".join(f"`{name}`" for name in names)
    return made + "\n"


def test_the_page_says_what_there_is(request: pytest.FixtureRequest):
    if request.config.getoption("--bless"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()


def test_no_layer_is_both_supported_and_not():
    assert not {name for domain, name in KINDS if not domain} & set(OTHER)
    assert {key for key, _ in KERAS.rows()} >= set(KINDS)
