#!/bin/sh
# Fuzzes targets with AFL++, one after the other: run_afl.sh PROGRAMS SECONDS TARGET... What fails is left in
# PROGRAMS/found_TARGET/default/crashes and hangs, and the exit code is not 0.
set -u
programs=$1 seconds=$2 failed=0
shift 2
here=$(dirname "$0")
export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1
for target; do
    found=$programs/found_$target
    set -- -i "$here/corpus/$target" -o "$found" -V "$seconds" -m none -t 20000
    [ ! -e "$here/$target.dict" ] || set -- "$@" -x "$here/$target.dict"
    rm -rf "$found"
    afl-fuzz "$@" -- "$programs/replay_$target" >"$programs/$target.log" 2>&1 || failed=1
    awk -v t="$target" -F ' *: *' '$1 == "execs_done" || $1 == "saved_crashes" || $1 == "saved_hangs" { s = s ", " $1 " " $2 } END { print t ": " substr(s, 3) }' \
        "$found/default/fuzzer_stats"
    [ -z "$(find "$found"/default/crashes "$found"/default/hangs -name 'id*')" ] || failed=1
done
exit $failed
