#!/usr/bin/env bash
# Batches in slices: the same bits as whole for slices of 1, 2 and 3 samples, and for those that the
# engine chooses; and an arena that does not grow with the batch.
# usage: slices.sh SARDONYX MODELS NAME..
set -uo pipefail
program=$1 models=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
code=0 found=0
for name in "$@"; do
    model=$models/$name.onnx
    [[ -e $model ]] || continue
    found=1
    dims=(--dim batch=5)
    [[ $name == *_hw ]] && dims+=(--dim height=96 --dim width=64)
    [[ $name == encoder ]] && dims+=(--dim sequence=12)
    for slice in off auto 1 2 3; do
        "$program" run "$model" --random 3 "${dims[@]}" --slice "$slice" \
            --output "$folder/$slice" > /dev/null 2> "$folder/log" ||
            { cat "$folder/log"; code=1; }
        diff -rq "$folder/off" "$folder/$slice" > /dev/null ||
            { echo "FAIL $name: slices of $slice differ from the whole batch"; code=1; }
    done
    "$program" inspect "$model" --stage plan "${dims[@]}" | grep -q "^slices *of" ||
        { echo "FAIL $name: not sliced"; code=1; }
    rm -r "$folder"/{off,auto,1,2,3}
done
arena() {
    "$program" inspect "$models/efficientnet_b1.onnx" --stage plan --dim "batch=$1" | grep '^arena'
}
if [[ -e $models/efficientnet_b1.onnx ]]; then
    found=1
    [[ $(arena 64) == $(arena 256) && $(arena 64) == $(arena 8) ]] ||
        { echo "FAIL efficientnet_b1: the arena grows with the batch"; code=1; }
fi
[[ $found == 1 ]] || { echo "skipped: no models in $models (make models)"; exit 77; }
exit $code
