"""onnx accepts every tagged model that it accepts untagged, for each carrier."""

import itertools
import os
import pathlib
import tempfile
import unittest
import warnings

import onnx

import sactag

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases"
REFUSED = {line.split("\t")[0] for line in (ROOT / "tests" / "refused.tsv").read_text().splitlines()}
MODELS = [m for m in sorted(CASES.glob("*/*.onnx")) if str(m.relative_to(ROOT)) not in REFUSED]
CARRIERS = ("metadata", "attribute", "popart")
TAGS = ("mm", "all")


def accepted(path):
    try:
        onnx.checker.check_model(str(path), full_check=True)
        return True
    except Exception:  # of several kinds, from C++
        return False


class Checker(unittest.TestCase):
    def test_every_model_and_carrier(self):
        checked = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for model in MODELS:
                if not accepted(model):
                    continue
                for carrier, tag in itertools.product(CARRIERS, TAGS):
                    with self.subTest(model=str(model.relative_to(CASES)), carrier=carrier, tag=tag), tempfile.TemporaryDirectory() as folder:
                        tagged = sactag.tag(model, out=os.path.join(folder, "model.onnx"), carrier=carrier, tag=tag, external_data="copy", sync=False)
                        onnx.checker.check_model(str(tagged), full_check=True)
                        checked += 1
        print(f"{checked} tagged models checked")
        self.assertGreater(checked, 500)

    def test_model_protos(self):
        model = onnx.load(CASES / "llama_gqa" / "model_train.onnx")
        tagged = onnx.load_from_string(sactag.tag(model))
        rows = sactag.plan(model).rows
        found = {n.name: {e.key: e.value for e in n.metadata_props} for n in tagged.graph.node}
        for row in rows:
            self.assertEqual(found[row.node].get("sac.policy", "none"), row.policy)
        self.assertEqual(sactag.strip(tagged), model.SerializeToString())


if __name__ == "__main__":
    unittest.main()
