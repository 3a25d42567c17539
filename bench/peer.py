"""What a script does that has onnx: load the model, tag each MatMul, save it."""
import sys

import onnx

model = onnx.load(sys.argv[1], load_external_data=False)
for node in model.graph.node:
    if node.op_type == "MatMul":
        entry = node.metadata_props.add()
        entry.key, entry.value = "sac.policy", "save"
onnx.save(model, sys.argv[2])
