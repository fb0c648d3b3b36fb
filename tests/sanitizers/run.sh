#!/usr/bin/env bash
# What the sanitizers of `make asan` and `make tsan` do not see: reads of memory that nobody wrote (memory: Clang's
# MemorySanitizer; valgrind), and unsigned numbers that wrap or lose bits (integers: Clang).
# usage: tests/sanitizers/run.sh memory|integers|valgrind BUILD_DIR DATA_DIR PATTERN [MODEL]..
# DATA_DIR holds conformance/ and models/; PATTERN names the conformance cases, such as 'test_[a-c]*'.
# Exit codes: 0 nothing found, 1 something, 77 the tool does not work here.
set -uo pipefail
if (($# < 4)); then
    sed -n '2,7s/^# \?//p' "$0" >&2
    exit 2
fi
kind=$1 build=$2 data=$3 pattern=$4
shift 4
cd "$(dirname "$0")/../.." || exit 1
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

skip() {
    echo "skipped: $*"
    exit 77
}

# The image and regex libraries are not instrumented: what they write would count as unwritten.
options=(-DSARDONYX_IMAGE=OFF -DSARDONYX_PCRE2=OFF -DSARDONYX_CJSON=OFF)
under=()
case $kind in
memory | integers)
    command -v clang > /dev/null || skip "clang is not installed"
    options+=(-DCMAKE_C_COMPILER=clang)
    if [[ $kind == memory ]]; then
        options+=(-DSARDONYX_SANITIZE=memory)
    else
        # All reports are wanted, since one kind is dropped below.
        options+=(-DSARDONYX_RECOVER=ON)
        # Not unsigned-shift-base: bits that leave a shifted word are how words are packed.
        options+=(-DSARDONYX_SANITIZE=unsigned-integer-overflow,implicit-conversion,signed-integer-overflow
            "-DCMAKE_C_FLAGS=-fsanitize-ignorelist=$PWD/tests/sanitizers/integers.ignore")
    fi
    echo 'int main(void) { return 0; }' > "$log/t.c"
    sanitizer=${kind/integers/unsigned-integer-overflow}
    { clang -fsanitize="$sanitizer" "$log/t.c" -o "$log/t" && "$log/t"; } > "$log/out" 2>&1 ||
        skip "$(head -n 1 "$log/out")"
    ;;
valgrind)
    command -v valgrind > /dev/null || skip "valgrind is not installed"
    # Threads take turns there, and kernels of wide registers are not known to it.
    export SARDONYX_CPU=scalar SARDONYX_THREADS=2
    under=(valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite)
    ;;
*) skip "there is no '$kind'" ;;
esac

units=(base dtype expr graph load memory onnx pack_threads passes plan proto run schedule slice threads values)
targets=("${units[@]/#/test_}")
if ! { cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g" "${options[@]}" &&
    cmake --build "$build" --target sardonyx "${targets[@]}"; } > "$log/out" 2>&1; then
    tail -n 40 "$log/out"
    exit 1
fi

# Reports of the last command, without that of `for (i = n; i-- > 0;)`, which passes below 0 once, at its end.
reports() {
    local file line column rest
    grep -E 'runtime error|Sanitizer' "$log/out" | while IFS=: read -r file line column rest; do
        if [[ $rest == *'overflow: 0 - 1 cannot'* ]] &&
            sed -n "${line}p" "${file##*../}" | grep -q -e '-- > 0'; then
            continue
        fi
        [[ $file == SUMMARY ]] || echo "$file:$line:$column:$rest"
    done | sort -u
}

passed=0 failed=0
# check NAME COMMAND..: what it printed is shown where it fails, or where a sanitizer has a word to say.
check() {
    local name=$1
    shift
    if "${under[@]}" "$@" > "$log/out" 2>&1 && [[ -z $(reports) ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        reports
        grep -E -A 12 -m 3 'Sanitizer|^==' "$log/out" || tail -n 10 "$log/out"
    fi
}

for unit in "${targets[@]}"; do
    # Its threads wait for one another awake, which takes minutes where they take turns.
    [[ $kind == valgrind && $unit =~ ^test_(threads|pack_threads|plan)$ ]] && continue
    check "$unit" "$build/tests/$unit"
done
cases=()
for folder in "$data"/conformance/node/*/; do
    name=$(basename "$folder")
    # Cases of the libraries that are left out.
    [[ $name == $pattern && ! $name =~ image_decoder|regex ]] && cases+=("$folder")
done
if ((${#cases[@]})); then check "${#cases[@]} conformance cases" "$build/sardonyx" test "${cases[@]}"; fi
for model in "$@"; do
    file=$data/models/$model.onnx
    [[ -e $file ]] || { echo "skipped: $file is missing" && continue; }
    check "$model" "$build/sardonyx" run "$file" --random 1 --dim batch=1 --threads 2
    check "$model packed" "$build/sardonyx" pack "$file" -o "$log/model.sdx"
    check "$model from its packed file" "$build/sardonyx" run "$log/model.sdx" --random 1 --dim batch=1
done
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
