for model in absent.onnx . cut.onnx empty.onnx x.npy; do
    "$SARDONYX" inspect $model
    echo "inspect $model: $?"
    "$SARDONYX" run $model --random 1
    echo "run $model: $?"
done
