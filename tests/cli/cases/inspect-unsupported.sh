# All of them, not the first alone, after the rest.
"$SARDONYX" inspect unsupported.onnx --nodes
