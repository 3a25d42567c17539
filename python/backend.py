"""Builds the wheel of `pip install ./python` with nothing but Python itself.

The shared library goes into the wheel. It is, in this order: the file that SACTAG_LIBRARY names; ../build/libsactag.so, which
`make` is asked to bring up to date (BUILD names another build directory, as for make); none, when this directory stands alone:
then an installed library is used.
"""

import base64
import hashlib
import io
import os
import pathlib
import re
import subprocess
import sysconfig
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
NAME = "sactag"
SUMMARY = "Selective activation checkpointing, decided ahead of time and written onto an exported graph"
# The earliest time that a zip can hold, so that equal trees give equal wheels.
EPOCH = (1980, 1, 1, 0, 0, 0)


def _version():
    text = (HERE / NAME / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "([^"]+)"', text, re.M).group(1)


def _library():
    given = os.environ.get("SACTAG_LIBRARY")
    if given:
        if not os.path.isfile(given):
            raise SystemExit(f"SACTAG_LIBRARY: no such file: {given}")
        return pathlib.Path(given)
    root = HERE.parent
    if not (root / "include" / "sactag.h").is_file() or not (root / "Makefile").is_file():
        return None
    build = os.environ.get("BUILD") or "build"
    # Another make may be running us: its flags are not for this one.
    clean = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "VARIANT")}
    made = subprocess.run(["make", "-s", "-C", str(root), f"BUILD={build}", f"{build}/libsactag.so"], env=clean, check=False)
    if made.returncode:
        raise SystemExit("the shared library could not be built: run 'make' in the directory above python/, or name one in SACTAG_LIBRARY")
    return root / build / "libsactag.so"


def _metadata():
    return (
        f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {_version()}\nSummary: {SUMMARY}\n"
        "Requires-Python: >=3.9\n"
    )


def _tag(library):
    if library is None:
        return "py3-none-any"
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def _wheel_text(tag, pure):
    return f"Wheel-Version: 1.0\nGenerator: {NAME}-backend\nRoot-Is-Purelib: {str(pure).lower()}\nTag: {tag}\n"


def _sources():
    return sorted(p for p in (HERE / NAME).iterdir() if p.suffix in (".py", ".pyi", ".typed"))


def _write_wheel(directory, files, library):
    """files: (name in the wheel, bytes, executable)."""
    tag = _tag(library)
    info = f"{NAME}-{_version()}.dist-info"
    files = [
        *files,
        (f"{info}/METADATA", _metadata().encode(), False),
        (f"{info}/WHEEL", _wheel_text(tag, library is None).encode(), False),
    ]
    record = []
    name = f"{NAME}-{_version()}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data, executable in files:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}\n")
            _add(wheel, path, data, executable)
        record.append(f"{info}/RECORD,,\n")
        _add(wheel, f"{info}/RECORD", "".join(record).encode(), False)
    return name


def _add(wheel, path, data, executable):
    entry = zipfile.ZipInfo(path, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    wheel.writestr(entry, data)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = _library()
    files = [(f"{NAME}/{p.name}", p.read_bytes(), False) for p in _sources()]
    if library is not None:
        files.append((f"{NAME}/libsactag.so", library.read_bytes(), True))
    return _write_wheel(wheel_directory, files, library)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _library()  # built now; found in ../build whenever it is imported, so that it is never stale
    path = f"__editable__.{NAME}.pth", (str(HERE) + "\n").encode(), False
    return _write_wheel(wheel_directory, [path], None)


def build_sdist(sdist_directory, config_settings=None):
    base = f"{NAME}-{_version()}"
    members = [(p, f"{base}/{p.relative_to(HERE)}") for p in [HERE / "pyproject.toml", HERE / "backend.py", *_sources()]]
    with tarfile.open(os.path.join(sdist_directory, base + ".tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as sdist:
        for path, name in members:
            _add_tar(sdist, name, path.read_bytes())
        _add_tar(sdist, f"{base}/PKG-INFO", _metadata().encode())
    return base + ".tar.gz"


def _add_tar(sdist, name, data):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    sdist.addfile(entry, io.BytesIO(data))
