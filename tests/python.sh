#!/bin/sh
# Runs the tests of the Python package: python.sh BUILD. The last line is "N passed, M failed".
set -u
build=$(realpath "$1") || exit 1
cd "$(dirname "$0")/.." || exit 1
PYTHON=${PYTHON:-/usr/bin/python3}
export PYTHONPATH="$PWD/python" PYTHONDONTWRITEBYTECODE=1 SACTAG_LIBRARY="$build/libsactag.so" SACTAG_PROGRAM="$build/sactag"
unset MAKEFLAGS MAKELEVEL MFLAGS
exec "$PYTHON" tests/python/run.py tests/python
