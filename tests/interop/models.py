"""Transformers of the four kinds that matter, small: with Linears without and with bias, Conv1D, and a mixture of experts."""

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, VOCABULARY = 32, 4, 50


class Attention(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.wq, self.wo = nn.Linear(WIDTH, WIDTH, bias=bias), nn.Linear(WIDTH, WIDTH, bias=bias)
        self.wk, self.wv = nn.Linear(WIDTH, WIDTH // 2, bias=bias), nn.Linear(WIDTH, WIDTH // 2, bias=bias)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (w(x).view(batch, length, -1, WIDTH // HEADS).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        k, v = (t.repeat_interleave(2, dim=1) for t in (k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).reshape(batch, length, WIDTH))


class SwiGLU(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.w1, self.w3 = nn.Linear(WIDTH, hidden, bias=False), nn.Linear(WIDTH, hidden, bias=False)
        self.w2 = nn.Linear(hidden, WIDTH, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Router(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.gate = nn.Linear(WIDTH, experts, bias=False)

    def forward(self, x):
        return torch.topk(torch.softmax(self.gate(x), -1), 2)


class MoE(nn.Module):
    def __init__(self, experts=6):
        super().__init__()
        self.router = Router(experts)
        self.w1 = nn.Parameter(torch.randn(experts, WIDTH, 40) / 8)
        self.w2 = nn.Parameter(torch.randn(experts, 40, WIDTH) / 8)
        self.shared = SwiGLU(24)

    def forward(self, x):
        flat = x.reshape(-1, WIDTH)
        weights, which = self.router(flat)
        every = torch.bmm(torch.relu(torch.bmm(flat.expand(self.w1.shape[0], -1, -1), self.w1)), self.w2)
        taken = every.permute(1, 0, 2).gather(1, which.unsqueeze(-1).expand(-1, -1, WIDTH))
        return (taken * weights.unsqueeze(-1)).sum(1).view_as(x) + self.shared(x)


class Conv1D(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(n_in, n_out) / 8), nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


class Conv1DMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc, self.c_proj = Conv1D(WIDTH, 64), Conv1D(64, WIDTH)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x)))


class BiasedMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.gate = nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH), nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return self.down(F.gelu(self.up(x))) * torch.sigmoid(self.gate(x))


KINDS = {"llama": (False, SwiGLU), "moe": (False, MoE), "gpt2": (False, Conv1DMLP), "bert": (True, BiasedMLP)}


class Block(nn.Module):
    def __init__(self, kind):
        super().__init__()
        bias, mlp = KINDS[kind]
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention(bias)
        self.add_module("moe" if kind == "moe" else "mlp", mlp())

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + (self.moe if hasattr(self, "moe") else self.mlp)(self.norm2(x))


class Model(nn.Module):
    def __init__(self, kind, n):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block(kind) for _ in range(n))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def tokens(batch=2, length=16, seed=1):
    return torch.randint(0, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(seed))
