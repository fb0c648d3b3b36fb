"$SARDONYX" run linear.onnx --input x=x.npy --cpus 0 2> /dev/null
SARDONYX_THREADS=3 "$SARDONYX" run linear.onnx --input x=x.npy --cpus 0-0,0 2> /dev/null
SARDONYX_THREADS=nonsense "$SARDONYX" run linear.onnx --input x=x.npy 2> /dev/null
for list in "" x 1- 3-2 0, 0-99999999999 60000; do
    "$SARDONYX" run linear.onnx --input x=x.npy --cpus "$list"
    echo "exit $?"
done
for slice in 0 x -3 2.5 ""; do
    "$SARDONYX" run linear.onnx --input x=x.npy --slice "$slice"
    echo "exit $?"
done
