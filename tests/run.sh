#!/usr/bin/env bash
# Runs CTest on the release build and on the build with sanitizers, and ends with one plain line
# that counts both: N passed, N failed, N skipped.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc 2>/dev/null || echo 1)
reports=()
for tree in build build/asan; do
    report=$PWD/$tree/tests.xml
    rm -f "$report"
    (cd "$tree" && ctest --output-on-failure --no-tests=error --schedule-random \
        -j "$jobs" --output-junit "$report")
    reports+=("$report")
done
exec python3 tests/summary.py "${reports[@]}"
