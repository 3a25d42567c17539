"""The examples that consume tags, on the models that matter."""

import itertools
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

import sactag

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases"
NAMES = ("llama_gqa", "llama_sdpa", "moe_stacked", "gpt2_conv1d", "bert")


class Consume(unittest.TestCase):
    def run_example(self, name, model, out, **options):
        blocks = (model.parent / "blocks.txt").read_text().split()
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tagged = sactag.tag(model, out=pathlib.Path(folder) / out, blocks=blocks, **options)
            plan = sactag.plan(model, blocks=blocks)
            done = subprocess.run([sys.executable, ROOT / "examples" / name, tagged], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-2000:])
        print(f"{model.parent.name} {name} {options}", *done.stdout.splitlines(), sep="\n    ")
        return plan, done.stdout

    def numbers(self, pattern, text):
        found = re.search(pattern, text)
        self.assertIsNotNone(found, text)
        return [int(g) for g in found.groups()]

    def test_export(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            done = subprocess.run([sys.executable, ROOT / "examples" / "export.py", path], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            self.assertEqual(sactag.check(path), ())
        want = [("self_attn/MatMul", "save", "odd:1"), ("self_attn/Gemm", "recompute", "even:2")]
        want += [("linear1/MatMul", "recompute", "forced:32x64:linear1"), ("linear2/MatMul", "save", "odd:3")]
        self.assertEqual(done.stdout.splitlines(), [f"/layers.0/{node} {policy} {reason}" for node, policy, reason in want])

    def test_onnx(self):
        for name in NAMES:
            for variant, carrier, tag in (("train", "metadata", "mm"), ("folded", "attribute", "mm"), ("train", "attribute", "all")):
                with self.subTest(model=name, variant=variant, carrier=carrier, tag=tag):
                    model = CASES / name / f"model_{variant}.onnx"
                    plan, text = self.run_example("consume_onnx.py", model, "model.onnx", carrier=carrier, tag=tag)
                    s = plan.summary
                    tags, products, recompute = self.numbers(r"tags: (\d+); products: (\d+) tagged, (\d+) of them", text)
                    self.assertEqual(self.numbers(r"of tagged nodes run again in backward: (\d+)", text), [recompute])
                    if tag == "mm":
                        self.assertEqual([tags, products, recompute], [s.saved + s.recomputed] * 2 + [s.recomputed])
                    else:  # with those of attention and experts
                        self.assertGreater(tags, products)
                        self.assertGreaterEqual(products, s.saved + s.recomputed)
                        self.assertGreaterEqual(recompute, s.recomputed)
                    without, with_tags = self.numbers(r"held for backward: (\d+) bytes without tags, (\d+) with", text)
                    self.assertLess(with_tags, without / 2)

    def test_dropout(self):
        import torch

        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.up, self.drop = torch.nn.Linear(8, 16, bias=False), torch.nn.Dropout(0.5)
                self.mlp = torch.nn.Sequential(torch.nn.Linear(16, 16, bias=False), torch.nn.Linear(16, 8, bias=False))

            def forward(self, x):
                return x + self.drop(self.mlp(self.drop(torch.relu(self.up(x)))))

        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "model.onnx"
            stack = torch.nn.ModuleDict({"layers": torch.nn.Sequential(Block(), Block())})["layers"]
            train = torch.onnx.TrainingMode.TRAINING
            torch.onnx.export(stack, (torch.randn(2, 4, 8),), model, dynamo=False, training=train, do_constant_folding=False)
            self.assertIn(b"Dropout", model.read_bytes())
            for tag in ("mm", "all"):
                sactag.tag(model, out=model, blocks="*", tag=tag)
                done = subprocess.run([sys.executable, ROOT / "examples" / "consume_onnx.py", model], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-2000:])
                self.assertIn("loss bit-identical: True; gradients bit-identical: 6 of 6", done.stdout)
                self.assertIn("6 tagged, 2 of them recompute", done.stdout)

    def test_what_they_cannot_train(self):
        toy, llama = CASES / "toy" / "model_train.onnx", CASES / "llama_gqa" / "model_train.onnx"
        with tempfile.TemporaryDirectory() as folder:
            strange = pathlib.Path(folder) / "model.onnx"
            self.assertIn(b"Sigmoid", llama.read_bytes())
            strange.write_bytes(sactag.tag(llama).replace(b"Sigmoid", b"Strange"))
            for example, model, want in (
                ("consume_onnx.py", toy, "not tagged, or not in a way that is known here\n"),
                ("consume_fx.py", CASES / "toy" / "model.pt2", "not tagged, or not in a way that is known here\n"),
                ("consume_onnx.py", strange, "the graph has operators that this example does not know: Strange\n"),
            ):
                done = subprocess.run([sys.executable, ROOT / "examples" / example, model], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (1, want))

    def test_fx(self):
        for name, tag in itertools.product(NAMES, ("mm", "all")):
            with self.subTest(model=name, tag=tag):
                plan, text = self.run_example("consume_fx.py", CASES / name / "model.pt2", "model.pt2", tag=tag)
                without, with_tags = self.numbers(r"in backward: (\d+) without tags, (\d+) with", text)
                # The partitioner runs no more again than is tagged, and may skip what backward does not need.
                self.assertGreater(with_tags, without)
                self.assertLessEqual(with_tags, without + plan.summary.recomputed)


if __name__ == "__main__":
    unittest.main()
