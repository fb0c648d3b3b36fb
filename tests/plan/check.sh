#!/usr/bin/env bash
# The published placement problems, FILE.CAPACITY.csv each, must fit into their capacity within the
# time. They are no part of this repository: SARDONYX_PLANNING names their folder.
# usage: check.sh SARDONYX SECONDS
set -uo pipefail
folder=${SARDONYX_PLANNING:-$(cd "$(dirname "$0")/../.." && pwd)/../shared/planning}
problems=("$folder"/*.*.csv)
if [[ ! -e ${problems[0]} ]]; then
    echo "skipped: no placement problems in $folder (SARDONYX_PLANNING names the folder)"
    exit 77
fi
code=0
for problem in "${problems[@]}"; do
    name=$(basename "$problem" .csv)
    capacity=${name#*.}
    if "$1" plan "$problem" --capacity "$capacity" --time-limit "$2" > /dev/null; then
        echo "pass $name"
    else
        echo "FAIL $name"
        code=1
    fi
done
exit $code
