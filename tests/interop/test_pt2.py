"""torch.export.load takes every tagged .pt2, hands the tags on, and the program computes what it did."""

import os
import pathlib
import tempfile
import unittest
import warnings

import torch

import sactag

CASES = pathlib.Path(__file__).resolve().parents[1] / "cases"
MODELS = sorted(CASES.glob("*/*.pt2"))


class Programs(unittest.TestCase):
    def test_tags_arrive_and_outputs_are_the_same(self):
        tags = 0
        for model in MODELS:
            with self.subTest(model=str(model.relative_to(CASES))), tempfile.TemporaryDirectory() as folder:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    tagged = sactag.tag(model, out=os.path.join(folder, "model.pt2"), sync=False)
                    want = {r.node: r for r in sactag.plan(model) if r.policy != "none" and r.graph is None}
                plain, program = torch.export.load(str(model)), torch.export.load(str(tagged))
                found = {n.name: n.meta["custom"] for n in program.graph.nodes if "sac.policy" in (n.meta.get("custom") or {})}
                self.assertEqual(found.keys(), want.keys())
                for name, custom in found.items():
                    row = want[name]
                    self.assertEqual(custom, {"sac.policy": row.policy, "sac.reason": row.reason, "sac.region": row.region})
                # The module of a program, which is what trains, has them too.
                module = program.module()
                self.assertEqual({n.name for n in module.graph.nodes if "sac.policy" in (n.meta.get("custom") or {})}, set(want))
                inputs = tuple(t.detach() for t in plain.example_inputs[0])
                with torch.no_grad():
                    a, b = (torch.utils._pytree.tree_leaves(m(*inputs)) for m in (plain.module(), module))
                self.assertTrue(all(torch.equal(x, y) for x, y in zip(a, b)))
                tags += len(found)
        print(f"{len(MODELS)} programs, {tags} tags")
        self.assertGreater(len(MODELS), 20)


if __name__ == "__main__":
    unittest.main()
