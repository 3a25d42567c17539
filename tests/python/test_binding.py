"""The package against the command line, which is another user of the same library, and against the header."""

import contextlib
import csv
import errno
import logging
import mmap
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import sactag
from sactag import _ffi

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases"
PROGRAM = os.environ["SACTAG_PROGRAM"]
MOE = ROOT / "examples" / "moe.onnx"
GATE = ["moe.router.gate"]


def sactag_program(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, check=False)


class Proto:
    """Stands for an onnx.ModelProto."""

    def __init__(self, data):
        self.data = data

    def SerializeToString(self):
        return self.data


class TemporaryFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Header(TemporaryFolder):
    def test_structures_are_laid_out_as_in_the_header(self):
        lines = []
        for name, struct in _ffi.STRUCTS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
            for field, *_ in struct._fields_:
                lines.append(f'printf("{name}.{field} %zu\\n", offsetof(struct {name}, {field}));')
        source = self.folder / "layout.c"
        source.write_text("#include <sactag.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n" + "\n".join(lines) + "\n}\n")
        program = self.folder / "layout"
        subprocess.run(["cc", f"-I{ROOT}/include", "-o", program, source], check=True)
        found = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
        want = []
        for name, struct in _ffi.STRUCTS.items():
            want.append(f"{name} {_ffi.ctypes.sizeof(struct)}")
            want += [f"{name}.{field} {getattr(struct, field).offset}" for field, *_ in struct._fields_]
        self.assertEqual(found, want)

    def test_functions_take_as_many_arguments_as_in_the_header(self):
        text = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "sactag.h").read_text(), flags=re.S)
        declared = {}
        for name, arguments in re.findall(r"\b(sactag_\w+)\(([^;]*)\);", text):
            declared[name] = 0 if arguments.strip() == "void" else arguments.count(",") + 1
        for name, (_, arguments) in _ffi._FUNCTIONS.items():
            self.assertEqual(len(arguments), declared[name], name)

    def test_enums_are_numbered_as_in_the_header(self):
        text = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "sactag.h").read_text(), flags=re.S)

        def words(enum, prefix):
            body = re.search(rf"enum {enum} \{{([^}}]*)\}}", text).group(1)
            found = [w.strip().lower() for w in body.split(",") if w.strip()]
            return [w[len(prefix) :] for w in found]

        from sactag._session import CHOICES, LEVELS, POLICIES

        self.assertEqual(words("sactag_match", "sactag_match_"), ["default", *CHOICES["match"]])
        self.assertEqual(words("sactag_mm_rule", "sactag_mm_"), ["default", *CHOICES["mm_rule"]])
        self.assertEqual(words("sactag_profile", "sactag_profile_"), ["none", *CHOICES["profile"]])
        self.assertEqual(words("sactag_order", "sactag_order_"), list(CHOICES["order"]))
        self.assertEqual(words("sactag_carrier", "sactag_carrier_"), list(CHOICES["carrier"]))
        self.assertEqual(words("sactag_scope", "sactag_tag_"), list(CHOICES["tag"]))
        self.assertEqual(words("sactag_external", "sactag_external_"), list(CHOICES["external_data"]))
        self.assertEqual(words("sactag_level", "sactag_"), list(LEVELS))
        self.assertEqual(words("sactag_policy", "sactag_"), list(POLICIES))

    def test_version_is_the_library_s(self):
        self.assertEqual(sactag.__version__, sactag.library_version())
        self.assertIn(f'"{sactag.__version__}"', (ROOT / "include" / "sactag.h").read_text())


class Loading(TemporaryFolder):
    def run_python(self, code, **environment):
        env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1", **environment}
        return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)

    def test_a_library_that_is_not_there_is_named(self):
        done = self.run_python("import sactag; sactag.library_version()", SACTAG_LIBRARY="/nowhere/libsactag.so")
        self.assertIn("ImportError", done.stderr)
        self.assertIn("/nowhere/libsactag.so", done.stderr)

    def test_a_library_of_another_version_is_refused(self):
        source, library = self.folder / "other.c", self.folder / "libother.so"
        source.write_text('const char *sactag_version(void) { return "9.8.7"; }\n')
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        done = self.run_python("import sactag; sactag.library_version()", SACTAG_LIBRARY=str(library))
        self.assertIn("version 9.8.7, not " + sactag.__version__, done.stderr)

    def test_neither_onnx_nor_torch_nor_numpy_is_imported(self):
        code = f"import sys, sactag; sactag.plan({str(MOE)!r}); print([m for m in ('onnx', 'torch', 'numpy') if m in sys.modules])"
        self.assertEqual(self.run_python(code).stdout, "[]\n")


def unescape(cell):
    """What docs/FORMATS.md says of cells."""
    if cell == "-":
        return None
    one = {"\\t": b"\t", "\\n": b"\n", "\\\\": b"\\"}
    raw = re.sub(
        rb"\\x([0-9a-f]{2})|\\[tn\\]",
        lambda m: bytes([int(m[1], 16)]) if m[1] else one[m[0].decode()],
        cell.encode("utf-8"),
    )
    return raw.decode("utf-8", "surrogateescape")


class Plans(TemporaryFolder):
    def rows_of_program(self, model, *options):
        done = sactag_program("plan", model, "--format", "tsv", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(done.stdout.decode().splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))

    def assert_rows(self, plan, want):
        self.assertEqual(len(plan.rows), len(want))
        for row, cells in zip(plan.rows, want):
            for column in ("graph", "node", "output", "op", "block", "fqn", "evidence", "policy", "reason"):
                self.assertEqual(getattr(row, column), unescape(cells[column]), (column, cells))
            self.assertEqual(row.index, int(cells["index"]))
            self.assertEqual(row.call, None if cells["call"] == "-" else int(cells["call"]))
            self.assertEqual(str(row.rhs), cells["rhs"])

    def test_rows_are_those_of_the_command_line(self):
        models = [MOE, *sorted(CASES.glob("*/model_train.onnx")), *sorted(CASES.glob("*/model.pt2"))]
        refused = {line.split("\t")[0] for line in (ROOT / "tests" / "refused.tsv").read_text().splitlines()}
        tried = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for model in models:
                if str(model.relative_to(ROOT)) not in refused:
                    self.assert_rows(sactag.plan(model), self.rows_of_program(model))
                    tried += 1
        self.assertGreater(tried, 30)

    def test_options_are_those_of_the_command_line(self):
        model = CASES / "llama_gqa" / "model_train.onnx"
        tries = [
            ({"fqns": ["moe.router.gate", "attention.wk"]}, ["--fqn", "moe.router.gate,attention.wk"]),
            ({"fqns": "moe.router.gate,attention.wk"}, ["--fqn", "moe.router.gate,attention.wk"]),
            ({"fqns": ["wk"], "match": "substring"}, ["--fqn", "wk", "--match", "substring"]),
            ({"fqns": ["*.w?"], "match": "glob"}, ["--fqn", "*.w?", "--match", "glob"]),
            ({"force_shapes": ["32x16", (32, 32)]}, ["--force-shape", "32x16", "--force-shape", "32x32"]),
            ({"blocks": ["layers.1"]}, ["--blocks", "layers.1"]),
            ({"blocks": "whole"}, ["--blocks", "whole"]),
            ({"mm_rule": "torch"}, ["--mm-rule", "torch"]),
            ({"profile": "titan", "fqns": ["wq"]}, ["--profile", "titan", "--fqn", "wq"]),
            ({"order": "file"}, ["--order", "file"]),
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for options, arguments in tries:
                try:
                    plan = sactag.plan(model, **options)
                except sactag.Error as error:
                    self.assertEqual(sactag_program("plan", model, *arguments).returncode, error.exit_code)
                    continue
                self.assert_rows(plan, self.rows_of_program(model, *arguments))
                for key, value in options.items():
                    if key not in ("fqns", "force_shapes", "blocks"):
                        self.assertEqual(plan.options[key], value)

    def test_summary_blocks_and_linears(self):
        plan = sactag.plan(MOE, GATE)
        # As README shows them.
        self.assertEqual((plan.summary.rows, plan.summary.saved, plan.summary.recomputed, plan.summary.forced, plan.summary.outside), (43, 21, 21, 4, 1))
        self.assertEqual(plan.summary.mm_rule, "onnx")
        self.assertEqual([b.fqn for b in plan.blocks], ["layers.0", "layers.1", "layers.2", "layers.3"])
        self.assertEqual((plan.block("layers.3").saved, plan.block("layers.3").recomputed), (9, 9))
        self.assertEqual(plan.block("layers.3").forced, (sactag.Forced(sactag.Shape(32, 5), "moe.router.gate", ()),))
        self.assertEqual([len(calls) for calls in map(plan.rows_of, ("layers.0", "layers.3", "nothing"))], [1, 1, 0])
        self.assertEqual(plan.rows[4].name, "moe.router.gate")
        self.assertEqual(plan.rows[4].region, "layers.0#0")
        with self.assertRaisesRegex(KeyError, "layers.9"):
            plan.block("layers.9")
        done = sactag_program("linears", MOE, "--format", "tsv").stdout.decode().splitlines()[1:]
        found = [f"{n.fqn}\t{n.weight}\t{n.in_}\t{n.out}\t{n.block or '-'}\t{n.evidence}" for n in sactag.linears(MOE)]
        self.assertEqual(found, done)

    def test_a_plan_is_plain_data(self):
        plan = sactag.plan(MOE, GATE)
        self.assertEqual(pickle.loads(pickle.dumps(plan)), plan)
        self.assertNotEqual(sactag.plan(MOE), plan)

    def test_plan_files(self):
        plan = sactag.plan(MOE, GATE)
        plan.save(self.folder / "plan.json")
        self.assertEqual((self.folder / "plan.json").read_bytes(), sactag_program("plan", MOE, "--fqn", *GATE, "--format", "json").stdout)
        again = sactag.load_plan(self.folder / "plan.json")
        self.assertEqual(again.rows, plan.rows)
        self.assertEqual(again.options["fqns"], GATE)
        self.assertEqual(sactag.tag(MOE, plan=again), sactag.tag(MOE, GATE))
        with self.assertRaises(sactag.PolicyError):
            sactag.tag(ROOT / "examples" / "llama.onnx", plan=again)
        with self.assertRaises(TypeError):
            sactag.tag(MOE, GATE, plan=again)
        tsv = sactag_program("plan", MOE, "--format", "tsv").stdout
        (self.folder / "golden.tsv").write_bytes(tsv)
        self.assertEqual([r.policy for r in sactag.load_plan(self.folder / "golden.tsv")], [r.policy for r in sactag.plan(MOE)])

    def test_many_threads(self):
        want, found = sactag.plan(MOE, GATE), []
        threads = [threading.Thread(target=lambda: found.append(sactag.plan(MOE, GATE) == want)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 8)


class Writing(TemporaryFolder):
    def tagged_by_program(self, model, *options):
        done = sactag_program("tag", model, "-o", self.folder / "by_program", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.folder / "by_program").read_bytes()

    def test_every_kind_of_model_gives_the_same_bytes(self):
        want, raw = self.tagged_by_program(MOE, "--fqn", *GATE), MOE.read_bytes()
        with MOE.open("rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            for model in (MOE, str(MOE), os.fsencode(MOE).decode(), raw, bytearray(raw), memoryview(raw), mapped, Proto(raw)):
                self.assertEqual(sactag.tag(model, GATE), want, type(model))
        with self.assertRaisesRegex(TypeError, "not int"):
            sactag.tag(5)

    def test_carriers(self):
        for carrier in ("metadata", "attribute", "popart"):
            self.assertEqual(sactag.tag(MOE, GATE, carrier=carrier), self.tagged_by_program(MOE, "--fqn", *GATE, "--carrier", carrier))
            self.assertEqual(sactag.tags(sactag.tag(MOE, carrier=carrier)).summary.carrier, carrier)

    def test_every_node(self):
        tagged = sactag.tag(MOE, GATE, tag="all")
        self.assertEqual(tagged, self.tagged_by_program(MOE, "--fqn", *GATE, "--tag", "all"))
        self.assertEqual(sactag.strip(tagged), MOE.read_bytes())
        self.assertEqual(sactag.check(tagged), ())
        self.assertEqual(sactag.diff(sactag.plan(MOE, GATE), tagged).changed, ())
        found = {r.node: r for r in sactag.tags(tagged)}
        for row in sactag.plan(MOE, GATE):
            self.assertEqual(found[row.node].policy if row.node in found else "none", row.policy)
        softmax = [r for r in found.values() if r.op == "Softmax"]
        self.assertEqual({r.policy for r in softmax}, {"recompute"})
        self.assertEqual({r.reason for r in softmax}, {"scores", "rest"})

    def test_out_and_in_place(self):
        model = self.folder / "model.onnx"
        shutil.copy(MOE, model)
        self.assertEqual(sactag.tag(model, GATE, out=model), model)
        self.assertEqual(model.read_bytes(), sactag.tag(MOE, GATE))
        self.assertTrue(sactag.info(model).tagged)
        self.assertEqual(sactag.check(model), ())
        out = sactag.strip(model, out=str(self.folder / "stripped.onnx"), sync=False)
        self.assertEqual(out.read_bytes(), MOE.read_bytes())
        self.assertEqual(sorted(os.listdir(self.folder)), ["model.onnx", "stripped.onnx"])

    def test_strip_gives_the_original(self):
        for model in (MOE, CASES / "toy" / "model.pt2"):
            raw = model.read_bytes()
            self.assertEqual(sactag.strip(sactag.tag(raw)), raw)
            self.assertEqual(sactag.digest(sactag.tag(raw)), sactag.digest(model))

    def test_ir_version(self):
        self.assertEqual(sactag.info(MOE).ir_version, 8)
        self.assertEqual(sactag.info(sactag.tag(MOE)).ir_version, 8)
        self.assertEqual(sactag.info(sactag.tag(MOE, set_ir_version=10)).ir_version, 10)

    def test_external_data(self):
        model = CASES / "toy" / "model_external.onnx"
        out = self.folder / "model.onnx"
        with self.assertRaises(sactag.UsageError) as caught:
            sactag.tag(model, out=out)
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertEqual(os.listdir(self.folder), [])
        sactag.tag(model, out=out, external_data="copy")
        self.assertEqual(sorted(os.listdir(self.folder)), ["model.onnx", "model_external.bin"])
        with self.assertRaisesRegex(sactag.UsageError, "beside a file only"):
            sactag.tag(model, external_data="copy")
        self.assertEqual(sactag.strip(sactag.tag(model, external_data="keep")), model.read_bytes())


class Messages(TemporaryFolder):
    def assert_error(self, kind, code, text, function, *arguments, **options):
        with self.assertRaisesRegex(kind, text) as caught:
            function(*arguments, **options)
        self.assertIsInstance(caught.exception, sactag.Error)
        self.assertEqual(caught.exception.exit_code, code)
        return caught.exception

    def test_kinds_of_errors(self):
        self.assert_error(sactag.UsageError, 2, "match is 'fuzzy': expected one of exact, substring, glob", sactag.plan, MOE, match="fuzzy")
        self.assert_error(sactag.UsageError, 2, "KxN", sactag.plan, MOE, force_shapes=["5"])
        self.assert_error(sactag.UsageError, 2, "positive", sactag.plan, MOE, force_shapes=[(0, 5)])
        self.assert_error(sactag.UsageError, 2, "NUL", sactag.plan, MOE, ["a\0b"])
        self.assert_error(ValueError, 2, "carrier", sactag.tag, MOE, carrier="pigeon")
        self.assert_error(sactag.PolicyError, 3, "Linears inside it: wq, wk, wv, wo", sactag.plan, MOE, ["attention"])
        self.assert_error(sactag.PolicyError, 3, "closest: moe.router.gate", sactag.plan, MOE, ["moe.router.gat"], strict=True)
        self.assert_error(sactag.InputError, 4, "no ONNX model", sactag.plan, b"junk")
        self.assert_error(sactag.InputError, 4, "empty|no ONNX model|no model", sactag.plan, b"")
        for function in (sactag.plan, sactag.tags, sactag.check, sactag.digest):
            error = self.assert_error(FileNotFoundError, 5, "No such file", function, self.folder / "none.onnx")
            self.assertEqual(error.errno, errno.ENOENT)
            self.assertIsInstance(pickle.loads(pickle.dumps(error)), sactag.NotFoundError)
        self.assert_error(FileNotFoundError, 5, "No such file", sactag.tag, MOE, out=self.folder / "none" / "out.onnx")
        error = self.assert_error(sactag.IOError_, 5, "Is a directory", sactag.plan, self.folder)
        self.assertNotIsInstance(error, FileNotFoundError)
        with self.assertRaisesRegex(TypeError, "'fqn'"):
            sactag.plan(MOE, fqn=["moe.router.gate"])

    def test_a_path_is_never_cut(self):
        victim = self.folder / "victim.onnx"
        victim.write_bytes(b"precious")
        for function in (sactag.tag, sactag.strip):
            self.assert_error(sactag.UsageError, 2, "^out: a path cannot hold a NUL", function, MOE, out=f"{victim}\0.tagged.onnx")
        model = f"{MOE}\0.pt2"
        for function in (sactag.info, sactag.plan, sactag.tag, sactag.strip, sactag.tags, sactag.check, sactag.digest, sactag.linears):
            self.assert_error(sactag.UsageError, 2, "^model: a path cannot hold a NUL", function, model)
        self.assert_error(sactag.UsageError, 2, "NUL", sactag.diff, MOE, model)
        self.assert_error(sactag.UsageError, 2, "NUL", sactag.load_plan, f"{victim}\0")
        self.assert_error(sactag.UsageError, 2, "NUL", sactag.plan(MOE).save, f"{victim}\0.json")
        self.assert_error(sactag.UsageError, 2, "the name of the output is empty", sactag.tag, MOE, out="")
        self.assert_error(TypeError, 2, "^out: expected a path, not int", sactag.tag, MOE, out=5)
        self.assertEqual(victim.read_bytes(), b"precious")
        self.assertEqual(os.listdir(self.folder), ["victim.onnx"])

    def test_a_number_is_never_wrapped_nor_cut(self):
        for shape in ((2**64 + 32,) * 2, (32, 2**63), f"32x{2**63}"):
            self.assert_error(sactag.UsageError, 2, "force_shapes: expected numbers up to", sactag.plan, MOE, force_shapes=[shape])
        for shape in ((32.9, 32), (True, 32), ("32", 32), (32,), "3_2x32", "32x32x32", None):
            self.assert_error(sactag.UsageError, 2, "force_shapes: expected 'KxN' or a pair", sactag.plan, MOE, force_shapes=[shape])
        self.assert_error(TypeError, 2, "force_shapes: expected a list, found 5", sactag.plan, MOE, force_shapes=5)
        want = sactag.plan(MOE, force_shapes=[(32, 5), (32, 16)])
        self.assertEqual(sactag.plan(MOE, force_shapes="32x5, 32x16"), want)
        self.assertEqual(want.options["force_shapes"], [(32, 5), (32, 16)])
        for version in (2**64 + 3, 2**40, 2**31, -1):
            self.assert_error(sactag.UsageError, 2, "set_ir_version: expected 0 to 2147483647", sactag.tag, MOE, set_ir_version=version)
        for version in (10.0, "10", True):
            self.assert_error(TypeError, 2, "set_ir_version: expected a whole number", sactag.tag, MOE, set_ir_version=version)
        self.assertEqual(sactag.info(sactag.tag(MOE, set_ir_version=2**31 - 1)).ir_version, 2**31 - 1)

    def test_nothing_becomes_a_name_or_a_flag_by_itself(self):
        for name in ("fqns", "blocks", "mm_ops"):
            for value in ([None], [5], [b"attention.wq"], b"attention.wq", 5, 0):
                self.assert_error(TypeError, 2, f"^{name}: expected names as str", sactag.plan, MOE, **{name: value})
        for name in ("strict", "specialize"):
            for value in ("no", 1, 0, []):
                self.assert_error(TypeError, 2, f"^{name}: expected True or False", sactag.plan, MOE, **{name: value})
        self.assert_error(TypeError, 2, "^sync: expected True or False", sactag.tag, MOE, sync="no")
        self.assertEqual(sactag.plan(MOE, (name for name in GATE), profile="none"), sactag.plan(MOE, GATE))

    def test_plans_that_are_none(self):
        sactag.plan(MOE, GATE).save(self.folder / "plan.json")
        for path in (self.folder / "plan.json", str(self.folder / "plan.json")):
            self.assertEqual(sactag.tag(MOE, plan=path), sactag.tag(MOE, GATE))
        self.assert_error(TypeError, 2, "plan: expected a Plan or the path of a plan file, not int", sactag.tag, MOE, plan=5)
        self.assert_error(sactag.UsageError, 2, "rebase: there is no plan", sactag.tag, MOE, rebase=True)
        self.assert_error(TypeError, 2, "rebase: expected True or False", sactag.tag, MOE, rebase="no")
        for function in (sactag.load_plan, lambda path: sactag.tag(MOE, plan=path)):
            error = self.assert_error(FileNotFoundError, 5, "No such file or directory: '/.*none.json'$", function, self.folder / "none.json")
            self.assertIsInstance(pickle.loads(pickle.dumps(error)), sactag.NotFoundError)
        self.assert_error(FileNotFoundError, 5, "No such file or directory: '/.*plan.json'$", sactag.plan(MOE).save, self.folder / "none" / "plan.json")
        self.assert_error(sactag.IOError_, 5, "Is a directory", sactag.load_plan, self.folder)
        error = self.assert_error(KeyError, 2, "^the plan has no block 'layers.9'; it has layers.0", sactag.plan(MOE).block, "layers.9")
        self.assertEqual(str(error), pickle.loads(pickle.dumps(error)).args[0])

    def test_an_error_knows_its_place(self):
        raw = MOE.read_bytes()
        error = self.assert_error(sactag.InputError, 4, "offset", sactag.plan, raw[: len(raw) // 2])
        self.assertIsInstance(error.offset, int)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.offset), (str(error), error.offset))

    def test_warnings_point_at_the_caller(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plan = sactag.plan(MOE, ["moe.router.gat"])
        self.assertEqual([w.category for w in caught], [sactag.SactagWarning])
        self.assertEqual(pathlib.Path(caught[0].filename).name, "test_binding.py")
        self.assertIn("moe.router.gat", str(caught[0].message))
        self.assertIn("warning", [m.level for m in plan.messages])

    def test_notes_are_logged(self):
        with self.assertLogs("sactag", logging.INFO) as caught, contextlib.suppress(UserWarning):
            sactag.plan(MOE, GATE)
        self.assertIn("TopK", caught.output[0])


class Comparing(TemporaryFolder):
    def test_diff(self):
        plan = sactag.plan(MOE)
        self.assertTrue(sactag.diff(MOE, plan).same)
        self.assertFalse(sactag.diff(MOE, sactag.tag(MOE, GATE)))  # the untagged side takes the tags' options
        forced = sactag.diff(plan, sactag.plan(MOE, ["moe.router.gate"]))
        self.assertTrue(forced)
        gate = next(c for c in forced.changed if c.b.name == "moe.router.gate")
        self.assertEqual((gate.kind, gate.matched, gate.a.policy, gate.b.policy), ("changed", "fqn", "save", "recompute"))
        self.assertIn("policy", gate.differs)
        self.assertIn("now forced", gate.cause)
        done = sactag_program("diff", MOE, CASES / "toy" / "model_train.onnx", "-q")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(sactag.diff(MOE, CASES / "toy" / "model_train.onnx"))

    def test_diff_of_plan_files(self):
        sactag.plan(MOE, GATE).save(self.folder / "golden.json")
        self.assertTrue(sactag.diff(self.folder / "golden.json", MOE).same)
        self.assertFalse(sactag.diff(self.folder / "golden.json", MOE, ["attention.wk"]).same)

    def test_check(self):
        tagged = sactag.tag(MOE, GATE)
        self.assertEqual(sactag.check(tagged), ())
        self.assertEqual([p.kind for p in sactag.check(MOE)], ["not-tagged"])
        self.assertEqual({p.kind for p in sactag.check(tagged, ["attention.wk"])}, {"stale"})

    def test_globs_of_the_oracle(self):
        from sactag.testing import _forced

        linears = {"layers.0.attention.wq": (1, 1), "layers.0.moe.router.gate": (2, 2), "layers.1.moe.[0]": (3, 3)}
        for pattern, shapes in {
            "*q": set(),  # a star stays in its segment
            "*.wq": {(1, 1)},
            "**q": {(1, 1)},
            "layers.*.moe.**": {(2, 2)},
            "attention.w?": {(1, 1)},
            "attention?wq": set(),
            "attention.w[q]": set(),  # brackets are text
        }.items():
            self.assertEqual(_forced("layers.0", linears, {"fqns": [pattern], "match": "glob"}), shapes, pattern)
        self.assertEqual(_forced("layers.1", linears, {"fqns": ["moe.[0]"], "match": "glob"}), {(3, 3)})

    def test_assert_plan(self):
        from unittest import mock

        from sactag.testing import UPDATE, assert_plan

        golden = self.folder / "golden.json"
        with self.assertRaisesRegex(AssertionError, "is missing"):
            assert_plan(MOE, golden, GATE)
        with mock.patch.dict(os.environ, {UPDATE: "1"}):
            assert_plan(MOE, golden, GATE)
        assert_plan(MOE, golden)
        assert_plan(MOE, golden, GATE)
        with self.assertRaisesRegex(AssertionError, r"changed: .*attention.wv .* -> .* recompute"):
            assert_plan(MOE, golden, ["attention.wk"])


if __name__ == "__main__":
    unittest.main()
