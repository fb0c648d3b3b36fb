#!/usr/bin/env bash
# Builds the program with musl, linked statically, and runs it in a folder that holds nothing but itself and a
# model: no libraries, no /proc, no /sys, no /tmp.
# usage: tests/build/static.sh BUILD_DIR CASE [FLAGS]
#   CASE   a folder with model.onnx and test_data_set_*, as build/reference has; its one open size is "batch"
#   FLAGS  of the compiler, such as "-O1 -DNDEBUG" to build quickly; without them a release, whose size is checked
# Exit codes: 0 fine, 1 not, 77 musl-gcc, root's rights or the model are missing.
set -uo pipefail
(($# >= 2)) || { sed -n '2,7s/^# \?//p' "$0" >&2; exit 2; }
build=$1 case=$2 flags=${3-}
most=3000000 # bytes, stripped
root=$(cd "$(dirname "$0")/../.." && pwd)
skip() { echo "skipped: $*"; exit 77; }
command -v musl-gcc > /dev/null || skip "musl-gcc is missing; run tools/setup.sh static"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

options=(-DCMAKE_BUILD_TYPE=Release)
[[ $flags ]] && options=(-DCMAKE_BUILD_TYPE=MinSizeRel "-DCMAKE_C_FLAGS_MINSIZEREL=$flags")
if ! { cmake -S "$root" -B "$build" -G Ninja --toolchain "$root/tools/toolchains/musl.cmake" "${options[@]}" \
        -DSARDONYX_TESTS=OFF -DSARDONYX_PCRE2=OFF -DSARDONYX_IMAGE=OFF -DSARDONYX_CJSON=OFF &&
    cmake --build "$build" --target sardonyx; } > "$work/log" 2>&1; then
    grep -A 5 'error' "$work/log" || tail -n 40 "$work/log"
    exit 1
fi

fail() { echo "FAIL: $*"; exit 1; }
readelf -d "$build/sardonyx" | grep -q NEEDED && fail "the program needs shared libraries"
readelf -l "$build/sardonyx" | grep -q INTERP && fail "the program needs a loader"
mkdir "$work/root"
strip -o "$work/root/sardonyx" "$build/sardonyx" || fail "strip"
size=$(stat -c %s "$work/root/sardonyx")
echo "$size bytes, stripped"
((size < most)) || fail "more than $most bytes"

[[ -e $case/model.onnx ]] || skip "$case/model.onnx is missing; run make references"
((EUID == 0)) || skip "only root may use chroot"
mkdir "$work/root/case"
cp -L "$case/model.onnx" "$work/root/case/"
cp -rL "$case/test_data_set_0" "$work/root/case/"
inside() { chroot "$work/root" /sardonyx "$@" > "$work/out" 2>&1 || { cat "$work/out"; fail "sardonyx $*"; }; }
inside --version
inside inspect /case/model.onnx
inside run /case/model.onnx --random 1 --dim batch=1 --threads 2 --output /results
[[ -n $(ls "$work/root/results") ]] || fail "run wrote nothing"
inside test /case --rtol 1e-3 --atol 1e-4
inside pack /case/model.onnx -o /packed.sdx
inside run /packed.sdx --random 1 --dim batch=1
echo "runs where there is nothing else"
