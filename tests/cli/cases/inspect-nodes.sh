"$SARDONYX" inspect linear.onnx --nodes --values
