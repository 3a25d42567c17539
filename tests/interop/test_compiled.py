"""Every configuration of tests/cases whose blocks have different plans, compiled block by block as torchtitan does: what torch.compile
hands to the partitioner is what PyTorch itself decided when the cases were recorded, and no block has another's plan."""

import logging
import unittest

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition

import sactag.torch
from test_cases import ALL

MATMULS = {torch.ops.aten.mm.default: ("mm", 1), torch.ops.aten.addmm.default: ("addmm", 2)}
DECISIONS = {"MUST_SAVE": "save", "PREFER_RECOMPUTE": "recompute"}


def compiled(c, plan):
    """One step: [(op, rhs, decision)] of each compilation, and {parameter: gradient}."""
    found = []

    def partition(joint, inputs, **options):
        matmuls = [n for n in joint.graph.nodes if n.target in MATMULS and n.meta.get("recompute") is not None]
        described = [(MATMULS[n.target], n) for n in matmuls]
        found.append(tuple((op, tuple(n.args[i].meta["val"].shape), DECISIONS[n.meta["recompute"].name]) for (op, i), n in described))
        return min_cut_rematerialization_partition(joint, inputs, **options)

    torch._dynamo.reset()
    backend = aot_autograd(
        fw_compiler=lambda g, _: make_boxed_func(g.forward), bw_compiler=lambda g, _: make_boxed_func(g.forward), partition_fn=partition
    )
    model = sactag.torch.apply(c.model(), plan)
    for name, module in list(model.named_modules()):
        if sactag.torch.clean_name(name) in c.blocks and type(module).__name__ == "CheckpointWrapper":
            module.compile(backend=backend, fullgraph=True, dynamic=False)
    return found, gradients(model, c.inputs)


def gradients(model, inputs):
    out = [t for t in torch.utils._pytree.tree_leaves(model(*inputs)) if isinstance(t, torch.Tensor) and t.requires_grad]
    sum(t.float().square().mean() for t in out).backward()
    return {n.replace("_checkpoint_wrapped_module.", ""): p.grad for n, p in model.named_parameters()}


class Compiled(unittest.TestCase):
    def test_blocks_with_different_plans(self):
        ran = 0
        logging.getLogger("torch").setLevel(logging.ERROR)
        for c in ALL:
            for case in c.cases:
                decided = {tuple(call) for block in c.blocks for call in c.decided(case, block)}
                if len(decided) < 2:
                    continue
                with self.subTest(model=c.name, case=case["case"], rule=case["rule"]):
                    found, grads = compiled(c, c.plan(case))
                    self.assertEqual(set(found), decided)
                    for name, grad in gradients(c.model(), c.inputs).items():
                        if grad is not None:
                            torch.testing.assert_close(grads[name], grad)
                    ran += 1
        print(f"{ran} configurations compiled, with gradients")
        self.assertGreater(ran, 10)


if __name__ == "__main__":
    unittest.main()
