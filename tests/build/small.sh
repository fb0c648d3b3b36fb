#!/usr/bin/env bash
# Builds the library for one model, then for two, and one instruction set alone (`make small` does the same), and
# checks that they run as in the full build, to the bit; that other models, levels and files are refused by name;
# that `ops` lists what is there and nothing else; and how large a program with what the first model needs is.
# usage: tests/build/small.sh BUILD_DIR SARDONYX MODELS_DIR
#   SARDONYX  the program of the full build
# Exit codes: 0 fine, 1 not, 77 a model is missing.
set -uo pipefail
(($# == 3)) || { sed -n '2,7s/^# \?//p' "$0" >&2; exit 2; }
build=$1 full=$2 models=$3
most=300000 # bytes of code and data; docs/small-targets.md says what they go to
root=$(cd "$(dirname "$0")/../.." && pwd)
small=$build/sardonyx
for model in resnet50 squeezenet1_1 mobilenet_v2; do
    [[ -e $models/$model.onnx ]] || { echo "skipped: $models/$model.onnx is missing; run make models"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

# The best set that this machine has and that is not wider than need be.
isa=scalar
grep -qw avx2 /proc/cpuinfo && isa=avx2
[[ $(uname -m) == aarch64 ]] && isa=neon
mkdir -p "$build"
# build MODEL..: with what these need.
build() {
    SARDONYX_CPU=$isa "$full" ops --used "${@/%/.onnx}" > "$work/ops.txt" || fail "ops --used $*"
    cmp -s "$work/ops.txt" "$build/ops.txt" || cp "$work/ops.txt" "$build/ops.txt"
    { cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel "-DSARDONYX_ISA=$isa" \
        "-DSARDONYX_OPS=$build/ops.txt" -DSARDONYX_TESTS=OFF -DSARDONYX_PCRE2=OFF -DSARDONYX_IMAGE=OFF \
        -DSARDONYX_CJSON=OFF && cmake --build "$build" --target sardonyx run_once; } > "$work/log" 2>&1 && return
    grep -A 5 'error' "$work/log" || tail -n 40 "$work/log"
    fail "build"
}
# same MODEL: runs have the full build's bits, a batch and its slices too.
same() {
    local program
    rm -rf "$work"/*-results
    for program in "$full" "$small"; do
        SARDONYX_CPU=$isa "$program" run "$models/$1.onnx" --random 1 --dim batch=2 \
            --output "$work/$(basename "$(dirname "$program")")-results" > "$work/log" 2>&1 ||
            { cat "$work/log"; fail "$program run $1"; }
    done
    mapfile -t folders < <(printf '%s\n' "$work"/*-results)
    ((${#folders[@]} == 2)) || fail "$1: no results"
    diff -r "${folders[@]}" || fail "$1: another result than that of the full build"
}
# refused WHY ARGUMENT..: run ends with exit code 4 and a message that matches WHY.
refused() {
    local why=$1
    shift
    "$small" run "$@" --random 1 > "$work/log" 2>&1
    local code=$?
    ((code == 4)) || { cat "$work/log"; fail "run $*: exit code $code, expected 4"; }
    grep -q "$why .*not part of this build" "$work/log" || { cat "$work/log"; fail "run $*: no reason given"; }
}

build "$models/resnet50"
read -r text data _ < <(size "$build/examples/run_once" | tail -n 1)
echo "resnet50 alone, $isa: $text bytes of code and constants, $data of data"
same resnet50
refused "running" "$models/resnet50.onnx" --optimize 0
"$full" pack "$models/squeezenet1_1.onnx" -o "$work/packed.sdx" > "$work/log" 2>&1 || { cat "$work/log"; fail "pack"; }
refused "reading packed files" "$work/packed.sdx"
rm "$work/packed.sdx"

build "$models/resnet50" "$models/squeezenet1_1"
same resnet50
same squeezenet1_1
refused "operator 'Clip'" "$models/mobilenet_v2.onnx"
listed=$("$small" ops | awk '{print $1, $2}' | sort) wanted=$(awk '/^ai\.onnx/ {print $1, $2}' "$build/ops.txt" | sort)
[[ $listed == "$wanted" ]] || fail "ops lists something else than $build/ops.txt: $listed"
((text + data < most)) || fail "$((text + data)) bytes; less than $most are allowed"
echo "two models as in the full build; others are refused"
