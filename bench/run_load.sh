#!/usr/bin/env bash
# Time and private memory of loading: ResNet-101 beside its targets (5 ms, 4 MB), the other models
# for comparison, and the time per node of generated graphs of 50, 100 and 200 thousand nodes.
# usage: bench/run_load.sh   (make bench-load builds what it needs)
set -euo pipefail
cd "$(dirname "$0")/.."
models=build/models
for thousands in 50 100 200; do
    file=$models/large_${thousands}k.onnx
    [[ -e $file ]] || .venv/bin/python models/large_graph.py "${thousands}000" -o "$file"
done
code=0
build/bench_load "$models/resnet101.onnx" --max-ms 5 --max-mb 4 || code=1
others=()
for name in alexnet regnet_y_16gf efficientnet_b1 swin_t; do
    [[ -e $models/$name.onnx ]] && others+=("$models/$name.onnx")
done
((${#others[@]} == 0)) || build/bench_load "${others[@]}"
build/bench_load --linear "$models"/large_{50,100,200}k.onnx --runs 5 || code=1
exit $code
