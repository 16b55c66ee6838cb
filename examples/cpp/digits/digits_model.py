"""What the program classifies with: an ONNX model, and which digit has the highest score."""

from pathlib import Path

import tfc
import tfc.numpy as tnp

MODEL = tfc.from_onnx(Path(__file__).parents[2] / "digits.onnx")


def classify(pixels="f32[1,64]"):
    """The scores of the digits in images of 8×8 pixels from 0 to 1, and the best one."""
    scores = MODEL(pixels)
    return scores, tnp.argmax(scores, axis=1).astype(tnp.int32)
