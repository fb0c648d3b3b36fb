#!/usr/bin/env bash
# Runs the fuzzers under AFL++, one after the other, each for an equal part of the time, from the seeds and what
# libFuzzer has kept; goes on from what an earlier run left. Exit code 1 where something was found.
# usage: afl.sh TREE SECONDS [NAME..]
set -euo pipefail
tree=$1
seconds=$2
shift 2
names=("$@")
((${#names[@]})) || names=(model graph sdx tensor npy image csv json expr preset)
# Reports of the system that crash handlers get, frequency governors and a terminal are not needed for this.
export AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_SKIP_CPUFREQ=1 AFL_NO_UI=1 AFL_NO_AFFINITY=1
export AFL_SKIP_CRASHES=1 AFL_IGNORE_SEED_PROBLEMS=1
export ASAN_OPTIONS=abort_on_error=1:symbolize=0:detect_leaks=0:allocator_may_return_null=1
export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:symbolize=0
found=0
for name in "${names[@]}"; do
    out=$tree/out/$name
    from=$tree/seeds/$name
    [[ -d $out ]] && from=-
    mkdir -p "$out"
    timeout -s INT $((seconds / ${#names[@]} + 60)) afl-fuzz -i "$from" -o "$out" -m none -t 15000 \
        -V $((seconds / ${#names[@]})) -- "$tree/fuzz_$name" > "$tree/$name.log" 2>&1 || true
    stats=$out/default/fuzzer_stats
    if [[ ! -s $stats ]]; then
        echo "$name: AFL++ did not start; $tree/$name.log says why" >&2
        tail -n 5 "$tree/$name.log" >&2
        exit 1
    fi
    value() { sed -n "s/^$1 *: //p" "$stats"; }
    echo "$name: $(value execs_done) executions, $(value edges_found) edges," \
        "$(value corpus_count) inputs, $(value saved_crashes) crashes, $(value saved_hangs) hangs"
    found=$((found + $(value saved_crashes)))
done
((found == 0))
