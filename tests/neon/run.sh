#!/usr/bin/env bash
# Builds the library for 64-bit ARM and runs it under an emulator: the kernels' own tests, every N-th case of
# ONNX's tests, and models. The last line counts: N passed, N failed, N skipped.
# usage: tests/neon/run.sh BUILD_DIR DATA_DIR EVERY MODEL..
#   BUILD_DIR  of the cross build; DATA_DIR  holds conformance/ and reference/
#   EVERY      1 runs all of ONNX's tests, 10 a tenth; 0: of kernels, too, only those for packing and rearranging
# Exit codes: 0 all passed, 1 one failed, 77 compiler, emulator or data are missing.
set -uo pipefail
if (($# < 4)); then
    sed -n '2,7s/^# \?//p' "$0" >&2
    exit 2
fi
build=$1 data=$2 every=$3
shift 3
root=$(cd "$(dirname "$0")/../.." && pwd)
compiler=aarch64-linux-gnu-gcc emulator=qemu-aarch64-static
for tool in "$compiler" "$emulator"; do
    command -v "$tool" > /dev/null && continue
    echo "skipped: $tool is missing; run tools/setup.sh neon"
    exit 77
done

# The core alone, linked statically: the emulator then needs no libraries of the other machine.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake -S "$root" -B "$build" -G Ninja -DCMAKE_SYSTEM_NAME=Linux \
        -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER="$compiler" \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG" \
        -DCMAKE_EXE_LINKER_FLAGS=-static -DSARDONYX_PCRE2=OFF -DSARDONYX_IMAGE=OFF \
        -DSARDONYX_CJSON=OFF &&
    cmake --build "$build" --target sardonyx test_kernels test_conv; } > "$log" 2>&1; then
    tail -n 40 "$log"
    exit 1
fi

passed=0 failed=0 skipped=0
# note NAME CODE: counts the end of a test.
note() {
    case $2 in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) && echo "FAIL $1 (exit code $2)" ;;
    esac
}
export SARDONYX_CPU=neon
if ((every)); then
    "$emulator" "$build/tests/test_kernels" | grep -v ' ok$'
    note test_kernels "${PIPESTATUS[0]}"
    "$emulator" "$build/tests/test_conv"
    note test_conv $?
else
    for part in transpose panels "winograd weights"; do
        "$emulator" "$build/tests/test_kernels" "$part" > "$log"
        note "test_kernels $part" $?
    done
fi

# Folders NAME/model.onnx of ONNX's tests, and the verdicts that `sardonyx test` counts.
mapfile -t cases < <(find -L "$data/conformance" -name model.onnx -printf '%h\n' 2> /dev/null | sort |
    awk -v every="$((every ? every : 40))" 'NR % every == 0')
if ((${#cases[@]} == 0)); then
    echo "skipped: $data/conformance is missing; run make conformance-data"
    exit 77
fi
# The list of what no engine can pass, or needs a library that this build goes without.
excused=$(sed -n 's/:.*//p' "$root/tests/conformance/excused.txt" | grep -v '^#')
"$emulator" "$build/sardonyx" test "${cases[@]}" > "$log" 2>&1
while read -r verdict path rest; do
    case $verdict in
    pass) note "$path" 0 ;;
    skip) note "$path" 77 ;;
    FAIL)
        path=${path%:}
        if grep -qxF "${path#"$data/conformance/"}" <<< "$excused" ||
            grep -qE 'image_decoder|regex' <<< "$path"; then
            note "$path" 77
        else
            echo "$verdict $path $rest"
            note "$path" 1
        fi
        ;;
    esac
done < "$log"
for model in "$@"; do
    if [[ ! -e $data/reference/$model/model.onnx ]]; then
        note "$model" 77
        continue
    fi
    "$emulator" "$build/sardonyx" test "$data/reference/$model" --rtol 1e-3 --atol 1e-4 > "$log" 2>&1
    code=$?
    ((code)) && tail -n 3 "$log"
    note "$model" $code
done
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
