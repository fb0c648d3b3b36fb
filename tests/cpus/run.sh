#!/usr/bin/env bash
# Every conformance case and every model with one instruction set: tests otherwise run the machine's best.
# usage: tests/cpus/run.sh SET BUILD_DIR DATA_DIR MODEL..
#   SET        scalar, avx2, avx512 or neon, as SARDONYX_CPU names it
#   BUILD_DIR  holds sardonyx and tests/which_kernels; DATA_DIR  conformance/ and reference/
# Exit codes: 0 all passed, 1 one failed, 2 usage, 77 the machine has no such set.
set -uo pipefail
if (($# < 4)); then
    sed -n '2,6s/^# \?//p' "$0" >&2
    exit 2
fi
export SARDONYX_CPU=$1
build=$2 data=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../.venv/bin/python
picked=$("$build/tests/which_kernels")
if [[ $picked != "$SARDONYX_CPU" ]]; then
    echo "skipped: this machine has no $SARDONYX_CPU; its kernels are those for $picked"
    exit 77
fi
failed=0
echo "$SARDONYX_CPU: conformance"
"$python" "$here/../conformance/check.py" "$build/sardonyx" "$data/conformance" || failed=1
for model in "$@"; do
    "$here/../models/check.sh" "$build/sardonyx" "$data/reference/$model" > "$build/cpus.$picked.log" 2>&1
    code=$?
    ((code == 0 || code == 77)) || { failed=1 && cat "$build/cpus.$picked.log"; }
    echo "$SARDONYX_CPU: $model $(tail -n 1 "$build/cpus.$picked.log")"
done
exit $failed
