"""torch.export.load takes every tagged .pt2, hands the tags on, and the program computes what it did."""

import itertools
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
        tags = {"mm": 0, "all": 0}
        for model, tag in itertools.product(MODELS, tags):
            with self.subTest(model=str(model.relative_to(CASES)), tag=tag), tempfile.TemporaryDirectory() as folder:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    tagged = sactag.tag(model, out=os.path.join(folder, "model.pt2"), tag=tag, sync=False)
                    want = {r.node: r for r in sactag.plan(model) if r.policy != "none" and r.graph is None}
                plain, program = torch.export.load(str(model)), torch.export.load(str(tagged))
                found = {n.name: n.meta["custom"] for n in program.graph.nodes if "sac.policy" in (n.meta.get("custom") or {})}
                self.assertEqual(want.keys() - found.keys(), set())
                if tag == "mm":
                    self.assertEqual(found.keys(), want.keys())
                for name, row in want.items():
                    self.assertEqual(found[name], {"sac.policy": row.policy, "sac.reason": row.reason, "sac.region": row.region})
                self.assertTrue(all(c["sac.policy"] in ("save", "recompute") and c["sac.region"] for c in found.values()))
                # The module of a program, which is what trains, has them too.
                module = program.module()
                self.assertEqual({n.name for n in module.graph.nodes if "sac.policy" in (n.meta.get("custom") or {})}, set(found))
                inputs = tuple(t.detach() for t in plain.example_inputs[0])
                with torch.no_grad():
                    a, b = (torch.utils._pytree.tree_leaves(m(*inputs)) for m in (plain.module(), module))
                self.assertTrue(all(torch.equal(x, y) for x, y in zip(a, b)))
                tags[tag] += len(found)
        print(f"{len(MODELS)} programs, tags: {tags}")
        self.assertGreater(len(MODELS), 20)


if __name__ == "__main__":
    unittest.main()
