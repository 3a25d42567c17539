"""ONNX Runtime loads and runs every tagged model that it runs untagged, with the same outputs, for each carrier."""

import itertools
import os
import pathlib
import tempfile
import unittest
import warnings

import numpy as np
import onnxruntime as ort

import sactag

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases"
REFUSED = {line.split("\t")[0] for line in (ROOT / "tests" / "refused.tsv").read_text().splitlines()}
MODELS = [m for m in sorted(CASES.glob("*/*.onnx")) if str(m.relative_to(ROOT)) not in REFUSED]
CARRIERS = ("metadata", "attribute", "popart")
TAGS = ("mm", "all")
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64}
ort.set_default_logger_severity(4)


def session(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def inputs_of(s):
    random, found = np.random.default_rng(1), {}
    for i in s.get_inputs():
        shape = [d if isinstance(d, int) else 4 for d in i.shape]
        if TYPES[i.type] is np.int64:
            found[i.name] = random.integers(0, 8, shape)
        else:
            found[i.name] = (random.standard_normal(shape) / 4).astype(TYPES[i.type])
    return found


def run(path):
    s = session(path)
    return s.run(None, inputs_of(s))


class Runtime(unittest.TestCase):
    def test_every_model_and_carrier(self):
        ran, unable = 0, []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for model in MODELS:
                try:
                    want = run(model)
                except Exception as error:  # of several kinds, from C++
                    unable.append(f"{model.relative_to(CASES)}: {str(error).splitlines()[0][:90]}")
                    continue
                for carrier, tag in itertools.product(CARRIERS, TAGS):
                    with self.subTest(model=str(model.relative_to(CASES)), carrier=carrier, tag=tag), tempfile.TemporaryDirectory() as folder:
                        tagged = sactag.tag(model, out=os.path.join(folder, "model.onnx"), carrier=carrier, tag=tag, external_data="copy", sync=False)
                        for a, b in zip(want, run(tagged)):
                            self.assertTrue(np.array_equal(a, b, equal_nan=True))
                        ran += 1
        print(f"{ran} tagged models run; {len(unable)} models that ONNX Runtime cannot run untagged:", *unable, sep="\n  ")
        self.assertGreater(ran, 500)
        self.assertLess(len(unable), 4)


if __name__ == "__main__":
    unittest.main()
