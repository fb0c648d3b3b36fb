#!/usr/bin/env bash
# Builds the library for another machine and runs it under an emulator: unit tests, the kernels' own, every
# N-th case of ONNX's tests, models, and files that one machine writes and the other reads. The last line
# counts: N passed, N failed, N skipped.
# usage: tests/cross/run.sh MACHINE BUILD_DIR DATA_DIR EVERY MODEL..
#   MACHINE    a file of tools/toolchains without its ending: aarch64, armv7, i686, riscv64, s390x
#   BUILD_DIR  of the cross build; DATA_DIR  holds conformance/, reference/ and this machine's sardonyx
#   EVERY      1 runs all of ONNX's tests, 10 a tenth; 0: a fortieth, and only those unit tests and kernels that
#              touch bytes, packing and rearranging
# Exit codes: 0 all passed, 1 one failed, 77 compiler, emulator or data are missing.
set -uo pipefail
if (($# < 5)); then
    sed -n '2,12s/^# \?//p' "$0" >&2
    exit 2
fi
machine=$1 build=$2 data=$3 every=$4
shift 4
root=$(cd "$(dirname "$0")/../.." && pwd)
toolchain=$root/tools/toolchains/$machine.cmake
[[ -e $toolchain ]] || { echo "run.sh: no such machine: $machine" >&2; exit 2; }
compiler=$(sed -n 's/^set(CMAKE_C_COMPILER \(.*\))$/\1/p' "$toolchain")
emulator=$(sed -n 's/^set(CMAKE_CROSSCOMPILING_EMULATOR \(.*\))$/\1/p' "$toolchain")
for tool in "$compiler" "$emulator"; do
    command -v "$tool" > /dev/null && continue
    echo "skipped: $tool is missing; run tools/setup.sh cross"
    exit 77
done
if [[ ! -d $data/conformance ]]; then
    echo "skipped: $data/conformance is missing; run make conformance-data"
    exit 77
fi

units=(test_base test_dtype test_proto test_onnx test_values test_load)
((every)) && units=($(cd "$root/tests/unit" && printf '%s\n' test_*.c | sed 's/\.c$//'))
# The core alone, linked statically: the emulator then needs no libraries of the other machine. Optimised
# little, to build quickly; kernels as ever.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
if ! { cmake -S "$root" -B "$build" -G Ninja --toolchain "$toolchain" \
        -DCMAKE_BUILD_TYPE=MinSizeRel -DCMAKE_C_FLAGS_MINSIZEREL="-O1 -DNDEBUG" \
        -DCMAKE_EXE_LINKER_FLAGS=-static -DSARDONYX_PCRE2=OFF -DSARDONYX_IMAGE=OFF \
        -DSARDONYX_CJSON=OFF &&
    cmake --build "$build" --target sardonyx test_kernels test_conv "${units[@]}"; } > "$log" 2>&1; then
    grep -A 5 'error' "$log" || tail -n 40 "$log"
    exit 1
fi
program=$build/sardonyx

passed=0 failed=0 skipped=0
# note NAME CODE: counts the end of a test.
note() {
    case $2 in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) && echo "FAIL $1 (exit code $2)" ;;
    esac
}
# check NAME COMMAND..: runs it, shows its last lines if it fails, and counts it. One that hangs fails, too.
check() {
    local name=$1 code
    shift
    timeout 900 "$@" > "$log" 2>&1
    code=$?
    ((code == 0 || code == 77)) || tail -n 5 "$log"
    note "$name" $code
}

# Without image codecs; the emulator needs memory and threads of its own, which limits of the process hit, has no
# openat2, without which links are not followed at all, and is too slow for runs that are cancelled at random.
export CHECK_LEAVE_OUT="what_is_no_image_has_no_pixels test_too_few_threads \
    paths_that_leave_are_refused links_that_leave_are_refused contexts_run_and_are_cancelled"
for unit in "${units[@]}"; do
    check "$unit" "$emulator" "$build/tests/$unit"
done
if ((every)); then
    "$emulator" "$build/tests/test_kernels" | grep -v ' ok$'
    note test_kernels "${PIPESTATUS[0]}"
    check test_conv "$emulator" "$build/tests/test_conv"
else
    for part in transpose panels "winograd weights"; do
        check "test_kernels $part" "$emulator" "$build/tests/test_kernels" "$part"
    done
fi

# Folders NAME/model.onnx of ONNX's tests, and the verdicts that `sardonyx test` counts.
mapfile -t cases < <(find -L "$data/conformance" -name model.onnx -printf '%h\n' | sort |
    awk -v every="$((every ? every : 40))" 'NR % every == 0')
# The list of what no engine can pass, or needs a library that this build goes without.
excused=$(sed -n 's/:.*//p' "$root/tests/conformance/excused.txt" | grep -v '^#')
for packed in "" --packed; do
    "$emulator" "$program" test "${cases[@]}" --threads 2 $packed > "$log" 2>&1
    ended=$?
    counted=$((passed + failed + skipped))
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
                echo "$verdict $path $packed $rest"
                note "$path" 1
            fi
            ;;
        esac
    done < "$log"
    # A program that ends early has told about fewer.
    ((passed + failed + skipped - counted == ${#cases[@]})) || note "sardonyx test $packed" $ended
done

for model in "$@"; do
    folder=$data/reference/$model
    if [[ ! -e $folder/model.onnx ]]; then
        note "$model" 77
        continue
    fi
    # In the fast part, one of the model's sizes.
    mkdir "$work/$model"
    ln -s "$(realpath "$folder/model.onnx")" "$work/$model/"
    for set in "$folder"/test_data_set_*; do
        ln -s "$(realpath "$set")" "$work/$model/"
        ((every)) || break
    done
    check "$model" "$emulator" "$program" test "$work/$model" --rtol 1e-3 --atol 1e-4
done

# What this machine packs, the other one reads, and the other way round; numbers that the other one writes,
# NumPy reads here.
model=$1 host=$data/sardonyx
for from in there here; do
    mkdir "$work/$from"
    [[ $from == here ]] && first=("$host") second=("$emulator" "$program")
    [[ $from == there ]] && first=("$emulator" "$program") second=("$host")
    if [[ ! -x $host || ! -e $work/$model/model.onnx ]]; then
        note "packed $from" 77
        continue
    fi
    ln -s "$(realpath "$data/reference/$model/test_data_set_0")" "$work/$from/"
    check "pack $from" "${first[@]}" pack "$work/$model/model.onnx" --plain -o "$work/$from/model.sdx"
    check "packed $from" "${second[@]}" test "$work/$from" --rtol 1e-3 --atol 1e-4
done
relu=$data/conformance/node/test_relu/model.onnx python=$root/.venv/bin/python
if [[ -x $host && -x $python && -e $relu ]]; then
    check "run here" "$host" run "$relu" --random 1 --output "$work/a"
    check "run there" "$emulator" "$program" run "$relu" --random 1 --output "$work/b"
    check "numpy" "$python" -c "import sys, numpy as np; np.testing.assert_array_equal(*map(np.load, sys.argv[1:]))" \
        "$work/a/y.npy" "$work/b/y.npy"
else
    note numpy 77
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
