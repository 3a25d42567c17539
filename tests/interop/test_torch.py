"""sactag.torch with models of our own: in eager, compiled and distributed training, and where the plan does not fit."""

import dataclasses
import functools
import pickle
import tempfile
import unittest

import torch
from torch.utils.checkpoint import checkpoint

import sactag
import sactag.testing
import sactag.torch
from meter import step
from models import KINDS, Model, tokens

FQNS = {"llama": ["attention.wk"], "moe": ["moe.router.gate"], "gpt2": ["attention.wo"], "bert": ["mlp.gate"]}


@functools.lru_cache(maxsize=None)
def plan_of(kind, n, fqns=None, **options):
    program = torch.export.export(Model(kind, n), (tokens(),))
    return sactag.torch.plan(program, list(FQNS[kind] if fqns is None else fqns), **options)


def inner(model):
    """The blocks below their wrappers."""
    return {f"layers.{i}": getattr(m, "_checkpoint_wrapped_module", m) for i, m in enumerate(model.layers)}


def runs(meter):
    return {name: [[r[:2] for r in run] for run in reversed(again)] for name, again in meter.again.items()}


def wanted(plan):
    """What backward must run again: [(op, rhs)] of each call of each block."""
    found = {}
    for block in plan.blocks:
        found[block.fqn] = [
            [("addmm" if r.reason == "addmm" else "mm", tuple(r.rhs)) for r in rows if r.policy == "recompute"] for rows in plan.rows_of(block.fqn)
        ]
    return found


class Eager(unittest.TestCase):
    def assert_same(self, a, b):
        self.assertEqual(a.keys(), b.keys())
        for name in a:
            self.assertTrue(torch.equal(a[name], b[name]), name)

    def test_plans_agree_with_torch(self):
        for kind in KINDS:
            plan = plan_of(kind, 3)
            self.assertEqual([b.fqn for b in plan.blocks], ["layers.0", "layers.1", "layers.2"])
            sactag.testing.assert_matches_torch(Model(kind, 3), plan, tokens())
            sactag.testing.assert_matches_torch(Model(kind, 3), plan_of(kind, 3, profile="titan"), tokens())

    def test_assert_matches_torch_shows_the_first_row_that_differs(self):
        plan = plan_of("llama", 3)
        flip = {"save": "recompute", "recompute": "save"}
        rows = [dataclasses.replace(r, policy=flip[r.policy]) if r.fqn == "layers.1.attention.wo" else r for r in plan]
        forged = dataclasses.replace(plan, rows=tuple(rows))
        with self.assertRaisesRegex(AssertionError, r"layers\.1#0, matmul 4: the plan says layers\.1#0 attention\.wo .*; PyTorch ran aten\.mm 32x32"):
            sactag.testing.assert_matches_torch(Model("llama", 3), forged, tokens())

    def test_a_step_is_planned_and_bit_identical(self):
        for kind in KINDS:
            plan, plain = plan_of(kind, 3), Model(kind, 3)
            _, want, grads, _ = step(plain, {}, (tokens(),), False)
            for early_stop in (False, True):
                model = sactag.torch.apply(Model(kind, 3), plan)
                meter, out, found, _ = step(model, inner(model), (tokens(),), early_stop)
                self.assertTrue(torch.equal(out[0], want[0]))
                self.assert_same(found, grads)
                for block, again in wanted(plan).items():
                    got = runs(meter).get(block, [])
                    self.assertEqual(got, again if not early_stop else [w[: len(g)] for g, w in zip(got, again)])

    def test_bytes_held(self):
        for kind in KINDS:
            plan = plan_of(kind, 3)
            model = sactag.torch.apply(Model(kind, 3), plan)
            meter, _, _, alive = step(model, inner(model), (tokens(),), False)
            rows = {b.fqn: plan.rows_of(b.fqn)[0] for b in plan.blocks}
            positions = 2 * 16
            want = sum(positions * r.rhs.n * 4 for r in plan if r.policy == "save")  # the outputs that are saved
            want += 3 * positions * 32 * 4  # outputs of blocks: inputs of the next
            attention = sum(n for n, op in alive.values() if op in sactag.torch.ATTENTION)
            self.assertEqual(sum(n for n, _ in alive.values()) - attention, want, (kind, rows))
            self.assertEqual(attention, 3 * (positions * 32 * 4 + positions * 4 * 4))  # output and log-sum-exp

    def test_peak_falls_as_blocks_are_added(self):
        for kind in KINDS:
            peaks = {}
            for n in (3, 6, 12):
                plan = plan_of(kind, n)
                for name, model in (("plain", Model(kind, n)), ("planned", sactag.torch.apply(Model(kind, n), plan))):
                    peaks[name, n] = step(model, {}, (tokens(),), True, peak=True)[0].peak
            print(kind, {f"{name} {n}": f"{v / 1024:.0f} KiB" for (name, n), v in peaks.items()})
            ratios = [peaks["planned", n] / peaks["plain", n] for n in (3, 6, 12)]
            self.assertEqual(ratios, sorted(ratios, reverse=True), kind)
            added = {name: peaks[name, 12] - peaks[name, 6] for name in ("plain", "planned")}
            self.assertLess(added["planned"], added["plain"] * 0.8, kind)  # what six more blocks take

    def test_several_forwards_before_backward(self):
        plan = plan_of("moe", 3)
        plain, model = Model("moe", 3), sactag.torch.apply(Model("moe", 3), plan)
        for m in (plain, model):
            losses = [m(tokens(seed=s)).square().mean() for s in (1, 2, 3)]
            for loss in (losses[1], losses[0], losses[2]):  # micro-batches, in another order
                loss.backward()
        for a, b in zip(plain.parameters(), model.parameters()):
            self.assertTrue(torch.equal(a.grad, b.grad))

    def test_odd_numbers_start_anew_in_each_call(self):
        plan = plan_of("llama", 1, ())
        self.assertEqual(len(plan.rows_of("layers.0")[0]) % 2, 1)
        model = sactag.torch.apply(Model("llama", 1), plan)
        for _ in range(3):
            meter = step(model, inner(model), (tokens(),), False)[0]
            self.assertEqual(runs(meter), wanted(plan))

    def test_a_pipeline_stage_holds_some_blocks(self):
        plan = plan_of("llama", 3)
        stage = Model("llama", 3)
        stage.layers[0] = torch.nn.Identity()
        del stage.layers[2]
        part = sactag.torch.apply(torch.nn.ModuleDict({"module": stage})["module"], plan)
        self.assertEqual([type(m).__name__ for m in part.layers], ["CheckpointWrapper", "CheckpointWrapper"])
        with self.assertRaisesRegex(sactag.UsageError, "none of the plan's blocks"):
            sactag.torch.apply(torch.nn.Linear(2, 2), plan)

    def test_wrapper_names_do_not_matter(self):
        outer = torch.nn.Module()
        outer.module = Model("llama", 3)
        sactag.torch.apply(outer, plan_of("llama", 3))
        self.assertEqual(type(outer.module.layers[2]).__name__, "CheckpointWrapper")
        with self.assertRaisesRegex(sactag.UsageError, "checkpointed already"):
            sactag.torch.apply(outer, plan_of("llama", 3))

    def test_context_fn_with_checkpoint(self):
        plan, model = plan_of("llama", 3), Model("llama", 3)
        context = sactag.torch.context_fn(plan, "layers.1")
        self.assertEqual(pickle.loads(pickle.dumps(context)).args, context.args)
        self.assertNotIn("layers", repr(context.args))
        x = torch.randn(2, 16, 32, requires_grad=True)
        checkpoint(model.layers[1], x, use_reentrant=False, context_fn=context).sum().backward()
        got, x.grad = x.grad, None
        model.layers[1](x).sum().backward()
        self.assertTrue(torch.equal(got, x.grad))
        with self.assertRaisesRegex(KeyError, "layers.7") as caught:
            sactag.torch.context_fn(plan, "layers.7")
        self.assertEqual(caught.exception.exit_code, 2)

    def test_a_plan_file_stands_for_its_plan(self):
        plan = plan_of("llama", 3)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/plan.json"
            plan.save(path)
            self.assertEqual(sactag.torch.context_fn(path, "layers.1").args, sactag.torch.context_fn(plan, "layers.1").args)
            model = sactag.torch.apply(Model("llama", 3), path)
        self.assertEqual(runs(step(model, inner(model), (tokens(),), False)[0]), wanted(plan))
        for wrong in (None, 5):
            for function in (sactag.torch.apply, sactag.torch.regions):
                with self.assertRaisesRegex(TypeError, "plan: expected a Plan or the path of a plan file") as caught:
                    function(Model("llama", 1), wrong)
                self.assertEqual(caught.exception.exit_code, 2)
        with self.assertRaisesRegex(TypeError, "a torch.export.ExportedProgram.*, not Model"):
            sactag.torch.plan(Model("llama", 1))


class Mismatch(unittest.TestCase):
    def assert_mismatch(self, text, model, plan, call=None):
        sactag.torch.apply(model, plan)
        with self.assertRaisesRegex(sactag.MismatchError, text):
            (call or model)(tokens())

    def test_another_shape(self):
        model = Model("llama", 3)
        model.layers[1].mlp.w1 = torch.nn.Linear(32, 56, bias=False)
        text = r"matmul 5 of the block: PyTorch runs aten.mm with a right operand of 32x56, but row 5 of the plan is mlp.w1 32x48 \w+ \((odd|even):\d\)"
        self.assert_mismatch(text, model, plan_of("llama", 3))

    def test_another_op(self):
        model = Model("llama", 3)
        model.layers[0].attention.wq = torch.nn.Linear(32, 32, bias=True)
        self.assert_mismatch("runs aten.addmm .* row 1 of the plan is attention.wq 32x32 .* as aten.mm", model, plan_of("llama", 3))

    def test_more_and_fewer_matmuls(self):
        model = Model("llama", 3)
        model.layers[0].mlp = torch.nn.Sequential(model.layers[0].mlp, torch.nn.Linear(32, 32, bias=False))
        self.assert_mismatch("matmul 8 of the block: .* the plan has only 7 rows", model, plan_of("llama", 3))
        model = Model("llama", 3)
        model.layers[2].mlp = torch.nn.Identity()
        self.assert_mismatch("ended after 4 matmuls, but row 5 of the plan is mlp.w1", model, plan_of("llama", 3))

    def test_fp8_is_refused(self):
        walks = (sactag.torch._Walk(()), sactag.torch._Walk(()))
        context = torch.utils.checkpoint.SelectiveCheckpointContext(is_recompute=False)
        with self.assertRaisesRegex(sactag.MismatchError, "_scaled_mm.*fp8"):
            sactag.torch._policy(walks, frozenset(), context, torch.ops.aten._scaled_mm.default)

    def test_an_unknown_save_list(self):
        with self.assertRaisesRegex(sactag.UsageError, "none, seed, titan"):
            sactag.torch.context_fn(plan_of("llama", 3), "layers.0", save="all")


class Compiled(unittest.TestCase):
    def compile(self, plan, n, kind="llama"):
        """Each block compiled, as torchtitan does: gradients, and [matmuls in forward, in backward] of each compilation."""
        from torch._dynamo.backends.common import aot_autograd
        from torch._functorch.aot_autograd import make_boxed_func
        from torch._functorch.partitioners import min_cut_rematerialization_partition

        torch._dynamo.reset()
        counts = {"forward": [], "backward": []}

        def compiler(which):
            def count(graph, inputs):
                ops = [x.target for x in graph.graph.nodes if x.op == "call_function"]
                counts[which].append(sum(op in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default) for op in ops))
                return make_boxed_func(graph.forward)

            return count

        backend = aot_autograd(
            fw_compiler=compiler("forward"), bw_compiler=compiler("backward"), partition_fn=min_cut_rematerialization_partition
        )
        model = sactag.torch.apply(Model(kind, n), plan)
        for i in range(n):
            model.layers.register_module(str(i), torch.compile(model.layers[i], backend=backend, fullgraph=True))
        model(tokens()).square().mean().backward()
        return [p.grad for p in model.parameters()], list(zip(counts["forward"], counts["backward"]))

    def plain(self, n, kind="llama"):
        model = Model(kind, n)
        model(tokens()).square().mean().backward()
        return [p.grad for p in model.parameters()]

    def test_twelve_equal_blocks_compile_once(self):
        plan = plan_of("llama", 12)
        grads, counts = self.compile(plan, 12)
        again = len(wanted(plan)["layers.0"][0])
        # 7 matmuls in forward; in backward two for each, and those that run again.
        self.assertEqual(counts, [(7, 14 + again)])
        for a, b in zip(grads, self.plain(12)):
            torch.testing.assert_close(a, b)

    def test_two_plans_are_not_confused(self):
        plan = plan_of("llama", 4, ("layers.2.attention.wq",))
        again = wanted(plan)
        self.assertEqual(again["layers.0"], again["layers.3"])
        self.assertNotEqual(again["layers.0"], again["layers.2"])
        grads, counts = self.compile(plan, 4)
        self.assertEqual(sorted(counts), sorted((7, 14 + len(again[b][0])) for b in ("layers.0", "layers.2")))
        for a, b in zip(grads, self.plain(4)):
            torch.testing.assert_close(a, b)


class Distributed(unittest.TestCase):
    def test_global_shapes_of_dtensors(self):
        from torch.distributed._tensor import init_device_mesh
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
        from torch.testing._internal.distributed.fake_pg import FakeStore

        torch.distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
        try:
            mesh = init_device_mesh("cpu", (2,))
            model = Model("llama", 3)
            for layer in model.layers:
                styles = {"mlp.w1": ColwiseParallel(), "mlp.w3": ColwiseParallel(), "mlp.w2": RowwiseParallel()}
                parallelize_module(layer, mesh, styles)
            self.assertEqual(tuple(model.layers[0].mlp.w1.weight.to_local().shape), (24, 32))
            sactag.torch.apply(model, plan_of("llama", 3))
            model(tokens()).square().mean().backward()
        finally:
            torch.distributed.destroy_process_group()


class Graphs(unittest.TestCase):
    def test_by_ordinal_in_a_graph_of_aten_ops(self):
        """A graph whose nodes have other names than the plan's, as a tracer of one's own makes."""
        plan = plan_of("moe", 3)

        def linear(x, weight, bias=None):
            # As it runs in training; the default decomposition is for inference.
            return torch.ops.aten.mm(x.reshape(-1, x.shape[-1]), weight.t()).view(*x.shape[:-1], -1)

        table = {torch.ops.aten.linear.default: linear}
        program = torch.export.export(Model("moe", 3), (tokens(),)).run_decompositions(table)
        graph = program.graph_module.graph
        for i, node in enumerate(list(graph.nodes)):
            if node.op == "call_function":
                node.name = f"other_{i}"
        policy = sactag.torch.policy_fn(plan)
        found = [policy(n) for n in graph.nodes if n.target in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)]
        names = {"save": "MUST_SAVE", "recompute": "PREFER_RECOMPUTE", "none": None}
        self.assertEqual([f and f.name for f in found], [names[r.policy] for r in plan])

    def test_a_graph_of_another_model_is_refused(self):
        program = torch.export.export(Model("gpt2", 3), (tokens(),)).run_decompositions({})
        policy = sactag.torch.policy_fn(plan_of("llama", 3))
        with self.assertRaisesRegex(sactag.MismatchError, r"layers\.0#0"):
            [policy(n) for n in program.graph_module.graph.nodes]


if __name__ == "__main__":
    unittest.main()
