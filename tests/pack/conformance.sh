#!/usr/bin/env bash
# Every conformance case through a packed file, at the highest and the lowest level.
# usage: conformance.sh SARDONYX FOLDER
set -uo pipefail
[[ -d $2 ]] || { echo "skipped: no $2 (make conformance)"; exit 77; }
code=0
for level in 3 0; do
    "$1" test "$2" --packed --quiet --threads 1 --optimize $level || code=1
done
exit $code
