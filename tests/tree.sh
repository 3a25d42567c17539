#!/bin/sh
# What must hold of the sources and the library: tree.sh BUILD. The last line is "N passed, M failed".
set -u
build=$1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# expect_nothing WHAT: standard input must be empty.
expect_nothing()
{
    if grep . >"$tmp/lines"; then
        echo failed >>"$tmp/results" # a file, since pipes run this in a subshell
        echo "FAIL tree: $1"
        sed 's/^/    /;40q' "$tmp/lines"
    else
        echo passed >>"$tmp/results"
    fi
}

includes()
{
    grep -n '^#include "' "$1"/*.[ch] /dev/null
}

# Each floor includes only the floors below it.
includes ir | grep -v '"ir/' | expect_nothing "ir/ includes more than ir/"
includes schema | grep -v '"ir/\|"schema/' | expect_nothing "schema/ includes more than ir/ and schema/"
includes passes | grep -v '"ir/\|"passes/' | expect_nothing "passes/ includes more than ir/ and passes/"
includes lib | grep '"cli/' | expect_nothing "lib/ includes cli/"
includes cli | grep -v '"cli/\|"sactag.h"' | expect_nothing "cli/ includes more than the public header"

# The library keeps no state, prints nothing and never ends the process.
find "$build/ir" "$build/schema" "$build/passes" "$build/lib" -name '*.o' ! -name '*.pb-c.o' >"$tmp/objects"
xargs nm -A -u <"$tmp/objects" |
    grep -w 'exit\|_exit\|abort\|printf\|vprintf\|puts\|putchar\|fprintf\|fputs\|perror\|__printf_chk\|__fprintf_chk\|stdout\|stderr\|signal\|sigaction\|setlocale' |
    expect_nothing "the library prints or exits"
while read -r object; do
    # Pointers in constant tables lie in .data.rel.ro, which is read-only once loaded.
    size -A "$object" | awk -v o="$object" '($1 == ".data" || $1 == ".bss" || $1 == ".tdata" || $1 == ".tbss") && $2 > 0 { print o, $1, $2 }'
done <"$tmp/objects" | expect_nothing "the library has variables"

# gcc drops calls of a function that does nothing but prefetch, unless it is always inlined. (Seen where there are
# instructions for it.)
case $(uname -m) in x86_64 | aarch64) ;; *) false ;; esac &&
grep -lE '_prefetch\(' ir/*.c schema/*.c passes/*.c lib/*.c | while read -r file; do
    objdump -d "$build/${file%.c}.o" | grep -qE '\<(prefetch|prfm)' || echo "$file"
done | expect_nothing "nothing is fetched ahead where the source says so"

# The shared library exports what the header declares, and the header stands alone, in C and C++.
grep -o '\bsactag_[a-z0-9_]*(' include/sactag.h | tr -d '(' | sort -u >"$tmp/declared"
nm -D --defined-only "$build/libsactag.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u >"$tmp/exported"
comm -3 "$tmp/declared" "$tmp/exported" | expect_nothing "the header's functions are not those exported (left: declared only)"
nm -g --defined-only "$build/libsactag.a" | awk 'NF == 3 { print $3 }' | sort -u >"$tmp/visible"
comm -3 "$tmp/declared" "$tmp/visible" | expect_nothing "the header's functions are not those that the static library shows (left: declared only)"
printf '#include <jansson.h>\n#include "lib/json_reader.h"\n' | gcc -I. -Iinclude -fsyntax-only -x c - 2>&1 |
    expect_nothing "our JSON names and jansson's do not go together"
echo '#include "sactag.h"' >"$tmp/c.c"
for compile in "gcc -std=c99 -pedantic" "clang -std=c11 -Weverything -Wno-padded" "clang -x c++ -std=c++11"; do
    $compile -Wall -Wextra -Iinclude -fsyntax-only "$tmp/c.c" 2>&1 | expect_nothing "the header under $compile"
done

clang-format --dry-run ir/*.[ch] schema/*.[ch] passes/*.[ch] lib/*.[ch] cli/*.[ch] bench/*.[ch] include/*.h tests/*.c tests/unit/*.[ch] tests/faults/*.[ch] tests/fuzz/*.[ch] 2>&1 |
    grep 'warning: \|error: ' | cut -d: -f1 | sort | uniq -c | expect_nothing "make format would change files"
grep -nE '\b(TODO|FIXME|XXX)\b' -r ir schema passes lib cli bench include examples docs README.md Makefile | grep -v 'Binary file' |
    expect_nothing "unfinished"
# What comments cite is a document of the repository, and a section that it has.
grep -nE '\bSPEC( |\.md)' -r ir schema passes lib cli bench include examples docs python tests README.md Makefile --exclude=tree.sh --exclude-dir=build -I |
    expect_nothing "a document is cited that is not there"
grep -noE '(POLICY|TAGS|FORMATS)\.md [0-9]( "[^"*]+")?' -r ir schema passes lib include tests/unit | while IFS=: read -r file line cited; do
    doc=docs/${cited%%.md*}.md section=${cited#*.md } title=
    case $section in *\"*) title=${section#*\"} title=${title%\"} ;; esac
    grep -q "^## ${section%% *}\. " "$doc" && { [ -z "$title" ] || grep -qE "^### $title\$|^\| .$title. \|" "$doc"; } || echo "$file:$line: $cited"
done | expect_nothing "a section is cited that is not there"

# Without a chroot `make interop` says what to give, in one line, and fails.
said=$(SACTAG_CHROOT= sh tests/interop.sh "$build" 2>&1)
[ "$?:$(echo "$said" | grep -c 'SACTAG_CHROOT=DIR$'):$(echo "$said" | grep -c .)" = 1:1:1 ] && said=
printf '%s' "$said" | expect_nothing "interop.sh without a chroot"
echo "$(grep -c passed "$tmp/results") passed, $(grep -c failed "$tmp/results") failed"
! grep -q failed "$tmp/results"
