"$SARDONYX" frobnicate x.onnx
