#!/usr/bin/env bash
# Hands the seeds of every fuzzer, and what was found with it (tests/bad-models/found), to the fuzzer's function.
# usage: replay.sh DIR_OF_FUZZERS SARDONYX CONFORMANCE_DIR PYTHON
set -uo pipefail
cd "$(dirname "$0")/../.."
fuzzers=$1 seeds=$1/seeds code=0
rm -rf "$seeds"
"$4" tests/fuzz/seeds.py "$2" "$3" "$seeds" > "$fuzzers/seeds.log" 2>&1 || {
    code=$?
    cat "$fuzzers/seeds.log"
    exit $code
}
for program in "$fuzzers"/fuzz_*; do
    [[ -f $program && -x $program ]] || continue
    name=${program##*/fuzz_}
    places=("$seeds/$name")
    [[ -d tests/bad-models/found/$name ]] && places+=("tests/bad-models/found/$name")
    if "$program" "${places[@]}" > "$fuzzers/$name.log" 2>&1; then
        echo "$name: $(tail -n 1 "$fuzzers/$name.log")"
    else
        echo "$name: failed"
        tail -n 40 "$fuzzers/$name.log"
        code=1
    fi
done
exit $code
