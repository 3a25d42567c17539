"""--tag all: the ops in its table exist, and its tags make PyTorch's partitioner recompute what tags on matmuls alone do not."""

import io
import pathlib
import re
import sys
import tempfile
import unittest
import warnings

import torch

import sactag
from sactag.torch import SAVE_OPS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
import consume_fx  # noqa: E402

# In newer versions of PyTorch only.
NEWER = {"aten._grouped_mm"}
BLOCKS, WIDTH = 3, 32


class Block(torch.nn.Module):
    """Of its three Linears the second is recomputed. Where the second tanh's output is kept, nobody needs it again."""

    def __init__(self):
        super().__init__()
        self.up = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH, bias=False), torch.nn.Tanh(), torch.nn.Linear(WIDTH, WIDTH, bias=False))
        self.out = torch.nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return self.out(torch.tanh(self.up(x)))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList(Block() for _ in range(BLOCKS))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Table(unittest.TestCase):
    def test_every_operator_of_pytorch_exists(self):
        rows = re.findall(r'^\w+_OP\(\w+, "torch", "([^"]+)"', (ROOT / "passes" / "neighbour_ops.def").read_text(), re.M)
        self.assertGreater(len(rows), 80)
        for name in sorted(set(rows) - NEWER):
            with self.subTest(op=name):
                found = torch.ops
                for part in name.split("."):
                    found = getattr(found, part)


    def test_what_the_package_saves_is_in_the_table(self):
        rows = re.findall(r'^SAVE_OP\((\w+), "torch", "([^"]+)"', (ROOT / "passes" / "neighbour_ops.def").read_text(), re.M)
        for profile, ops in SAVE_OPS.items():
            saved = {name for when, name in rows if when in ("ALWAYS", profile.upper())}
            for op in ops:
                name, overload = str(op).rsplit(".", 1)
                with self.subTest(profile=profile, op=str(op)):
                    self.assertTrue({name, f"{name}.{overload}"} & saved)


class Partitioner(unittest.TestCase):
    def train(self, tag):
        """Matmuls in (forward, backward), bytes that forward hands to backward, and gradients, with the tags carried over and nothing else."""
        file = io.BytesIO()
        torch.export.save(torch.export.export(Model(), (torch.randn(64, WIDTH),)), file)
        inputs = (torch.randn(64, WIDTH, generator=torch.Generator().manual_seed(1)),)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = sactag.tag(file.getvalue(), out=pathlib.Path(folder) / "model.pt2", tag=tag or "mm", sync=False)
            module = consume_fx.flattened(torch.export.load(str(path)))
            recompute = sum(r.policy == "recompute" for r in sactag.plan(file.getvalue()))
        if tag:
            self.assertEqual(consume_fx.carry_over(module, only_tagged=True), BLOCKS)
        run, counts = consume_fx.compiled(module, inputs)
        saved = set()
        pack = lambda t: saved.add((t.untyped_storage()._cdata, t.untyped_storage().nbytes())) or t  # noqa: E731
        own = {p.untyped_storage()._cdata for p in [*module.parameters(), *inputs]}
        module.zero_grad()
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            out = run(*inputs)
        sum(t.square().mean() for t in torch.utils._pytree.tree_leaves(out)).backward()
        held = sum(n for s, n in saved if s not in own)
        return counts, held, {n: p.grad.clone() for n, p in module.named_parameters()}, recompute

    def test_linear_and_tanh(self):
        plain, mm, every = (self.train(tag) for tag in (None, "mm", "all"))
        for name, (counts, held, _, recompute) in zip(("no tags", "--tag mm", "--tag all"), (plain, mm, every)):
            print(f"{name}: {counts[0]} matmuls in forward, {counts[1]} in backward, {held} bytes held ({recompute} tagged recompute)")
        self.assertEqual(plain[3], BLOCKS)
        self.assertEqual(plain[0], [3 * BLOCKS, 2 * 3 * BLOCKS - 1])  # the input needs no gradient
        self.assertEqual(mm[0], plain[0])  # nothing is run again
        self.assertEqual(every[0], [plain[0][0], plain[0][1] + BLOCKS])
        self.assertLess(every[1], mm[1])
        for name, grad in plain[2].items():
            self.assertTrue(torch.equal(grad, mm[2][name]), name)
            self.assertTrue(torch.equal(grad, every[2][name]), name)


if __name__ == "__main__":
    unittest.main()
