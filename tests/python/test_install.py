"""pip install ./python, without a network and without anything but Python."""

import base64
import csv
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        venv = subprocess.run([sys.executable, "-m", "venv", cls.folder / "venv"], capture_output=True, text=True, check=False)
        if venv.returncode:
            raise AssertionError(venv.stdout + venv.stderr)
        cls.python = cls.folder / "venv" / "bin" / "python"
        cls.environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SACTAG_PROGRAM")}
        # No package index can be reached.
        cls.environment.update(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_CONFIG_FILE=os.devnull)

    def pip(self, *arguments):
        done = subprocess.run(
            [self.python, "-m", "pip", *map(str, arguments)], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def run_installed(self, code):
        env = {k: v for k, v in self.environment.items() if k != "SACTAG_LIBRARY"}
        done = subprocess.run([self.python, "-c", code], cwd=self.folder, env=env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_install_use_and_uninstall(self):
        self.pip("install", ROOT / "python")
        code = f"import sactag, sactag.api; print(len(sactag.plan({str(ROOT / 'examples' / 'moe.onnx')!r}))); print(sactag.__file__)"
        rows, place = self.run_installed(code).split()
        self.assertEqual(rows, "43")
        self.assertIn("site-packages", place)
        package = pathlib.Path(place).parent
        self.assertTrue((package / "libsactag.so").is_file())
        self.assertTrue((package / "py.typed").is_file())
        self.pip("uninstall", "-y", "sactag")
        self.assertFalse(package.exists())

    def test_the_wheel_is_sound_and_always_the_same(self):
        for name in ("one", "two"):
            self.pip("wheel", "--no-deps", "-w", self.folder / name, ROOT / "python")
        one, two = (next((self.folder / name).glob("*.whl")) for name in ("one", "two"))
        self.assertEqual(one.read_bytes(), two.read_bytes())
        self.assertRegex(one.name, r"^sactag-[0-9.]+-py3-none-linux_\w+\.whl$")
        with zipfile.ZipFile(one) as wheel:
            record = next(n for n in wheel.namelist() if n.endswith("/RECORD"))
            lines = list(csv.reader(wheel.read(record).decode().splitlines()))
            self.assertEqual(sorted(n for n, *_ in lines), sorted(wheel.namelist()))
            for name, digest, _ in lines:
                if digest:
                    want = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
                    self.assertEqual(digest, "sha256=" + want, name)

    def test_an_installed_library_is_found_by_pkg_config(self):
        far = self.folder / "far"
        # A copy of the package, so that the build directory beside the tree's is not found.
        shutil.copytree(ROOT / "python" / "sactag", far / "sactag", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        shutil.copy(os.environ["SACTAG_LIBRARY"], far / "libsactag.so.0")
        (far / "sactag.pc").write_text(f"libdir={far}\nName: sactag\nDescription: x\nVersion: 0\n")
        env = {k: v for k, v in self.environment.items() if k != "SACTAG_LIBRARY"}
        env.update(PYTHONPATH=str(far), PKG_CONFIG_PATH=str(far))
        code = "import sactag; print(sactag.library_version())"
        done = subprocess.run([sys.executable, "-c", code], cwd=far, env=env, capture_output=True, text=True, check=False)
        self.assertRegex(done.stdout, r"^\d+\.\d+\.\d+\n$", done.stderr)


if __name__ == "__main__":
    unittest.main()
