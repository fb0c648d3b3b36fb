"$SARDONYX" inspect linear.onnx --stage plan --dim batch=4
"$SARDONYX" inspect linear.onnx --stage plan --dim batch=4 --json
"$SARDONYX" inspect linear.onnx --stage plan
