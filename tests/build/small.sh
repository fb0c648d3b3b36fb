#!/usr/bin/env bash
# Builds the library for two models and one instruction set alone (`make small` does the same), and checks that
# both run as in the full build, to the bit; that a third model is refused by name; that `ops` lists what is there
# and nothing else; and how large a program with the first model's operators is.
# usage: tests/build/small.sh BUILD_DIR SARDONYX MODELS_DIR
#   SARDONYX  the program of the full build
# Exit codes: 0 fine, 1 not, 77 a model is missing.
set -uo pipefail
(($# == 3)) || { sed -n '2,7s/^# \?//p' "$0" >&2; exit 2; }
build=$1 full=$2 models=$3
most=580000 # bytes of code and data; docs/small-targets.md says what they go to
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
# build MODEL..: with the operators of these.
build() {
    "$full" ops --used "${@/%/.onnx}" > "$work/ops.txt" || fail "ops --used $*"
    cmp -s "$work/ops.txt" "$build/ops.txt" || cp "$work/ops.txt" "$build/ops.txt"
    { cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel "-DSARDONYX_ISA=$isa" \
        "-DSARDONYX_OPS=$build/ops.txt" -DSARDONYX_TESTS=OFF -DSARDONYX_PCRE2=OFF -DSARDONYX_IMAGE=OFF \
        -DSARDONYX_CJSON=OFF && cmake --build "$build" --target sardonyx run_once; } > "$work/log" 2>&1 && return
    grep -A 5 'error' "$work/log" || tail -n 40 "$work/log"
    fail "build"
}

build "$models/resnet50"
read -r text data _ < <(size "$build/examples/run_once" | tail -n 1)
echo "resnet50 alone, $isa: $text bytes of code and constants, $data of data"

build "$models/resnet50" "$models/squeezenet1_1"
for model in resnet50 squeezenet1_1; do
    for program in "$full" "$small"; do
        SARDONYX_CPU=$isa "$program" run "$models/$model.onnx" --random 1 --dim batch=2 \
            --output "$work/$(basename "$(dirname "$program")")-$model" > "$work/log" 2>&1 ||
            { cat "$work/log"; fail "$program run $model"; }
    done
    mapfile -t folders < <(printf '%s\n' "$work"/*-"$model")
    ((${#folders[@]} == 2)) || fail "$model: no results"
    diff -r "${folders[@]}" || fail "$model: another result than that of the full build"
done
"$small" run "$models/mobilenet_v2.onnx" --random 1 > "$work/log" 2>&1
code=$?
((code == 4)) || fail "mobilenet_v2: exit code $code, expected 4"
grep -q "operator 'Clip' .* is not part of this build" "$work/log" || { cat "$work/log"; fail "no reason given"; }
listed=$("$small" ops | awk '{print $1, $2}' | sort) wanted=$(awk '/^ai\.onnx/ {print $1, $2}' "$build/ops.txt" | sort)
[[ $listed == "$wanted" ]] || fail "ops lists something else than $build/ops.txt: $listed"
((text + data < most)) || fail "more than $most bytes"
echo "two models as in the full build; others are refused"
