#!/usr/bin/env bash
# What the sanitizers of `make asan` and `make tsan` do not see: reads of memory that nobody wrote (memory: Clang's
# MemorySanitizer; valgrind), and unsigned numbers that wrap or lose bits (integers: Clang).
# usage: tests/sanitizers/run.sh memory|integers|valgrind BUILD_DIR DATA_DIR [PART]..
# DATA_DIR holds conformance/ and models/. Parts, all of them where none is named: units kernels conformance packed
# passes cli bad-models limits fuzz models.
# Exit codes: 0 nothing found, 1 something, 77 the tool does not work here.
set -uo pipefail
if (($# < 3)); then
    sed -n '2,7s/^# \?//p' "$0" >&2
    exit 2
fi
kind=$1 build=$2 data=$3
shift 3
cd "$(dirname "$0")/../.." || exit 1
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
python=$PWD/.venv/bin/python
parts=("$@")
((${#parts[@]})) || parts=(units kernels conformance packed passes cli bad-models limits fuzz models)

skip() {
    echo "skipped: $*"
    exit 77
}

options=()
under=()
models=(squeezenet1_1 mobilenet_v2 encoder)
pattern='*' # of names of conformance cases
without='^$'
case $kind in
memory | integers)
    command -v clang > /dev/null || skip "clang is not installed"
    options+=(-DCMAKE_C_COMPILER=clang)
    # Reports go to files, and so cannot get lost in what a test does with a program's words. MemorySanitizer's own
    # exit code is that of a skipped test.
    export MSAN_OPTIONS="log_path=$log/report:exitcode=99:allocator_may_return_null=1:max_allocation_size_mb=2048"
    export UBSAN_OPTIONS="log_path=$log/report"
    # The libraries of images, expressions and JSON are not instrumented: what they write would count as unwritten.
    # Nor is cmocka, for which there is a stand-in.
    options+=(-DSARDONYX_IMAGE=OFF -DSARDONYX_PCRE2=OFF -DSARDONYX_CJSON=OFF
        "-DCMOCKA_INCLUDE:STRING=$PWD/tests/cross" -DCMOCKA_LIBRARY:STRING=-lm)
    export CHECK_LEAVE_OUT=what_is_no_image_has_no_pixels
    without='image_decoder|regex'
    if [[ $kind == memory ]]; then
        # Clang 14 knows stat and not stat64, which is the same where this sanitizer works.
        options+=(-DSARDONYX_SANITIZE=memory -DCMAKE_C_FLAGS=-U_FILE_OFFSET_BITS)
    else
        # All reports are wanted, since one kind is dropped below; kernels are left out by the list.
        options+=(-DSARDONYX_RECOVER=ON -DSARDONYX_ISA=base)
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
    # It has no openat2, without which links are not followed at all.
    options+=(-DSARDONYX_ISA=base "-DCMOCKA_INCLUDE:STRING=$PWD/tests/cross" -DCMOCKA_LIBRARY:STRING=-lm)
    export CHECK_LEAVE_OUT="paths_that_leave_are_refused links_that_leave_are_refused"
    (($#)) || parts=(units conformance models)
    models=(encoder)
    pattern='test_[a-d]*'
    ;;
*) skip "there is no '$kind'" ;;
esac

units=()
for file in tests/unit/test_*.c; do
    name=$(basename "$file" .c)
    # Threads that wait for one another awake take minutes where they take turns.
    [[ $kind == valgrind && $name =~ ^test_(threads|pack_threads|plan.*|shared_program)$ ]] || units+=("$name")
done
targets=(sardonyx "${units[@]}")
[[ $kind == valgrind ]] || targets+=(test_kernels test_conv test_conv_transpose test_strip fuzzers)
if ! { cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g" "${options[@]}" &&
    cmake --build "$build" --target "${targets[@]}"; } > "$log/out" 2>&1; then
    tail -n 40 "$log/out"
    exit 1
fi

# What was reported since the last command, without requests that were too large, and without that of `for (i = n; i-- > a;)`, which passes below 0 once, at
# its end.
reports() {
    local file line column rest
    find "$log" -name 'report.*' -exec cat {} + | grep -E 'runtime error|Sanitizer' |
        grep -v 'Sanitizer failed to allocate' | sort -u | while IFS=: read -r file line column rest; do
        if [[ $rest == *'overflow: 0 - 1 cannot'* ]] &&
            sed -n "${line}p" "${file##*../}" | grep -q -e '-- > '; then
            continue
        fi
        [[ $file == SUMMARY ]] || echo "$file:$line:$column:$rest"
    done | sort -u
}

passed=0 failed=0 skipped=0
# check NAME COMMAND..: what it printed is shown where it fails, or where a sanitizer has a word to say.
check() {
    local name=$1 code=0 found begin=$SECONDS
    shift
    find "$log" -name 'report.*' -delete
    "${under[@]}" "$@" > "$log/out" 2>&1 || code=$?
    found=$(reports)
    if [[ -z $found ]] && ((code == 0)); then
        passed=$((passed + 1))
        echo "pass $name ($((SECONDS - begin)) s): $(tail -n 1 "$log/out" | cut -c 1-100)"
    elif [[ -z $found ]] && ((code == 77)); then
        skipped=$((skipped + 1))
        echo "skip $name: $(tail -n 1 "$log/out")"
    else
        failed=$((failed + 1))
        echo "FAIL $name: exit code $code"
        printf '%s\n' "$found"
        find "$log" -name 'report.*' -exec cat {} + | grep -A 12 -m 3 -e '==WARNING' -e '==ERROR'
        grep -E -A 12 -m 3 '^==[0-9]' "$log/out" || tail -n 30 "$log/out"
    fi
}

check_units() {
    local unit
    for unit in "${units[@]}"; do check "$unit" "$build/tests/$unit"; done
}

check_kernels() {
    local isa program
    for isa in scalar avx2 avx512 neon; do
        for program in test_kernels test_conv test_conv_transpose test_strip; do
            check "$program $isa" env SARDONYX_CPU=$isa "$build/tests/$program"
        done
    done
}

cases=()
for folder in "$data"/conformance/{node,simple,pytorch-operator,pytorch-converted}/*/; do
    name=$(basename "$folder")
    [[ $name == $pattern && ! $name =~ $without ]] && cases+=("$folder")
done
check_conformance() { check "${#cases[@]} conformance cases" "$build/sardonyx" test --quiet "${cases[@]}"; }
check_packed() { check "${#cases[@]} cases packed" "$build/sardonyx" test --quiet --packed "${cases[@]}"; }

check_passes() {
    check passes "$python" tests/passes/passes.py "$build/sardonyx"
    check gradient "$python" tests/passes/gradient.py "$build/sardonyx"
}

check_models() {
    local model file sizes
    for model in "${models[@]}"; do
        sizes=(--dim batch=1)
        [[ $model == encoder ]] && sizes+=(--dim sequence=16)
        file=$data/models/$model.onnx
        [[ -e $file ]] || { skipped=$((skipped + 1)) && echo "skip $model: $file is missing" && continue; }
        check "$model" "$build/sardonyx" run "$file" --random 1 "${sizes[@]}" --threads 2
        check "$model packed" "$build/sardonyx" pack "$file" -o "$log/model.sdx"
        check "$model from its packed file" "$build/sardonyx" run "$log/model.sdx" --random 1 "${sizes[@]}"
    done
}

for part in "${parts[@]}"; do
    case $part in
    units | kernels | conformance | packed | passes | models) "check_$part" ;;
    bad-models) check bad-models "$python" tests/bad-models/run.py "$build/sardonyx" ;;
    cli)
        # `bench` measures nothing without cJSON.
        mapfile -t cli < <(basename -s .sh -a tests/cli/cases/*.sh | grep -v '^bench')
        check cli "$python" tests/cli/run.py "$build/sardonyx" "${cli[@]}"
        ;;
    limits) check limits python3 tests/limits/run.py "$build/sardonyx" "$python" ;;
    fuzz)
        check "fuzzers' seeds" tests/fuzz/replay.sh "$build/tests/fuzz" "$build/sardonyx" "$data/conformance" "$python"
        ;;
    *)
        echo "FAIL: there is no part '$part'"
        failed=$((failed + 1))
        ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
