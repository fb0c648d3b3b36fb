"$SARDONYX" run unsupported.onnx --random 1 --dim n=2
