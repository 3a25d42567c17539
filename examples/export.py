"""Exports a model and tags it: export.py OUT.onnx. Needs torch and onnx."""

import sys

import torch

import sactag

path = sys.argv[1]
layer = torch.nn.TransformerEncoderLayer(d_model=32, nhead=4, dim_feedforward=64, batch_first=True)
model = torch.nn.TransformerEncoder(layer, num_layers=3, enable_nested_tensor=False)

torch.onnx.export(model, (torch.randn(2, 8, 32),), path, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
sactag.tag(path, fqns=["linear1"], out=path)

for row in sactag.tags(path).rows_of("layers.0")[0]:
    print(row.node, row.policy, row.reason)
