#!/usr/bin/env bash
# Too many threads cost little: with more threads than CPUs, on one CPU alone, in a group with a quota, a run is never
# slower than with one thread by more than a tenth. Runs take turns, so that what else the machine does falls on both.
# usage: tests/affinity/time.sh SARDONYX MODEL..
# Exit codes: 0 so it is, 1 it is not.
set -uo pipefail
if (($# < 2)); then
    sed -n '2,6s/^# \?//p' "$0" >&2
    exit 2
fi
sardonyx=$1
shift
# shellcheck source=tests/affinity/group.sh
source "$(dirname "$0")/group.sh"
trap end_group EXIT
unset SARDONYX_THREADS
rounds=${ROUNDS:-4} repeat=${REPEAT:-30} failed=0
first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')

# once PREFIX.. -- THREADS: the median of a few runs, in microseconds.
once() {
    local prefix=()
    while [[ $1 != -- ]]; do
        prefix+=("$1")
        shift
    done
    "${prefix[@]}" "$sardonyx" run "$model" --random 1 --dim batch=1 --repeat "$repeat" --threads "$2" \
        2>&1 | sed -n 's/.*median \([0-9.]*\) ms.*/\1/p' | awk '{ printf "%d\n", $1 * 1000 }'
}

# compare NAME THREADS PREFIX..: the least of a few turns against one thread.
compare() {
    local name=$1 threads=$2 one=() many=()
    shift 2
    for ((round = 0; round < rounds; round++)); do
        one+=("$(once "$@" -- 1)")
        many+=("$(once "$@" -- "$threads")")
    done
    awk -v name="$name" -v one="$(printf '%s\n' "${one[@]}" | sort -n | head -n 1)" \
        -v many="$(printf '%s\n' "${many[@]}" | sort -n | head -n 1)" 'BEGIN {
        ratio = many / one
        printf "%-40s %8.2f ms with one thread, %8.2f with many: %.2f%s\n", name, one / 1000, many / 1000,
            ratio, (ratio > 1.1 ? "  TOO SLOW" : "")
        exit (ratio > 1.1) }' || failed=$((failed + 1))
}

for model in "$@"; do
    name=$(basename "$model" .onnx)
    compare "$name, 64 threads" 64
    compare "$name, one CPU, 8 threads" 8 taskset -c "$first"
    compare "$name, one CPU, 64 threads" 64 taskset -c "$first"
    if [[ -n $group ]] || make_group; then
        set_quota 50000
        compare "$name, half a CPU, 2 threads" 2 inside
        compare "$name, half a CPU, 8 threads" 8 inside
        set_quota 150000
        compare "$name, one and a half CPUs, 2 threads" 2 inside
    fi
done
((failed == 0))
