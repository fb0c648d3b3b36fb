#!/usr/bin/env bash
# ThreadSanitizer over what threads share: the pool, programs with several contexts and cancelling, packing, and
# whole models with more threads than one.
# usage: tests/tsan/run.sh BUILD_DIR MODELS_DIR MODEL..
# Exit codes: 0 nothing found, 1 something, 77 the sanitizer does not work here.
set -uo pipefail
if (($# < 3)); then
    sed -n '2,5s/^# \?//p' "$0" >&2
    exit 2
fi
build=$1 models=$2
shift 2
cd "$(dirname "$0")/../.." || exit 1
log=$(mktemp)
trap 'rm -f "$log" "$log.c" "$log.out"' EXIT
echo 'int main(void) { return 0; }' > "$log.c"
if ! { cc -fsanitize=thread "$log.c" -o "$log.out" && "$log.out"; } > "$log" 2>&1; then
    echo "skipped: $(head -n 1 "$log")"
    exit 77
fi
units=(test_threads test_run test_lanes test_shared_program test_pack_threads)
if ! { cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g" -DSARDONYX_SANITIZE=thread &&
    cmake --build "$build" --target sardonyx "${units[@]}"; } > "$log" 2>&1; then
    tail -n 40 "$log"
    exit 1
fi
failed=0 passed=0
# check NAME COMMAND..: what it printed is shown where it fails.
check() {
    local name=$1
    shift
    if "$@" > "$log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        tail -n 60 "$log"
    fi
}
for unit in "${units[@]}"; do check "$unit" "$build/tests/$unit"; done
for model in "$@"; do
    file=$models/$model.onnx
    [[ -e $file ]] || { echo "skipped: $file is missing" && continue; }
    sizes=(--random 1)
    [[ $model == encoder ]] && sizes+=(--dim sequence=16)
    check "$model" "$build/sardonyx" run "$file" "${sizes[@]}" --dim batch=3 --threads 3 --repeat 2
    check "$model, slices side by side" \
        "$build/sardonyx" run "$file" "${sizes[@]}" --dim batch=8 --slice 4 --threads 2 --repeat 2
done
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
