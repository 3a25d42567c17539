#!/bin/sh
# The tags and the Python package against the real things: interop.sh BUILD [CHROOT]. The last line is "N passed, M failed".
#
# CHROOT (or $SACTAG_CHROOT) is a directory with a Debian system that has python3, gcc, and PyTorch, onnx and onnxruntime for Python; root
# is needed to enter it, and it must hold /proc and /dev. Nothing is installed there: what is tested is copied to its /tmp, with the
# libraries that it lacks, and removed at the end. `only=WORD` runs the parts whose name contains WORD.
set -u
build=$(realpath "$1") chroot=${2-${SACTAG_CHROOT-}} passed=0 failed=0
cd "$(dirname "$0")/.." || exit 1
if [ -z "$chroot" ] || [ ! -d "$chroot/tmp" ]; then
    echo "interop.sh: no chroot${chroot:+ in '$chroot'}: give one with Debian, PyTorch, onnx and onnxruntime, as make interop SACTAG_CHROOT=DIR" >&2
    exit 1
fi
chroot=$(realpath "$chroot") || exit 1
if [ "$(id -u)" != 0 ]; then
    echo "interop.sh: only root can enter the chroot $chroot" >&2
    exit 1
fi
there=$(mktemp -d "$chroot/tmp/sactag.XXXXXX") || exit 1
trap 'rm -rf "$there"' EXIT
inside=${there#"$chroot"}
chmod 755 "$there"

mkdir "$there/lib" "$there/bin" "$there/tests" "$there/passes"
cp -R python include examples "$there"
cp -R tests/cases tests/pt2 tests/python tests/interop tests/refused.tsv "$there/tests"
cp passes/neighbour_ops.def "$there/passes"
cp "$build/libsactag.so" "$there/lib"
cp "$build/sactag" "$there/bin"
for library in $(ldd "$build/libsactag.so" | awk '$3 ~ /^\// { print $3 }'); do
    find "$chroot/lib/" "$chroot/usr/lib/" -name "${library##*/}" 2>/dev/null | grep -q . || cp -L "$library" "$there/lib"
done

# part NAME DIRECTORY PATTERN: each in a process of its own, because onnx and onnxruntime disturb each other in one.
part()
{
    case $1 in *"${only-}"*) ;; *) return ;; esac
    start=$(date +%s)
    chroot "$chroot" /usr/bin/env PYTHONPATH="$inside/python" PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH="$inside/lib" OMP_NUM_THREADS=1 \
        SACTAG_LIBRARY="$inside/lib/libsactag.so" SACTAG_PROGRAM="$inside/bin/sactag" SACTAG_CASES="$inside/tests/cases" \
        python3 "$inside/tests/python/run.py" "$inside/tests/$2" "$3" >"$there/out" 2>&1
    code=$?
    sum=$(tail -n 1 "$there/out" | grep -x '[0-9]* passed, [0-9]* failed')
    p=${sum%% *} f=${sum#*, } f=${f%% *}
    [ "$code:$f" = 0:0 ] || [ "${f:-0}" -gt 0 ] || f=1 # died, or its exit code disagrees
    if [ "$f" = 0 ]; then
        grep -v '^[.-]*$\|^Ran \|^OK\|Schema error\|passed, ' "$there/out" | grep -i 'bytes\|steps\|nodes\|tagged models\|KiB\|programs\|regions\|matmuls\|products\|gradients\|model\.' | sed 's/^[.]*/    /'
    else
        grep -v 'Schema error' "$there/out" | sed '/^$/d; s/^/    /' | tail -n 200
    fi
    echo "$1: ${p:-0} passed, $f failed ($(($(date +%s) - start)) s)"
    passed=$((passed + ${p:-0})) failed=$((failed + f))
}

part "binding" python test_binding.py
for file in tests/interop/test_*.py; do
    name=${file##*/test_}
    part "${name%.py}" interop "${file##*/}"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
