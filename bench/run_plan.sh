#!/usr/bin/env bash
# Placement beside its targets: the published problems within their capacity in 1 s each; problems
# without slack, all of 50 and 100 boxes and three quarters of 200 in 1 s each; 20,000 buffers
# within 1 % of the bound in 2 s. One core.
# usage: bench/run_plan.sh   (make bench-placement builds what it needs)
set -uo pipefail
cd "$(dirname "$0")/.."
bench=${BENCH_PLAN:-build/bench_plan}
folder=${SARDONYX_PLANNING:-../shared/planning}
code=0
if compgen -G "$folder/*.*.csv" > /dev/null; then
    "$bench" "$folder"/*.*.csv || code=1
else
    echo "no published problems in $folder: SARDONYX_PLANNING names the folder"
fi
"$bench" any:50:20:100 any:100:20:100 any:200:20:75 tall:200:20:75 boxes:100:20:100 || code=1
# For comparison, without a target: the hardest cut, and more boxes.
"$bench" boxes:200:20:0 any:500:10:0 any:1000:10:0 || code=1
"$bench" --time-limit 2 even:20000:3:1 large:20000:3:1 any:20000:3:100 || code=1
exit $code
