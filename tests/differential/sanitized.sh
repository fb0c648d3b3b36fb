#!/usr/bin/env bash
# The random cases through a library built with ASan and UBSan, which Python can load only if the
# sanitizers are there before it. Results are compared elsewhere: here nothing may be reported.
# usage: sanitized.sh BUILD_DIR CASES_PER_OPERATOR [OPTION OF run.py]..
set -euo pipefail
cd "$(dirname "$0")/../.."
compiler=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$1/CMakeCache.txt")
LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so)" \
ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1 \
SARDONYX_LIBRARY="$1/libsardonyx.so" \
    exec .venv/bin/python tests/differential/run.py --only-engine --per-operator "$2" "${@:3}"
