#!/bin/sh
# Fuzzes targets, one after the other: run.sh PROGRAMS SECONDS TARGET... New inputs go to PROGRAMS/found/TARGET, begun with the
# corpus; what fails is left in PROGRAMS/TARGET-crash-..., and the exit code is not 0.
set -u
programs=$1 seconds=$2 failed=0
shift 2
here=$(dirname "$0")
export UBSAN_OPTIONS=print_stacktrace=1
for target; do
    found=$programs/found/$target
    mkdir -p "$found"
    set -- "$found" "$here/corpus/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=16384 \
        -artifact_prefix="$programs/$target-" -print_final_stats=1
    [ ! -e "$here/$target.dict" ] || set -- "$@" -dict="$here/$target.dict"
    if "$programs/fuzz_$target" "$@" >"$programs/$target.log" 2>&1; then
        awk -v t="$target" '/number_of_executed_units/ { n = $2 } / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") c = $(i + 1) }
            END { printf "%s: %d runs, coverage %d, nothing found\n", t, n, c }' "$programs/$target.log"
    else
        failed=1
        echo "FAIL fuzz $target: see $programs/$target.log"
        grep -m 1 'does not hold\|ERROR: \|runtime error:' "$programs/$target.log" | sed 's/^/    /'
    fi
done
exit $failed
