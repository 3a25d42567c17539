"""Trains a tagged .pt2 through AOTAutograd and honours its tags: consume_fx.py TAGGED.pt2

torch.export.load hands each node's tags on as meta["custom"]. They are carried over to what AOTAutograd's partitioners read:
meta["recompute"], a CheckpointPolicy, and meta["ac_graph_id"], the number of the region, on every node of a region. After `--tag all`
every node of a region has them; else those of the other nodes are found by their module stacks. Prints how many matmuls forward and
backward run without and with the tags, and whether the gradients are the same. Needs torch."""

import json
import sys
import warnings

import torch
from torch._functorch.aot_autograd import aot_module_simplified, make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.utils.checkpoint import CheckpointPolicy

POLICIES = {"save": CheckpointPolicy.MUST_SAVE, "recompute": CheckpointPolicy.PREFER_RECOMPUTE}
MATMULS = (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)


def tags_of(node):
    custom = node.meta.get("custom")
    return custom if isinstance(custom, dict) and "sac.policy" in custom else None


def plan_of(module):
    plan = json.loads((module.meta.get("custom") or {}).get("sac.plan") or "null")
    if plan is None or plan["version"] != 1:
        sys.exit("not tagged, or not in a way that is known here")
    return plan


def find_calls(module):
    """{key in module stacks: region} of the calls that are regions."""
    calls = {}
    for node in module.graph.nodes:
        tags = tags_of(node)
        block = tags and tags["sac.region"].rpartition("#")[0]
        for key, (path, _) in (node.meta.get("nn_module_stack") or {}).items():
            if tags and path.split("@")[0] == block:
                calls[key] = tags["sac.region"]
    return calls


def carry_over(module, only_tagged=False):
    """Tags to meta["recompute"] and meta["ac_graph_id"]. A node without a tag, in a graph where matmuls alone have some, belongs to the
    region whose block, by its module stack, it was called in; there it is recomputed."""
    plan = plan_of(module)
    numbers = {r["region"]: i for i, r in enumerate(plan["regions"])}
    calls = {} if only_tagged or plan["tag"] == "all" else find_calls(module)
    for node in module.graph.nodes:
        tags = tags_of(node)
        inside = [calls[key] for key in (node.meta.get("nn_module_stack") or {}) if key in calls]
        if node.op == "call_function" and (tags or inside):
            node.meta["recompute"] = POLICIES[tags["sac.policy"]] if tags else CheckpointPolicy.PREFER_RECOMPUTE
            node.meta["ac_graph_id"] = numbers[tags["sac.region"] if tags else inside[-1]]
    return len(numbers)


def flattened(program):
    """The program's module with a plain list of inputs and a tuple of outputs, as AOTAutograd takes it."""
    module = program.module()
    output = next(iter(reversed(module.graph.nodes)))
    if not isinstance(output.args[0], (list, tuple)):
        output.args = ((output.args[0],),)
    module.graph.set_codegen(torch.fx.graph.CodeGen())
    module.recompile()
    return module


def outputs(result):
    return [t for t in torch.utils._pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]


def gradients(module, run, inputs):
    module.zero_grad()
    sum(t.float().square().mean() for t in outputs(run(*inputs))).backward()
    return {n: p.grad.clone() for n, p in module.named_parameters() if p.grad is not None}


def compiled(module, inputs):
    """The module through AOTAutograd, and the numbers of matmuls in its [forward, backward]."""
    counts = []

    def compiler(graph, _):
        counts.append(sum(n.op == "call_function" and n.target in MATMULS for n in graph.graph.nodes))
        return make_boxed_func(graph.forward)

    run = aot_module_simplified(
        module, inputs, fw_compiler=compiler, bw_compiler=compiler, partition_fn=min_cut_rematerialization_partition
    )
    return run, counts


def main(path):
    program = torch.export.load(path)
    inputs = tuple(t.detach() for t in program.example_inputs[0])
    plain = flattened(program)
    plan_of(plain)
    eager = gradients(plain, plain, inputs)
    run, without = compiled(plain, inputs)
    untagged = gradients(plain, run, inputs)

    tagged = flattened(program)
    regions = carry_over(tagged)
    rows = [tags_of(n)["sac.policy"] for n in tagged.graph.nodes if tags_of(n)]
    run, with_tags = compiled(tagged, inputs)
    found = gradients(tagged, run, inputs)
    same = sum(torch.equal(found[n], untagged[n]) for n in untagged)
    difference = max(float((found[n] - eager[n]).abs().max()) for n in eager)
    print(f"regions: {regions}; tags: {len(rows)}, {rows.count('recompute')} of them recompute")
    print(f"matmuls in forward: {without[0]}; in backward: {without[1]} without tags, {with_tags[1]} with")
    print(f"gradients bit-identical to those without tags: {same} of {len(eager)}; largest difference from eager: {difference:.1e}")
    return same != len(eager) or difference > 1e-4


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    sys.exit(main(sys.argv[1]))
