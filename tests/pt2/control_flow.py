"""Writes branches.pt2, uneven.pt2, mapped.pt2, repeated.pt2, scanned.pt2 and scanned_dynamic.pt2 into the folder given (PyTorch 2.6)."""

import io
import json
import pathlib
import sys
import zipfile

import torch
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim, export, save

WIDTH = 8


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.g = nn.Linear(WIDTH, 6, bias=False)
        self.h = nn.Linear(6, WIDTH, bias=False)


class Branches(Layer):
    def forward(self, x):
        return self.h(self.g(torch.cond(x.sum() > 0, self.a, self.b, (x,))))


class Uneven(Layer):
    def forward(self, x):
        return self.h(self.g(torch.cond(x.sum() > 0, self.a, lambda y: self.b(self.b(y)), (x,))))


class Mapped(Layer):
    def forward(self, x):
        return self.h(self.g(torch_map(lambda row: self.b(self.a(row)), x)))


class Repeated(Layer):
    """The condition multiplies, too."""

    def forward(self, x):
        (y,) = while_loop(lambda y: self.b(y).sum() > 0, lambda y: (self.a(y) - 1,), (x,))
        return self.h(self.g(y))


class Scanned(Layer):
    """Three steps, along the second dimension."""

    def forward(self, x):
        def step(carry, row):
            carry = self.b(self.a(carry)) + row
            return carry, carry.clone()

        _, rows = scan(step, x[:, 0].contiguous(), x, dim=1)
        return self.h(self.g(rows)).transpose(0, 1)


class ScannedOdd(Layer):
    def forward(self, x):
        def step(carry, row):
            carry = self.a(carry) + row
            return carry, carry.clone()

        _, rows = scan(step, x[0].contiguous(), x, dim=0)
        return self.h(self.g(rows))


class Stack(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layers = nn.ModuleList(layer() for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def without_traces(graph):
    for node in graph["nodes"]:
        node["metadata"].pop("stack_trace", None)
        for given in node["inputs"]:
            if "as_graph" in given["arg"]:
                without_traces(given["arg"]["as_graph"]["graph"])


def write(path, layer, x, trained=True, **options):
    torch.manual_seed(0)
    buffer = io.BytesIO()
    save(export(Stack(layer).requires_grad_(trained), (x,), **options), buffer)
    with zipfile.ZipFile(buffer) as exported, zipfile.ZipFile(path, "w") as out:
        for name in exported.namelist():
            data = exported.read(name)
            if name.endswith("exported_program.json"):
                program = json.loads(data)
                without_traces(program["graph_module"]["graph"])
                data = json.dumps(program).encode()
            out.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data)


def main():
    folder = pathlib.Path(sys.argv[1])
    x, rows = torch.zeros(2, WIDTH), torch.zeros(2, 3, WIDTH)
    write(folder / "branches.pt2", Branches, x)
    write(folder / "uneven.pt2", Uneven, x)
    write(folder / "mapped.pt2", Mapped, rows)
    # PyTorch 2.6 differentiates neither while_loop nor scan.
    write(folder / "repeated.pt2", Repeated, x, trained=False)
    write(folder / "scanned.pt2", Scanned, rows, trained=False)
    dynamic = ({0: Dim("rows", min=2, max=100)},)
    write(folder / "scanned_dynamic.pt2", ScannedOdd, rows, trained=False, dynamic_shapes=dynamic)


main()
