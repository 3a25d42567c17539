#!/bin/sh
# Which lines the tests run: coverage.sh BUILD, where BUILD was made with VARIANT=coverage. Prints the share of each floor, and
# writes the lines that nothing ran to BUILD/uncovered. Fails when a test does, or when schema/ or passes/ are below 95 %.
set -u
build=$1 bad=
cd "$(dirname "$0")/.." || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
find "$build" -name '*.gcda' -delete

cat >"$tmp/parts" <<END
tests/unit.sh $build
tests/golden.sh $build/sactag
tests/faults.sh --only alloc $build
tests/diff.sh $build/sactag tests/cases
tests/invariants.sh --refused tests/refused.tsv $build/sactag tests/cases tests/pt2 tests/golden examples
END
export log="$tmp/log"
tr '\n' '\0' <"$tmp/parts" | xargs -0 -n 1 -P "$(nproc)" sh -c '
    $0 >"$log.$$" 2>&1 || : >"$log.failed"
    echo "$0: $(tail -n 1 "$log.$$")"
    grep -A 5 "^FAIL" "$log.$$" | head -n 50'
[ ! -e "$log.failed" ] || bad=1

# Of each C file its lines with code, and those of them that were never run.
find "$build/ir" "$build/schema" "$build/passes" "$build/lib" "$build/cli" -name '*.gcda' ! -name '*.pb-c.gcda' |
    xargs gcov -t 2>/dev/null | awk -F : -v least=95 -v list="$build/uncovered" '
    { count = $1; gsub(/ /, "", count) }
    $2 + 0 == 0 { if ($3 == "Source") { file = $4; floor = file; sub(/\/.*/, "", floor) } next }
    file !~ /\.c$/ || count == "-" { next }
    { lines[floor]++ }
    count ~ /^[#=]/ { missed[floor]++; code = $0; sub(/^[^:]*:[^:]*:/, "", code); print file ":" $2 + 0 ":" code > list }
    END {
        n = split("ir schema passes lib cli", floors, " ")
        for (i = 1; i <= n; i++) {
            f = floors[i]
            share = lines[f] ? 100 * (lines[f] - missed[f]) / lines[f] : 0
            low = (f == "schema" || f == "passes") && share < least
            bad += low
            printf "%-7s %5.1f %% of %5d lines%s\n", f, share, lines[f], low ? ": less than " least " %" : ""
            all += lines[f]; none += missed[f]
        }
        printf "%-7s %5.1f %% of %5d lines; what was not run: %s\n", "all", all ? 100 * (all - none) / all : 0, all, list
        exit bad > 0
    }' || bad=1
[ -z "$bad" ]
