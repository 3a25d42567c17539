"""torch.export.load takes every tagged .pt2, hands the tags on, and the program computes what it did."""

import itertools
import os
import pathlib
import tempfile
import unittest
import warnings

import torch

import sactag
import sactag.torch

TESTS = pathlib.Path(__file__).resolve().parents[1]
CASES = TESTS / "cases"
CONTROL_FLOW = [TESTS / "pt2" / f"{name}.pt2" for name in ("branches", "mapped", "repeated", "scanned")]
MODELS = sorted(CASES.glob("*/*.pt2")) + CONTROL_FLOW[:2]  # what PyTorch 2.6 has saved of the others it cannot run


class Programs(unittest.TestCase):
    def test_tags_arrive_and_outputs_are_the_same(self):
        tags = {"mm": 0, "all": 0}
        for model, tag in itertools.product(MODELS, tags):
            with self.subTest(model=str(model.relative_to(TESTS)), tag=tag), tempfile.TemporaryDirectory() as folder:
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

    def test_tags_arrive_in_graphs_within_graphs(self):
        nested = 0
        for model in CONTROL_FLOW:
            with self.subTest(model=model.name), tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tagged = sactag.tag(model, out=os.path.join(folder, "model.pt2"), sync=False)
                program = torch.export.load(str(tagged))
                for row in sactag.plan(model).rows:
                    if row.graph is None:
                        continue
                    graph = getattr(program.graph_module, row.graph.split("/")[-1]).graph
                    (node,) = (n for n in graph.nodes if n.name == row.node)
                    self.assertEqual(node.meta["custom"]["sac.policy"], row.policy)
                    nested += 1
        self.assertEqual(nested, 4 + 8 + 4 + 12)

    def test_policies_of_nodes_beside_graphs(self):
        want = {"branches": "rsrs", "mapped": "srsr", "repeated": "rsrs", "scanned": "srsrsrsr"}  # g and h; scanned: a and b before
        for model in CONTROL_FLOW:
            with self.subTest(model=model.name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = torch.export.load(str(model))
                policy = sactag.torch.policy_fn(sactag.plan(model))  # loaded parameters require no gradient
                linears = [n for n in program.graph.nodes if n.target == torch.ops.aten.linear.default]
                found = "".join("s" if policy(n).name == "MUST_SAVE" else "r" for n in linears)
                self.assertEqual(found, want[model.stem])
                nested = next(m for name, m in program.graph_module.named_children() if "graph" in name)
                inside = next(n for n in nested.graph.nodes if n.target == torch.ops.aten.linear.default)
                self.assertRaises(sactag.MismatchError, policy, inside)


if __name__ == "__main__":
    unittest.main()
