"""Writes lent.pt2: two blocks that call a module which is not theirs, as an argument and from a hook."""
import json
import os
import sys
import zipfile

import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 4, bias=False)
        self.down = nn.Linear(4, 8, bias=False)
        self.hooked = nn.Linear(8, 8, bias=False)
        self.up.register_forward_pre_hook(lambda module, args: (self.hooked(args[0]),))

    def forward(self, x, shared):
        return x + self.down(shared(self.up(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(4, 4, bias=False)
        self.layers = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, self.shared)
        return x


path = sys.argv[1]
torch.export.save(torch.export.export(Model(), (torch.randn(2, 8),), strict=True), path + ".full")
with zipfile.ZipFile(path + ".full") as old, zipfile.ZipFile(path, "w") as new:
    for item in old.infolist():
        data = old.read(item)
        if item.filename.endswith("serialized_exported_program.json"):
            program = json.loads(data)
            for node in program["graph_module"]["graph"]["nodes"]:
                node["metadata"].pop("stack_trace", None)
            data = json.dumps(program).encode()
        new.writestr(item, data)
os.remove(path + ".full")
