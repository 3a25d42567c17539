#!/bin/sh
# Fuzzes targets, one after the other: run.sh [--seed N] PROGRAMS SECONDS TARGET... New inputs go to PROGRAMS/found/TARGET,
# begun with the corpus; what fails is left in PROGRAMS/TARGET-crash-..., and the exit code is not 0. With a seed each run
# begins with the corpus alone, so that what it meets depends on the sources only. The last line is "N passed, M failed".
set -u
seed=
[ "$1" = --seed ] && seed=$2 && shift 2
programs=$1 seconds=$2 passed=0 failed=0
shift 2
here=$(dirname "$0")
export UBSAN_OPTIONS=print_stacktrace=1
for target; do
    found=$programs/found/$target
    [ -z "$seed" ] || { found=$programs/seed$seed/$target && rm -rf "$found"; }
    mkdir -p "$found"
    set -- "$found" "$here/corpus/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=16384 \
        -artifact_prefix="$programs/$target-" -print_final_stats=1 ${seed:+"-seed=$seed"}
    [ ! -e "$here/$target.dict" ] || set -- "$@" -dict="$here/$target.dict"
    if "$programs/fuzz_$target" "$@" >"$programs/$target.log" 2>&1; then
        passed=$((passed + 1))
        awk -v t="$target" '/number_of_executed_units/ { n = $2 } / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") c = $(i + 1) }
            END { printf "%s: %d runs, coverage %d, nothing found\n", t, n, c }' "$programs/$target.log"
    else
        failed=$((failed + 1))
        echo "FAIL fuzz $target: see $programs/$target.log"
        grep -m 1 'does not hold\|ERROR: \|runtime error:' "$programs/$target.log" | sed 's/^/    /'
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
