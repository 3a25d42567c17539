"""What an export pipeline adds: tags on the model, and a plan beside it to be kept in version control."""

import sactag

fqns = ["moe.router.gate"]
sactag.tag("examples/moe.onnx", fqns=fqns, out="tagged.onnx")
plan = sactag.plan("examples/moe.onnx", fqns=fqns)
for row in plan.rows_of("layers.0")[0]:
    print(row.name, row.rhs, row.policy, row.reason)
plan.save("moe.json")
print(sactag.diff("moe.json", "tagged.onnx"))
