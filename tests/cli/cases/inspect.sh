"$SARDONYX" inspect linear.onnx
