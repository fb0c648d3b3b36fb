# Each command refuses what it does not know, and points to its help.
for command in "inspect linear.onnx" "run linear.onnx" "test cases" ops; do
    "$SARDONYX" $command --frobnicate=3
    echo "$command: $?"
done
