"""Writes odd_names.pt2 into the folder given: what a module may be called (PyTorch 2.6)."""

import io
import json
import pathlib
import sys
import zipfile

import torch
from torch import nn
from torch.export import export, save

WIDTH = 4
NAMES = ["a b", "ü/β", "#1,x", "a;b", "MatMul", "-"]


class Layer(nn.Module):
    """Calls each twice in a row, for the keys of second calls; each has a width of its own."""

    def __init__(self):
        super().__init__()
        self.up = nn.ModuleDict({name: nn.Linear(WIDTH, 5 + i, bias=False) for i, name in enumerate(NAMES)})

    def forward(self, x):
        return sum((layer(x) + layer(x + 1)).sum() for layer in self.up.values()) + x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def main():
    torch.manual_seed(0)
    buffer = io.BytesIO()
    save(export(Model(), (torch.zeros(2, WIDTH),), strict=False), buffer)
    path = pathlib.Path(sys.argv[1]) / "odd_names.pt2"
    with zipfile.ZipFile(buffer) as exported, zipfile.ZipFile(path, "w") as out:
        for name in exported.namelist():
            data = exported.read(name)
            if name.endswith("exported_program.json"):
                program = json.loads(data)
                for node in program["graph_module"]["graph"]["nodes"]:
                    node["metadata"].pop("stack_trace", None)
                data = json.dumps(program).encode()
            out.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data)


main()
