#!/usr/bin/env bash
# The memory laboratory beside its targets: placement at the bound in under 1 s, at least 12 orders proved,
# the detector of PP-OCRv4 in 25.0 MiB, one plan for all sizes within 2 %, binding in under 100 us for each
# 300 buffers; then placement alone (run_plan.sh).
# usage: bench/run_memory.sh [--untimed] [--optimize L]   (make bench-memory builds what it needs)
#   --untimed   only what does not depend on the machine: no times, no placement problems
set -uo pipefail
cd "$(dirname "$0")/.."
bench=${BENCH_MEMORY:-build/bench_memory}
models=build/models
wheels=$models/wheels
batches=batch=1,2,3,4,6,8,16,32,64
jobs=()
options=("$@")
add() { # a model that could not be made is named and left out
    local model=$1
    [[ $1 == --most ]] && model=$3
    if [[ -e $model ]]; then
        ((${#jobs[@]} == 0)) || jobs+=(--)
        jobs+=("$@")
    else
        echo "skipped: $model was not made"
    fi
}
for name in mobilenet_v2 mobilenet_v3_large resnet50 densenet121 inception_v3 squeezenet1_1 \
    shufflenet_v2_x1_0 efficientnet_b1 convnext_tiny vit_b_16 swin_t regnet_y_16gf alexnet; do
    add $models/$name.onnx $batches
done
add $models/encoder.onnx batch=1,2,8,64 sequence=128,16,32,64,256,512
add $wheels/magika/model.onnx unk__214=1,2,4,8,16,32,64
add $wheels/nudenet/320n.onnx $batches height=320 width=320
ocr=$wheels/rapidocr-onnxruntime
dim=p2o.DynamicDimension
add --most 25.0 $ocr/ch_PP-OCRv4_det_infer.onnx $dim.0=1,2,4,8,16,32,64 $dim.1=640 $dim.2=640
add $ocr/ch_PP-OCRv4_rec_infer.onnx $dim.0=1,2,4,8,16,32,64 x.2=48 $dim.1=320
add $ocr/ch_ppocr_mobile_v2.0_cls_infer.onnx x.0=1,2,4,8,16,32,64 x.2=48 x.3=192
code=0
if ((${#jobs[@]} == 0)); then
    echo "no models in $models (make models)"
    exit 77
fi
orders=()
((${#jobs[@]} < 60)) || orders=(--orders 12) # not where most models are missing
"$bench" "${options[@]}" "${orders[@]}" "${jobs[@]}" || code=1
[[ " ${options[*]} " == *" --untimed "* ]] || bench/run_plan.sh || code=1
exit $code
