"""Every model and configuration of tests/cases, trained with the plan: what backward re-runs is what PyTorch itself decided when the
cases were recorded."""

import csv
import os
import pathlib
import unittest
import warnings

import torch
from torch.utils.checkpoint import CheckpointPolicy

import sactag
import sactag.torch
import sactag.testing
from meter import step

CASES = pathlib.Path(os.environ["SACTAG_CASES"])
# torch.export.unflatten cannot make modules of these programs.
FLAT_ONLY = {"reparam"}
# Second names of one module: named_modules(), and so torch's policy, knows the first alone.
ALIASES = ("up_alias.weight",)


def table(path):
    with path.open() as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


class Case:
    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        self.program = folder / "model.pt2"
        self.blocks = (folder / "blocks.txt").read_text().split()
        self.trace = {r["trace"]: r for r in table(folder / "trace.tsv")}
        self.decisions = table(folder / "decisions.tsv")
        self.nodes = {r["trace"]: r["node"] for r in table(folder / "nodes.tsv") if r["file"] == self.program.name}
        self.cases = [c for c in table(folder / "cases.tsv") if c["error"] == "-" and c["rule"] in ("torch", "titan")]
        exported = torch.export.load(str(self.program))
        self.linears = {}
        for name, p in exported.state_dict.items():  # tied weights have all their names here
            if name.endswith(".weight") and p.dim() == 2 and not name.endswith(ALIASES):
                self.linears[name[: -len(".weight")]] = (p.shape[1], p.shape[0])
        self.inputs = tuple(t.detach() for t in exported.example_inputs[0])
        self.exported = exported

    def model(self):
        return torch.export.unflatten(self.exported)

    def plan(self, case):
        options = {"profile": "titan"} if case["rule"] == "titan" else {"mm_rule": "torch"}
        fqns = [] if case["fqns"] == "-" else case["fqns"].split(",")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return sactag.torch.plan(self.program, fqns, blocks=self.blocks, **options)

    def decided(self, case, block):
        """What PyTorch decided: [(op, rhs, decision)] for each call."""
        found = {}
        for row in self.decisions:
            if (row["case"], row["rule"], row["block"]) == (case["case"], case["rule"], block):
                call = found.setdefault(int(row["call"]), [])
                t = self.trace[row["trace"]]
                call.append((t["op"], tuple(int(d) for d in t["rhs"].split("x")), row["decision"]))
        return [found[c] for c in sorted(found)]


EVERY = [Case(f) for f in sorted(CASES.iterdir()) if (f / "model.pt2").exists()]
ALL = [c for c in EVERY if c.name not in FLAT_ONLY]


def blocks_of(model, names):
    modules = {sactag.torch.clean_name(n): m for n, m in model.named_modules()}
    # The block itself, below the wrapper that checkpoints it: its hooks run again when it does.
    return {n: getattr(modules[n], "_checkpoint_wrapped_module", modules[n]) for n in names}


def shapes(run):
    return [(op, rhs) for op, rhs, _ in run]


class Cases(unittest.TestCase):
    def test_there_are_enough(self):
        self.assertGreaterEqual(len(ALL), 16)
        self.assertGreaterEqual(sum(len(c.cases) for c in ALL), 80)

    def test_backward_re_runs_what_pytorch_decided_and_gradients_are_bit_identical(self):
        ran = 0
        for c in ALL:
            plain = c.model()
            _, want_out, want_grads, _ = step(plain, {}, c.inputs, False)
            for case in c.cases:
                for early_stop in (False, True):
                    with self.subTest(model=c.name, case=case["case"], rule=case["rule"], early_stop=early_stop):
                        model = sactag.torch.apply(c.model(), c.plan(case))
                        meter, out, grads, _ = step(model, blocks_of(model, c.blocks), c.inputs, early_stop)
                        for block in c.blocks:
                            decided = c.decided(case, block)
                            want = [[(op, rhs) for op, rhs, did in call if did == "recompute"] for call in decided]
                            again = [shapes(run) for run in reversed(meter.again.get(block, []))]
                            if early_stop:
                                for got, all_ in zip(again, want):
                                    self.assertEqual(got, all_[: len(got)])
                            else:
                                self.assertEqual(again, want)
                        for a, b in zip(out, want_out):
                            self.assertTrue(torch.equal(a, b))
                        for name, grad in want_grads.items():
                            same = grads[name] is grad is None or torch.equal(grads[name], grad)
                            self.assertTrue(same, name)
                        ran += 1
        print(f"{ran} steps")

    def test_what_is_held_is_what_is_saved(self):
        """Of what a block makes, only the outputs of saved matmuls and of fused attention stay, and the block's own output."""
        for c in ALL:
            for case in c.cases:
                with self.subTest(model=c.name, case=case["case"], rule=case["rule"]):
                    model = sactag.torch.apply(c.model(), c.plan(case), save="seed")
                    meter, _, _, alive = step(model, blocks_of(model, c.blocks), c.inputs, False)
                    expected = set(meter.returned)
                    for block in c.blocks:
                        for run, decided in zip(meter.forward_runs[block], c.decided(case, block)):
                            self.assertEqual(shapes(run), [(op, rhs) for op, rhs, _ in decided])
                            expected |= {storage for (_, _, storage), (_, _, did) in zip(run, decided) if did == "save"}
                    kept = sactag.torch.SAVE_OPS["seed"]
                    extra = {s: v for s, v in alive.items() if s not in expected and v[1] not in kept}
                    self.assertEqual([str(op) for _, op in extra.values()], [])

    def test_assert_matches_torch(self):
        for c in ALL:
            for case in c.cases:
                with self.subTest(model=c.name, case=case["case"], rule=case["rule"]):
                    sactag.testing.assert_matches_torch(c.model(), c.plan(case), *c.inputs, linears=c.linears)

    def test_annotated_graphs_decide_the_same(self):
        policies = {"save": CheckpointPolicy.MUST_SAVE, "recompute": CheckpointPolicy.PREFER_RECOMPUTE}
        compared = 0
        for c in EVERY:
            for case in c.cases:
                with self.subTest(model=c.name, case=case["case"], rule=case["rule"]):
                    module = sactag.torch.annotate(c.exported.module(), c.plan(case))
                    metas = {n.name: n.meta for n in module.graph.nodes}
                    for row in c.decisions:
                        if (row["case"], row["rule"]) != (case["case"], case["rule"]):
                            continue
                        meta = metas[c.nodes[row["trace"]]]
                        self.assertEqual(meta.get("recompute"), policies.get(row["decision"]), row)
                        self.assertEqual("ac_graph_id" in meta, row["decision"] != "none")
                        compared += 1
        print(f"{compared} nodes")


if __name__ == "__main__":
    unittest.main()
