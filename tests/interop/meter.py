"""What one training step does: which matmuls ran and ran again, and what was kept alive."""

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
MATMULS = {aten.mm.default: ("mm", 1), aten.addmm.default: ("addmm", 2)}


class Meter(TorchDispatchMode):
    """Entered around a whole step, so below the modes of checkpointing: it sees only what is really run. Hooks of the blocks tell when
    a block's own code runs, in forward and again in backward."""

    def __init__(self, blocks, peak=False):
        super().__init__()
        self.blocks, self.handles = blocks, []
        self.inside, self.backward = [], False
        self.forward_runs, self.again = {}, {}  # block: [[(op, rhs, bytes, storage)]]
        self.made, self.block_made, self.returned = {}, {}, set()
        self.with_peak, self.peak = peak, 0

    def __enter__(self):
        for name, module in self.blocks.items():
            self.handles.append(module.register_forward_pre_hook(self._enter(name)))
            self.handles.append(module.register_forward_hook(self._leave(name), always_call=True))
        return super().__enter__()

    def __exit__(self, *error):
        for handle in self.handles:
            handle.remove()
        return super().__exit__(*error)

    def _runs(self):
        return self.again if self.backward else self.forward_runs

    def _enter(self, name):
        def hook(module, args):
            self.inside.append(name)
            self._runs().setdefault(name, []).append([])

        return hook

    def _leave(self, name):
        def hook(module, args, output):
            if self.inside and self.inside[-1] == name:
                self.inside.pop()
            if not self.backward:
                for t in torch.utils._pytree.tree_leaves(output):
                    if isinstance(t, torch.Tensor):
                        self.returned.add(t.untyped_storage()._cdata)

        return hook

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        # What a view shows, or an op writes into, was made by another.
        given = {t.untyped_storage()._cdata for t in torch.utils._pytree.tree_leaves(args) if isinstance(t, torch.Tensor)}
        for t in torch.utils._pytree.tree_leaves(out):
            if isinstance(t, torch.Tensor):
                storage = t.untyped_storage()
                if storage._cdata in given:
                    continue
                known = self.made.get(storage._cdata)
                if known is None or known[0].expired():
                    self.made[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
                    if self.inside and not self.backward:
                        self.block_made[storage._cdata] = func
        if func in MATMULS and self.inside:
            op, position = MATMULS[func]
            self._runs()[self.inside[-1]][-1].append((op, tuple(args[position].shape), out.untyped_storage()._cdata))
        if self.with_peak:
            self.peak = max(self.peak, sum(n for ref, n in self.made.values() if not ref.expired()))
        return out

    def alive_of_blocks(self):
        """Storages made in blocks that are still alive: {storage: (bytes, op that made it)}."""
        return {c: (self.made[c][1], op) for c, op in self.block_made.items() if not self.made[c][0].expired()}


def step(model, blocks, inputs, early_stop, peak=False):
    """Forward and backward. Returns the meter, the outputs, {parameter: gradient}, and what of the blocks was alive between the two."""
    for p in model.parameters():
        p.grad = None
    with Meter(blocks, peak) as meter, torch.utils.checkpoint.set_checkpoint_early_stop(early_stop):
        out = [t for t in torch.utils._pytree.tree_leaves(model(*inputs)) if isinstance(t, torch.Tensor) and t.requires_grad]
        alive = meter.alive_of_blocks()
        loss = sum(t.float().square().mean() for t in out)
        meter.backward = True
        loss.backward()
    grads = {n.replace("_checkpoint_wrapped_module.", ""): p.grad for n, p in model.named_parameters()}
    return meter, [t.detach() for t in out], grads, alive
