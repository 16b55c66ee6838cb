"""Fine-tune an imported model: its last layer learns more digits, and a C++ program uses it.

strokes.onnx ─► from_onnx ─► train last.weight, last.bias ─► object file + header ─► C++ program

python examples/fine_tune.py
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import tfc
import tfc.numpy as tnp
from tfc import nn, optim

EXAMPLES = Path(__file__).parent
TUNED = ("last.weight", "last.bias")

model = tfc.from_onnx(EXAMPLES / "strokes.onnx")
optimizer = optim.adam(1e-2)


def loss(tuned, images, labels):
    """Parameters that are left out are the file's own: nothing is computed for their gradients."""
    scores = model.function(tuned, images)
    return tnp.mean(nn.softmax_cross_entropy_with_integer_labels(scores, labels))


@tfc.jit
def step(tuned, state, images, labels):
    value, gradient = tfc.value_and_grad(loss)(tuned, images, labels)
    updates, state = optimizer.update(gradient, state, tuned)
    return optim.apply_updates(tuned, updates), state, value


def classes(tuned, images):
    return tnp.argmax(model.function(tuned, images), axis=-1).astype(np.int32)


def accuracy(tuned, images, labels):
    return float(np.mean(np.asarray(classes(tuned, images)) == labels))


def export(tuned, folder):
    """An object file and a header, for one image at a time."""
    image = tfc.ShapeDtypeStruct((1, 1, 8, 8), np.float32)
    return tfc.aot.compile(lambda pixels: classes(tuned, pixels), image,
                           cpp_class="demo::Digits", out_dir=str(folder))  # fmt: skip


def run_in_cpp(made, images, folder):
    """What the C++ program sees in the images; None if there is no compiler."""
    compiler = shutil.which("c++")
    if compiler is None:
        return None
    (folder / "images.bin").write_bytes(images.tobytes())
    source = EXAMPLES / "cpp" / "fine_tuned_main.cc"
    command = [compiler, "-std=c++11", "-O2", f"-I{folder}", source, made.object]
    subprocess.run([*command, "-o", folder / "digits"], check=True)
    done = subprocess.run([folder / "digits", folder / "images.bin"], check=True,
                          capture_output=True, text=True)  # fmt: skip
    return np.array(done.stdout.split(), np.int32)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--steps", type=int, default=100)
    steps = arguments.parse_args().steps

    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    labels = digits.target.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    training, unseen = order[:1400], order[1400:]

    tuned = {name: model.parameters[name] for name in TUNED}
    print(f"before: {accuracy(tuned, images[unseen], labels[unseen]):.3f} of unseen digits right")
    state = optimizer.init(tuned)
    for number in range(steps):
        tuned, state, value = step(tuned, state, images[training], labels[training])
        if number % 20 == 0:
            print(f"step {number}: loss {float(value):.3f}")
    print(f"after: {accuracy(tuned, images[unseen], labels[unseen]):.3f} of unseen digits right")

    with tempfile.TemporaryDirectory() as folder:
        tuned = {name: np.asarray(value) for name, value in tuned.items()}
        made = export(tuned, Path(folder))
        print(f"object file: {made.object_size} bytes")
        seen = run_in_cpp(made, images[unseen], Path(folder))
    if seen is None:
        print("no C++ compiler was found, so nothing was built")
        return
    same = int(np.sum(seen == np.asarray(classes(tuned, images[unseen]))))
    print(f"C++ and Python agree on {same} of {len(unseen)} images")


if __name__ == "__main__":
    main()
