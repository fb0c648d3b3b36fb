# Each limit is kept, and names the node and what was allowed; values that make no sense are refused.
run() {
    "$SARDONYX" "$@"
    echo "exit $?"
}
begin=$SECONDS
run run endless.onnx --random 1 --max-time 1
run run heavy.onnx --random 1 --dim n=9000 --max-time 1
run run heavy.onnx --random 1 --dim n=9000 --max-time 1 --threads 1 --optimize 0
test $((SECONDS - begin)) -lt 30 || echo "it took $((SECONDS - begin)) seconds"
run run heavy.onnx --random 1 --dim n=4000 --max-memory 1M
run run endless.onnx --random 1 --max-memory 100K --max-time 2
run run linear.onnx --input x=x.npy --max-nodes 1
run run endless.onnx --random 1 --max-depth 1 --max-time 1
run inspect linear.onnx --max-nodes 1
run plan linear.onnx --dim batch=1 --max-nodes 1
run run linear.onnx --input x=x.npy --max-memory 64M --max-time 10 --max-nodes 100 --max-depth 60
for bytes in x 0 5Q 1MB -3; do run run linear.onnx --input x=x.npy --max-memory "$bytes"; done
run run linear.onnx --input x=x.npy --max-time never
run ops --max-nodes 3
